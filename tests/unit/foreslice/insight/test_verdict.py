"""Whether it is safe right now, and why."""

import pytest

from foreslice.insight.verdict import State, safety_of, verdicts_of
from foreslice.tick import Tick
from tests.builders.deciding import forecast, need, workload
from tests.builders.fleet import fleet, key, running, standing
from tests.unit.foreslice.test_telemetry import AT_S, outlook

CHAT, TALK = workload("chat"), workload("talk")


def verdict(stands="1 x whole", up=0.5, reactive=..., there=True):
    cluster = running(fleet(4), standing("chat", stands)) if there else fleet(4)
    seen = {key("chat"): outlook(forecast("chat", level=up))}
    tick = Tick(AT_S, cluster, seen, {key("chat"): need("chat", up=up, reactive=reactive)}, {})
    (found,) = verdicts_of(tick, [CHAT])
    return found


@pytest.mark.parametrize(
    ("stands", "up", "reactive", "state", "why"),
    [
        ("1 x whole", 0.5, 0.5, State.CARRIED, "carries 1.00, 0.50 is asked, 0.50 may come"),
        ("1 x whole", 1.5, 0.5, State.RISING, "1.50 will be needed and 1.00 is ready"),
        ("1 x whole", 1.5, 1.2, State.SHORT, "carries 1.00 of 1.20 asked"),
        ("1 x whole", 0.5, None, State.UNKNOWN, "demand now is unknown"),
        ("0 x whole", 0.5, 0.5, State.SHORT, "carries 0.00 of 0.50 asked"),
    ],
)
def test_what_is_ready_is_held_against_what_is_asked(stands, up, reactive, state, why):
    found = verdict(stands, up, reactive)

    assert state == found.state
    assert why in found.why


def test_a_workload_that_the_cluster_does_not_have_is_not_safe():
    assert State.ABSENT == verdict(there=False).state


def test_without_a_cluster_nothing_is_known():
    (found,) = verdicts_of(Tick(AT_S), [CHAT])

    assert (State.UNKNOWN, None) == (found.state, found.ready)


def test_the_worst_comes_first():
    cluster = running(fleet(4), standing("talk", "1 x whole"))
    tick = Tick(AT_S, cluster, {}, {key("talk"): need("talk")}, {})

    assert [CHAT.key, TALK.key] == [each.workload for each in verdicts_of(tick, [TALK, CHAT])]


@pytest.mark.parametrize(
    ("up", "reactive", "led_s_ago", "is_acting", "is_safe", "said"),
    [
        (
            0.5,
            0.5,
            3.0,
            True,
            True,
            "safe: the workload carries what is asked; foreslice leads, seen 3 s ago",
        ),
        (1.5, 0.5, 3.0, True, True, "1 of them have to grow for what is coming"),
        (0.5, 0.5, None, False, True, "foreslice does not act"),
        (0.5, 0.5, 900.0, True, False, "safe for now only"),
        (0.5, 0.5, None, True, False, "nobody has ever led"),
        (1.5, 1.2, 3.0, True, False, "not safe: serving/chat (carries 1.00 of 1.20 asked)"),
        (0.5, None, 3.0, True, None, "not known: serving/chat (demand now is unknown)"),
    ],
)
def test_the_answer_in_one_line(up, reactive, led_s_ago, is_acting, is_safe, said):
    safety = safety_of([verdict("1 x whole", up, reactive)], led_s_ago, is_acting=is_acting)

    assert is_safe is safety.is_safe
    assert said in safety.line


def test_where_every_workload_is_off_nothing_is_said_to_be_safe():
    assert (None, "not known: every workload is off") == (
        (safety := safety_of([], 3.0, is_acting=True)).is_safe,
        safety.line,
    )


def test_of_many_that_are_short_three_are_named():
    short = [verdict("1 x whole", 1.5, 1.2)] * 5

    assert safety_of(short, 3.0, is_acting=True).line.endswith("and 2 more; foreslice leads, seen 3 s ago")
