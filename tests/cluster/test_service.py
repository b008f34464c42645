"""The whole service for eight minutes: does it grow before the daily rise, and only then?

The control plane and Prometheus are real; nodes, cards, engines, requests and the days before are simulated.

Three run side by side: as is, without a day to look back on, and after days that were flat. The cluster is
asked what was there when, never the service. Beside them goes the steepest part of `make soak`.
"""

import json
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.scene import scene
from tests.cluster.soak import SETTLED_S
from tests.cluster.town import chat, compressed
from tests.cluster.verdict import Watch, missed
from tests.prometheus.server import absent

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

AS_IS, NO_DAYS, FLAT, FLEET = "as-is", "no-days", "flat", "fleet"
HISTORY = {AS_IS: "73h", NO_DAYS: "1h", FLAT: "73h"}
RISE_IN_S = 540
"""From before everything is started: a machine with much else to do takes three minutes for that."""
AFTER_S = 300
"""At most: it ends as soon as the late ones have grown too."""
SAMPLE_S = 2
WINDOW_S = 300
"""The forecast window that covers the lead time of 90 s, a forecast's age of up to 80 s, and a tick."""
TICKS_S = 20
LATE_S = 25
"""An engine that is asked for once requests have risen takes longer than this to load."""
OBSERVED_S = 480
lasts = pytest.mark.timeout(1500)


@pytest.fixture(scope="module")
def seen(plane, tmp_path_factory):
    """Watch four towns, each with a service of its own, and return what was seen."""
    assert not absent(), "apt-get install prometheus"
    directory = tmp_path_factory.mktemp("service")
    towns = {name: chat(history, was_flat=name == FLAT) for name, history in HISTORY.items()}
    towns[FLEET] = compressed
    with scene(plane, directory / "prometheus", towns, RISE_IN_S) as made, ExitStack() as running:
        processes = [
            running.enter_context(town.service(plane, made.url, directory / name))
            for name, town in made.towns.items()
        ]

        watch = Watch(made.towns[FLEET])

        def look():
            assert [None] * len(processes) == [process.poll() for process in processes], directory
            now_s = made.clock.now_s
            for town in made.towns.values():
                town.look(now_s - made.rise_s)
            watch.look(now_s)
            return now_s > made.rise_s + AFTER_S or all(map(is_done, made.towns.values()))

        until(look, within_s=2 * (RISE_IN_S + AFTER_S), every_s=SAMPLE_S)
        samples = {name: made.towns[name].seen for name in HISTORY}
        (directory / "seen.json").write_text(json.dumps(samples))
        day = made.towns[FLEET].demand
        return Seen(samples, watch.rises(day, SETTLED_S), watch.faults)


@dataclass(frozen=True)
class Seen:
    """What was seen.

    Attributes:
        samples: By town of one workload, (seconds after the rise, cards held, pods that are Ready).
        rises: Of the fleet, (tenant, when it was over, share of requests inside their SLO) by rise.
        faults: Of the fleet, what must never be.
    """

    samples: dict
    rises: list
    faults: list


def is_done(town):
    """Whether a town was watched for long enough, and has grown after the rise."""
    (first_s, *_), (last_s, _, ready) = town.seen[0], town.seen[-1]
    return last_s > LATE_S and last_s - first_s >= OBSERVED_S and ready > 1


def during(samples, from_s, until_s):
    """Cards and Ready pods that were seen from, until so many seconds after the rise."""
    found = [(cards, ready) for at_s, cards, ready in samples if from_s <= at_s < until_s]
    assert found, f"nobody looked from {from_s} to {until_s} s"
    return found


@lasts
def test_it_was_watched_for_eight_minutes_of_which_a_minute_was_before_the_window(seen):
    for samples in seen.samples.values():
        assert samples[0][0] < -WINDOW_S - TICKS_S - 30
        assert samples[-1][0] - samples[0][0] >= OBSERVED_S


@lasts
def test_capacity_is_ready_before_the_daily_rise(seen):
    cards, ready = during(seen.samples[AS_IS], -10, 0)[-1]
    assert 1.5 <= cards
    assert 2 <= ready


@lasts
def test_no_card_is_taken_before_the_window_that_covers_the_lead_time(seen):
    assert {(1.0, 1)} == set(during(seen.samples[AS_IS], -RISE_IN_S, -WINDOW_S - TICKS_S))


@lasts
@pytest.mark.parametrize("run", [NO_DAYS, FLAT])
def test_who_has_seen_no_rise_is_late(seen, run):
    assert {(1.0, 1)} == set(during(seen.samples[run], -RISE_IN_S, 0))
    assert 1 == during(seen.samples[run], 0, LATE_S)[-1][1]
    assert 1 < seen.samples[run][-1][2]


@lasts
def test_every_rise_of_the_steepest_part_of_a_day_is_met(seen):
    """On 64 cards there is room for all of them: who knew of each would meet it."""
    assert 3 <= len(seen.rises)
    assert [] == missed(seen.rises)


@lasts
def test_no_layout_is_illegal_and_no_budget_is_broken(seen):
    assert [] == seen.faults
