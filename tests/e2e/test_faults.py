"""Cards, engines and foreslice itself that fail, under the service's own loop on a simulated fleet."""

import pytest

from fleet.workload import Mode
from foreslice.safety import raise_below
from simulator.api import POD, SLICE
from simulator.devices import card_uuid
from simulator.world import World
from tests.builders.turning import SEED, Turning

MINUTE_S, HOUR_S = 60, 3600

GONE_FOR_S = 12 * HOUR_S
"""From the small hours, when least stands, to the afternoon: over the rise of the day."""

WATCHDOG_S, STALE_S = 300, 600
"""How often the watchdog looks, and the age of the lease from which on it acts."""

LEAD_S = 90


def attained(world, from_s, until_s):
    """Shares of requests inside the SLO, by workload."""
    tallies = world.journal.tallies
    during = tallies[until_s].since(tallies[from_s])
    return (during.inside / during.offered).tolist()


@pytest.fixture(scope="module")
def gone():
    """Foreslice has gathered everything on slices by night, and is killed for ever: world, when, cards."""
    turning = Turning(tenants=3)
    turning.run(85)
    gone_s, left = int(turning.world.clock.now_s), turning.cards_wanted()
    for at_s in range(gone_s + STALE_S, gone_s + GONE_FOR_S + 1, WATCHDOG_S):
        turning.world.advance_to(at_s)
        raise_below(turning.world.cluster, turning.workloads, at_s, "nobody leads")
    return turning.world, gone_s, left


@pytest.fixture(scope="module")
def safe(gone):
    """The same fleet as its owner had left it."""
    world, gone_s, _ = gone
    twin = World(world.spec, SEED)
    twin.advance_to(gone_s + GONE_FOR_S)
    return twin


def test_less_stands_when_foreslice_is_killed_than_its_owners_had(gone):
    """Without that the next test would say nothing."""
    world, _, left = gone
    assert any(left[key.name] < replicas for key, replicas in world.replicas.items())


def test_killed_for_twelve_hours_workloads_do_as_in_their_safe_configuration_but_for_a_lead_time(gone, safe):
    """A slice of a change that was under way stays, and gets as many requests as a whole card beside it."""
    world, gone_s, _ = gone
    back_s = gone_s + STALE_S + (LEAD_S // MINUTE_S + 1) * MINUTE_S
    ours, owners = (attained(one, back_s, gone_s + GONE_FOR_S) for one in (world, safe))

    assert [pytest.approx(share, abs=0.002) for share in owners] == ours
    assert 0 == world.summary(gone_s + GONE_FOR_S).requests_cut


def test_killed_when_least_stands_nobody_does_worse_over_all_of_the_twelve_hours(gone, safe):
    """The ten minutes until the watchdog acts, and the lead time after, included."""
    world, gone_s, _ = gone
    ours, owners = (attained(one, gone_s, gone_s + GONE_FOR_S) for one in (world, safe))
    assert [] == [(one, other) for one, other in zip(ours, owners, strict=True) if one < other - 0.002]


def test_engines_that_do_not_start_on_any_slice_cost_nobody_a_request():
    """Trials find it out before anything is given up for the new shape."""
    slices = {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb"}
    turning = Turning(tenants=2, crashing=slices).run(60)
    start_s, now_s = turning.world.start_s, int(turning.world.clock.now_s)
    twin = World(turning.world.spec, SEED)
    twin.advance_to(now_s)

    tried = {start.shape.profile for start in turning.world.journal.starts if start.at_s > start_s}
    assert tried & slices
    assert pytest.approx(attained(twin, start_s, now_s), abs=1e-6) == attained(turning.world, start_s, now_s)


def lose_card(turning, node, index):
    """A card falls off the bus: the driver publishes it no more, and its pods are gone."""
    store, uuid = turning.world.store, card_uuid(node, index)
    fleet = turning.world.cluster.view(turning.keys)
    on_it = [
        (s.key.namespace, r.pod)
        for s in fleet.standings
        for v in s.variants
        for r in v.replicas
        if r.device is not None and r.device.gpu == uuid
    ]
    for namespace, pod in on_it:
        store.delete(POD, namespace, pod, grace_s=0)
    for body in store.list(SLICE):
        if body["spec"].get("nodeName") == node:
            left = [d for d in body["spec"].get("devices", ()) if not d["name"].startswith(f"gpu-{index}")]
            store.replace({**body, "spec": {**body["spec"], "devices": left}})
    return len(on_it)


def test_what_a_lost_card_carried_is_carried_by_others():
    turning = Turning(Mode.FULL, tenants=2)
    lost = []

    def strike(turning, number):
        if number == 300:
            fleet = turning.world.cluster.view(turning.keys)
            device = next(
                r.device for s in fleet.standings for v in s.variants for r in v.replicas if r.device
            )
            lost.append(lose_card(turning, device.node, int(device.gpu.rsplit("-", 1)[1])))

    turning.run(60, before_tick=strike)

    assert lost[0] > 0
    last = turning.ticks[-1]
    assert 7 == len(last.fleet.gpus)
    for workload in turning.workloads:
        ready = last.fleet.standing(workload.key).ready
        assert last.needs[workload.key].reactive <= last.outlooks[workload.key].offers.carried(ready)
