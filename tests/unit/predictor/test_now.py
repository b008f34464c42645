"""What one instant query in the tick says of demand, and whether it may support a removal."""

import math
from types import MappingProxyType

import pytest

from fleet.demand import DemandOrigin, Mix
from fleet.sample import Idle, Reason, Unknown, Value
from fleet.signal import Signal
from fleet.workload import LatencyTarget, Slo, WorkloadKey
from predictor.demand import MIX_REQUESTS
from predictor.now import NOW_SIGNALS, now_reading
from predictor.ports import InstantSamples

NAN = math.nan
KEY = WorkloadKey("prod", "llama")


def pod(completions=60, waiting=0, running=4, kv_use=0.3, first_tokens=None, tokens=(6000, 600), **more):
    numbers = {
        Signal.COMPLETIONS: completions,
        Signal.WAITING: waiting,
        Signal.RUNNING: running,
        Signal.KV_USE: kv_use,
        Signal.TTFT_COUNT: completions if first_tokens is None else first_tokens,
        Signal.PROMPT_TOKENS: tokens[0],
        Signal.OUTPUT_TOKENS: tokens[1],
        **{Signal(name): number for name, number in more.items()},
    }
    nothing = dict.fromkeys(NOW_SIGNALS, Unknown(Reason.NOT_EXPORTED))
    return nothing | {
        signal: number if isinstance(number, Unknown) else Value(number) for signal, number in numbers.items()
    }


def router(arrivals, **more):
    """A frontend in front of the engines, which says nothing of what they do."""
    told = {Signal.ROUTER_ARRIVALS: arrivals, **{Signal(name): number for name, number in more.items()}}
    nothing = dict.fromkeys(NOW_SIGNALS, Unknown(Reason.NOT_EXPORTED))
    return nothing | {
        signal: number if isinstance(number, Unknown) else Value(number) for signal, number in told.items()
    }


def reading(pods, expected=None, last_mix=None, fresh=(), carries=MappingProxyType({})):
    expected = frozenset(pods if expected is None else expected)
    samples = InstantSamples(KEY, 1000.0, pods)
    return now_reading(samples, expected, last_mix, fresh_pods=frozenset(fresh), carries=carries)


def test_a_healthy_fleet_is_trusted():
    now = reading({"a": pod(), "b": pod(completions=30)})
    assert (Value(1.5), Value(0), Value(8)) == (now.arrivals_per_s, now.waiting, now.running)
    assert ((), 1000.0, KEY) == (now.distrust, now.at_s, now.workload)


def test_first_tokens_count_as_arrivals_before_the_requests_end():
    assert Value(2) == reading({"a": pod(completions=0, first_tokens=120)}).arrivals_per_s


def test_completions_stand_in_where_a_pod_does_not_count_first_tokens():
    pods = {"a": pod(completions=60, first_tokens=90), "b": pod(first_tokens=Unknown(Reason.ABSENT))}
    assert Value(2) == reading(pods).arrivals_per_s


def test_zero_of_every_producer_is_idle():
    assert Idle() == reading({"a": pod(completions=0, running=0)}).arrivals_per_s


def test_a_source_that_says_idle_itself_is_believed():
    idle = pod(running=0) | dict.fromkeys((Signal.COMPLETIONS, Signal.TTFT_COUNT), Idle())
    assert Idle() == reading({"a": idle}).arrivals_per_s
    assert Value(1) == reading({"a": idle, "b": pod()}).arrivals_per_s


def test_zero_is_not_idle_while_something_runs():
    assert Value(0) == reading({"a": pod(completions=0, running=3)}).arrivals_per_s


def test_zero_is_not_idle_while_a_producer_is_missing():
    quiet = pod(completions=0, running=0)
    assert Value(0) == reading({"a": quiet}, expected={"a", "b"}).arrivals_per_s


def test_no_pod_at_all_is_unknown_and_never_zero():
    now = reading({}, expected={"a"})
    assert Unknown(Reason.EMPTY) == now.arrivals_per_s == now.waiting == now.running


TOO_FEW = Unknown(Reason.TOO_FEW)
ONE_SCRAPE = pod(completions=TOO_FEW, first_tokens=TOO_FEW, tokens=(TOO_FEW, TOO_FEW), running=0)


@pytest.mark.parametrize(
    "pods",
    [
        {"a": pod(), "b": pod(completions=30)},
        {"a": pod(), "b": pod(completions=30), "new": ONE_SCRAPE},
        {"a": pod(), "b": pod(completions=30), "new": pod(first_tokens=TOO_FEW)},
    ],
)
def test_a_pod_too_new_to_have_been_read_is_no_reason_for_distrust_and_may_have_had_its_part(pods):
    now = reading(pods, {"a", "b", "new"}, fresh={"new"})
    assert ((), Value(1.5), 1.0) == (now.distrust, now.arrivals_per_s, now.unseen_per_s)


@pytest.mark.parametrize(
    ("expected", "carries"),
    [
        (1.0, {}),
        (2.0, {"a": 0.5, "b": 0.25, "new": 1.0}),
        (1.0, {"a": 0.5, "b": 0.5, "new": 0.25}),
        (2.0, {"a": 1.0, "b": 0.25, "new": 1.0}),
        (1.0, {"a": 0.5, "b": 0.25}),
    ],
)
def test_what_carries_more_may_have_been_sent_more(expected, carries):
    pods = {"a": pod(), "b": pod(completions=30)}
    assert expected == reading(pods, {"a", "b", "new"}, fresh={"new"}, carries=carries).unseen_per_s


def test_what_a_router_counts_misses_no_pod():
    pods = {"a": pod(), "front": router(90)}
    assert 0.0 == reading(pods, {"a", "new"}, fresh={"new"}).unseen_per_s


def test_a_new_pod_that_was_read_is_counted_as_any_other():
    now = reading({"a": pod(), "new": pod(completions=30)}, fresh={"new"})
    assert ((), Value(1.5), 0.0) == (now.distrust, now.arrivals_per_s, now.unseen_per_s)


@pytest.mark.parametrize(
    ("pods", "expected", "fresh"),
    [
        ({"a": pod()}, {"a", "old", "new"}, {"new"}),
        ({"a": pod(completions=TOO_FEW), "b": pod()}, {"a", "b", "new"}, {"new"}),
        ({"a": pod()}, {"a", "new", "newer"}, {"new", "newer"}),
        ({}, {"a", "new"}, {"new"}),
        ({}, {"new"}, {"new"}),
        ({"a": pod(waiting=2)}, {"a", "new"}, {"new"}),
        ({"a": pod(), "new": pod(completions=TOO_FEW, waiting=2)}, {"a", "new"}, {"new"}),
    ],
)
def test_new_pods_excuse_nobody_else_nor_a_queue_and_most_must_have_been_read(pods, expected, fresh):
    assert reading(pods, expected, fresh=fresh).distrust


def test_nothing_is_idle_while_a_new_pod_has_not_been_read():
    quiet = pod(completions=0, running=0)
    assert Idle() == reading({"a": quiet}).arrivals_per_s
    assert Value(0) == reading({"a": quiet}, {"a", "new"}, fresh={"new"}).arrivals_per_s


DISTRUST = {
    "pods that are ready and not scraped": (
        {"a": pod()},
        {"a", "c", "b"},
        ("2 of 3 ready pods not scraped: b, c",),
    ),
    "a queue": ({"a": pod(waiting=2), "b": pod(waiting=1)}, None, ("3 requests waiting",)),
    "a full cache": ({"a": pod(kv_use=0.934), "b": pod()}, None, ("KV cache of pod a is 93% full",)),
    "an unknown counter": (
        {"a": pod(completions=TOO_FEW)},
        None,
        ("completions of pod a unknown: too few readings in the window",),
    ),
    "an unknown gauge": (
        {"a": pod(kv_use=Unknown(Reason.NOT_A_NUMBER))},
        None,
        ("kv_use of pod a unknown: NaN without a confirmed count of zero",),
    ),
    "a signal that was not even answered": (
        {"a": {Signal.COMPLETIONS: Value(60), Signal.WAITING: Value(0), Signal.RUNNING: Value(1)}},
        None,
        (
            "prompt_tokens of pod a unknown: no such series",
            "output_tokens of pod a unknown: no such series",
            "kv_use of pod a unknown: no such series",
        ),
    ),
    "token counts that make no sense though requests finish": (
        {"a": pod(tokens=(Unknown(Reason.NOT_A_NUMBER), 600))},
        None,
        ("prompt_tokens of pod a unknown: NaN without a confirmed count of zero",),
    ),
    "refusals": ({"a": pod(refusals=2), "b": pod(refusals=1)}, None, ("3 requests refused",)),
    "refusals at the router": (
        {"a": pod(), "front": router(60, router_refusals=5)},
        {"a"},
        ("5 requests refused",),
    ),
    "a queue at the router": (
        {"a": pod(), "front": router(60, router_waiting=7)},
        {"a"},
        ("7 requests waiting",),
    ),
    "one of two routers says nothing": (
        {"a": pod(), "front": router(60), "other": router(Unknown(Reason.TOO_FEW))},
        {"a"},
        ("arrivals at router other unknown: too few readings in the window",),
    ),
    "no pod that could say anything": ({}, set(), ("no ready pod that could measure demand",)),
    "several things at once": (
        {"a": pod(waiting=1, kv_use=0.95)},
        {"a", "b"},
        ("1 of 2 ready pods not scraped: b", "1 requests waiting", "KV cache of pod a is 95% full"),
    ),
}


@pytest.mark.parametrize(("pods", "expected_pods", "lines"), DISTRUST.values(), ids=DISTRUST)
def test_reasons_for_distrust(pods, expected_pods, lines):
    now = reading(pods, expected=expected_pods)
    assert lines == now.distrust


SLO = Slo(LatencyTarget(0.95, 0.5), LatencyTarget(0.95, 0.04))
OBJECTIVES = {
    "all is well": ({"ttft_sum": 12, "itl_sum": 18, "itl_count": 600}, ()),
    "first tokens come late": (
        {"ttft_sum": 36, "itl_sum": 18, "itl_count": 600},
        ("mean time to first token of 0.6 s is beyond its objective of 0.5 s",),
    ),
    "tokens come late": (
        {"ttft_sum": 12, "itl_sum": 30, "itl_count": 600},
        ("mean inter-token latency of 0.05 s is beyond its objective of 0.04 s",),
    ),
    "nothing came": ({"ttft_sum": 0, "itl_sum": 0, "itl_count": 0, "first_tokens": 0}, ()),
    "too few to tell a mean": ({"ttft_sum": 36, "first_tokens": 20}, ()),
    "an engine without latencies": ({"first_tokens": Unknown(Reason.NOT_EXPORTED)}, ()),
}


@pytest.mark.parametrize(("told", "lines"), OBJECTIVES.values(), ids=OBJECTIVES)
def test_while_an_objective_is_missed_nothing_is_removed(told, lines):
    pods = {"a": pod(**told)}
    assert lines == now_reading(InstantSamples(KEY, 1000.0, pods), frozenset("a"), None, SLO).distrust
    assert () == reading(pods).distrust


def test_what_the_scraped_pods_say_is_a_lower_bound_that_may_still_add():
    assert Value(1) == reading({"a": pod()}, expected={"a", "b"}).arrivals_per_s


def test_a_pod_that_drains_still_counts():
    assert Value(2) == reading({"a": pod(), "leaving": pod()}, expected={"a"}).arrivals_per_s


def test_last_words_of_a_pod_that_is_gone_do_not_count():
    gone = pod(completions=TOO_FEW, waiting=9, running=9)
    now = reading({"a": pod(), "gone": gone}, expected={"a"})
    assert (Value(1), Value(0), Value(4), ()) == (now.arrivals_per_s, now.waiting, now.running, now.distrust)


def test_mix_of_the_last_minute():
    assert Mix(100, 10) == reading({"a": pod()}, last_mix=Mix(1, 1)).mix
    assert Mix(6000 / MIX_REQUESTS, 600 / MIX_REQUESTS) == reading({"a": pod(completions=MIX_REQUESTS)}).mix


@pytest.mark.parametrize("few", [pod(completions=MIX_REQUESTS - 1), pod(completions=TOO_FEW)])
def test_last_known_mix_stands_where_too_little_finished(few):
    assert Mix(7, 7) == reading({"a": few}, last_mix=Mix(7, 7)).mix
    assert reading({"a": few}).mix is None


def test_one_unknown_pod_does_not_hide_the_others():
    pods = {"a": pod(waiting=Unknown(Reason.STALE)), "b": pod(waiting=2)}
    assert Value(2) == reading(pods).waiting


def test_the_reason_is_kept_where_nothing_is_known():
    assert Unknown(Reason.STALE) == reading({"a": pod(waiting=Unknown(Reason.STALE))}).waiting


def test_a_signal_that_the_engine_does_not_export_is_no_reason_for_distrust():
    nowhere = Unknown(Reason.NOT_EXPORTED)
    silent = pod(kv_use=nowhere, running=nowhere, tokens=(nowhere, nowhere), first_tokens=nowhere)
    now = reading({"a": silent}, last_mix=Mix(7, 7))
    assert ((), Value(1), Mix(7, 7)) == (now.distrust, now.arrivals_per_s, now.mix)


ORIGINS = {
    "the router": ({"a": pod(arrivals=60), "front": router(90)}, DemandOrigin.ROUTER, 1.5),
    "two routers": ({"a": pod(), "front": router(90), "other": router(30)}, DemandOrigin.ROUTER, 2),
    "engines that count what comes": (
        {"a": pod(completions=0, arrivals=90)},
        DemandOrigin.ENGINES,
        1.5,
    ),
    "one of two has not been asked yet, so that its counter is not there": (
        {"a": pod(arrivals=90), "b": pod(completions=0, arrivals=Unknown(Reason.ABSENT))},
        DemandOrigin.ENGINES,
        1.5,
    ),
    "only one of two counts what comes": (
        {"a": pod(arrivals=90), "b": pod()},
        DemandOrigin.FIRST_TOKENS,
        2,
    ),
    "first tokens, and what never got so far": (
        {"a": pod(completions=0, first_tokens=60, refusals=30)},
        DemandOrigin.FIRST_TOKENS,
        1.5,
    ),
    "all that ended, whatever way": (
        {"a": pod(first_tokens=Unknown(Reason.NOT_EXPORTED), failures=15, refusals=15)},
        DemandOrigin.ENDINGS,
        1.5,
    ),
    "the router is not known, so the engines say": (
        {"a": pod(), "front": router(Unknown(Reason.TOO_FEW))},
        DemandOrigin.FIRST_TOKENS,
        1,
    ),
}


@pytest.mark.parametrize(("pods", "origin", "per_s"), ORIGINS.values(), ids=ORIGINS)
def test_demand_is_counted_as_far_upstream_as_it_can_be(pods, origin, per_s):
    now = reading(pods, expected=pods.keys() & {"a", "b"})
    assert (origin, Value(per_s)) == (now.origin, now.arrivals_per_s)


def test_where_nothing_counts_nothing_is_the_origin():
    assert DemandOrigin.NOWHERE == reading({}, expected={"a"}).origin


def test_idle_at_the_router_and_in_the_engines():
    quiet = pod(completions=0, running=0)
    assert Idle() == reading({"a": quiet, "front": router(0)}, expected={"a"}).arrivals_per_s


def test_an_engine_that_does_not_say_what_runs_can_be_idle():
    quiet = pod(completions=0, running=Unknown(Reason.NOT_EXPORTED))
    assert Idle() == reading({"a": quiet}).arrivals_per_s


class Noting(dict):
    """A pod that notes which of its signals are looked at."""

    def __init__(self, pod, noted):
        super().__init__(pod)
        self.noted = noted

    def __contains__(self, signal):
        self.noted.add(signal)
        return super().__contains__(signal)

    def __getitem__(self, signal):
        self.noted.add(signal)
        return super().__getitem__(signal)

    def get(self, signal, default=None):
        self.noted.add(signal)
        return super().get(signal, default)


def test_the_signals_asked_for_are_those_that_are_read():
    noted = set()
    for pods, *_ in ORIGINS.values():
        noting = {name: Noting(one, noted) for name, one in pods.items()}
        now_reading(InstantSamples(KEY, 1000.0, noting), frozenset(noting), None, SLO)
    assert set(NOW_SIGNALS) == noted


def test_requests_last_as_long_as_the_longest_answer_of_the_busiest_pod():
    """A second to the first token and 200 tokens of 50 ms each: 11 s in the mean."""
    times = {"ttft_sum": 60.0, "itl_sum": 600.0, "itl_count": 12_000}
    pods = {
        "idle": pod(running=0, tokens=(6000, 12_000), **times),
        "one": pod(running=1, tokens=(6000, 12_000), **times),
        "forty": pod(running=40, tokens=(6000, 12_000), **times),
    }
    assert pytest.approx(11.0 * math.log(40 * 20)) == reading(pods).drain_s
    assert pytest.approx(11.0 * math.log(20)) == reading({"one": pods["one"]}).drain_s
    assert reading({"idle": pods["idle"]}).drain_s is None
    assert reading({"silent": pod()}).drain_s is None
