"""KAI's objects as its binder writes them, and what may be off with them."""

from pathlib import Path

import pytest
import yaml

from actuator.inventory.kai import (
    given,
    group_findings,
    groups_of,
    mib_of,
    mismatch,
    queue_of,
    share_asked,
)
from actuator.inventory.understand import dump_of, understand
from fleet.ledgers.kai import Share

DATA = Path(__file__).parents[2] / "data" / "kai"


def observed(name):
    return list(yaml.safe_load_all((DATA / name).read_text()))


def pod(name="p", group=None, namespace="t", annotations=None, device=None, phase="Running", node="n1"):
    labels = {} if group is None else {"runai-gpu-group": group}
    notes = dict(annotations or {})
    if device:
        notes["run.ai/reserve_for_gpu_index"] = device
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": notes},
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


def reservation(name, group, device="GPU-0", phase="Running"):
    return pod(name, group, "kai-resource-reservation", device=device, phase=phase)


def findings(*pods, binding=()):
    return {f.code: f for f in group_findings(groups_of(pods), pods, binding)}


def test_a_share_as_the_scheduler_bound_it_is_one_tenant_of_one_card():
    shown = understand(dump_of(observed("fraction-pod.yaml")))

    assert [("t/frac-a", "n1", "kai", "0.5 of 1 card(s)", ("GPU-n1-0",))] == [
        tuple(tenant.values()) for tenant in shown["tenants"]
    ]
    [group] = shown["groups"]
    assert (("GPU-n1-0",), ("t/frac-a",), "n1") == (group["devices"], group["tenants"], group["node"])
    assert [] == shown["findings"]


def test_a_share_of_two_cards_is_in_two_groups():
    shown = understand(dump_of(observed("multi-device-fraction.yaml")))

    assert [("0.5 of 2 card(s)", 2)] == [(t["holds"], len(t["gpus"])) for t in shown["tenants"]]
    assert [("t/multi-a",)] * 2 == [group["tenants"] for group in shown["groups"]]
    assert [] == shown["findings"]


@pytest.mark.parametrize(
    ("annotations", "share"),
    [
        ({"gpu-fraction": "0.5"}, Share(0.5)),
        ({"gpu-memory": "2000"}, Share(memory_mib=2000)),
        ({"gpu-memory": "2000", "gpu-fraction-num-devices": "2"}, Share(memory_mib=2000, devices=2)),
        ({}, None),
    ],
)
def test_what_is_asked_is_read_from_annotations(annotations, share):
    assert (share, []) == share_asked(pod(annotations=annotations))


@pytest.mark.parametrize(
    ("annotations", "code"),
    [
        ({"gpu-fraction": "0.5", "gpu-memory": "5"}, "bad-share"),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "0"}, "bad-share"),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "two"}, "bad-share"),
        ({"gpu-fraction": "NaN"}, "bad-fraction"),
        ({"gpu-memory": "-5"}, "bad-gpu-memory"),
    ],
)
def test_what_kai_would_refuse_is_a_finding_and_no_share(annotations, code):
    share, [found] = share_asked(pod(annotations=annotations))

    assert (None, code, "Pod t/p") == (share, found.code, found.object)


@pytest.mark.parametrize(
    ("text", "mib"), [("8 GiB", 8192), ("100", 100), ("1M", 1), ("half", None), ("8Ti", None), ("", None)]
)
def test_amounts_with_units_are_rounded_up_to_mib(text, mib):
    assert mib == mib_of(text)


@pytest.mark.parametrize(
    ("text", "gpus"),
    [("3", 3), ("500m", 0.5), ("3375850u", 3.37585), ("824867596n", 0.824867596), ("2.5", 2.5), ("?", 0)],
)
def test_what_a_queue_holds_is_read_in_every_suffix_that_is_written(text, gpus):
    body = {"metadata": {"name": "q"}, "spec": {}, "status": {"allocated": {"nvidia.com/gpu": text}}}

    assert pytest.approx(gpus) == queue_of(body).allocated


def test_a_queue_that_sets_nothing_lets_nothing_through():
    shown = understand(dump_of([{"kind": "Queue", "metadata": {"name": "q"}, "spec": {}}]))

    assert [("error", "queue-without-limit")] == [(f["severity"], f["code"]) for f in shown["findings"]]
    assert (0, 0) == (shown["queues"]["q"]["guaranteed_left"], shown["queues"]["q"]["possible_left"])


def test_a_queue_whose_parent_is_not_there_is_said_and_left_out():
    queue = {
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {"parentQueue": "lost", "resources": {"gpu": {"limit": -1, "quota": 1}}},
    }
    shown = understand(dump_of([queue]))

    assert ({}, ["lost-queue"]) == (shown["queues"], [f["code"] for f in shown["findings"]])


def test_a_reservation_with_a_tenant_is_as_it_should_be():
    assert {} == findings(reservation("r", "g"), pod(group="g"))


def test_a_reservation_without_tenants_keeps_its_card_taken_and_is_not_ours_to_delete():
    orphan = findings(reservation("r", "g"))["orphan-reservation"]

    assert ("warning", "GPU group g") == (orphan.severity, orphan.object)
    assert "count its card as taken" in orphan.fix
    assert "never delete its reservation pod" in orphan.fix
    assert {} == findings(reservation("r", "g"), binding=["g"])


def test_two_reservations_for_a_group_freeze_the_node():
    found = findings(reservation("r1", "g"), reservation("r2", "g"), pod(group="g"))["duplicate-reservation"]

    assert ("error", "place nothing more on node n1 until it is cleared up") == (found.severity, found.fix)


def test_tenants_without_a_reservation_are_about_to_be_killed():
    assert {"lost-reservation"} == set(findings(pod(group="g")))


def test_one_card_in_two_groups_is_given_out_twice():
    found = findings(reservation("r1", "g"), reservation("r2", "h"), pod(group="g"), pod("q", group="h"))

    assert {"shared-device"} == set(found)
    assert "is in the groups g, h" == found["shared-device"].what


def test_a_failed_reservation_is_said():
    assert {"failed-reservation"} == set(findings(reservation("r", "g", phase="Failed"), pod(group="g")))


GIVEN = {("t", "cm-0"): {"data": {"GPU_PORTION": "0.60", "NVIDIA_VISIBLE_DEVICES": "GPU-a,GPU-b"}}}
SHARED = {"runai/shared-gpu-configmap": "cm"}


def test_what_was_given_is_read_from_the_binders_config_map():
    assert (0.6, ("GPU-a", "GPU-b")) == given(pod(annotations=SHARED), GIVEN)
    assert given(pod(annotations=SHARED), {}) is None
    assert given(pod(), GIVEN) is None
    assert given(pod(annotations=SHARED), {("t", "cm-0"): {"data": {}}}) is None


@pytest.mark.parametrize(
    ("fraction", "is_off"), [("0.6", False), ("0.605", False), ("0.3", True), ("0.7", True), ("?", False)]
)
def test_an_annotation_that_says_another_share_than_was_given_is_a_mismatch(fraction, is_off):
    found = mismatch(pod(annotations={"gpu-fraction": fraction}), 0.6)

    assert is_off is (found is not None)


def test_a_patched_annotation_changes_the_finding_and_not_what_the_tenant_holds():
    patched = pod("aa", "g", annotations={**SHARED, "gpu-fraction": "0.3"})
    config_map = {"kind": "ConfigMap", "metadata": {"name": "cm-0", "namespace": "t"}, **GIVEN["t", "cm-0"]}
    shown = understand(dump_of([patched, reservation("r", "g"), config_map]))

    assert ["0.6 of 2 card(s)"] == [tenant["holds"] for tenant in shown["tenants"]]
    [found] = shown["findings"]
    assert (
        "ledger-mismatch",
        "write gpu-fraction back to 0.6; change shares in the owner's template only",
    ) == (
        found["code"],
        found["fix"],
    )
