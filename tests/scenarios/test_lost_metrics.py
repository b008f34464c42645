"""Pods whose demand nobody reads: that they are new excuses them once, and no removal rests on more."""

from dataclasses import replace

import pytest

from foreslice.newcomers import YOUNG_S
from predictor.now import FRESH_S
from tests.builders.fleet import key
from tests.builders.ticking import NOON, START_S, Scene, need, steady

NOON_S = START_S + 60 * NOON
LOOKS_S = (0, 60, 110, 130, 240)


class Watched:
    """Four pods that serve what one could; of the last `lost` nothing is scraped."""

    def __init__(self, lost):
        self.scene = Scene(steady(0.7), "4 x whole")
        self._lost = lost
        [self._stands] = self.scene.cluster.fleet.standings

    def ready(self, since_s, name=None):
        """Let those be ready since so many seconds after noon, by their nodes' clocks; `None`: not."""
        replicas = [replace(one, ready_at_s=NOON_S - 3600) for one in self._stands.own.replicas]
        at_s = None if since_s is None else NOON_S + since_s
        for number in range(-self._lost, 0):
            pod = name or replicas[number].pod
            replicas[number] = replace(replicas[number], pod=pod, ready_at_s=at_s, is_ready=at_s is not None)
        scraped = tuple(one.pod for one in replicas[: -self._lost])
        own = replace(self._stands.own, replicas=tuple(replicas))
        fleet = replace(self.scene.cluster.fleet, standings=(replace(self._stands, variants=(own,)),))
        self.scene.cluster.fleet, self.scene.metrics.pods = fleet, {key("chat"): scraped}

    def look(self, after_s):
        """Look without acting, so many seconds after noon."""
        self.scene.clock.at(NOON + after_s / 60)
        self.scene.learn().loop.question()

    def distrust(self, after_s):
        """Act on what is seen so many seconds after noon, and return why nothing may be removed."""
        self.look(after_s)
        return need(self.scene.tick(NOON + after_s / 60)).distrust

    @property
    def removals(self):
        """What was asked to be fewer."""
        return self.scene.cluster.writes


STORIES = {
    "a container that starts anew again and again": (1, -3600, lambda at_s: at_s - 10, 0),
    "one that has been new for long by the clock of its node, which is ahead": (1, 3600, lambda _: 3600, 0),
    "new ones on a node whose clock is ahead": (1, None, lambda _: 3600, FRESH_S),
    "a node out of reach of the scraper whose pods were not ready for a moment": (2, -3600, lambda _: 0, 0),
    "all new at once after a rollout": (4, None, lambda _: 0, 0),
    "new ones that no scrape reaches": (2, None, lambda _: 0, FRESH_S),
    "those that become ready while nobody looks, by a clock that is behind": (1, None, lambda _: -3600, 0),
}
"""How many pods are lost, since when they are ready before noon and after it (as a function of now), and from
when on they are no excuse, all in seconds after noon."""


@pytest.mark.parametrize(("lost", "before_s", "since_s", "from_s"), STORIES.values(), ids=STORIES)
def test_pods_of_whom_nothing_is_read_support_no_removal(lost, before_s, since_s, from_s):
    watched = Watched(lost)
    watched.ready(before_s)
    watched.look(-60)
    watched.look(-20)
    for at_s in LOOKS_S:
        watched.ready(since_s(at_s))
        if at_s < from_s:
            watched.look(at_s)
        else:
            assert f"{lost} of 4 ready pods not scraped" in watched.distrust(at_s)[0]
    assert [] == watched.removals


@pytest.mark.parametrize(("lived_s", "is_excused"), [(YOUNG_S - 1, False), (YOUNG_S, True)])
def test_who_comes_in_the_place_of_one_that_was_lost_young_is_nobody_new(lived_s, is_excused):
    """Pods that fail, and are made anew under another name again and again: the third is no more new."""
    watched = Watched(1)
    watched.ready(None)
    watched.look(-60)
    for number, at_s in enumerate((0, lived_s, 2 * lived_s)):
        watched.ready(at_s, name=f"try-{number}")
        for later_s in range(0, int(lived_s), 100):
            watched.look(at_s + later_s)
    assert is_excused == (() == watched.distrust(2 * lived_s))


def test_who_has_just_begun_to_look_knows_nobody_as_new():
    """A time of readiness may be that of the last of many, or by another clock."""
    watched = Watched(1)
    watched.ready(-10)
    assert watched.distrust(0)
    assert [] == watched.removals


def test_without_anything_wrong_in_it_the_same_scene_lets_one_go():
    watched = Watched(1)
    watched.ready(None)
    watched.look(-60)
    watched.look(-20)
    watched.ready(-10)
    assert () == watched.distrust(0)
    assert watched.removals
