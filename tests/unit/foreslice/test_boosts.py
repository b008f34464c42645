"""Announced rises: what they ask for when, and how they get into a settings file."""

import numpy as np
import pytest

from allocator.need import Timing
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice.announcing import run_boost
from foreslice.boosts import DAY_S, HOUR_S, Boost, announced
from foreslice.outlook import Outlook
from foreslice.settings.insert import with_item
from foreslice.settings.load import load, rules_of
from tests.builders.deciding import offers
from tests.builders.fleet import key
from tests.builders.ticking import NOON, START_S, Scene, need, steady

NOW_S = 1_700_000_100.0
MINUTES = 1440


def outlook(work, at_s=NOW_S):
    return Outlook(at_s, None, "", np.asarray(work, dtype=float), Mix(1000, 200), offers())


def least(work, from_s, at_s=NOW_S, ahead_s=100.0, factor=2.0):
    boost = Boost(key("chat"), factor, from_s, from_s + 4 * HOUR_S, "the sale")
    return boost.least(outlook(work, at_s), at_s, ahead_s)


def test_it_begins_the_lead_time_before_and_ends_with_the_rise():
    flat = [1.0] * MINUTES
    assert 0.0 == least(flat, NOW_S + 101)
    assert 2.0 == least(flat, NOW_S + 100)
    assert 2.0 == least(flat, NOW_S - 4 * HOUR_S + 1)
    assert 0.0 == least(flat, NOW_S - 4 * HOUR_S)


def test_usual_is_what_was_asked_at_this_time_the_day_before():
    yesterday = [3.0] * 60 + [1.0] * (MINUTES - 60)
    assert 6.0 == least(yesterday, NOW_S)


def test_or_in_the_hour_before_it_begins_and_never_what_is_asked_during_it():
    risen = [1.0] * (MINUTES - 120) + [1.5] * 60 + [9.0] * 60
    assert 3.0 == least(risen, NOW_S - HOUR_S)


def test_where_nothing_is_known_of_before_nothing_is_asked_for():
    assert 0.0 == least([np.nan] * MINUTES, NOW_S)
    assert 0.0 == Boost(key("chat"), 2.0, NOW_S, NOW_S + DAY_S, "x").least(
        Outlook(float("-inf"), None, "", np.array([]), Mix(1, 1), offers()), NOW_S, 100.0
    )


def test_it_is_kept_from_longer_before_than_it_is_added_for():
    boost = Boost(key("chat"), 2.0, NOW_S + 300, NOW_S + HOUR_S, "the sale")
    told = announced((boost,), key("chat"), outlook([1.0] * MINUTES), NOW_S, Timing())
    assert (0.0, 2.0) == told
    assert (0.0, 0.0) == announced((boost,), WorkloadKey("a", "b"), outlook([1.0]), NOW_S, Timing())


def test_a_tick_carries_what_is_announced():
    boost = Boost(key("chat"), 3.0, START_S + 60.0 * NOON, START_S + 60.0 * NOON + HOUR_S, "the sale")
    scene = Scene(steady(1.0), "2 x whole", boosts=(boost,)).learn()
    tick = scene.tick()

    assert need(tick).announced == pytest.approx(3.0, rel=0.01)
    assert need(tick).announced <= need(tick).up
    assert scene.written["chat-whole"] >= 3


BECAUSE = 'the "sale" 🚀 # of: the year'
SETTINGS = """\
version: v1
metrics: {source: embedded}
cluster: {kind: embedded}
workloads: # ours
  - {name: chat, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}
"""


def boosted(path, *, name="default/chat", factor="2x", begin="2026-12-01T08:00Z", end="2026-12-01T12:00Z"):
    run_boost(path, name, factor, begin=begin, end=end, because=BECAUSE, as_json=False)


def test_a_boost_is_a_line_more_in_the_file_and_the_rest_is_as_it_was(write):
    path = write(SETTINGS)
    boosted(path)
    boosted(path, begin="2026-12-02T08:00Z", end="2026-12-02T12:00Z")

    assert path.read_text().startswith(SETTINGS)
    second, first = rules_of(load(path)).boosts
    assert ("default/chat", 2.0, BECAUSE) == (str(first.workload), first.factor, first.because)
    assert DAY_S == second.from_s - first.from_s


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"factor": "twice"}, "FACTOR: twice is no factor; write e.g. 2x or 1.5x"),
        ({"factor": "11x"}, r"boosts\[0\].factor: must be less than or equal to 10 \(is 11.0\); nothing"),
        ({"name": "chat"}, r"boosts\[0\].workload: must be one of default/chat; nothing was written"),
        ({"end": "2026-12-02T12:00Z"}, "from must be before to, and at most 23h before"),
        ({"begin": "2026-12-01"}, "--from: 2026-12-01 has no offset"),
    ],
)
def test_what_cannot_be_used_leaves_the_file_as_it_was(write, wrong, line):
    path = write(SETTINGS)
    with pytest.raises(InputError, match=line):
        boosted(path, **wrong)
    assert [path] == list(path.parent.iterdir())
    assert SETTINGS == path.read_text()


def test_where_workloads_are_selected_a_boost_still_names_its_namespace(write):
    selected = SETTINGS.replace("{kind: embedded}", "{kind: kubernetes}").replace(
        "name: chat", "selector: {a: b}"
    )
    path = write(selected.replace("embedded", "prometheus, url: 'http://p'"))
    boosted(path, name="default/any")
    assert "default/any" == str(rules_of(load(path)).boosts[0].workload)
    with pytest.raises(InputError, match=r"boosts\[0\].workload: must be namespace/name; nothing was"):
        boosted(path, name="any")


def test_a_list_in_one_line_is_not_taken_apart():
    with pytest.raises(InputError, match="boosts: is no list in lines of its own; add"):
        with_item("boosts: []\n", "boosts", "{x: 1}")


def test_an_item_stands_where_the_others_do():
    text = "a: 1\nboosts:\n    # first\n    - {y: 2}\nb: 2"
    assert "a: 1\nboosts:\n    # first\n    - {x: 1}\n    - {y: 2}\nb: 2" == with_item(
        text, "boosts", "{x: 1}"
    )
