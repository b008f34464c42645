"""`foreslice backtest`: figures as JSON, a table or a page; every misuse is one line."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

import foreslice.backtesting  # noqa: F401 -- here, so that a test of two seconds does not pay for it
from foreslice.cli import main
from tests.builders.demand import DAY, HALF_HOUR_S, office


@pytest.fixture
def backtest(monkeypatch, capsys):
    """Call the command; return exit code, standard output and error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["foreslice", "backtest", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as left:
            code = left.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def demand(tmp_path):
    """Two offices and a newcomer of half a day, in half hours."""
    path = tmp_path / "demand.csv"
    parts = [("bonn", office(2.9)), ("lima", office(2.9, seed=1)), ("new", office(0.5))]
    frames = [
        pd.DataFrame({"t": HALF_HOUR_S * np.arange(len(v)), "who": name, "rate": v}) for name, v in parts
    ]
    pd.concat(frames).to_csv(path, index=False)
    return path


COLUMNS = ("--time", "t", "--by", "who", "--value", "rate")


def test_figures_of_each_series_and_over_all(backtest, demand):
    code, out, err = backtest(demand, *COLUMNS, "--windows", "30m,1h", "--quantiles", ".5,.95", "-o", "json")
    figures = json.loads(out)
    assert (0, "", "peak", [0.5, 0.95]) == (code, err, figures["target"], figures["quantiles"])
    assert ["bonn", "lima"] == [one["series"] for one in figures["series"]]
    one = figures["series"][0]
    assert (HALF_HOUR_S, round(2.9 * DAY)) == (one["step_s"], one["steps"])
    assert [1800, 3600] == [window["window_s"] for window in one["windows"]]
    quantile = one["windows"][0]["quantiles"][1]
    ours, bar = quantile["methods"]["foreslice"], quantile["methods"][quantile["bar"]]
    assert pytest.approx(ours["pinball"] / bar["pinball"]) == quantile["ratio_to_bar"]
    assert {"coverage", "coverage_on_rises", "scaled_pinball", "pinball", "skill_of_ours"} == ours.keys()
    assert quantile["coverage_band"][0] < 0.95 < quantile["coverage_band"][1]
    overall = figures["overall"][0]
    ratios = [series["windows"][0]["quantiles"][1]["ratio_to_bar"] for series in figures["series"]]
    assert pytest.approx(np.sqrt(np.prod(ratios))) == overall["quantiles"][1]["ratio_to_bar"]
    assert max(ratios) == overall["quantiles"][1]["worst_ratio_to_bar"]
    covered = [
        series["windows"][0]["quantiles"][1]["methods"]["foreslice"]["coverage"]
        for series in figures["series"]
    ]
    right = np.mean([0.91 <= one <= 0.98 for one in covered])
    assert [None, right] == [one["share_of_series_covered_91_to_98"] for one in overall["quantiles"]]
    assert 0 <= figures["cost"]["fit_cpu_s"]


def test_a_series_that_is_too_short_is_left_out_and_said_so(backtest, demand):
    _, out, _ = backtest(demand, *COLUMNS, "--windows", "30m", "-o", "json")
    ((name, because),) = [one.values() for one in json.loads(out)["skipped"]]
    assert ("new", True) == (name, "less than a day" in because)


def test_demand_that_ends_before_the_test_is_left_out_and_said_so(backtest, tmp_path):
    path, values = tmp_path / "dead.csv", office(2.9)
    values[2 * DAY :] = np.nan
    pd.DataFrame({"t": HALF_HOUR_S * np.arange(len(values)), "rate": values}).to_csv(path, index=False)
    code, _, err = backtest(path, "--time", "t", "--value", "rate", "--windows", "30m")
    assert (2, True) == (code, "all: no window of its test is known whole" in err)


def test_steps_of_a_day_are_too_long_to_calibrate_by_and_said_so(backtest, tmp_path):
    path = tmp_path / "daily.csv"
    pd.DataFrame({"t": 86_400 * np.arange(400), "rate": office(8.4)[:400]}).to_csv(path, index=False)
    code, _, err = backtest(path, "--time", "t", "--value", "rate", "--windows", "1d")
    assert (2, True) == (code, "all: 5d hold not 50 steps of 1d to calibrate by" in err)


def test_a_table_for_people(backtest, demand):
    code, out, _ = backtest(demand, *COLUMNS, "--windows", "30m", "--quantiles", ".95")
    assert 0 == code
    assert {"ours / bar", "0.95", "left out: new"} <= {
        name for name in ("ours / bar", "0.95", "left out: new") if name in out
    }


def test_the_test_can_begin_at_a_time(backtest, demand):
    start_s = 2 * 86400
    for text in (str(start_s), "1970-01-03T00:00"):
        _, out, _ = backtest(demand, *COLUMNS, "--windows", "30m", "--test-from", text, "-o", "json")
        assert [start_s] * 2 == [one["test_from_s"] for one in json.loads(out)["series"]]


def test_the_page_needs_nothing_from_elsewhere(backtest, demand, tmp_path):
    page = tmp_path / "page.html"
    assert 0 == backtest(demand, *COLUMNS, "--windows", "30m", "--plot", page)[0]
    text = page.read_text(encoding="utf-8")
    assert "bonn" in text
    assert 'src="http' not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--time", "when"), "no column 'when' (--time)"),
        (("--windows", "30"), "--windows"),
        (("--windows", "2d"), "not from a second to a day"),
        (("--windows", "20m"), "20m are not whole steps of 30m"),
        (("--quantiles", "a"), "--quantiles"),
        (("--quantiles", "95"), "not between 0 and 1"),
        (("--target", "sum"), "choose peak or step"),
        (("--test-from", "soon"), "'soon' is no time"),
        (("--test-from", "2030-01-01"), "it ends before the test begins"),
        (("--zone", "Mars/Olympus"), "time zone 'Mars/Olympus' is not known"),
        (("--country", "ZZ"), "holidays of 'ZZ' are not known"),
        (("--plot", "/nowhere/page.html"), "/nowhere/page.html: cannot be written"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(backtest, demand, arguments, said):
    code, out, err = backtest(demand, *COLUMNS, "--windows", "30m", *arguments)
    assert (2, "") == (code, out)
    assert said in err
    assert 1 == len(err.strip().splitlines())


def test_a_file_that_is_not_there(backtest, tmp_path):
    code, _, err = backtest(tmp_path / "no.csv")
    assert (2, True) == (code, "no.csv: cannot be read" in err)
