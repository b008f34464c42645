"""Engines that are not vLLM, routers in front, and quantiles, through the real Prometheus."""

import json
from contextlib import ExitStack
from urllib.parse import urlencode
from urllib.request import urlopen

import numpy as np
import pytest
from typer.testing import CliRunner

from fleet.demand import DemandOrigin, Mix
from fleet.sample import Idle, Value
from fleet.signal import Signal
from foreslice.cli import app
from foreslice.clock import WallClock
from predictor.demand import HISTORY_SIGNALS, demand_history
from predictor.engines import engine_of
from predictor.inspection.quantiles import quantile_of
from predictor.now import NOW_SIGNALS, now_reading
from predictor.sources.access import Access
from predictor.sources.matching import Match
from predictor.sources.prometheus import PrometheusSource
from predictor.sources.query import QueryApi
from predictor.vocabulary import Vocabulary
from simulator.series import exposition
from tests.builders.dialects import as_dynamo_frontend, as_sglang, as_tgi, readings
from tests.builders.engines import MIX, constant, engines
from tests.builders.scrapes import LLAMA, Scraped, minutes
from tests.prometheus.conftest import past
from tests.prometheus.test_scraping import exporting, scraping

CLOCK = WallClock()
UNTIL_S = (60, 120, 180)


@pytest.fixture
def fleet(server_of):
    """A function that lets Prometheus scrape pods while engines serve; each pod's words make its page."""
    with ExitStack() as opened:

        def start(**words):
            exporters = {pod: opened.enter_context(exporting()) for pod in words}
            addresses = {pod: address for pod, (_, address) in exporters.items()}
            server = server_of(config=scraping("0", addresses))
            made, told = engines(constant(20, 600)), []
            for until_s in UNTIL_S:
                made.advance(until_s)
                told.append(exposition(made.counts, made.pace, 0, "m"))
                for pod, (exporter, _) in exporters.items():
                    exporter.show(words[pod](told[-1]))
                for exporter, _ in exporters.values():
                    exporter.wait(QueryApi(server, Access()), pods=len(words))
            return server, [readings(text) for text in told]

        yield start


def read_now(server, match, expected):
    at_s = CLOCK.now_s()
    samples = PrometheusSource(server, {LLAMA: match}).now(NOW_SIGNALS, [LLAMA], at_s)[LLAMA]
    return now_reading(samples, frozenset(expected), None)


def grown(told, name):
    return told[-1][name] - told[0][name]


def test_sglang_whose_ranks_all_say_the_same_counts_once(fleet):
    server, told = fleet(a=lambda text: as_sglang(text, "Org/Chat"))
    now = read_now(server, {"namespace": "prod", "model_name": "Org/Chat"}, "a")
    assert (DemandOrigin.FIRST_TOKENS, ()) == (now.origin, now.distrust)
    assert Value(grown(told, "time_to_first_token_seconds_count") / 60) == now.arrivals_per_s
    assert (Value(told[-1]["num_requests_running"]), Value(0)) == (now.running, now.waiting)
    assert pytest.approx([MIX.prompt_tokens, MIX.output_tokens], rel=0.1) == [
        now.mix.prompt_tokens,
        now.mix.output_tokens,
    ]


def test_tgi_counts_what_comes_and_whom_it_turns_away(fleet):
    pages = iter((0, 30, 90))
    server, told = fleet(a=lambda text: as_tgi(text, next(pages)))
    now = read_now(server, {"namespace": "prod", "pod": "a"}, "a")
    inside = [page["num_requests_running"] + page["num_requests_waiting"] for page in told]
    came = grown(told, "request_success_total") + inside[-1] - inside[0] + 90
    assert (DemandOrigin.ENGINES, Value(came / 60)) == (now.origin, now.arrivals_per_s)
    assert ("90 requests refused",) == now.distrust


def test_a_dynamo_frontend_is_believed_before_the_engines_behind_it(fleet):
    """It writes the model in lower case; what it turned away never came to the engines."""
    pages = iter((0, 300, 600))
    server, told = fleet(
        a=lambda text: text,
        front=lambda text: as_dynamo_frontend(text, "Org/Chat", next(pages)),
    )
    match = Match({"namespace": "prod", "model_name": "m"}, router={"model": "Org/Chat"})
    now = read_now(server, match, "a")
    inside = [page["num_requests_running"] + page["num_requests_waiting"] for page in told]
    came = grown(told, "request_success_total") + inside[-1] - inside[0] + 600
    assert (DemandOrigin.ROUTER, Value(came / 60)) == (now.origin, now.arrivals_per_s)
    assert ("600 requests refused",) == now.distrust
    assert Value(told[-1]["num_requests_running"]) == now.running


def test_an_engine_that_a_user_described(fleet):
    ours = engine_of("ours", {"like": "vllm", "renamings": {"vllm:": ["our_"]}})
    server, told = fleet(a=lambda text: text.replace("vllm:", "our_"))
    labels = {"namespace": "prod", "model_name": "m"}
    known = read_now(server, Match(labels, engines=Vocabulary([ours])), "a")
    assert (Value(grown(told, "time_to_first_token_seconds_count") / 60), ()) == (
        known.arrivals_per_s,
        known.distrust,
    )
    unknown = read_now(server, labels, "a")
    assert (DemandOrigin.NOWHERE, ("1 of 1 ready pods not scraped: a",)) == (unknown.origin, unknown.distrust)


def test_quantiles_are_those_of_prometheus(fleet):
    server, _ = fleet(a=lambda text: text)
    name = "vllm:time_to_first_token_seconds_bucket"

    def ask(query):
        with urlopen(f"{server}/api/v1/query?{urlencode({'query': query})}") as answer:  # noqa: S310
            return json.load(answer)["data"]["result"]

    buckets = {float(one["metric"]["le"]): float(one["value"][1]) for one in ask(name)}
    for q in (0.01, 0.5, 0.95, 1.0):
        [told] = ask(f"histogram_quantile({q}, {name})")
        assert pytest.approx(float(told["value"][1])) == quantile_of(q, buckets).value
    top = {0.1: 5.0, 0.2: 7.0, float("inf"): 10.0}
    text = " or ".join(f'label_replace(vector({n}), "le", "{le}", "", "")' for le, n in top.items())
    [told] = ask(f"histogram_quantile(0.9, {text.replace('inf', '+Inf')})")
    assert (float(told["value"][1]), True) == (quantile_of(0.9, top).value, quantile_of(0.9, top).is_censored)


def test_demand_of_a_day_at_a_router_and_in_its_engines(server_of):
    """Of what came in each minute; a request takes two, so that what ends says it late."""
    came = np.repeat([60.0, 0.0, 600.0, 60.0], 15)
    ended = np.concatenate((np.full(2, 60.0), came[:-2]))
    inside = np.cumsum(came - ended) + 120
    front = Scraped(
        "front",
        "dynamo_frontend_requests_started_total",
        minutes([0, *came.cumsum()]),
        labels={"model": "org/m"},
    )
    behind = (
        Scraped("a", "sglang:num_requests_total", minutes([0, *ended.cumsum()])),
        Scraped("a", "sglang:num_running_reqs", minutes([120, *inside])),
        Scraped("a", "sglang:num_queue_reqs", minutes([0] * 61)),
    )
    server = server_of([*past(front), *past(*behind)])
    labels = {"namespace": "prod", "model_name": "llama"}
    for match in (Match(labels, router={"model": "Org/M"}), Match(labels)):
        buckets = PrometheusSource(server, {LLAMA: match}).samples(HISTORY_SIGNALS, [LLAMA], 0, 3600)[LLAMA]
        demand = demand_history(buckets).requests_per_s
        first = 0 if match.router else 1
        np.testing.assert_allclose(came[first:] / 60, demand[first:])


def test_an_idle_engine_is_idle(server_of):
    """SGLang that has not been asked for a while."""
    end_s = int(CLOCK.now_s())
    names = ("num_requests_total", "prompt_tokens_total", "generation_tokens_total", "token_usage")
    gauges = ("num_running_reqs", "num_queue_reqs")
    readings_of = [(end_s - 15 * at, 7.0) for at in range(20, 0, -1)]
    quiet = [Scraped("a", f"sglang:{name}", readings_of) for name in names[:3]]
    quiet += [
        Scraped("a", f"sglang:{name}", [(t_s, 0.0) for t_s, _ in readings_of]) for name in (names[3], *gauges)
    ]
    server = server_of(past(*quiet))
    labels = {"namespace": "prod", "model_name": "llama"}
    samples = PrometheusSource(server, {LLAMA: labels}).now(NOW_SIGNALS, [LLAMA], end_s)[LLAMA]
    now = now_reading(samples, frozenset("a"), Mix(9, 9))
    assert (Idle(), (), Mix(9, 9)) == (now.arrivals_per_s, now.distrust, now.mix)


def test_two_replicas_by_a_label_of_the_users_own(server_of):
    """Both have all of it; without the name of their label everything would count twice."""
    twice = [
        *past(Scraped("a", "sglang:num_requests_total", minutes([0, 60, 180])), ha="0"),
        *past(Scraped("a", "sglang:num_requests_total", minutes([0, 60, 180])), ha="1"),
    ]
    server, labels = server_of(twice), {LLAMA: {"namespace": "prod", "model_name": "llama"}}

    def completions(**more):
        told = PrometheusSource(server, labels, **more).samples([Signal.COMPLETIONS], [LLAMA], 0, 120)
        return told[LLAMA].values[Signal.COMPLETIONS].tolist()

    assert [120, 240] == completions()
    assert [60, 120] == completions(scraper_labels=("ha",))


def test_what_a_person_sees_of_an_engine_and_of_prometheus(fleet):
    """The same engine by its own page, and by an answer of Prometheus' API."""
    server, told = fleet(a=lambda text: as_sglang(text, "Org/Chat"))
    query = urlencode({"query": '{__name__=~"sglang:.+"}[5m]'})
    shown = CliRunner().invoke(app, ["metrics", "inspect", f"{server}/api/v1/query?{query}", "-o", "json"])
    [sglang] = json.loads(shown.output)["producers"]
    assert ("sglang", "a", "prod", "Org/Chat") == tuple(
        sglang[key] for key in ("engine", "pod", "namespace", "model")
    )
    done = sglang["signals"]["completions"]
    assert (told[-1]["request_success_total"], grown(told, "request_success_total")) == (
        done["value"],
        done["increase"],
    )
