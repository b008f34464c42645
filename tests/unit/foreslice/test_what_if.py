"""The GPU bill of an SLO before it is set: what demand takes, followed and at its peak."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from capacity.estimate import CapacityModel
from fleet.boards import BOARDS, H100_80GB
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.shape import Shape
from fleet.workload import LatencyTarget, Limits, Slo, Workload, WorkloadKey
from foreslice.cli import app
from foreslice.sizing.bill import Bill, bill_of
from foreslice.sizing.what_if import change_of
from predictor.ports import DemandHistory

CONFIG = Path(__file__).parents[3] / "config" / "examples" / "file.yaml"
CHAT = Workload(
    WorkloadKey("serving", "chat"),
    "qwen2.5-7b-bf16",
    Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.060)),
)
HALF = Shape("h100-80gb", "4g.40gb")


def demand(requests_per_s, prompt=1000.0, output=250.0):
    rates = np.asarray(requests_per_s, dtype=float)
    known = np.isfinite(rates)
    return DemandHistory(
        CHAT.key,
        0,
        rates,
        np.where(known, prompt, np.nan),
        np.where(known, output, np.nan),
        np.zeros(len(rates), dtype=bool),
    )


def bill(workload, rates, held_s=60.0, board=H100_80GB, **tokens):
    return bill_of(workload, [board], CapacityModel([board]), demand(rates, **tokens), held_s)


@pytest.fixture(scope="module")
def half():
    """Requests/s that one 4g.40gb carries at least."""
    model, mix = CapacityModel([H100_80GB]), Mix(1000.0, 250.0)
    full = model.sustained(CHAT, Shape("h100-80gb"), mix)
    return full * model.capacity(CHAT, HALF, [mix]).work_low


class TestBill:
    def test_demand_that_half_a_card_carries_takes_half_a_card_all_day(self, half):
        told = bill(CHAT, [0.9 * half] * 60)

        assert Bill(None, HALF, pytest.approx(half), 1.0, 1, 12.0, 12.0) == told

    def test_between_one_and_two_replicas_the_bill_lies_by_the_time_of_each(self, half):
        """45 of 60 minutes one half, 15 minutes two: 1.25 halves on average, two at the peak."""
        told = bill(CHAT, [0.5 * half] * 45 + [1.5 * half] * 15)

        assert (1.25, 2) == (told.mean_replicas, told.peak_replicas)
        assert (15.0, 24.0) == (told.following_gpu_hours, told.static_gpu_hours)

    def test_replicas_are_there_before_they_are_needed_and_kept_meanwhile(self, half):
        """A peak of a minute is held for ten: nine before it, and itself."""
        rates = [0.5 * half] * 30 + [1.5 * half] + [0.5 * half] * 29

        assert 1 + 1 / 60 == pytest.approx(bill(CHAT, rates, held_s=60.0).mean_replicas)
        assert 1 + 10 / 60 == pytest.approx(bill(CHAT, rates, held_s=600.0).mean_replicas)

    def test_minutes_that_nobody_knows_are_left_out(self, half):
        rates = [0.5 * half] * 45 + [1.5 * half] * 15
        with_gap = [*rates[:20], *[np.nan] * 30, *rates[20:]]

        assert bill(CHAT, rates) == bill(CHAT, with_gap)

    def test_a_floor_on_replicas_is_part_of_the_bill(self, half):
        """Three quarters of a card carry what half of one would."""
        floored = replace(CHAT, limits=Limits(min_replicas=3))

        assert 3 * 6.0 == bill(floored, [0.5 * half] * 60).following_gpu_hours

    def test_the_shape_that_takes_least_is_taken(self):
        """A little demand needs no half card: a quarter has room for the model."""
        told = bill(CHAT, [0.5] * 60)

        assert 0.25 == told.following_gpu_hours / 24
        assert told.shape in {Shape("h100-80gb", "1g.20gb"), Shape("h100-80gb", "2g.20gb")}

    def test_a_tighter_slo_is_never_cheaper(self):
        rates = 8 + 6 * np.sin(np.arange(600) / 60)
        hours = [
            bill(replace(CHAT, slo=Slo(itl=LatencyTarget(0.95, limit_s))), rates).following_gpu_hours
            for limit_s in (0.060, 0.040, 0.030, 0.020)
        ]

        assert sorted(hours) == hours
        assert hours[0] < hours[-1]

    @pytest.mark.parametrize(
        ("workload", "rates", "why"),
        [
            (CHAT, [], "no demand is known"),
            (CHAT, [np.nan, 0.0], "no demand is known"),
            (
                replace(CHAT, slo=Slo(LatencyTarget(0.95, 0.050))),
                [1.0],
                "a request alone misses it on h100-80gb:whole: compute (TTFT)",
            ),
            (
                replace(CHAT, limits=Limits(max_replicas=1)),
                [100.0],
                "takes more than the 1 replicas that limits allow",
            ),
            (
                replace(CHAT, model="llama-3.3-70b-bf16"),
                [1.0],
                "no shape of one card keeps it with 90 % confidence",
            ),
        ],
    )
    def test_what_has_no_bill_says_why(self, workload, rates, why):
        assert Bill(why) == bill(workload, rates)

    def test_requests_that_the_engine_does_not_take_have_no_bill(self):
        told = bill(CHAT, [1.0], prompt=33_000.0)

        assert "requests of 33250 tokens are longer than the engine takes (32768)" == told.obstacle

    def test_a_board_without_mig_is_billed_whole(self):
        told = bill(CHAT, [0.1] * 10, board=BOARDS["l40s-48gb"])

        assert (Shape("l40s-48gb"), 24.0) == (told.shape, told.following_gpu_hours)


class TestChange:
    OTHER = replace(CHAT, key=WorkloadKey("batch", "chat"))

    def test_replaces_one_objective_and_leaves_the_others(self):
        change = change_of("chat.slo.ttft.p99=500ms,2s", [CHAT])

        assert CHAT is change.workload
        assert [Slo(LatencyTarget(0.99, limit_s), CHAT.slo.itl) for limit_s in (0.5, 2.0)] == [*change.slos]

    def test_adds_one_that_was_not_set(self):
        (slo,) = change_of("chat.slo.e2e.p95=10s", [CHAT]).slos

        assert Slo(CHAT.slo.ttft, CHAT.slo.itl, LatencyTarget(0.95, 10.0)) == slo

    def test_a_namespace_tells_workloads_of_one_name_apart(self):
        assert self.OTHER is change_of("batch/chat.slo.ttft.p95=1s", [CHAT, self.OTHER]).workload

    def test_names_may_have_dots(self):
        dotted = replace(CHAT, key=WorkloadKey("serving", "qwen2.5.slo"))

        assert dotted is change_of("qwen2.5.slo.slo.ttft.p95=1s", [CHAT, dotted]).workload

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("chat", "--set: 'chat' sets no objective; write it as chat.slo.ttft.p95=500ms,1s,2s"),
            ("chat.slo.ttft.p95=", "sets no objective"),
            ("chat.slo.ttft=1s", "sets no objective"),
            ("chat.tier.ttft.p95=1s", "sets no objective"),
            ("chat.slo.speed.p95=1s", "terms are ttft, itl, e2e"),
            ("chat.slo.ttft.p42=1s", "percentiles p50, p90, p95, p99"),
            ("batch/chat.slo.ttft.p95=1s,,2s", "--set: '': a duration needs a number and a unit"),
            ("batch/chat.slo.itl.p95=60s", "--set: '60s': expected between 1ms and 5s"),
            ("shop.slo.ttft.p95=1s", "no workload is called shop; name one of serving/chat, batch/chat"),
            ("chat.slo.ttft.p95=1s", "more than one workload is called chat; name one of serving/chat"),
        ],
    )
    def test_what_means_nothing_is_refused_in_one_line(self, text, line):
        with pytest.raises(InputError) as refusal:
            change_of(text, [CHAT, self.OTHER])

        assert line in str(refusal.value)


class TestCommand:
    def told(self, *arguments):
        result = CliRunner().invoke(app, ["what-if", "--config", str(CONFIG), *arguments])
        assert result.exception is None, result.output
        return result.stdout

    def test_the_objective_that_is_set_comes_first_then_each_to_try(self):
        lines = self.told("--set", "chat.slo.ttft.p95=50ms,2s").splitlines()

        labels = [line[:40].rstrip() for line in lines[1:4]]
        assert "TTFT p95 1s, ITL p95 60ms (set now)" == labels[0][:35]
        assert labels[1].startswith("TTFT p95 50ms, ITL p95 60ms")
        assert "a request alone misses it on h100-80gb:whole" in lines[2]
        assert labels[2].startswith("TTFT p95 2s, ITL p95 60ms")
        assert "12.0 to 12.0" in lines[1]

    def test_says_how_much_is_known_and_what_the_range_is(self):
        text = self.told("--set", "chat.slo.ttft.p95=2s")

        assert "serving/chat: demand of 240 out of 14400 minutes is known, the last 10 days." in text
        assert "held for 11.5 min (lead and dwell)" in text
        assert "sized once, for the peak" in text

    def test_with_a_price_the_bill_is_money(self):
        """Half a card all day, thirty days, 2.50 an hour."""
        assert "900 to 900" in self.told("--set", "chat.slo.ttft.p95=2s", "--gpu-price", "2.5")
        assert "price" not in self.told("--set", "chat.slo.ttft.p95=2s")

    def test_as_json(self):
        told = json.loads(self.told("--set", "chat.slo.ttft.p95=50ms,1s", "--output", "json"))

        assert ("serving/chat", 240, None) == (told["workload"], told["minutes_known"], told["gpu_price"])
        set_now, to_try = told["bills"]
        assert (True, False) == (set_now["is_set"], to_try["is_set"])
        assert {"following": 12.0, "static": 12.0} == set_now["gpu_hours_per_day"]
        assert "h100-80gb:4g.40gb" == set_now["shape"]
        assert to_try["shape"] is None
        assert to_try["obstacle"].startswith("a request alone misses it")
