"""What of a tick an owner hears, and how often."""

from actuator.outcome import Outcome, StepResult
from fleet.change import Step, Verb
from foreslice.notices import AGAIN_AFTER_S, Notices
from foreslice.tick import Tick
from tests.builders.fleet import key, shape

AT_S = 1_700_000_100.0
CHAT = key("chat")


def tick(at_s=AT_S, outcome=None, reason="a peak ahead", conditions=()):
    step = Step(Verb.SCALE_UP, "chat-1g", shape("1g.10gb"), 3, "1", "a peak ahead")
    results = (StepResult(CHAT, step, outcome, reason),) if outcome else ()
    return Tick(at_s, results=results, conditions=conditions)


def told(*ticks):
    notices = Notices()
    return [(n.about, n.reason, n.note, n.is_warning) for one in ticks for n in notices.of(one, [CHAT])]


def test_what_was_done_is_said_with_its_reason_each_time():
    line = (CHAT, "ScaleUp", "chat-1g to 3 x h100-80gb:1g.10gb: a peak ahead", False)
    assert [line, line] == told(tick(outcome=Outcome.DONE), tick(AT_S + 10, Outcome.UNCONFIRMED))


def test_what_is_held_is_said_once_whatever_its_figures():
    held = [tick(AT_S + 10 * n, Outcome.HELD, f"{0.5 + n} would be ready") for n in range(3)]
    line = (CHAT, "ScaleUpHeld", "chat-1g to 3 x h100-80gb:1g.10gb: 0.5 would be ready", False)
    assert [line] == told(*held)


def test_what_still_holds_when_events_are_forgotten_is_said_again():
    assert 2 == len(told(tick(outcome=Outcome.FAILED), tick(AT_S + AGAIN_AFTER_S, Outcome.FAILED)))


def test_what_failed_is_a_warning():
    [(_, reason, _, is_warning)] = told(tick(outcome=Outcome.FAILED, reason="conflict"))
    assert ("ScaleUpFailed", True) == (reason, is_warning)


def test_conditions_are_about_the_workload_that_they_name_or_about_the_service():
    conditions = (f"{CHAT}: demand now is unknown", "settings cannot be used, the last good ones go on: x")
    assert [
        (CHAT, "NotDone", "demand now is unknown", True),
        (None, "NotDone", conditions[1], True),
    ] == told(tick(conditions=conditions), tick(AT_S + 10, conditions=conditions))
