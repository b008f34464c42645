"""Settings that say what cards cost, and what teams may use."""

import json

import pytest

from fleet.errors import InputError
from fleet.ledgers.queues import UNLIMITED, Queue
from fleet.workload import WorkloadKey
from foreslice import snapshot
from foreslice.planning import print_plan
from foreslice.settings.load import load, market_of, rules_of, spreading_of, workloads_of
from tests.unit.foreslice.test_planning import ONE, SETTINGS, asked
from tests.unit.foreslice.test_settings import GOOD, HEAD

CARDS = "cards: {a100-80gb: {price: 0.6}, a30-24gb: {}}\n"
QUEUES = "queues: {search: {quota: 2, limit: 4.5, priority: 7}, rest: {}}\n"


def read(tmp_path, text):
    path = tmp_path / "foreslice.yaml"
    path.write_text(text)
    return load(path)


def test_cards_cost_alike_and_nobody_is_in_a_queue_where_nothing_is_said(tmp_path):
    market = market_of(read(tmp_path, HEAD + GOOD))
    assert ({}, {}, {}) == (market.prices, market.queues, market.queue_of)


def test_prices_and_queues_arrive_and_the_loop_has_them(tmp_path):
    settings = read(tmp_path, CARDS + QUEUES + HEAD + GOOD.replace("name: chat", "name: chat, queue: search"))
    market = market_of(settings)
    assert {"a100-80gb": 0.6, "a30-24gb": 1.0} == market.prices
    assert Queue("search", quota=2.0, limit=4.5, priority=7) == market.queues["search"]
    assert Queue("rest", quota=UNLIMITED, limit=UNLIMITED) == market.queues["rest"]
    assert {WorkloadKey("default", "chat"): "search"} == market.queue_of
    assert market == rules_of(settings).market


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cards: {h1000: {price: 1}}\n", "cards.h1000: must be one of"),
        ("cards: {a30-24gb: {price: 0}}\n", "cards.a30-24gb.price: must be greater than or equal to 0.001"),
        ("queues: {search: {quota: 3, limit: 2}}\n", r"queues.search: quota \(3\) is above limit \(2\)"),
        ("queues: {search: {limit: -1}}\n", "queues.search.limit: must be greater than or equal to 0"),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(tmp_path, text, says):
    with pytest.raises(InputError, match=says):
        read(tmp_path, text + HEAD + GOOD)


def test_a_queue_that_is_not_described_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"workloads\[0\].queue: is no queue of queues \(search, rest\)"):
        read(tmp_path, QUEUES + HEAD + GOOD.replace("name: chat", "name: chat, queue: serch"))


class TestFaultDomains:
    ZONE = "fault_domain: topology.kubernetes.io/zone\n"
    SPREAD = GOOD.replace("name: chat", "name: chat, spread: true, replicas: {min: 2}")

    def test_label_and_workloads_arrive(self, tmp_path):
        settings = read(tmp_path, self.ZONE + HEAD + self.SPREAD)
        spreading = spreading_of(settings)
        chat = WorkloadKey("default", "chat")
        assert ("topology.kubernetes.io/zone", True) == (
            spreading.of(chat),
            workloads_of(settings)[0].is_spread,
        )
        assert "" == spreading.of(WorkloadKey("default", "other"))
        assert "" == spreading_of(read(tmp_path, HEAD + GOOD)).label

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            (HEAD + SPREAD, r"workloads\[0\].spread: needs fault_domain"),
            (
                ZONE + HEAD + SPREAD.replace("min: 2", "min: 1"),
                r"workloads\[0\].spread: needs replicas.min of 2",
            ),
            ("fault_domain: a b\n" + HEAD + GOOD, "fault_domain"),
        ],
    )
    def test_what_cannot_be_spread_is_refused_where_it_stands(self, tmp_path, text, says):
        with pytest.raises(InputError, match=says):
            read(tmp_path, text)


def test_a_plan_from_a_snapshot_keeps_the_prices_and_limits_of_its_settings(tmp_path, capsys):
    (tmp_path / "snapshot.json").write_text(snapshot.as_text(asked(a=1.0, b=1.0)))
    queued = ONE.format("a").replace("name: a", "name: a, queue: team")
    head = "cards: {h100-80gb: {price: 3}}\nqueues: {team: {limit: 0.5}}\n"
    (tmp_path / "settings.yaml").write_text(head + SETTINGS + queued + ONE.format("b"))

    print_plan(tmp_path / "snapshot.json", tmp_path / "settings.yaml", None, as_json=True)

    plan = json.loads(capsys.readouterr().out)
    assert (1, 3.0) == (plan["cards"]["target"], plan["cards"]["cost"])
    assert [1.0, 0.0] == [one["short"] for one in plan["workloads"]]
    assert any("queue team: 0.5 GPUs" in line for line in plan["binding"])
