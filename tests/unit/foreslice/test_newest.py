"""The newest readings, and who may go by those of a moment ago."""

import pytest

from fleet.errors import UnavailableError
from foreslice.newest import SAME_MOMENT_S, Newest
from tests.builders.fleet import key
from tests.fakes.metrics import FakeMetrics

CHAT, NOW_S = key("chat"), 1_700_000_040


@pytest.fixture
def metrics():
    return FakeMetrics(NOW_S - 600, {CHAT: [1.0]})


@pytest.mark.parametrize(
    ("after_s", "within_s", "read_at_s"),
    [
        (0.0, SAME_MOMENT_S, NOW_S),
        (SAME_MOMENT_S - 0.1, SAME_MOMENT_S, NOW_S),
        (SAME_MOMENT_S, SAME_MOMENT_S, NOW_S + SAME_MOMENT_S),
        (-1.0, SAME_MOMENT_S, NOW_S - 1.0),
        (0.1, 0.0, NOW_S + 0.1),
    ],
    ids=["the same moment", "just within it", "just beyond", "a clock that went back", "who wants its own"],
)
def test_what_was_read_a_moment_ago_is_good_enough_for_who_says_so(metrics, after_s, within_s, read_at_s):
    newest = Newest(metrics, [CHAT])
    assert newest.read_at_s is None
    newest.samples(NOW_S)
    assert read_at_s == newest.samples(NOW_S + after_s, within_s)[CHAT].at_s == newest.read_at_s


def test_what_could_not_be_read_leaves_the_last_time_as_it_was(metrics):
    newest = Newest(metrics, [CHAT])
    newest.samples(NOW_S)
    metrics.is_down = True
    with pytest.raises(UnavailableError):
        newest.samples(NOW_S + 60)
    assert NOW_S == newest.read_at_s
