"""`foreslice snapshot` and `foreslice plan`: one moment kept, and planned from as often as one likes."""

import json
from dataclasses import replace

import pytest

from allocator.decide import plan
from allocator.target import target
from fleet.errors import InputError
from fleet.host import Host, HostAmount
from fleet.workload import LatencyTarget, Slo
from foreslice import snapshot
from foreslice.planning import print_plan, report_of
from tests.builders.deciding import MODEL, need, offers, question, workload
from tests.builders.fleet import fleet, running, standing

SETTINGS = """\
version: v1
metrics: {source: embedded}
cluster: {kind: embedded, nodes: 1}
workloads:
"""
ONE = "  - {{name: {}, namespace: serving, model: " + MODEL + ", slo: {{ttft: {{p95: 1s}}}}, mode: full}}\n"
CAPACITIES = {"1g.10gb": 0.1, "3g.40gb": 0.45, "whole": 1.0}


def asked(**works):
    """Workloads by name, each standing on one whole card, with the work that must be kept."""
    slo = Slo(ttft=LatencyTarget(0.95, 1.0))
    scene = running(fleet(4), *(standing(name, "1 x whole") for name in works))
    needs = [need(name, work, reactive=work / 2) for name, work in works.items()]
    workloads = [workload(name, slo=slo) for name in works]
    return question(scene, workloads, needs, dict.fromkeys(works, offers(CAPACITIES)))


@pytest.fixture
def files(tmp_path):
    """Write a snapshot of such workloads and settings that name them."""

    def write(**works):
        (tmp_path / "snapshot.json").write_text(snapshot.as_text(asked(**works)))
        (tmp_path / "settings.yaml").write_text(SETTINGS + "".join(ONE.format(name) for name in works))
        return tmp_path / "snapshot.json", tmp_path / "settings.yaml"

    return write


def printed(capsys, *args):
    print_plan(*args, as_json=True)
    return json.loads(capsys.readouterr().out)


def test_a_snapshot_gives_the_same_answers_as_what_it_was_taken_of(tmp_path):
    before, file = asked(a=0.4, b=0.3), tmp_path / "s.json"
    file.write_text(snapshot.as_text(before))
    after = snapshot.read(file)

    assert target(before) == target(after)
    assert [d.goal for d in plan(before)] == [d.goal for d in plan(after)]
    assert snapshot.as_text(after) == snapshot.as_text(snapshot.read(file))


def test_a_snapshot_names_no_node_card_or_pod():
    text = snapshot.as_text(asked(a=0.4))
    assert "GPU-node" not in text
    assert "a-whole-0" not in text
    assert "card-0" in text
    assert '"serving"' in text


def test_nor_a_fault_domain_of_a_node_and_keeps_what_is_left_of_it():
    hosts = {"node-0": Host("rack-7", HostAmount(2000, 1 << 30, 9)), "node-1": Host("node-1")}
    question = replace(asked(chat=0.4), fleet=replace(fleet(2, 1), hosts=hosts))
    text = snapshot.as_text(question)
    assert "rack-7" not in text
    assert "domain-0" in text
    assert '"cpu_m":2000' in text


def test_a_plan_says_target_certificate_reasons_and_what_it_were_without_the_forecast(files, capsys):
    report = printed(capsys, *files(a=0.4, b=0.4), None)

    assert {
        "there": 4,
        "in_use": 2,
        "target": 1,
        "least": 1,
        "gap": 0.0,
        "target_without_forecast": 1,
        "cost": 1.0,
    } == report["cards"]
    first = report["workloads"][0]
    assert ("serving/a", "1 x whole", "1 x 3g.40gb") == (first["workload"], first["stands"], first["target"])
    assert 0.5 == pytest.approx(first["target_cards"])
    assert {
        "reactive": 0.2,
        "quiet_peak": 0.2,
        "quiet_up": 0.0,
        "forecast_up": 0.4,
        "forecast_keep": 0.0,
    } == first["need"]["by"]
    assert "its floor of replicas" == first["bound_by"]
    assert ["4 x 1g.10gb", "1 x whole"] == [one["configuration"] for one in first["alternatives"]]
    assert "1 x 3g.40gb" == first["next"]
    assert first["because"]


def test_alternatives_say_whether_cards_are_cut_into_them(files, capsys, tmp_path):
    snap, config = files(a=0.4)
    scene = asked(a=0.4)
    whole = [replace(p, devices=tuple(d for d in p.devices if d.kind == "gpu")) for p in scene.fleet.pools]
    uncut = replace(scene, fleet=replace(scene.fleet, pools=tuple(whole)))
    (tmp_path / "uncut.json").write_text(snapshot.as_text(uncut))
    told = []
    for file in (snap, tmp_path / "uncut.json"):
        [first] = printed(capsys, file, config, None)["workloads"]
        told.append({one["configuration"]: one["is_offered"] for one in first["alternatives"]})
    assert [{True}, {False}] == [set(one.values()) for one in told]
    assert "4 x 1g.10gb" in told[1]


def test_the_way_is_told_move_by_move_starts_before_stops(files, capsys):
    report = printed(capsys, *files(a=0.4, b=0.4), None)

    assert [] == report["stuck"]
    acts = [(move["do"], move["workload"]) for move in report["moves"]]
    for name in ("serving/a", "serving/b"):
        assert acts.index(("start", name)) < acts.index(("stop", name))
    assert {"card-0", "card-1", "card-2", "card-3"} >= {move["card"] for move in report["moves"]}


def test_engines_of_one_card_are_started_one_after_the_other(files, capsys):
    moves = printed(capsys, *files(a=0.4, b=0.4), None)["moves"]

    starts = [move for move in moves if move["do"] == "start"]
    assert 1 == len({move["card"] for move in starts})
    assert {90.0, 180.0} == {move["ahead_s"] for move in starts}
    assert {None} == {move["ahead_s"] for move in moves if move["do"] != "start"}


def test_the_same_files_give_the_same_bytes(files, capsys):
    args = files(a=0.4, b=0.7)
    print_plan(*args, None, as_json=True)
    first = capsys.readouterr().out
    print_plan(*args, None, as_json=True)
    assert first == capsys.readouterr().out


def test_other_demand_is_planned_for_in_place_of_what_was_seen(files, capsys, tmp_path):
    demand = tmp_path / "demand.yaml"
    demand.write_text("serving/a: 2.5\n")
    report = printed(capsys, *files(a=0.4, b=0.4), demand)

    assert ["3 x whole", "1 x 3g.40gb"] == [one["target"] for one in report["workloads"]]
    assert {"serving/a": 2.5, "serving/b": 0.4} == {
        o["workload"]: o["need"]["keep"] for o in report["workloads"]
    }


def test_a_person_sees_a_table_and_the_certificate(files, capsys):
    print_plan(*files(a=0.4), None, as_json=False)
    text = capsys.readouterr().out
    assert "serving/a" in text
    assert "no packing costs less than 1" in text


def test_too_few_cards_are_said_with_who_is_short():
    report = report_of(asked(a=3.5, b=3.5))
    assert 7 <= report["cards"]["least"]
    assert 4 == report["cards"]["target"]
    assert any("cards of h100-80gb: 4" in line for line in report["binding"])
    assert any(one["short"] > 0 and "too few cards" in one["bound_by"] for one in report["workloads"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "is not a table of workloads"),
        ("serving/zz: 1", "no workload serving/zz"),
        ("serving/a: -1", "-1 is no work"),
        ("serving/a: much", "'much' is no work"),
        ("{", "neither YAML nor JSON"),
    ],
)
def test_demand_that_cannot_be_used_is_refused(files, tmp_path, text, says):
    demand = tmp_path / "demand.yaml"
    demand.write_text(text)
    with pytest.raises(InputError, match=says):
        print_plan(*files(a=0.4), demand, as_json=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is no JSON"),
        ("{}", "is not of format"),
        ('{"format": "foreslice snapshot 1", "question": {}}', "does not hold a question"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused(files, text, says):
    file, settings = files(a=0.4)
    file.write_text(text)
    with pytest.raises(InputError, match=says):
        print_plan(file, settings, None, as_json=True)


def test_a_file_that_is_not_there_is_refused(files, tmp_path):
    _, settings = files(a=0.4)
    with pytest.raises(InputError, match="cannot be read"):
        print_plan(tmp_path / "none.json", settings, None, as_json=True)


def test_settings_of_other_workloads_or_another_slo_are_refused(files):
    file, settings = files(a=0.4)
    settings.write_text(SETTINGS + ONE.format("other"))
    with pytest.raises(InputError, match="serving/other is not in the snapshot"):
        print_plan(file, settings, None, as_json=True)
    settings.write_text(SETTINGS + ONE.format("a").replace("1s", "2s"))
    with pytest.raises(InputError, match="SLO"):
        print_plan(file, settings, None, as_json=True)
