"""The past is kept on disk and asked for once; whatever happens to the files, answers are the source's."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from pyarrow import parquet

from fleet.errors import InputError, UnavailableError
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.demand import HISTORY_SIGNALS
from predictor.ports import SignalBuckets
from predictor.sources.kept import KEPT_EVERY_S, SETTLED_S, KeptSource

A, B = WorkloadKey("prod", "a"), WorkloadKey("prod", "b")
ORIGINS = {A: "llama on vLLM", B: "qwen on vLLM"}
DAY_S = 86_400
START_S = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp())
END_S = START_S + 3 * DAY_S
LONG_S = 90 * DAY_S
NAN = np.nan


class Source:
    """Tells in each minute how many minutes since the epoch it is; every tenth is unknown.

    Attributes:
        asked: Workloads, from and to of every call.
        partial_s: Spans of which it says that it may not have all.
        is_down: Whether it answers not at all.
    """

    def __init__(self):
        self.asked = []
        self.partial_s = ()
        self.is_down = False

    def samples(self, signals, workloads, start_s, end_s):
        if self.is_down:
            raise UnavailableError("no answer")
        self.asked.append((tuple(workloads), start_s, end_s))
        within = tuple(
            (max(since_s, start_s), min(until_s, end_s))
            for since_s, until_s in self.partial_s
            if since_s < end_s and until_s > start_s
        )
        return {
            key: SignalBuckets(
                key, start_s, {signal: told(start_s, end_s, within) for signal in signals}, within
            )
            for key in workloads
        }

    def now(self, signals, workloads, at_s):
        return signals, workloads, at_s


def told(start_s, end_s, partial_s=()):
    minutes = np.arange(start_s, end_s, 60) // 60
    row = np.where(minutes % 10 == 0, NAN, minutes.astype(float))
    for since_s, until_s in partial_s:
        row[(minutes * 60 >= since_s) & (minutes * 60 < until_s)] = NAN
    return row


@pytest.fixture
def source():
    return Source()


@pytest.fixture
def kept(source, tmp_path):
    """A function that makes a source that keeps, as a process does when it starts."""

    def make(origins=ORIGINS, keep_s=LONG_S, signals=HISTORY_SIGNALS):
        return KeptSource(source, tmp_path / "history", origins, signals, keep_s)

    return make


def asked_by(source, ask):
    """What the source is asked for during a call."""
    source.asked.clear()
    ask()
    return source.asked


def row(kept, start_s, end_s, signal=Signal.COMPLETIONS, workload=A):
    return kept.samples(HISTORY_SIGNALS, [A, B], start_s, end_s)[workload].values[signal]


def files(folder):
    return sorted(path.name for path in (folder / "history").iterdir())


def test_answers_are_those_of_the_source_before_and_after_a_restart(kept, source):
    for _ in range(2):
        np.testing.assert_array_equal(told(START_S, END_S), row(kept(), START_S, END_S))
    assert 2 == len(source.asked)


def test_a_restart_asks_for_the_newest_minutes_only(kept, source):
    row(kept(), START_S, END_S)
    later_s = END_S + 300
    restarted = asked_by(source, lambda: row(kept(), START_S, later_s))
    assert [((A, B), END_S - SETTLED_S, later_s)] == restarted


def test_a_running_service_keeps_what_has_settled_meanwhile(kept, source):
    running = kept()
    row(running, START_S, END_S)
    spans = []
    for end_s in range(END_S + 60, END_S + 2 * KEPT_EVERY_S + 1, 60):
        answer = row(running, end_s - 60, end_s)
        np.testing.assert_array_equal(told(end_s - 60, end_s), answer)
        spans.append((source.asked[-1][2] - source.asked[-1][1]) // 60)
    assert ([1] * 9 + [20]) * 2 == spans, "every ten minutes it reads again what has settled"

    end_s = END_S + 2 * KEPT_EVERY_S
    assert [((A, B), end_s - SETTLED_S, end_s)] == asked_by(source, lambda: row(kept(), START_S, end_s))


def test_minutes_that_nobody_knows_are_kept_as_unknown(kept, source):
    row(kept(), START_S, END_S)
    answer = row(kept(), START_S, START_S + 3600)
    assert 6 == np.isnan(answer).sum()
    assert 1 == len(source.asked), "unknown is an answer, and is not asked for again"


def test_minutes_of_which_an_answer_may_lack_some_are_asked_for_again(kept, source):
    source.partial_s = ((START_S + 7200, START_S + 10_800),)
    answer = kept().samples(HISTORY_SIGNALS, [A], START_S, END_S)[A]
    assert source.partial_s == answer.partial_s
    assert np.isnan(answer.values[Signal.WAITING][120:180]).all()

    source.partial_s = ()
    again = asked_by(
        source,
        lambda: np.testing.assert_array_equal(
            told(START_S, START_S + DAY_S),
            kept().samples(HISTORY_SIGNALS, [A], START_S, START_S + DAY_S)[A].values[Signal.WAITING],
        ),
    )
    assert [((A,), START_S + 7200, START_S + 10_800)] == again


def test_a_new_workload_is_asked_for_alone(kept, source):
    kept().samples(HISTORY_SIGNALS, [A], START_S, END_S)
    spans = {
        keys: (since_s, until_s)
        for keys, since_s, until_s in asked_by(source, lambda: row(kept(), START_S, END_S))
    }
    assert {(A,): (END_S - SETTLED_S, END_S), (B,): (START_S, END_S)} == spans


def test_a_workload_whose_series_are_others_now_is_read_anew(kept, source):
    row(kept(), START_S, END_S)
    changed = kept({**ORIGINS, B: "mistral on vLLM"})
    asked = {keys: span for keys, *span in asked_by(source, lambda: row(changed, START_S, END_S))}
    assert {(A,): [END_S - SETTLED_S, END_S], (B,): [START_S, END_S]} == asked


def truncated(path):
    path.write_bytes(path.read_bytes()[:-100])


def scribbled(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)


def emptied(path):
    path.write_bytes(b"")


def removed(path):
    path.unlink()


def of_another_format(path):
    table = parquet.read_table(path)
    about = json.loads(table.schema.metadata[b"foreslice"]) | {"format": 0}
    parquet.write_table(table.replace_schema_metadata({"foreslice": json.dumps(about)}), path)


def without_a_column(path):
    parquet.write_table(parquet.read_table(path).drop_columns(["running"]), path)


def of_another_day(path):
    path.with_name("2026-03-01.parquet").replace(path)


def of_somebody_else(path):
    parquet.write_table(parquet.read_table(path).replace_schema_metadata(None), path)


@pytest.mark.parametrize(
    "damage",
    [
        truncated,
        scribbled,
        emptied,
        removed,
        of_another_format,
        without_a_column,
        of_another_day,
        of_somebody_else,
    ],
    ids=lambda damage: damage.__name__,
)
def test_a_day_that_cannot_be_used_is_read_from_the_source_again(damage, kept, source, tmp_path):
    row(kept(), START_S, END_S)
    damage(tmp_path / "history" / "2026-03-02.parquet")
    answers = []
    assert [((A, B), START_S + DAY_S, START_S + 2 * DAY_S)] == asked_by(
        source, lambda: answers.append(row(kept(), START_S + DAY_S, END_S - SETTLED_S))
    )
    np.testing.assert_array_equal(told(START_S + DAY_S, END_S - SETTLED_S), answers[0])
    assert [] == asked_by(source, lambda: row(kept(), START_S + DAY_S, END_S - SETTLED_S)), "whole again"


def test_what_is_kept_outlives_what_the_source_has_forgotten(kept, source):
    """A retention that is shorter than what forecasts learn from."""
    row(kept(), START_S, END_S)
    source.is_down = True
    answer = row(kept(), START_S, END_S - SETTLED_S)
    np.testing.assert_array_equal(told(START_S, END_S - SETTLED_S), answer)


def test_a_source_that_does_not_answer_is_an_error_and_nothing_is_kept(kept, source, tmp_path):
    source.is_down = True
    with pytest.raises(UnavailableError):
        row(kept(), START_S, END_S)
    assert [] == files(tmp_path)


def test_days_beyond_what_is_learnt_from_are_deleted(kept, tmp_path):
    row(kept(), START_S, END_S)
    assert ["2026-03-01.parquet", "2026-03-02.parquet", "2026-03-03.parquet"] == files(tmp_path)
    for foreign in ("notes.txt", "2026-02-01.txt"):
        (tmp_path / "history" / foreign).touch()
    (tmp_path / "history" / "2026-02-01.4711-8").touch()
    row(kept(keep_s=DAY_S), END_S, END_S + 60)
    assert ["2026-02-01.txt", "2026-03-03.parquet", "notes.txt"] == files(tmp_path), "others' files stay"


def test_a_folder_that_cannot_be_written_costs_no_answer_and_is_said(kept, tmp_path):
    keeping = kept()
    row(keeping, START_S, END_S)
    assert "" == keeping.trouble
    (tmp_path / "history").rename(tmp_path / "gone")
    np.testing.assert_array_equal(told(END_S, END_S + 1200), row(keeping, END_S, END_S + 1200))
    assert f"history is not kept in {tmp_path}/history: No such file or directory" == keeping.trouble

    (tmp_path / "gone").rename(tmp_path / "history")
    row(keeping, END_S + 1200, END_S + 1200 + KEPT_EVERY_S)
    assert "" == keeping.trouble, "tried again when it is due again"


def test_a_folder_that_cannot_be_made_is_refused(kept, tmp_path):
    (tmp_path / "history").write_text("a file")
    with pytest.raises(InputError) as said:
        kept()
    assert f"{tmp_path}/history: cannot be made (File exists); name a writable folder" == str(said.value)


def test_signals_that_are_not_kept_and_spans_of_nothing_are_the_source_s(kept, source):
    keeping = kept()
    assert {Signal.TTFT_SUM} == set(keeping.samples([Signal.TTFT_SUM], [A], 0, 60)[A].values)
    assert 0 == len(row(keeping, END_S, END_S))
    assert ([Signal.WAITING], [A], 5.0) == keeping.now([Signal.WAITING], [A], 5.0)


def test_a_part_of_a_day_and_of_the_signals(kept, source):
    row(kept(), START_S, END_S)
    since_s, until_s = START_S + DAY_S - 3600, START_S + DAY_S + 3600
    part = kept().samples([Signal.KV_USE], [B], since_s, until_s)[B]
    assert (since_s, until_s, {Signal.KV_USE}) == (part.start_s, part.end_s, set(part.values))
    np.testing.assert_array_equal(told(since_s, until_s), part.values[Signal.KV_USE])
    assert 1 == len(source.asked)


def test_between_two_turns_no_file_is_touched(kept, tmp_path):
    running = kept()
    row(running, START_S, END_S)
    for path in (tmp_path / "history").iterdir():
        path.unlink()
    np.testing.assert_array_equal(told(END_S, END_S + 60), row(running, END_S, END_S + 60))
    assert [] == files(tmp_path)


def test_anyone_can_read_a_day(kept, tmp_path):
    row(kept(), START_S, END_S)
    table = parquet.read_table(tmp_path / "history" / "2026-03-01.parquet").to_pandas()
    assert 2 * 1440 == len(table)
    assert {"prod/a", "prod/b"} == set(table["workload"])
    assert "2026-03-01 00:01:00+00:00" == str(table["time"][1])
    assert START_S // 60 + 1 == table["completions"][1]
    assert table["completions"][:1].isna().all()


MANY = [WorkloadKey("prod", f"w{number:02}") for number in range(30)]
FIRST, LAST = MANY[:25], MANY[25:]
OF_MANY = dict.fromkeys(MANY, "llama on vLLM")
LATER_S = END_S - SETTLED_S


def values(kept, workloads, until_s=LATER_S):
    return kept.samples(HISTORY_SIGNALS, workloads, START_S, until_s)


def test_histories_that_are_read_some_at_a_time_are_kept_beside_each_other(kept, source):
    """First histories of a fleet are read so; each part's day must not take the place of another's."""
    for part in (FIRST, LAST, MANY[10:28]):
        kept(OF_MANY).samples(HISTORY_SIGNALS, part, START_S, END_S)
    source.is_down = True
    told_of = values(kept(OF_MANY), MANY)
    for key in MANY:
        np.testing.assert_array_equal(told(START_S, LATER_S), told_of[key].values[Signal.RUNNING])


def scribbled_where(path, workload):
    """Damage what a file holds of the workloads that are read with this one, and of no others."""
    about = parquet.read_metadata(path)
    held = json.loads(about.metadata[b"foreslice"])["groups"]
    [group] = [number for number, names in enumerate(held) if str(workload) in names]
    column = about.row_group(group).column(5)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize(("asked", "other"), [(FIRST, LAST), (LAST, FIRST)], ids=["first", "last"])
def test_of_a_day_no_more_is_read_than_what_is_asked_for(asked, other, kept, source, tmp_path):
    kept(OF_MANY).samples(HISTORY_SIGNALS, MANY, START_S, END_S)
    for path in (tmp_path / "history").iterdir():
        scribbled_where(path, other[0])
    assert [] == asked_by(source, lambda: values(kept(OF_MANY), asked))
    again = asked_by(source, lambda: values(kept(OF_MANY), other))
    assert [(tuple(other), START_S, LATER_S)] == again


def test_what_is_damaged_of_others_is_asked_for_again_and_the_rest_stays(kept, source, tmp_path):
    kept(OF_MANY).samples(HISTORY_SIGNALS, MANY, START_S, END_S)
    path = tmp_path / "history" / "2026-03-03.parquet"
    scribbled_where(path, LAST[0])
    kept(OF_MANY).samples(HISTORY_SIGNALS, FIRST, START_S, END_S + 3600)
    again = asked_by(source, lambda: values(kept(OF_MANY), MANY))
    assert [(tuple(LAST), START_S + 2 * DAY_S, LATER_S)] == again


def test_what_is_new_of_some_is_kept_and_not_what_stood_there_before(kept, source):
    kept(OF_MANY).samples(HISTORY_SIGNALS, MANY, START_S, END_S - 7200)
    kept(OF_MANY).samples(HISTORY_SIGNALS, MANY[:10], START_S, END_S - 3600)
    settled_s = END_S - 3600 - SETTLED_S
    assert [] == asked_by(source, lambda: values(kept(OF_MANY), MANY[:10], settled_s))
    again = asked_by(source, lambda: values(kept(OF_MANY), MANY[10:], settled_s))
    assert [(tuple(MANY[10:]), END_S - 7200 - SETTLED_S, settled_s)] == again


def test_a_day_that_an_earlier_version_wrote_is_read(kept, source, tmp_path):
    """It is of one part, and does not say of whom."""
    kept(OF_MANY).samples(HISTORY_SIGNALS, MANY, START_S, END_S)
    for path in (tmp_path / "history").iterdir():
        table = parquet.read_table(path)
        about = json.loads(table.schema.metadata[b"foreslice"])
        del about["groups"]
        parquet.write_table(table.replace_schema_metadata({"foreslice": json.dumps(about)}), path)
    assert [] == asked_by(source, lambda: values(kept(OF_MANY), LAST))
