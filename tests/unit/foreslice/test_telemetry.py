"""What Prometheus gets to see of ticks."""

from dataclasses import replace

import numpy as np
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from actuator.outcome import Outcome, StepResult
from allocator.decide import Decision
from allocator.target import Target
from fleet.change import Step, Verb
from fleet.demand import Drift, Mix, Worth
from foreslice.outlook import Outlook
from foreslice.standby.terms import PoolView
from foreslice.telemetry import Telemetry
from foreslice.tick import Tick
from predictor.shared import Beside
from tests.builders.deciding import forecast, need, offers
from tests.builders.fleet import configuration, fleet, key, running, shape, standing

AT_S = 1_700_000_100.0

NAMES = {
    "foreslice_capacity_replicas",
    "foreslice_carried_replicas",
    "foreslice_blast_radius_ratio",
    "foreslice_conditions",
    "foreslice_demand_drift_ratio",
    "foreslice_forecast_age_seconds",
    "foreslice_forecast_peak_replicas",
    "foreslice_forecast_used",
    "foreslice_forecast_value",
    "foreslice_highest_work_replicas",
    "foreslice_gpu_granted_ratio",
    "foreslice_gpu_stranded_ratio",
    "foreslice_gpu_tenants",
    "foreslice_gpus_if_packed",
    "foreslice_gpus_in_use",
    "foreslice_gpus_least",
    "foreslice_gpus_target",
    "foreslice_job_failures",
    "foreslice_lead_seconds",
    "foreslice_leads",
    "foreslice_need_replicas",
    "foreslice_settings_usable",
    "foreslice_shadow_loss_ratio",
    "foreslice_short_replicas",
    "foreslice_standby_asked_slices",
    "foreslice_standby_engines",
    "foreslice_standby_memory_bytes",
    "foreslice_standby_memory_readings",
    "foreslice_standby_short_slices",
    "foreslice_standby_stuck",
    "foreslice_standby_wake_seconds",
    "foreslice_standing_replicas",
    "foreslice_steps",
    "foreslice_target_gap_ratio",
    "foreslice_target_replicas",
    "foreslice_tick_seconds",
}


WORTH = Worth(is_used=True, because="it pays", value=0.3, low=0.2, high=0.4)


def outlook(peaks):
    return Outlook(AT_S - 40, peaks, "", np.zeros(60), Mix(1000, 200), offers())


def tick(name="chat", reactive=0.4, peaks=..., short=0.25, conditions=()):
    stood = configuration("1 x whole")
    decision = Decision(key(name), need(name), stood, stood, short, ("because",), stood)
    step = Step(Verb.SCALE_UP, name, shape("whole"), 2, "1", "because")
    return Tick(
        AT_S,
        running(fleet(2), standing(name, "1 x whole + 1 x 1g.10gb")),
        {key(name): outlook(replace(forecast(name, level=0.7), worth=WORTH) if peaks is ... else peaks)},
        {key(name): replace(need(name, up=0.5, keep=0.75), reactive=reactive)},
        {},
        (decision,),
        (StepResult(key(name), step, Outcome.DONE, "because"),),
        conditions,
        target=Target({}, {}, 3, 3.0, 2.0, (), {}),
        shadow=Beside("0123456789ab", "ba9876543210", 40, 0.9),
        leads=True,
        pool=PoolView(),
    )


def families(telemetry):
    """Exported metrics by name, without the times at which counters began."""
    exported = text_string_to_metric_families(generate_latest(telemetry.registry).decode())
    return {family.name: family for family in exported if not family.name.endswith("_created")}


def values(telemetry, name, label="workload"):
    """Samples of one metric by one label."""
    return {s.labels.get(label): s.value for s in families(telemetry)[name].samples}


def seen(*ticks):
    telemetry = Telemetry()
    for one in ticks:
        telemetry.observe(one)
    return telemetry


def test_these_are_the_metrics_and_each_says_what_it_means():
    found = families(seen(tick()))

    assert NAMES == set(found)
    assert all(family.documentation.endswith(".") for family in found.values())


def test_a_tick_is_exported_as_it_was():
    telemetry = seen(tick(conditions=("a", "b")))

    assert {"up": 0.5, "keep": 0.75, "reactive": 0.4} == values(telemetry, "foreslice_need_replicas", "kind")
    assert {"chat": 40.0} == values(telemetry, "foreslice_forecast_age_seconds")
    assert {"chat": 0.25} == values(telemetry, "foreslice_short_replicas")
    assert {str(one): offers().works[one] for one in offers().works} == values(
        telemetry, "foreslice_capacity_replicas", "shape"
    )
    assert {"prior"} == set(values(telemetry, "foreslice_capacity_replicas", "source"))
    assert {None: 2.0} == values(telemetry, "foreslice_conditions")
    assert {None: 2.0} == values(telemetry, "foreslice_gpus_in_use")
    assert {None: 3.0} == values(telemetry, "foreslice_gpus_target")
    assert {None: 2.0} == values(telemetry, "foreslice_gpus_least")
    assert {None: 0.5} == values(telemetry, "foreslice_target_gap_ratio")
    assert {"0.9": 0.7, "0.925": 0.7, "0.95": 0.7, "0.97": 0.7, "0.99": 0.7} == values(
        telemetry, "foreslice_forecast_peak_replicas", "q"
    )


def test_how_a_workload_stands_is_told_by_shape_with_what_that_carries():
    telemetry = seen(tick())
    found = {
        (s.labels["state"], s.labels["shape"]): s.value
        for s in families(telemetry)["foreslice_standing_replicas"].samples
    }

    both = running(fleet(2), standing("chat", "1 x whole + 1 x 1g.10gb")).standings[0]
    whole, slice_ = "h100-80gb:whole", "h100-80gb:1g.10gb"
    assert {
        ("ready", whole): 1,
        ("ready", slice_): 1,
        ("wanted", whole): 1,
        ("wanted", slice_): 1,
        ("goal", whole): 1,
    } == found
    carried = {"chat": offers().carried(both.ready)}
    assert carried == values(telemetry, "foreslice_carried_replicas")


def test_who_may_never_write_does_not_say_that_another_one_leads():
    assert {None: 1.0} == values(seen(tick()), "foreslice_leads")
    assert "foreslice_leads" not in families(seen(replace(tick(), leads=None)))


def test_cards_are_told_with_what_is_granted_stranded_and_at_stake():
    telemetry = seen(tick())
    granted = {
        (s.labels["gpu"], s.labels["resource"]): s.value
        for s in families(telemetry)["foreslice_gpu_granted_ratio"].samples
    }

    assert {
        ("GPU-node-0-0", "memory"): 1 / 8,
        ("GPU-node-0-0", "compute"): 1 / 7,
        ("GPU-node-0-1", "memory"): 1.0,
        ("GPU-node-0-1", "compute"): 1.0,
    } == granted
    assert {"GPU-node-0-0": 1 / 7 - 1 / 8, "GPU-node-0-1": 0.0} == values(
        telemetry, "foreslice_gpu_stranded_ratio", "gpu"
    )
    assert {"GPU-node-0-0": 1.0, "GPU-node-0-1": 1.0} == values(telemetry, "foreslice_gpu_tenants", "gpu")
    assert {"chat": 0.5} == values(telemetry, "foreslice_blast_radius_ratio")


def test_what_is_unknown_is_not_there():
    telemetry = seen(tick(), tick(reactive=None, peaks=None))

    assert {"up", "keep"} == set(values(telemetry, "foreslice_need_replicas", "kind"))
    assert {} == values(telemetry, "foreslice_forecast_peak_replicas")


def test_without_a_cluster_no_cards_are_counted():
    found = families(seen(tick(), replace(tick(), fleet=None, decisions=(), results=(), target=None)))

    of_cards = {name for name in NAMES if any(part in name for part in ("_gpu", "_target_gap", "blast"))}
    assert NAMES - of_cards == set(found)
    assert [] == found["foreslice_short_replicas"].samples


def test_a_workload_that_is_no_longer_looked_after_is_gone():
    telemetry = seen(tick("chat"), tick("talk"))

    for name in ("need", "forecast_peak", "short", "capacity"):
        assert {"talk"} == set(values(telemetry, f"foreslice_{name}_replicas"))
    assert {"talk"} == set(values(telemetry, "foreslice_forecast_age_seconds"))


def test_steps_add_up_over_ticks():
    samples = families(seen(tick(), tick()))["foreslice_steps"].samples

    assert [({"verb": "scale-up", "outcome": "done"}, 2.0)] == [
        (s.labels, s.value) for s in samples if s.name == "foreslice_steps_total"
    ]


def test_before_the_first_tick_nothing_is_claimed():
    assert {
        "foreslice_job_failures",
        "foreslice_settings_usable",
        "foreslice_standby_stuck",
        "foreslice_standby_wake_seconds",
        "foreslice_steps",
        "foreslice_tick_seconds",
    } == set(families(Telemetry()))


def test_what_forecasts_have_to_go_by_is_told_where_it_is_known():
    assert {} == values(seen(tick()), "foreslice_highest_work_replicas")
    outlooks = {key("chat"): outlook(replace(forecast("chat", level=0.7), highest=0.9))}
    telemetry = seen(replace(tick(), outlooks=outlooks))
    assert {"chat": 0.9} == values(telemetry, "foreslice_highest_work_replicas")


def test_how_far_demand_drifts_is_told_where_it_is_known():
    assert {} == values(seen(tick()), "foreslice_demand_drift_ratio")
    outlooks = {key("chat"): outlook(replace(forecast("chat", level=0.7), drift=Drift(1.2, "other hours")))}
    telemetry = seen(replace(tick(), outlooks=outlooks))
    assert {"chat": 1.2} == values(telemetry, "foreslice_demand_drift_ratio")


def test_what_a_forecast_is_worth_is_told_with_its_interval_where_it_is_known():
    telemetry = seen(tick())
    assert {"chat": 1.0} == values(telemetry, "foreslice_forecast_used")
    assert {"mid": 0.3, "low": 0.2, "high": 0.4} == values(telemetry, "foreslice_forecast_value", "end")
    outlooks = {key("chat"): outlook(replace(forecast("chat", level=0.7), worth=Worth(False, "too little")))}
    telemetry = seen(replace(tick(), outlooks=outlooks))
    assert {"chat": 0.0} == values(telemetry, "foreslice_forecast_used")
    assert {} == values(telemetry, "foreslice_forecast_value")
