"""Engines that share a device: one holds its memory, the others sleep, and each turn takes its time."""

import pytest

from fleet.ledgers.beds import Bed
from fleet.standby import EngineState, Sleeper
from fleet.workload import WorkloadKey
from simulator.clock import VirtualClock
from simulator.sleep import Naps, SleepMode

BED = Bed(awake_gib=70.0, host_gib=14.0, context_gib=1.2)


def sleeper(pod):
    return Sleeper(WorkloadKey("shop", pod), pod, "", is_up=True, is_open=False)


class Bedroom:
    """Engines on one claim of 80 GiB, each put to sleep before the next one loads."""

    def __init__(self, pods=("a", "b"), naps=None, **options):
        self.clock = VirtualClock(0.0)
        self.mode = SleepMode(self.clock, naps or Naps(1), **options)
        for pod in pods:
            self.mode.load(pod, "shop/s", "n0", BED, 80.0)
            self.mode.loaded(pod)
            self.mode.sleep(sleeper(pod))
            self.wait()

    def wait(self, seconds=10.0):
        self.clock.run_until(self.clock.now_s + seconds)

    def states(self):
        return [self.mode.state(sleeper(pod)).value for pod in ("a", "b")]

    def wake(self, pod):
        self.mode.wake(sleeper(pod))
        self.wait()


def test_contexts_of_those_asleep_stay_on_the_device_and_their_weights_on_the_host():
    room = Bedroom()
    assert (["asleep", "asleep"], 2.4, 28.0) == (
        room.states(),
        pytest.approx(room.mode.device_gib("shop/s")),
        room.mode.host_gib("n0"),
    )


def test_the_one_awake_takes_the_memory_and_its_copy_on_the_host_stays():
    room = Bedroom()
    room.wake("a")
    assert (["awake", "asleep"], 71.2, 28.0) == (
        room.states(),
        pytest.approx(room.mode.device_gib("shop/s")),
        room.mode.host_gib("n0"),
    )


@pytest.mark.parametrize("turn", ["awake", "waking"])
def test_a_second_one_finds_no_memory_and_sleeps_on(turn):
    room = Bedroom()
    room.mode.wake(sleeper("a"))
    if turn == "awake":
        room.wait()
    room.mode.wake(sleeper("b"))
    room.wait()
    assert (["awake", "asleep"], ["b: out of memory"], 1) == (
        room.states(),
        room.mode.failures,
        len(room.mode.collisions),
    )


def test_one_that_loads_beside_one_awake_is_seen_as_a_collision():
    room = Bedroom()
    room.wake("a")
    room.mode.load("c", "shop/s", "n0", BED, 80.0)
    assert [(30.0, "shop/s")] == room.mode.collisions


def test_one_whose_weights_find_no_room_on_the_host_stays_awake():
    room = Bedroom(host_gib=20.0)
    assert (["asleep", "awake"], ["b: no host memory for its weights"]) == (room.states(), room.mode.failures)


def test_a_stuck_engine_answers_no_more_until_its_pod_has_gone():
    room = Bedroom(naps=Naps(1, stuck_wake=1.0))
    room.wake("a")
    room.wait(10_000.0)
    assert EngineState.SILENT == room.mode.state(sleeper("a"))
    room.mode.gone("a")
    room.mode.load("a", "shop/s", "n0", BED, 80.0)
    room.mode.loaded("a")
    assert "awake" == room.states()[0]


@pytest.mark.parametrize(("weights_gib", "measured_s"), [(1.1, 0.19), (7.5, 0.81), (56.8, 2.87)])
def test_wakes_take_about_as_long_as_the_published_ones(weights_gib, measured_s):
    """Qwen3 0.6B, 4B and 30B-A3B in 16 bits; the middle of the readings in the vLLM blog's data."""
    times_s = sorted(Naps(1).wake_s(f"p{n}", 1, weights_gib) for n in range(99))
    assert 0.5 * measured_s < times_s[49] < 2 * measured_s


def test_a_turn_takes_as_long_in_every_run_and_may_be_made_slower():
    assert Naps(1).wake_s("a", 3, 14.0) == Naps(1).wake_s("a", 3, 14.0)
    assert 10 * Naps(1).wake_s("a", 3, 14.0) == Naps(1, slower=10.0).wake_s("a", 3, 14.0)


@pytest.mark.parametrize("kind", ["stuck_wake", "stuck_sleep"])
def test_so_many_turns_never_end_as_was_asked_for(kind):
    naps = Naps(1, **{kind: 0.25})
    take = naps.wake_s if kind == "stuck_wake" else naps.sleep_s
    stuck = sum(take(f"p{n}", 1, 14.0) == float("inf") for n in range(1000))
    assert 200 < stuck < 300
