"""Whatever goes wrong with whichever call of the port: no request is lost, nothing is left, all converges.

Complete: every call that is made without trouble is the one that goes wrong once. Requests are judged by the
router of the simulated engines, not by what the service believes.
"""

from dataclasses import replace
from functools import partial
from itertools import count

import pytest

from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from actuator.holding import hold_rooms
from actuator.ports import Advice
from actuator.publish import Publisher
from actuator.ways import with_ways
from allocator.holding import Wish, rooms_to_hold
from allocator.need import Timing
from fleet.demand import NowReading
from fleet.errors import ForesliceError
from fleet.sample import Value
from fleet.shape import Configuration, Shape
from fleet.workload import Mode, Router, Way
from foreslice.safety import Restoration, Return, raise_below
from foreslice.trials import Trials
from tests.builders.stage import SPRINGS, START_S, WEB, Deaf, Stage, Torn, Trap
from tests.contract.test_floor_contract import autoscaler
from tests.fakes.cluster import VERBS, WRITES, Killed

WHOLE, HALF, SMALL = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb"), Shape("h100-80gb", "2g.20gb")
PART = Shape("h100-80gb", "50/100")
CAPACITIES = {WHOLE: 1.0, HALF: 0.5, PART: 0.5, SMALL: 0.2}
TICKS = 8
LONGER = {"switch-fails": 12}
"""Ticks of scenes in which what does not come is waited for."""
KEY = WEB.key


class Acting:
    """A process that takes a workload to a goal; what it needs to know it reads from the cluster."""

    def __init__(self, cluster, goal, need_keep=0.9, key=KEY):
        self._cluster = cluster
        self._key = key
        self._executor = Executor(cluster)
        self._goal = Configuration(goal)
        self._terms = {key: Terms(Mode.FULL, Router.LEAST_LOADED, 1, CAPACITIES, need_keep)}

    def tick(self, at_s):
        fleet = self._cluster.view([self._key])
        changes = diff(fleet, [Return(self._key, self._goal, ("needed",))], at_s)
        self._executor.run(changes, self._terms, at_s)


class Restoring:
    """`foreslice restore`, as far as it goes through the port."""

    def __init__(self, cluster):
        self._restoration = Restoration(cluster, {KEY: Way.OWN})

    def tick(self, at_s):
        self._restoration.turn(at_s)


class Watching:
    """`foreslice watchdog`, run again and again."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._workloads = [replace(WEB, mode=Mode.FULL)]

    def tick(self, at_s):
        raise_below(self._cluster, self._workloads, at_s, "nobody leads")


class Holding(Acting):
    """A process that has the room of a second replica held until the first is ready, and then adds it."""

    def tick(self, at_s):
        fleet = self._cluster.view([KEY])
        one = fleet.standing(KEY)
        proven = one.ready.counts.get(SMALL, 0) > 0
        later = Configuration({} if proven else {SMALL: 1})
        wanted = rooms_to_hold(fleet, [Wish(one, later, 600.0, is_short=False)], 600.0, at_s)
        hold_rooms(self._cluster, fleet.holds, wanted)
        self._goal = Configuration({WHOLE: 1, SMALL: 2 if proven else 1})
        super().tick(at_s)


class Trying:
    """Trials of shapes, as far as they go through the port: the replica serves inside its objectives."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._trials = Trials()

    def tick(self, at_s):
        fleet = self._cluster.view([KEY])
        inside = frozenset(r.pod for v in fleet.standing(KEY).variants for r in v.replicas)
        reading = NowReading(KEY, at_s, Value(1.0), Value(0.0), Value(1.0), None, inside=inside)
        self._trials.turn(fleet, {KEY: reading}, {KEY: Timing(trial_s=20.0)}, at_s)
        self._trials.keep(self._cluster)


class Telling:
    """What is published for others; they are told one more later on."""

    def __init__(self, cluster):
        self._publisher = Publisher(cluster)

    def tick(self, at_s):
        goal = Configuration({HALF: 2 if at_s < START_S + 80.0 else 3})
        self._publisher.turn({KEY: Advice(goal, 0.5, 0.5, 0.0, "needed", at_s)})


def acted(stage, goal, need_keep=0.9, ticks=TICKS):
    """A stage on which a process has taken the workload to a goal, and is gone."""
    process = Acting(stage.opened(), goal, need_keep)
    for _ in range(ticks):
        process.tick(stage.now_s)
        stage.wait()
    return stage


def halved():
    return acted(Stage(), {HALF: 2}, ticks=6)


def emptied():
    """What stood on the workload's own Deployment is on the one that its owner has made beside it."""
    return acted(Stage(beside=0), {HALF: 2}, ticks=6)


def lowered():
    """Half of what stood before foreslice came."""
    return acted(Stage(replicas=2), {WHOLE: 1}, ticks=4)


def tried():
    """One replica of a new shape, beside what stood."""
    return acted(Stage(), {WHOLE: 1, HALF: 1}, ticks=5)


def scaled():
    """What stands is scaled by an autoscaler."""
    stage = Stage()
    stage.store.create(autoscaler())
    stage.wait()
    return stage


class Switching(Acting):
    """A process that takes the workload's own Deployment to another shape."""

    def __init__(self, cluster, goal, need_keep):
        super().__init__(with_ways(cluster, {}, switching=[KEY]), goal, need_keep)


class TurningBack(Switching):
    """One whose replicas do not come to serve there, and that decides anew once it knows."""

    def tick(self, at_s):
        one = self._cluster.view([KEY]).standing(KEY)
        self._goal = Configuration({WHOLE: 1} if one.given_up(at_s) else {HALF: 1})
        super().tick(at_s)


SCENES = {
    "another-shape": (Stage, lambda cluster: Acting(cluster, {HALF: 2})),
    "shares": (partial(Stage, cards="shared"), lambda cluster: Acting(cluster, {PART: 2})),
    "device-plugin": (partial(Stage, cards="plugged"), lambda cluster: Acting(cluster, {HALF: 2})),
    "own-variant": (partial(Stage, beside=0), lambda cluster: Acting(cluster, {HALF: 2})),
    "own-variant-fewer": (
        partial(Stage, beside=2),
        lambda cluster: Acting(cluster, {WHOLE: 1}, need_keep=0.4),
    ),
    "own-variant-restore": (emptied, Restoring),
    "more": (Stage, lambda cluster: Acting(cluster, {WHOLE: 2})),
    "fewer": (halved, lambda cluster: Acting(cluster, {HALF: 1}, need_keep=0.4)),
    "holding": (Stage, lambda cluster: Holding(cluster, {})),
    "restore": (halved, Restoring),
    "watchdog": (lowered, Watching),
    "floor": (scaled, lambda cluster: Acting(with_ways(cluster, {KEY: Way.FLOOR}), {WHOLE: 2})),
    "publish": (Stage, Telling),
    "trial": (tried, Trying),
    "switch-fails": (
        partial(Stage, crashing=[HALF.profile], progressDeadlineSeconds=10),
        lambda cluster: TurningBack(cluster, {}, need_keep=0.4),
    ),
    "switch": (Stage, lambda cluster: Switching(cluster, {HALF: 1}, need_keep=0.4)),
}
ENDS = {
    "another-shape": {"web": (0, 0), "web-3g-40gb": (2, 2)},
    "shares": {"web": (0, 0), "web-50-100": (2, 2)},
    "device-plugin": {"web": (0, 0), "web-3g-40gb": (2, 2)},
    "own-variant": {"web": (0, 0), "by-owner": (2, 2)},
    "own-variant-fewer": {"web": (1, 1), "by-owner": (0, 0)},
    "own-variant-restore": {"web": (1, 1), "by-owner": (0, 0)},
    "more": {"web": (2, 2)},
    "fewer": {"web": (0, 0), "web-3g-40gb": (1, 1)},
    "holding": {"web": (1, 1), "web-2g-20gb": (2, 2)},
    "restore": {"web": (1, 1), "web-3g-40gb": (0, 0)},
    "watchdog": {"web": (2, 2)},
    "floor": {"web": (2, 2), "by-load": 2},
    "publish": {"web": (1, 1), "told web": 3},
    "trial": {"web": (1, 1), "web-3g-40gb": (1, 1), "proven 3g.40gb": True},
    "switch": {"web": (1, 1)},
    "switch-fails": {"web": (1, 1)},
}
"""Where each comes to if nothing goes wrong, and if something does."""

WRITTEN = {
    "another-shape": 11,
    "shares": 11,
    "device-plugin": 11,
    "own-variant": 8,
    "own-variant-fewer": 4,
    "own-variant-restore": 8,
    "more": 5,
    "fewer": 4,
    "holding": 33,
    "restore": 8,
    "watchdog": 5,
    "floor": 5,
    "publish": 2,
    "trial": 1,
    "switch": 5,
    "switch-fails": 7,
}
"""Writes that each takes if nothing goes wrong: a new one is tried at once, and not forgotten here."""


def play(stage, act, cluster, ticks=TICKS):
    """Turn a process on a cluster; killed, another takes its place that knows nothing of it."""
    process = None
    for _ in range(ticks):
        try:
            process = process or act(cluster)
            process.tick(stage.now_s)
        except Killed:
            process, cluster = None, stage.opened()
        except ForesliceError:
            pass  # the service says so, and goes on with the next tick
        stage.wait()


def called(scene):
    """Return the calls of the port that a scene takes at least: each tick looks, but where all is given."""
    return WRITTEN[scene] + (0 if scene == "publish" else TICKS)


def survives(scene, trapped):
    """Play a scene once for every call of the port, with trouble at it; return how many there were."""
    make, act = SCENES[scene]
    for number in count(1):
        stage = make()
        trap = trapped(stage, number)
        play(stage, act, trap, LONGER.get(scene, TICKS))
        assert (ENDS[scene], []) == (stage.end(), list(stage.wrong())), f"call {number}"
        if not trap.is_sprung:
            return number - 1
    raise AssertionError


def test_every_write_of_the_port_is_in_a_scene():
    verbs = set()
    for make, act in SCENES.values():
        stage = make()
        trap = Trap(stage.opened(), 0, None)
        play(stage, act, trap)
        verbs |= trap.called
    assert set(WRITES) == verbs


@pytest.mark.parametrize("spring", SPRINGS)
@pytest.mark.parametrize("scene", SCENES)
def test_whatever_goes_wrong_with_any_write_the_end_is_the_same_and_no_request_is_lost(scene, spring):
    assert WRITTEN[scene] == survives(
        scene, lambda stage, number: Trap(stage.opened(), number, SPRINGS[spring])
    )


@pytest.mark.parametrize("scene", SCENES)
def test_nor_where_a_call_is_torn_between_two_writes(scene):
    """As a copy's template and the copy: with one there and the other not, the next process goes on."""
    assert WRITTEN[scene] <= survives(scene, Torn)


@pytest.mark.parametrize("scene", SCENES)
def test_nor_with_any_call_at_all_that_is_not_answered(scene):
    spring = SPRINGS["429-or-500"]
    assert called(scene) <= survives(scene, lambda stage, number: Trap(stage.opened(), number, spring, VERBS))


@pytest.mark.parametrize("scene", SCENES)
def test_another_process_that_acts_right_before_any_write_does_no_harm(scene):
    """Two that both believe to lead: one goes on with what it saw before the other acted."""

    def trapped(stage, number):
        def meanwhile(call):
            SCENES[scene][1](stage.opened()).tick(stage.now_s)
            return call()

        return Trap(stage.opened(), number, meanwhile)

    assert WRITTEN[scene] == survives(scene, trapped)


@pytest.mark.parametrize("scene", SCENES)
def test_a_watch_that_is_lost_at_any_call_gives_nothing_up(scene):
    assert called(scene) <= survives(scene, lambda stage, number: Deaf(stage.opened(), number))
