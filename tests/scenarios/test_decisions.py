"""Every row of the table is one question to the decision core, with the answer that it must give."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from allocator.decide import additions, plan
from allocator.market import Market
from fleet.host import Host, HostAmount
from fleet.ledgers.queues import UNLIMITED, Queue
from fleet.workload import Mode, Router, Tier
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import NOW_S, configuration, fleet, key, running, standing

TABLE = yaml.safe_load((Path(__file__).parent / "decisions.yaml").read_text())
ASKED = {"additions": additions, "plan": plan}
EXPECTED = {"goal", "short", "because", "without_forecast"}
GIVEN = {
    "stands": "",
    "placed": True,
    "up": 0.0,
    "keep": None,
    "reactive": ...,
    "distrust": (),
    "router": "equal",
    "tier": "balanced",
    "mode": 4,
    "floor": 1,
    "ceiling": 64,
    "offers": None,
    "changed_ago_s": None,
    "reshaped_ago_s": None,
    "moving_to": None,
    "queue": None,
    "spread": False,
    "memory_gib": 0,
}


def _ago(seconds):
    return None if seconds is None else NOW_S - seconds


def _host(memory_gib, pods=1):
    return HostAmount(0, memory_gib << 30, pods)


def _standing(name, row):
    one = standing(
        name,
        row["stands"],
        changed_at_s=_ago(row["changed_ago_s"]),
        reshaped_at_s=_ago(row["reshaped_ago_s"]),
        moving_to=None if row["moving_to"] is None else configuration(row["moving_to"]),
    )
    host = _host(row["memory_gib"])
    return replace(one, variants=tuple(replace(variant, host=host) for variant in one.variants))


def _market(case, rows):
    given = {
        name: {"quota": UNLIMITED, "limit": UNLIMITED} | of for name, of in case.get("queues", {}).items()
    }
    queue_of = {key(name): row["queue"] for name, row in rows.items() if row["queue"]}
    return Market(queues={name: Queue(name, **of) for name, of in given.items()}, queue_of=queue_of)


def _question(case, rows):
    on_node_0 = [("node-0", device) for device in case.get("foreign", ())]
    waiting = [_standing(name, row) for name, row in rows.items() if not row["placed"]]
    nodes = case.get("nodes", {})
    hosts = {n: Host(of.get("domain", ""), _host(of.get("memory_gib", 999), 99)) for n, of in nodes.items()}
    empty = fleet(case.get("cards", 1), case.get("per_node", 8), on_node_0, waiting, hosts)
    asked = question(
        running(empty, *(_standing(name, row) for name, row in rows.items() if row["placed"])),
        [
            workload(
                name,
                Tier(row["tier"]),
                Mode(row["mode"]),
                Router(row["router"]),
                floor=row["floor"],
                ceiling=row["ceiling"],
                is_spread=row["spread"],
            )
            for name, row in rows.items()
        ],
        [
            need(name, row["up"], row["keep"], row["reactive"], distrust=row["distrust"])
            for name, row in rows.items()
        ],
        {name: offers(row["offers"], Router(row["router"])) for name, row in rows.items()},
    )
    return replace(asked, market=_market(case, rows))


@pytest.mark.parametrize("case", TABLE, ids=[case["case"] for case in TABLE])
def test_the_table_of_decisions(case):
    assert set(case) <= {"case", "ask", "cards", "per_node", "nodes", "foreign", "queues", "workloads"}
    for row in case["workloads"].values():
        assert set(row) <= EXPECTED | set(GIVEN)
    rows = {name: GIVEN | row for name, row in case["workloads"].items()}
    decisions = {d.workload.name: d for d in ASKED[case.get("ask", "additions")](_question(case, rows))}

    for name, row in rows.items():
        decision = decisions[name]
        goal = configuration(row.get("goal", row["stands"]))
        assert (str(goal), row.get("short", 0.0)) == (str(decision.goal), pytest.approx(decision.short))
        assert len(row.get("because", ())) == len(decision.because), decision.because
        for words, reason in zip(row.get("because", ()), decision.because, strict=True):
            assert words in reason
        if "without_forecast" in row:
            assert row["without_forecast"] == str(decision.without_forecast)


def test_every_case_has_its_own_name():
    assert len(TABLE) == len({case["case"] for case in TABLE})
