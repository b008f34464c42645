"""Objects from public bug reports, each with the only right reading of it."""

import json
from datetime import datetime
from pathlib import Path

import pytest
import yaml

from actuator.inventory.claims import claims_hit
from actuator.inventory.hami import grants_of
from actuator.inventory.kai import fraction_of, memory_of, mib_of
from actuator.inventory.understand import dump_of, understand
from actuator.inventory.versions import as_v1, result_names
from fleet.boards import BOARDS
from fleet.ledgers.kai import Card, Share, card_mib
from fleet.mig import Placement, free_starts, realise

CASES = Path(__file__).parents[1] / "data" / "cases"


def folder(number):
    return next(CASES.glob(f"{number}-*"))


def expected(number):
    return json.loads((folder(number) / "expect.json").read_text())


def typed(number, *names):
    return [body for name in names for body in yaml.safe_load_all((folder(number) / name).read_text())]


def shown(number, *names, logs="", now_s=None, more=()):
    return understand(dump_of([*typed(number, *names), *more], logs, now_s))


def codes(result):
    return {(finding["code"], finding["object"]) for finding in result["findings"]}


def said(result, code):
    return next(f"{f['what']}; {f['fix']}" for f in result["findings"] if f["code"] == code)


def test_n01_a_node_with_two_cards_split_and_six_whole():
    right, result = expected("N01"), shown("N01", "node.yaml", "mig-config.yaml")
    [node] = result["nodes"]

    assert (right["whole_gpus"], right["mig"]) == (node["whole_gpus"], node["instances"])
    assert ("as-planned", []) == (node["layout_state"], result["findings"])
    split = [layout for layout in node["layouts"] if not layout["is_whole"]]
    assert right["free_compute_slices"] == {
        str(layout["index"]): layout["free_compute_slices"] for layout in split
    }
    assert [
        ("2g.20gb@0", "2g.20gb@2", "2g.20gb@4", "1g.10gb@6"),
        ("4g.40gb@0", "3g.40gb@4"),
    ] == [layout["placements"] for layout in split]


def test_n02_a_failed_change_leaves_what_is_there_and_goes_back_to_it():
    right, result = expected("N02"), shown("N02", "node.yaml")
    [node] = result["nodes"]

    assert (right["whole_gpus"], right["mig"], right["layout_state"]) == (
        node["whole_gpus"],
        node["instances"],
        node["layout_state"],
    )
    assert {("layout-failed", "Node node-b")} == codes(result)
    assert f"go back to {right['rollback_to']}, then back off" in said(result, "layout-failed")
    assert "a reset or a reboot is needed; writing the same value again does nothing" in said(
        result, "layout-failed"
    )


def pods_on_cards(number):
    return [
        {
            "kind": "Pod",
            "metadata": {"name": pod["name"], "namespace": "llm"},
            "spec": {"containers": [{"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": pod["gpu"]}]}]},
        }
        for pod in json.loads((folder(number) / "pods.json").read_text())
    ]


def test_n05_a_card_with_xid_94_is_not_counted_and_its_tenant_is_at_risk():
    right = expected("N05")
    logs = (folder("N05") / "plugin.log").read_text()
    result = shown("N05", "node.yaml", logs=logs, more=pods_on_cards("N05"))
    [node] = result["nodes"]

    assert (right["usable"], len(right["unhealthy"])) == (node["whole_gpus"], node["unhealthy_gpus"])
    assert right["unhealthy"] == list(result["unhealthy"])
    risky = [on for code, on in codes(result) if code == "tenant-at-risk"]
    assert [f"Pod llm/{name}" for name in right["at_risk_pods"]] == risky
    assert "start its replacement on another card first, then drain it" in said(result, "tenant-at-risk")


def test_n07_mig_invalid_is_a_lost_layout_with_nothing_to_use():
    right, result = expected("N07"), shown("N07", "node.yaml")
    [node] = result["nodes"]

    assert (right["usable"], right["layout_state"]) == (node["whole_gpus"], node["layout_state"])
    assert not any(node["instances"].values())
    assert "apply all-1g.10gb again once, by way of another value, then back off" in said(
        result, "layout-lost"
    )


KIND = {"1": (1, 1), "1d": (1, 2), "2": (2, 2), "3": (3, 4), "4": (4, 4), "7": (7, 8)}
LAYOUTS = json.loads((folder("N08") / "layouts.json").read_text())


@pytest.mark.parametrize("name", LAYOUTS)
def test_n08_layouts_that_people_use_are_told_from_near_misses(name):
    board = BOARDS["a100-40gb"]
    by_size = {(p.compute_slices, p.memory_slices): p.name for p in board.profiles if not p.media_extension}
    asked = [by_size[KIND[kind]] for kind in LAYOUTS[name]]

    counts = {profile: asked.count(profile) for profile in asked}
    assert expected("N08")[name] is (realise(board, counts) is not None)


def test_n08_beside_a_live_3g_at_0_three_1g_fit():
    board, live, fitted = BOARDS["a100-40gb"], frozenset({Placement("3g.20gb", 0)}), 0
    while starts := free_starts(board, live, "1g.5gb"):
        live |= {Placement("1g.5gb", starts[0])}
        fitted += 1

    assert expected("N08")["live_3g_at_0_then_1g"] == fitted


def test_d01_a_card_that_is_cut_is_not_whole_although_it_is_offered_whole():
    right, result = expected("D01"), shown("D01", "resourceslice.yaml")
    devices = result["devices"]

    assert (right["whole_gpus"], right["mig"]) == (list(devices["whole"]), devices["instances"])
    assert right["overlapping"] == {name: list(inside) for name, inside in devices["overlapping"].items()}
    assert {("whole-and-cut", "device gpu-0")} == codes(result)


def test_d04_a_deleted_claim_whose_pod_is_gone_still_holds_its_device():
    right = expected("D04")
    pods = [{"kind": "Pod", "metadata": pod, "spec": {}} for pod in typed("D04", "pods.json")[0]]
    now_s = datetime.fromisoformat((folder("D04") / "now.txt").read_text().strip()).timestamp()
    result = shown("D04", "claims.yaml", "resourceslice.yaml", now_s=now_s, more=pods)

    assert (right["free"], right["stuck_claims"]) == (
        list(result["devices"]["free"]),
        list(result["devices"]["stuck"]),
    )
    assert "is deleted for 11.0 h and holds gpu-3 for a pod that is gone" in said(result, "stuck-claim")
    assert "leave the finalizer alone" in said(result, "stuck-claim")
    assert "error" == next(f["severity"] for f in result["findings"] if f["code"] == "stuck-claim")


def test_d06_objects_of_every_version_are_read_as_the_same():
    right = expected("D06")
    beta, newest = (as_v1(typed("D06", f"slice_{version}.yaml")[0]) for version in ("v1beta1", "v1"))
    old, new = (as_v1(typed("D06", f"template_{version}.yaml")[0]) for version in ("v1beta1", "v1"))
    first = typed("D06", "template_firstavailable_v1.yaml")[0]

    assert (right["slices_equal"], right["templates_equal"]) == (beta == newest, old == new)
    [card] = shown("D06", "slice_v1beta1.yaml")["cards"]
    assert right["device"] == {"name": card["name"], "memory_bytes": card["memory_bytes"]}
    assert right["firstavailable_results"] == result_names(as_v1(first)["spec"]["spec"])
    assert first == as_v1(first)


def test_d07_a_rule_with_an_empty_selector_is_refused_and_hits_every_claim():
    right, claims = expected("D07"), typed("D07", "claims.yaml")
    [bad], [good] = typed("D07", "bad.yaml"), typed("D07", "good.yaml")

    assert (right["claims_hit_by_bad"], right["claims_hit_by_good"]) == (
        len(claims_hit(bad, claims)),
        len(claims_hit(good, claims)),
    )
    refused = shown("D07", "bad.yaml", "claims.yaml")
    assert ("rule-hits-everything", "DeviceTaintRule drain-gpu-1") in codes(refused)
    assert "3 claims now" in said(refused, "rule-hits-everything")
    assert set() == codes(shown("D07", "good.yaml", "preview.yaml", "claims.yaml"))


def test_d10_sizes_and_versions_of_three_generations():
    right = expected("D10")
    facts = {name: shown("D10", f"{name}.yaml")["cards"][0] for name in right["memory_bytes"]}

    assert right["memory_bytes"] == {name: card["memory_bytes"] for name, card in facts.items()}
    assert right["cc"] == {name: list(card["compute_capability"]) for name, card in facts.items()}
    is_greater = facts["gb200"]["compute_capability"] > facts["h100"]["compute_capability"]
    assert right["gb200_cc_greater_than_h100"] is is_greater
    assert (550, 163, 1) == facts["a100"]["driver"]


@pytest.mark.parametrize("text", json.loads((folder("K01") / "values.json").read_text()))
def test_k01_only_a_decimal_between_0_and_1_is_a_fraction(text):
    assert expected("K01")["valid"][text] is (fraction_of(text) is not None)


@pytest.mark.parametrize("asked", expected("K01")["packs"])
def test_k01_fractions_that_add_up_to_no_more_than_a_card_are_packed(asked):
    count, text = asked.split("x")
    card, fits = Card(card_mib(81559)), True
    for _ in range(int(count)):
        fits = fits and card.fits(Share(float(text)))
        card = card.take(Share(float(text)))

    assert expected("K01")["packs"][asked] is fits


def test_k01_a_comma_is_named_with_the_pod():
    assert {("bad-fraction", "Pod llm/chat-0")} == codes(shown("K01", "pod.yaml"))


def test_k03_gpu_memory_is_a_bare_number_of_mib():
    right, result = expected("K03"), shown("K03", "pods.yaml")
    pods = {pod["metadata"]["name"]: pod["metadata"]["annotations"] for pod in typed("K03", "pods.yaml")}
    admitted = {
        name: memory_of(annotations["gpu-memory"]) is not None if "gpu-memory" in annotations else None
        for name, annotations in pods.items()
    }

    assert right["admitted"] == admitted
    assert {
        ("bad-gpu-memory", "Pod llm/suffix"),
        ("bad-gpu-memory", "Pod llm/gib"),
        ("bad-gpu-memory", "Pod llm/zero"),
        ("unknown-annotation", "Pod llm/wrong-key"),
    } == codes(result)
    assert ["llm/ok"] == [tenant["pod"] for tenant in result["tenants"]]


@pytest.mark.parametrize("text", expected("K03")["convert_to_mib"])
def test_k03_what_people_mean_is_rounded_up_to_mib(text):
    assert expected("K03")["convert_to_mib"][text] == mib_of(text)


def test_k03_as_many_fit_as_the_card_has_mib():
    label = int(json.loads((folder("K03") / "node.json").read_text())["nvidia.com/gpu.memory"])
    card, share = Card(card_mib(label)), Share(memory_mib=2000)
    while card.fits(share):
        card = card.take(share)

    assert expected("K03")["max_pods_2000_on_46068"] == len(card.held)


ANNOTATIONS = json.loads((folder("K06") / "annotations.json").read_text())


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_k06_allocations_are_read_by_position_and_damage_is_not_zero(name):
    grants = grants_of(ANNOTATIONS[name])
    read = (
        "malformed"
        if grants is None
        else [[[g.uuid, g.mib, g.cores] for g in container] for container in grants]
    )

    assert expected("K06")[name] == read


def test_k06_two_containers_on_one_card_add_up():
    grants = [grant for container in grants_of(ANNOTATIONS["B"]) for grant in container]

    assert (1, 8000) == (len({grant.uuid for grant in grants}), sum(grant.mib for grant in grants))


def test_k09_what_queues_guarantee_and_what_they_only_let():
    queues = shown("K09", "queues.yaml")["queues"]

    for name, right in expected("K09").items():
        assert right == {key: queues[name][key] for key in right}
