"""Signals from a CSV: both ways to write time, odd files, and one clear line for each thing that is wrong."""

import os

import numpy as np
import pytest

from fleet.errors import InputError, UnavailableError
from fleet.sample import Value
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.sources.file import FileSource

LLAMA = WorkloadKey("prod", "llama")
QWEN = WorkloadKey("prod", "qwen")
MATCHES = {LLAMA: {"namespace": "prod", "model_name": "llama"}}
DONE = "vllm:request_success_total"
HEADER = "timestamp,series,pod,namespace,value,model_name,finished_reason\n"
GOOD = HEADER + "".join(
    f"{60 * i},{DONE},llama-0,prod,{5 * i},llama,stop\n{60 * i},{DONE},llama-0,prod,{i},llama,length\n"
    for i in range(4)
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="metrics.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def completions(source, workload=LLAMA, start_s=0, end_s=180):
    return source.samples([Signal.COMPLETIONS], [workload], start_s, end_s)[workload].values[
        Signal.COMPLETIONS
    ]


def test_label_sets_are_kept_apart_and_summed(write):
    source = FileSource(write(GOOD), MATCHES)
    np.testing.assert_array_equal([6, 6, 6], completions(source))
    assert 180 == source.end_s


TIMES = {
    "seconds": ("0", "60"),
    "fractions of seconds": ("0.5", "59.5"),
    "ISO 8601 in UTC": ("1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z"),
    "ISO 8601 without a zone is UTC": ("1970-01-01 00:00:00", "1970-01-01 00:01:00"),
    "ISO 8601 of another zone": ("1970-01-01T02:00:00+02:00", "1970-01-01T02:01:00+02:00"),
    "both in one file": ("0", "1970-01-01T00:01:00.000Z"),
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_ways_to_write_time(write, times):
    rows = (f"{t},{DONE},llama-0,prod,{value},llama,stop\n" for t, value in zip(times, (3, 10), strict=True))
    source = FileSource(write(HEADER + "".join(rows)), MATCHES)
    assert 7 == completions(source, end_s=60)[0]


def test_rows_in_any_order_make_the_same_series(write):
    lines = GOOD.splitlines(keepends=True)
    backwards = FileSource(write(lines[0] + "".join(reversed(lines[1:]))), MATCHES)
    np.testing.assert_array_equal([6, 6, 6], completions(backwards))


def test_of_two_readings_at_one_time_the_later_row_counts(write):
    row = "60,vllm:num_requests_waiting,llama-0,prod,{},llama,\n"
    source = FileSource(write(HEADER + row.format(3) + row.format(8)), MATCHES)
    assert Value(8) == source.now([Signal.WAITING], [LLAMA], 60)[LLAMA].pods["llama-0"][Signal.WAITING]


@pytest.mark.parametrize("unknown", ["", "NaN", "nan", "inf", "-inf", "-5"])
def test_an_unknown_value_is_no_reading(write, unknown):
    text = GOOD.replace("60,vllm:request_success_total,llama-0,prod,5,", f"60,{DONE},llama-0,prod,{unknown},")
    assert unknown == "" or unknown in text
    np.testing.assert_array_equal([1, 1, 6], completions(FileSource(write(text), MATCHES)))


def test_other_series_and_other_workloads_are_left_out(write):
    other = "60,process_cpu_seconds_total,llama-0,prod,9,llama,\n60," + DONE + ",qwen-0,prod,900,qwen,stop\n"
    np.testing.assert_array_equal([6, 6, 6], completions(FileSource(write(GOOD + other), MATCHES)))


@pytest.mark.parametrize("last", ["240", f"240,{DONE},llama-0,pr", f"240,{DONE},llama-0,prod,7"])
def test_a_row_that_is_still_being_written_is_left_out(write, last):
    source = FileSource(write(GOOD + last), MATCHES)
    assert np.isnan(completions(source, start_s=180, end_s=240)).all()


def test_a_row_without_a_time_is_refused(write):
    text = f"series,pod,namespace,value,model_name,timestamp\n{DONE},llama-0,prod,1,llama,60\n{DONE},llama-0"
    with pytest.raises(InputError, match="in line 3 cannot be read"):
        FileSource(write(text), MATCHES)


def test_two_workloads_share_a_file(write):
    text = GOOD + GOOD.removeprefix(HEADER).replace("llama", "qwen")
    source = FileSource(write(text), {**MATCHES, QWEN: {"model_name": "qwen"}})
    answer = source.samples([Signal.COMPLETIONS], [LLAMA, QWEN], 0, 180)
    assert [18, 18] == [answer[key].values[Signal.COMPLETIONS].sum() for key in (LLAMA, QWEN)]


def test_a_workload_without_a_series_that_means_anything_is_unknown(write):
    source = FileSource(write(HEADER + "60,up,llama-0,prod,1,llama,\n"), MATCHES)
    assert np.isnan(completions(source)).all()


WRONG = {
    "empty": ("", "is empty"),
    "no rows": (HEADER, "holds no rows"),
    "a column is missing": (
        "timestamp,series,pod,value\n1,x,a,1\n",
        "misses column namespace; needed are timestamp, series, pod, namespace, value; there are timestamp, ",
    ),
    "not a CSV": ("a,b\n1,2,3\n1,2,3,4,5\n", "is not a CSV"),
    "a time that is none": (
        GOOD.replace("\n120,", "\nyesterday,", 1),
        "timestamp 'yesterday' in line 6 cannot be read; write it as ISO 8601 or seconds since the epoch",
    ),
    "a time that is missing": (GOOD.replace("\n60,", "\n,", 1), "timestamp '' in line 4 cannot be read"),
    "milliseconds": (
        GOOD.replace("\n120,", "\n1764440000000,", 1),
        "line 6 is in the future; write seconds since the epoch, not milliseconds, or ISO 8601",
    ),
    "a year to come": (
        GOOD.replace("\n120,", "\n3000-01-01T00:00:00Z,", 1),
        "timestamp '3000-01-01T00:00:00Z' in line 6 is in the future",
    ),
    "a value that is none": (
        GOOD.replace("prod,10,", "prod,ten,"),
        "value 'ten' in line 6 cannot be read; write it as a number or NaN",
    ),
    "no row of the workload": (
        GOOD.replace(",llama,", ",qwen,"),
        "(namespace=prod, model_name=llama); the file has namespace: prod; model_name: qwen",
    ),
    "no column of the label": (
        GOOD.replace("model_name", "model"),
        "label 'model_name' of workload prod/llama; match one of its columns: timestamp, series, pod",
    ),
    "many values of a label": (
        HEADER + "".join(f"1,x,a,prod,1,m{i},\n" for i in range(8)),
        "model_name: m0, m1, m2, m3, m4 and 3 more",
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_in_one_line_that_names_the_file(write, text, message):
    path = write(text)
    with pytest.raises(InputError) as caught:
        FileSource(path, MATCHES)
    assert message in str(caught.value)
    assert str(path) == caught.value.where
    assert 1 == len(str(caught.value).splitlines())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: cannot be read \(No such file or directory\)"):
        FileSource(tmp_path / "none.csv", MATCHES)


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        FileSource(tmp_path, MATCHES)


def test_bytes_that_are_no_text_are_no_csv(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_bytes(b"timestamp,series\n\xff\xfe\x00,\x80\n")
    with pytest.raises(InputError, match="is not a CSV"):
        FileSource(path, MATCHES)


def touch(path, ns):
    """Give a file a time of change of its own; two writes may fall into one tick of the clock."""
    os.utime(path, ns=(ns, ns))


def test_a_file_that_grew_is_read_again(write):
    path = write(GOOD)
    source = FileSource(path, MATCHES)
    write(GOOD + f"240,{DONE},llama-0,prod,500,llama,stop\n")
    touch(path, 10**18)
    assert 485 == completions(source, start_s=180, end_s=240)[0]
    assert 240 == source.end_s


BREAKAGES = {
    "gone": lambda path: path.unlink(),
    "emptied": lambda path: path.write_text("", encoding="utf-8"),
    "spoilt": lambda path: path.write_text(GOOD + "soon,x,a,prod,1,llama,\n", encoding="utf-8"),
}


@pytest.mark.parametrize("breaks", BREAKAGES.values(), ids=BREAKAGES)
def test_a_file_that_was_good_and_is_not_is_unavailable_until_it_is_again(write, breaks):
    path = write(GOOD)
    touch(path, 10**18)
    source = FileSource(path, MATCHES)
    breaks(path)
    for ask in (completions, lambda source: source.now([Signal.WAITING], [LLAMA], 60)):
        with pytest.raises(UnavailableError, match=r"metrics\.csv"):
            ask(source)
    write(GOOD)
    touch(path, 10**18)
    np.testing.assert_array_equal([6, 6, 6], completions(source))
