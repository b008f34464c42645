"""Whatever is wished for, by two processes that both believe to lead, that are killed and see old views."""

from contextlib import suppress
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from actuator.holding import hold_rooms
from actuator.objects.holds import holds_of
from allocator.holding import MOST_SEATS, Wish, rooms_to_hold
from fleet.shape import Configuration
from simulator.api import TAINT_RULE
from simulator.clock import VirtualClock
from simulator.cluster import EmbeddedCluster
from simulator.store import ObjectStore
from tests.builders.fleet import fleet, shape, standing
from tests.fakes.cluster import Killed, Tripwire

LONGEST_S = 1800.0
EMPTY = fleet(2, per_node=1, foreign=[("node-1", "gpu-0-mig-2g20gb-14-0")])
OWNERS = {name: standing(name, "1 x 7g.80gb") for name in ("chat", "code", "search")}
PROFILES = ("whole", "4g.40gb", "3g.40gb", "1g.10gb")

wishes = st.lists(
    st.tuples(st.sampled_from(list(OWNERS)), st.sampled_from(PROFILES), st.integers(1, 3), st.booleans()),
    max_size=4,
)
turns = st.lists(
    st.tuples(st.integers(0, 1), wishes, st.integers(0, 1800), st.booleans(), st.none() | st.integers(1, 40)),
    max_size=6,
)


class World:
    def __init__(self):
        self.clock = VirtualClock(0.0)
        self.store = ObjectStore(self.clock)

    @property
    def held(self):
        return holds_of(self.store.list(TAINT_RULE))

    def turn(self, seen, wished, killed_at=None):
        """Let a process do what it would: it knows what it sees and what is wished for, and nothing else."""
        now_s = self.clock.now_s
        until_s = now_s + LONGEST_S
        asked = [
            Wish(OWNERS[name], Configuration({shape(profile): n}), until_s, is_short)
            for name, profile, n, is_short in wished
        ]
        wanted = rooms_to_hold(replace(EMPTY, holds=seen), asked, until_s, now_s)
        cluster = Tripwire(EmbeddedCluster(self.store), killed_at or 0, after=True)
        with suppress(Killed):
            hold_rooms(cluster, seen, wanted)


@given(turns)
def test_no_device_ever_has_two_owners_and_every_hold_ends(played):
    world, seen = World(), {}
    for process, wished, passes_s, is_stale, killed_at in played:
        view = seen.get(process, ()) if is_stale else world.held
        world.turn(view, wished, killed_at)
        seen[process] = world.held

        devices = [hold.device for hold in world.held]
        assert len(set(devices)) == len(devices) == len(world.store.list(TAINT_RULE))
        assert all(hold.until_s <= world.clock.now_s + LONGEST_S for hold in world.held)
        world.clock.run_until(world.clock.now_s + passes_s)

    world.turn(world.held, [])
    assert () == world.held


@given(wishes)
def test_what_is_held_does_not_change_while_nothing_else_does(wished):
    world = World()
    world.turn((), wished)
    first = world.held
    assert len({hold.owner for hold in first}) <= MOST_SEATS
    world.turn(first, wished)
    second = world.held
    world.turn(second, wished)
    assert second == world.held
    assert set(first) <= set(second)
