"""The bill of an SLO and a tier."""

import numpy as np
import pandas as pd
import pytest

from fleet.errors import InputError
from foreslice.lab import what_if


def table(values, name="chat"):
    times = pd.date_range("2026-03-02", periods=len(values), freq="30min", tz="UTC")
    tokens = {"prompt_tokens": 1024.0, "output_tokens": 256.0}
    return pd.DataFrame({"time": times, "workload": name, "requests_per_s": values, **tokens})


NOISY = np.random.default_rng(3).uniform(20, 120, 5 * 48)


def test_more_certainty_and_a_tighter_objective_cost_more_and_leave_less_short():
    bills = what_if.bill(table(NOISY), "qwen2.5-7b-bf16", "h100-80gb", ttft=("200ms", "1s"))
    hours = bills.pivot_table(index="ttft", columns="tier", values="gpu_hours")
    assert (hours["economy"] <= hours["balanced"]).all()
    assert (hours["balanced"] <= hours["strict"]).all()
    assert (hours.loc["200ms"] > hours.loc["1s"]).all()
    short = bills[bills["ttft"] == "1s"].set_index("tier")["short"]
    assert short["strict"] <= short["balanced"] <= short["economy"] <= 0.2
    assert (bills["price"] == bills["gpu_hours"]).all()


def test_tokens_are_weighted_by_requests_and_usual_where_unknown():
    some = table([1.0, 3.0])
    some["prompt_tokens"] = [100.0, 200.0]
    assert (175.0, 256.0) == what_if.mean_tokens(some)
    assert (1024.0, 256.0) == what_if.mean_tokens(some.assign(prompt_tokens=np.nan))


@pytest.mark.parametrize(
    ("demand", "given", "match"),
    [
        (pd.concat([table(NOISY), table(NOISY, "other")]), {}, "holds 2 workloads; take the rows of one"),
        (table(NOISY[:20]), {}, "no window that can be scored"),
        (table(NOISY), {"ttft": ("10ms",)}, "nothing of h100-80gb carries qwen2.5-7b-bf16 inside 10ms"),
    ],
)
def test_what_has_no_bill_is_one_line(demand, given, match):
    with pytest.raises(InputError, match=match):
        what_if.bill(demand, "qwen2.5-7b-bf16", "h100-80gb", **given)
