"""One tick for people and for programs."""

import json
from dataclasses import replace

import pytest

from actuator.outcome import Outcome, StepResult
from allocator.decide import Decision
from fleet.change import Step, Verb
from fleet.demand import DemandOrigin, Drift, NowReading
from fleet.mig import Placement
from fleet.sample import Idle
from foreslice import show
from foreslice.tick import Tick
from tests.builders.deciding import forecast, need, offers, workload
from tests.builders.fleet import configuration, cut, fleet, key, running, shape, standing
from tests.unit.foreslice.test_telemetry import AT_S, outlook

CHAT, TALK = workload("chat"), workload("talk")


@pytest.fixture
def tick():
    start, goal = configuration("1 x whole"), configuration("2 x whole")
    decision = Decision(key("chat"), need("chat"), start, goal, 0.0, ("[1.2] is asked",), start)
    step = Step(Verb.SCALE_UP, "chat", shape("whole"), 2, "1", "because")
    return Tick(
        AT_S,
        running(fleet(2), standing("chat", "1 x whole")),
        {key("chat"): outlook(forecast("chat", level=0.7))},
        {key("chat"): need("chat", up=0.5, keep=0.75, distrust=["pod x is not scraped"])},
        {},
        (decision,),
        (StepResult(key("chat"), step, Outcome.HELD, "not now"),),
        ("serving/talk: no such Deployment",),
        {
            key("chat"): NowReading(
                key("chat"), AT_S, Idle(), Idle(), Idle(), None, origin=DemandOrigin.ROUTER
            )
        },
    )


@pytest.fixture
def text(monkeypatch, capsys):
    """Lines that people read on a wide terminal."""
    monkeypatch.setenv("COLUMNS", "200")

    def text(tick):
        show.console().print(show.as_text(tick, (CHAT, TALK)))
        return capsys.readouterr().out.splitlines()

    return text


def test_json_has_every_workload_whatever_is_known_of_it(tick):
    chat, talk = json.loads(json.dumps(show.as_json(tick, (CHAT, TALK)), allow_nan=False))["workloads"]

    assert {"workload": "serving/talk", "mode": "full"} == talk
    assert {"up": 0.5, "keep": 0.75, "reactive": 0.5} == chat["need"]
    assert ["pod x is not scraped"] == chat["distrust"]
    assert "requests that came to the router" == chat["demand_from"]
    assert ("1 x whole", "2 x whole", "1 x whole") == (chat["stands"], chat["goal"], chat["without_forecast"])
    peak = chat["forecast"]["peaks"][0]
    assert (120, 0.9, 0.7, False) == tuple(
        peak[name] for name in ("window_s", "quantile", "work", "is_extrapolated")
    )
    assert (None, None) == (peak["requests_per_s"], chat["forecast"]["highest_seen"])


def test_json_of_steps_conditions_and_cards(tick):
    shown = show.as_json(tick, (CHAT, TALK))

    assert (AT_S, 1, ["serving/talk: no such Deployment"]) == (
        shown["at_s"],
        shown["gpus_in_use"],
        shown["conditions"],
    )
    assert [
        {
            "workload": "serving/chat",
            "verb": "scale-up",
            "variant": "chat",
            "replicas": 2,
            "outcome": "held",
            "reason": "not now",
        }
    ] == shown["steps"]


def test_what_is_unknown_is_null_in_json_and_a_word_in_text(tick, text):
    blind = replace(tick, needs={key("chat"): replace(need("chat"), reactive=None)}, decisions=())

    assert show.as_json(blind, (CHAT,))["workloads"][0]["need"]["reactive"] is None
    assert show.as_json(replace(blind, fleet=None), (CHAT,))["gpus_in_use"] is None
    assert ["serving/chat", "0.50", "unknown"] == text(blind)[1].split()[:3]


def test_a_forecast_that_is_not_there_says_why(tick):
    none = replace(outlook(None), no_forecast_because="no bucket is known")
    (chat,) = show.as_json(replace(tick, outlooks={key("chat"): none}), (CHAT,))["workloads"]

    assert (None, "no bucket is known") == (chat["forecast"], chat["no_forecast_because"])


def test_text_is_a_row_a_workload_then_steps_conditions_and_the_unit(tick, text):
    head, chat, talk, step, condition, unit = text(tick)

    assert " ".join(head.split()) == "workload need asked now forecast stands goal cheapest because"
    assert chat.split("  ")[0] == "serving/chat"
    assert "[1.2] is asked" in chat
    assert ["serving/talk", "unknown", "unknown", "none", "-", "-", "-"] == talk.split()
    assert "serving/chat: scale-up chat to 2: held: not now" == step.strip()
    assert "serving/talk: no such Deployment" == condition.strip()
    assert unit.startswith("Work is in full reference replicas")


@pytest.mark.parametrize(
    ("seen", "cheapest", "anew", "cell"),
    [
        (None, "1 x 3g.40gb", None, "1 x 3g.40gb"),
        (replace(fleet(1), pools=(), gpus=()), "1 x 3g.40gb", None, "1 x 3g.40gb"),
        (fleet(1), "1 x 3g.40gb", None, "1 x 3g.40gb"),
        (cut(Placement("3g.40gb", 0)), "1 x 3g.40gb", None, "1 x 3g.40gb"),
        (cut(Placement("1g.10gb", 6)), "8 x 1g.10gb", "1 x 3g.40gb", "8 x 1g.10gb (1 x 3g.40gb if cut anew)"),
        (cut(Placement("2g.20gb", 4)), None, "1 x 3g.40gb", "- (1 x 3g.40gb if cut anew)"),
        (replace(fleet(1), barred={shape("3g.40gb"): "no"}), "1 x whole", None, "1 x whole"),
    ],
    ids=["no cluster", "no cards", "cut by claims", "cut so", "cut otherwise", "none does", "barred"],
)
def test_the_cheapest_is_of_what_there_is_and_what_a_cut_would_save_is_said(
    tick, text, seen, cheapest, anew, cell
):
    known = replace(
        outlook(forecast("chat", level=0.7)),
        offers=offers({"whole": 1.0, "3g.40gb": 0.8, "1g.10gb": 0.1}),
    )
    there = replace(tick, fleet=seen, decisions=(), outlooks={key("chat"): known})
    (chat, _) = show.as_json(there, (CHAT, TALK))["workloads"]
    assert (cheapest, anew) == (chat["cheapest"], chat["cheapest_if_cut_anew"])
    assert cell in text(there)[1]


def test_demand_like_that_of_no_day_before_is_told_in_words(tick, text):
    drift = Drift(1.4, "nothing came in the last 12 h", 3600.0)
    drifting = replace(
        tick, outlooks={key("chat"): outlook(replace(forecast("chat", level=0.7), drift=drift))}
    )
    line = "serving/chat: demand is like that of no day before: nothing came in the last 12 h"
    assert line in [one.strip() for one in text(drifting)]
    chat, _ = show.as_json(drifting, (CHAT, TALK))["workloads"]
    assert {"times_limit": 1.4, "because": drift.because, "since_s": 3600.0} == chat["forecast"]["drift"]


def test_people_read_on_standard_error_beside_json(capsys):
    show.console(to_stderr=True).print("hello")

    assert ("", "hello\n") == tuple(capsys.readouterr())
