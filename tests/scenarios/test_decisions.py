"""Every row of the table is one question to the decision core, with the answer that it must give."""

from pathlib import Path

import pytest
import yaml

from allocator.decide import additions, plan
from fleet.workload import Mode, Router, Tier
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import NOW_S, configuration, fleet, running, standing

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
}


def _ago(seconds):
    return None if seconds is None else NOW_S - seconds


def _standing(name, row):
    return standing(
        name,
        row["stands"],
        changed_at_s=_ago(row["changed_ago_s"]),
        reshaped_at_s=_ago(row["reshaped_ago_s"]),
        moving_to=None if row["moving_to"] is None else configuration(row["moving_to"]),
    )


def _question(case, rows):
    on_node_0 = [("node-0", device) for device in case.get("foreign", ())]
    waiting = [_standing(name, row) for name, row in rows.items() if not row["placed"]]
    empty = fleet(case.get("cards", 1), foreign=on_node_0, standings=waiting)
    return question(
        running(empty, *(_standing(name, row) for name, row in rows.items() if row["placed"])),
        [
            workload(
                name,
                Tier(row["tier"]),
                Mode(row["mode"]),
                Router(row["router"]),
                floor=row["floor"],
                ceiling=row["ceiling"],
            )
            for name, row in rows.items()
        ],
        [
            need(name, row["up"], row["keep"], row["reactive"], distrust=row["distrust"])
            for name, row in rows.items()
        ],
        {name: offers(row["offers"], Router(row["router"])) for name, row in rows.items()},
    )


@pytest.mark.parametrize("case", TABLE, ids=[case["case"] for case in TABLE])
def test_the_table_of_decisions(case):
    assert set(case) <= {"case", "ask", "cards", "foreign", "workloads"}
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
