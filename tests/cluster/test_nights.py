"""The service on nodes under MIG managers, as a night of small engines becomes a day of large ones.

The control plane and Prometheus are real; nodes, MIG managers, engines, requests and the days before are
simulated, and pass twelve times as fast. It is judged by the simulated router and what the API server shows.
"""

from dataclasses import dataclass

import pytest

from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.nights import small
from tests.cluster.scene import scene
from tests.cluster.soak import CUT_AT_MOST, SAMPLE_S, SETTLED_S
from tests.cluster.verdict import Watch, missed
from tests.prometheus.server import absent

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
lasts = pytest.mark.timeout(1500)

NAME = "nights"
STEEPEST_IN_S = 360
AFTER_S = 220
"""Until the last of the four steps is over."""


@dataclass(frozen=True)
class Seen:
    """What was seen.

    Attributes:
        rises: (tenant, when it was over, share of its requests inside their SLO).
        cuts: How often what some node is cut into changed.
        cut_share: Share of the cards' time between asking for a layout and its devices.
        cut_off: Requests that were being served when their engine was stopped.
        faults: What must never be.
    """

    rises: list
    cuts: int
    cut_share: float
    cut_off: float
    faults: list


@pytest.fixture(scope="module")
def seen(plane, tmp_path_factory):
    """Watch the steepest part of the morning."""
    assert not absent(), "apt-get install prometheus"
    directory = tmp_path_factory.mktemp("nights")
    with scene(plane, directory / "prometheus", {NAME: small}, STEEPEST_IN_S) as made:
        town = made.towns[NAME]
        watch = Watch(town)
        with town.service(plane, made.url, directory / NAME) as process:

            def look():
                assert process.poll() is None, directory
                watch.look(made.clock.now_s)
                return made.clock.now_s > made.rise_s + AFTER_S

            until(look, within_s=2 * (STEEPEST_IN_S + AFTER_S), every_s=SAMPLE_S)
        found = Seen(
            watch.rises(town.demand, SETTLED_S),
            len(watch.layouts) - 1,
            watch.share_of_cards("cut"),
            watch.cut_off(),
            watch.faults,
        )
        (directory / "seen.txt").write_text(str(found))
        return found


@lasts
def test_layouts_are_ready_before_the_rises(seen):
    """On its cards there is room for all of them: who knew of each would meet it."""
    assert 3 <= len(seen.rises)
    assert [] == missed(seen.rises)


@lasts
def test_nodes_were_cut_anew_in_little_of_the_cards_time(seen):
    assert 1 <= seen.cuts
    assert 0 < seen.cut_share <= CUT_AT_MOST


@lasts
def test_no_request_is_cut_off_and_no_node_fails(seen):
    assert 0 == seen.cut_off
    assert [] == seen.faults
