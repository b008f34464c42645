"""Hours of the service on a simulated fleet, judged from outside."""

import pytest

from actuator.outcome import Outcome
from fleet.boards import H100_80GB
from fleet.change import Verb
from fleet.mig import Placement, is_legal
from fleet.workload import Mode
from simulator.api import DEPLOYMENT
from tests.builders.turning import Turning

MINUTES = 150


class Watched:
    """Everything that an onlooker sees in a run, minute by minute."""

    def __init__(self, mode):
        self.turning = Turning(mode, tenants=3)
        self.started = self.turning.wanted()
        self.illegal, self.too_few, self.wanted = [], [], [self.started]
        self.turning.run(MINUTES, after_tick=self._look)

    def _look(self, turning, tick):
        self.wanted.append(turning.wanted())
        if tick.at_s % 60 == 0:
            fleet = turning.world.cluster.view(turning.keys)
            self.illegal += [gpu.uuid for gpu in fleet.gpus if not is_legal(H100_80GB, layout_of(fleet, gpu))]
            self.too_few += [
                (tick.at_s, s.key.name)
                for s, workload in zip(fleet.standings, turning.workloads, strict=True)
                if sum(s.ready.counts.values()) < workload.limits.min_replicas
            ]


def layout_of(fleet, gpu):
    """What the claims on a card hold of it; a whole card is the profile that takes everything."""
    return [
        Placement(device.profile or "7g.80gb", min(device.memory_slices))
        for device in fleet.allocated
        if device.gpu == gpu.uuid
    ]


@pytest.fixture(scope="module")
def full():
    return Watched(Mode.FULL)


@pytest.fixture(scope="module")
def only_up():
    return Watched(Mode.SCALE_UP_ONLY)


def removals(turning):
    return [
        (tick, result)
        for tick in turning.ticks
        for result in tick.results
        if result.step.verb is Verb.SCALE_DOWN and result.outcome in {Outcome.DONE, Outcome.UNCONFIRMED}
    ]


def test_something_was_added_and_something_removed(full):
    """Without either the tests below would say nothing."""
    verbs = {
        result.step.verb
        for tick in full.turning.ticks
        for result in tick.results
        if result.outcome is Outcome.DONE
    }

    assert {Verb.CREATE_VARIANT, Verb.SCALE_UP, Verb.SCALE_DOWN} == verbs


def test_no_request_is_cut_off(full):
    assert 0 == full.turning.summary().requests_cut


def test_no_layout_is_illegal_in_any_minute(full):
    assert [] == full.illegal


def test_never_fewer_ready_than_the_least_that_is_allowed(full):
    assert [] == full.too_few


def test_removals_rest_on_trusted_evidence_and_keep_what_is_needed(full):
    for tick, result in removals(full.turning):
        need = tick.needs[result.target]
        outlook = tick.outlooks[result.target]
        fleet_after = next(t for t in full.turning.ticks if t.at_s > tick.at_s).fleet

        assert () == need.distrust
        assert outlook.offers.carried(fleet_after.standing(result.target).ready) >= need.keep


def test_removals_lose_nothing_that_a_twin_without_them_keeps(full, only_up):
    """The same seed, the same arrivals: what is refused or late is so in both, or removals did it."""
    assert only_up.turning.summary().unserved_share == full.turning.summary().unserved_share
    assert full.turning.summary().attainment >= 0.999


def test_slices_cost_less_than_what_stood_there(full, only_up):
    assert full.turning.summary().slice_hours < only_up.turning.summary().slice_hours


def test_scale_up_only_never_takes_a_replica(only_up):
    for before, after in zip(only_up.wanted, only_up.wanted[1:], strict=False):
        assert before.items() <= {name: min(before.get(name, n), n) for name, n in after.items()}.items()
    assert [] == removals(only_up.turning)


@pytest.mark.parametrize(
    ("mode", "acting"),
    [(Mode.FORECAST_ONLY, True), (Mode.ADVISE, True), (Mode.OFF, True), (Mode.FULL, False)],
)
def test_what_may_not_write_writes_nothing(mode, acting):
    """Between two moments of the world only the loop could have changed the store."""
    turning = Turning(mode, tenants=1, acting=acting)
    seen = []
    turning.run(
        15,
        before_tick=lambda turning, _: seen.append(turning.world.store.version),
        after_tick=lambda turning, _: seen.append(turning.world.store.version),
    )

    assert seen[::2] == seen[1::2]
    outcomes = {result.outcome for tick in turning.ticks for result in tick.results}
    assert outcomes <= {Outcome.HELD, Outcome.PROPOSED}
    assert (Outcome.PROPOSED in outcomes) == (not acting)


def test_through_an_hour_without_metrics_nothing_is_removed_and_after_it_the_loop_goes_on():
    turning = Turning(tenants=1)

    def outage(turning, number):
        turning.metrics.is_down = 30 <= number < 30 + 6 * 60

    turning.run(85, before_tick=outage)
    blind = turning.ticks[30 : 30 + 6 * 60]

    assert [] == [t for t, r in removals(turning) if turning.ticks[30].at_s <= t.at_s <= blind[-1].at_s]
    assert all(tick.conditions for tick in blind)
    assert all(need.up == 0 for need in blind[-1].needs.values())
    assert () == turning.ticks[-1].conditions
    assert 0 == turning.summary().requests_cut


def test_a_cluster_that_does_not_answer_for_ten_minutes_is_a_condition_and_the_loop_goes_on():
    turning = Turning(tenants=1)

    def outage(turning, number):
        turning.cluster.is_down = 6 <= number < 66

    turning.run(15, before_tick=outage)

    assert ("the cluster is not seen: no answer",) == turning.ticks[30].conditions
    assert () == turning.ticks[-1].conditions
    assert turning.ticks[-1].fleet is not None


def test_a_workload_that_the_cluster_does_not_have_is_said_and_the_others_go_on():
    turning = Turning(tenants=2)
    gone = turning.workloads[0].key
    turning.world.store.delete(DEPLOYMENT, gone.namespace, gone.name)
    turning.run(2)

    assert (f"{gone}: no such Deployment",) == turning.ticks[-1].conditions
    assert [turning.workloads[1].key] == [d.workload for d in turning.ticks[-1].decisions]
