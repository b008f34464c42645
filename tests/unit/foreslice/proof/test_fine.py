"""What a trace becomes at the fine level: a fleet with traffic, and the days that are played."""

from dataclasses import replace

import pytest

from fleet.errors import InputError
from foreslice.proof.fine import day_of, policies_of, spec_of
from foreslice.replay import replay, shipped_day
from foreslice.replayed import Policy
from foreslice.report.table import disclosure

DAYS, STEPS = 3, 144
MODEL = "    model: qwen2.5-7b-bf16\n    slo: {ttft: {p95: 2s}, itl: {p95: 80ms}}\n"
FLEET = f'lags: [180s]\nunserved: 0.01\nscored: 1d\nnodes: 1\nworkloads:\n  - match: "*"\n{MODEL}'
POOL = "standby: {slices: 2, sleepers: 3, host_memory_gib: 500}\n"


@pytest.fixture
def files(tmp_path):
    """Write a trace of two workloads and a fleet file; return both paths."""

    def files(fleet=FLEET, step_s=600, missing=()):
        steps = DAYS * STEPS * 600 // step_s
        rows = [
            f"{step * step_s},{name},{1 + step % 2}"
            for name in ("Chat/a", "b")
            for step in range(steps)
            if step not in missing
        ]
        (tmp_path / "trace.csv").write_text("\n".join(["t_s,workload,rate", *rows]))
        (tmp_path / "fleet.yaml").write_text(fleet)
        return tmp_path / "trace.csv", tmp_path / "fleet.yaml"

    return files


def test_the_scored_days_are_played_and_those_before_are_history(files):
    day = day_of(*files(), seed=1, lag_s=180.0)

    assert (2, 86400) == (day.spec().start_day, day.length_s)
    assert (180.0, 180.0) == (day.timing.lead_s, day.timing.regrow_s)


def test_traffic_is_said_to_be_that_of_the_trace_and_not_real_because_the_shipped_one_is(files):
    said = disclosure(day_of(*files(), seed=1, lag_s=180.0))
    assert "Semi-synthetic: rates of trace.csv, means of ten minutes" in said
    assert ("real request rates" in said, "real request rates" in disclosure(shipped_day(1))) == (False, True)


def test_engines_load_as_much_longer_as_the_lag_is(files):
    usual, twice = (spec_of(*files(), 1, lag_s).engine_init for lag_s in (90.0, 180.0))

    assert (60.0, 120.0) == (usual.median_s, twice.median_s)
    assert usual.sigma == twice.sigma


def test_shorter_steps_become_means_and_what_is_missing_lies_on_a_line(files):
    [first, _] = spec_of(*files(step_s=300), 1, 90.0).tenants
    assert {1.5} == set(first.requests_per_s)

    [first, _] = spec_of(*files(missing={2}), 1, 90.0).tenants
    assert pytest.approx([1, 2, 2, 2, 1]) == first.requests_per_s[:5]


def test_workloads_get_names_that_objects_may_have_and_are_served(files):
    day = replace(day_of(*files(), seed=1, lag_s=180.0), length_s=120)
    came = replay(Policy.STATIC, day)

    assert ["chat-a", "b"] == [key.name for key in came.summary.attainment_by_workload]
    assert came.summary.requests_offered > 0


def test_policies_with_a_pool_are_there_where_the_fleet_file_has_one(files):
    alone, pooled = (day_of(*files(fleet), seed=1, lag_s=180.0) for fleet in (FLEET, FLEET + POOL))

    assert {Policy.RULE_POOL, Policy.FORECAST_POOL} == set(pooled.policies) - set(alone.policies)
    assert 3 == pooled.spec().sleepers
    assert pooled.policies == policies_of("", pooled)
    with pytest.raises(InputError, match=r"'rule\+pool' needs a standby pool; say `standby`"):
        policies_of("rule+pool", alone)


@pytest.mark.parametrize(
    ("asked", "played"),
    [
        ("rule+pool", [Policy.FORECAST_OFF, Policy.RULE_POOL, Policy.STATIC]),
        ("oracle, forecast+pool", [Policy.FORESLICE, Policy.ORACLE, Policy.FORECAST_POOL, Policy.STATIC]),
    ],
)
def test_what_is_named_is_played_beside_what_it_is_measured_by(files, asked, played):
    assert played == list(policies_of(asked, day_of(*files(FLEET + POOL), seed=1, lag_s=180.0)))


@pytest.mark.parametrize(
    ("asked", "said"), [("hpa", "'hpa' is no policy"), ("static whole GPU", "what others are measured by")]
)
def test_what_cannot_be_compared_is_one_line(files, asked, said):
    with pytest.raises(InputError, match=said):
        policies_of(asked, day_of(*files(), seed=1, lag_s=180.0))


@pytest.mark.parametrize(
    ("fleet", "said"),
    [
        (FLEET.replace('"*"', "b"), "nothing is said of what serves Chat/a"),
        (f"boards: [h100-80gb, l40s-48gb]\n{FLEET}", "cards of one kind"),
        (FLEET.replace("1d", "3d"), "holds 0 whole days before what is scored"),
        (FLEET + POOL.replace("{", "{board: a30-24gb, "), "a30-24gb is no card of this fleet"),
    ],
    ids=["no model", "two boards", "all scored", "pool elsewhere"],
)
def test_what_cannot_be_played_is_one_line(files, fleet, said):
    with pytest.raises(InputError, match=said):
        spec_of(*files(fleet), 1, 90.0)


@pytest.mark.parametrize("names", [("a_b", "a-b"), ("///", "b")], ids=["alike", "empty"])
def test_names_that_objects_cannot_have_are_one_line(files, names):
    trace, fleet = files()
    trace.write_text(trace.read_text().replace("Chat/a", names[0]).replace(",b,", f",{names[1]},"))
    with pytest.raises(InputError, match="comes to"):
        spec_of(trace, fleet, 1, 90.0)


def test_a_workload_of_which_nothing_is_known_is_one_line(files):
    trace, fleet = files()
    rows = [row[: row.rindex(",") + 1] if ",b," in row else row for row in trace.read_text().split("\n")]
    trace.write_text("\n".join(rows))
    with pytest.raises(InputError, match="knows no rate of b"):
        spec_of(trace, fleet, 1, 90.0)
