"""Which adapters settings choose, and how a simulated world's time passes."""

import json
from threading import enumerate as threads

import pytest

from fleet.boards import A30_24GB
from fleet.errors import InputError
from foreslice.clock import WallClock
from foreslice.compose import WorldClock, have_same_surroundings, loop_of, surroundings_of
from foreslice.settings.schema import Settings
from predictor.sources.kept import KeptSource
from predictor.sources.prometheus import PrometheusSource
from tests.fakes.doors import kubeconfig
from tests.prometheus.server import serving

DAY_S = 86400
ENDED = "the simulated traffic has ended, and with it time: start again for another day"
ROWS = (
    "timestamp,series,namespace,pod,model_name,value\n"
    "60,vllm:request_success_total,default,chat-0,chat,1\n"
    "120,vllm:request_success_total,default,chat-0,chat,5\n"
)


class Wall:
    def __init__(self):
        self.at_s = 5e8

    def now_s(self):
        return self.at_s


class World:
    """A world that only has time."""

    end_s = 1000 + DAY_S

    def __init__(self):
        self.clock = self
        self.now_s = 1000.0

    def advance_to(self, at_s):
        assert at_s >= self.now_s, "time does not run backwards"
        self.now_s = at_s


def settings(metrics=None, cluster=None, history=None, **workload):
    one = {"name": "chat", "model": "qwen2.5-7b-bf16", "slo": {"ttft": {"p95": "1s"}}} | workload
    return Settings.model_validate(
        {
            "version": "v1",
            "metrics": metrics or {"source": "embedded"},
            "cluster": cluster or {"kind": "embedded", "nodes": 1},
            "history": history,
            "workloads": [one],
        }
    )


class TestWorldClock:
    def test_a_second_outside_is_a_second_inside(self):
        wall, world = Wall(), World()
        clock = WorldClock(world, wall)
        wall.at_s += 30

        assert 1030.0 == clock.now_s()
        assert clock.move_world() is None
        assert 1030.0 == world.now_s

    def test_a_machine_whose_clock_is_put_back_stops_the_world_until_it_has_caught_up(self):
        wall, world = Wall(), World()
        clock = WorldClock(world, wall)
        wall.at_s += 30
        clock.move_world()
        wall.at_s -= 20
        clock.move_world()

        assert 1030.0 == world.now_s

    def test_time_ends_with_the_traffic_and_that_is_said(self):
        wall, world = Wall(), World()
        clock = WorldClock(world, wall)
        wall.at_s += 2 * DAY_S

        assert [ENDED, ENDED] == [clock.move_world(), clock.move_world()]
        assert World.end_s == clock.now_s() == world.now_s


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"mode": "full"}, True),
        ({"tier": "strict"}, True),
        ({"replicas": {"min": 2}}, True),
        ({"name": "talk"}, False),
        ({"model": "qwen2.5-3b-bf16"}, False),
        ({"match": {"model_name": "x"}}, False),
        ({"slo": {"ttft": {"p95": "2s"}}}, False),
        ({"cluster": {"kind": "embedded", "nodes": 2}}, False),
    ],
)
def test_adapters_outlive_what_they_do_not_depend_on(change, expected):
    assert expected == have_same_surroundings(settings(), settings(**change))


def test_a_file_alone_has_its_own_time_and_the_board_that_is_named(tmp_path):
    (tmp_path / "metrics.csv").write_text(ROWS)
    chosen = surroundings_of(
        settings({"source": "file", "path": "metrics.csv"}, {"kind": "none", "board": "a30-24gb"}), tmp_path
    )

    assert 120.0 == chosen.clock.now_s()
    assert (None, (A30_24GB,), None) == (chosen.cluster, chosen.boards, chosen.before_tick())


def test_a_prometheus_goes_by_the_machines_clock_and_its_files_stand_beside_the_settings(tmp_path):
    (tmp_path / "token").write_text("secret")
    there = {"source": "prometheus", "url": "https://prometheus:9090", "token_file": "token"}
    chosen = surroundings_of(settings(there, {"kind": "none"}), tmp_path)

    assert isinstance(chosen.metrics, PrometheusSource)
    assert isinstance(chosen.clock, WallClock)
    assert (None, None) == (chosen.cluster, chosen.before_tick())


THERE = {"source": "prometheus", "url": "https://prometheus:9090"}, {"kind": "none"}


def test_history_is_kept_beside_the_settings_and_what_is_wrong_with_that_is_told(tmp_path):
    chosen = surroundings_of(settings(*THERE, history={"path": "past"}), tmp_path)

    assert isinstance(chosen.metrics, KeptSource)
    assert (tmp_path / "past").is_dir()
    assert chosen.before_tick() is None
    chosen.metrics.trouble = "history is not kept"
    assert "history is not kept" == chosen.before_tick()


def test_deployments_beside_the_workloads_own_are_chosen_with_the_adapters():
    there = {"source": "prometheus", "url": "http://p:9090"}, {"kind": "kubernetes"}
    alone, beside = settings(*there), settings(*there, variants=["chat-small"])
    assert not have_same_surroundings(alone, beside)
    assert have_same_surroundings(beside, settings(*there, variants=["chat-small"]))


def test_where_history_is_kept_and_how_long_is_chosen_with_the_adapters():
    kept, elsewhere = (settings(*THERE, history={"path": path}) for path in ("past", "other"))
    longer = kept.model_copy(update={"loop": kept.loop.model_copy(update={"history": 2 * DAY_S})})
    assert have_same_surroundings(kept, settings(*THERE, history={"path": "past"}))
    assert not have_same_surroundings(kept, elsewhere)
    assert not have_same_surroundings(kept, settings(*THERE))
    assert not have_same_surroundings(kept, longer)


@pytest.mark.parametrize(
    ("expected", "more"),
    [
        ("token: cannot be read", {"token_file": "token"}),
        ("secret: cannot be read", {"username": "me", "password_file": "secret"}),
        ("ca.pem: cannot be used", {"ca_file": "ca.pem"}),
        (
            "http://prometheus:9090: would get credentials without TLS",
            {"url": "http://prometheus:9090", "token_file": __file__},
        ),
    ],
)
def test_what_a_prometheus_cannot_be_reached_by_is_refused(expected, more, tmp_path):
    there = {"source": "prometheus", "url": "https://prometheus:9090", **more}
    with pytest.raises(InputError, match=expected):
        surroundings_of(settings(there, {"kind": "none"}), tmp_path)


def test_a_workload_that_is_off_is_not_even_looked_at(tmp_path):
    (tmp_path / "metrics.csv").write_text(ROWS)
    asked = {"source": "file", "path": "metrics.csv"}, {"kind": "none"}
    for mode, seen in (("off", []), ("forecast-only", ["chat"])):
        chosen = settings(*asked, mode=mode)
        loop = loop_of(chosen, surroundings_of(chosen, tmp_path))
        loop.forecast()
        assert seen == [key.name for key in loop.tick().outlooks]


KUBERNETES = {"kind": "kubernetes", "kubeconfig": "none.yaml"}
FILE = {"source": "file", "path": "metrics.csv"}


def test_a_cluster_is_looked_for_beside_the_settings(tmp_path):
    (tmp_path / "metrics.csv").write_text(ROWS)
    with pytest.raises(InputError) as said:
        surroundings_of(settings(FILE, KUBERNETES), tmp_path)
    assert str(tmp_path / "none.yaml") == said.value.where


def garbled(request):
    """Answer as an API server with one card, of so much memory that nobody can read it."""
    device = {"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}
    device["capacity"] = {"memory": {"value": "much"}}
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": "n0", "pool": pool, "devices": [device]}
    slices = [{"metadata": {"name": "s", "resourceVersion": "1"}, "spec": spec}]
    items = slices if "/resourceslices" in request.path else []
    listed = {"metadata": {"resourceVersion": "1"}, "items": items}
    body = b"" if "watch=true" in request.path else json.dumps(listed).encode()
    request.send_response(200)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def test_whatever_goes_wrong_with_a_cluster_its_watches_are_ended(tmp_path):
    (tmp_path / "metrics.csv").write_text(ROWS)
    with serving(garbled) as address:
        kubeconfig(tmp_path / "kubeconfig", f"http://{address}")
        with pytest.raises(ValueError, match="much"):
            surroundings_of(settings(FILE, {**KUBERNETES, "kubeconfig": "kubeconfig"}), tmp_path)
    assert [] == [each.name for each in threads() if each.name.startswith("watch ")]


def test_whether_it_acts_decides_who_stands_for_election():
    acting = settings(FILE, KUBERNETES).model_copy(update={"acting": True})
    assert not have_same_surroundings(settings(FILE, KUBERNETES), acting)
    assert have_same_surroundings(settings(), settings().model_copy(update={"acting": True}))


def test_a_model_that_is_described_is_the_one_that_is_reckoned_with(tmp_path):
    (tmp_path / "metrics.csv").write_text(ROWS)
    named = {"name": "llama-3.1-8b-bf16", "max_model_len": 8192}
    chosen = surroundings_of(
        settings({"source": "file", "path": "metrics.csv"}, {"kind": "none"}, model=named), tmp_path
    )

    assert 8192 == chosen.models["llama-3.1-8b-bf16-8192"].max_model_len
    assert 131_072 == chosen.models["llama-3.1-8b-bf16"].max_model_len


def test_a_simulated_world_refuses_a_model_that_takes_several_cards(tmp_path):
    with pytest.raises(InputError) as refusal:
        surroundings_of(settings(model="llama-3.3-70b-bf16"), tmp_path)

    assert "workload default/chat" == refusal.value.where
    assert "fits on no single card, and simulated replicas have one" in refusal.value.what
