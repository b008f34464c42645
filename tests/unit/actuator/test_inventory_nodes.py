"""What a node offers, by its evidence."""

import pytest

from actuator.inventory.layouts import advertised, card_layouts
from actuator.inventory.logs import unhealthy_cards
from actuator.inventory.nodes import node_view, shown_by
from actuator.objects.nodes import board_of
from fleet.boards import A100_80GB

SPLIT = [
    {"devices": [0], "mig-enabled": True, "mig-devices": {"4g.40gb": 1, "3g.40gb": 1}},
    {"devices": [1, 2, 3], "mig-enabled": False},
]
CONFIGS = {
    "all-disabled": [{"devices": "all", "mig-enabled": False}],
    "split": SPLIT,
    "wrong": [{"devices": "all", "mig-enabled": True, "mig-devices": {"4g.40gb": 2}}],
    "misnamed": [{"devices": [0], "mig-enabled": True, "mig-devices": {"9g.99gb": 1}}],
}


def node(allocatable, capacity=None, product="NVIDIA-A100-SXM4-80GB", **labels):
    named = {f"nvidia.com/{key.replace('_', '.')}": value for key, value in labels.items()}
    return {
        "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": product, **named}},
        "status": {"allocatable": allocatable, "capacity": allocatable if capacity is None else capacity},
    }


def whole(count):
    return {"nvidia.com/gpu": str(count)}


def view(body, configs=CONFIGS):
    return node_view(body, configs)[0]


def codes(body, configs=CONFIGS):
    return [finding.code for finding in node_view(body, configs)[1]]


def said(body, configs=CONFIGS):
    return " ".join(f"{f.what} {f.fix}" for f in node_view(body, configs)[1])


@pytest.mark.parametrize(
    ("product", "board"),
    [
        ("NVIDIA-A100-SXM4-80GB", "a100-80gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-80gb"),
        ("nvidia-a100-80gb-pcie", "a100-80gb"),
        ("NVIDIA-H100-80GB-HBM3", "h100-80gb"),
        ("NVIDIA-A30", "a30-24gb"),
    ],
)
def test_a_board_is_known_whatever_case_and_separators_its_label_has(product, board):
    assert board == board_of(product).id


def test_an_unknown_product_is_said_and_its_cards_are_counted():
    body = node(whole(2), product="Imaginary-Card-9000")

    assert ("", 2) == (view(body).board, view(body).whole_gpus)
    assert ["unknown-board"] == codes(body)


@pytest.mark.parametrize("suffix", ["-SHARED", "-MIG-INVALID", "-MIG-1g.10gb", "-MIG-1g.10gb-SHARED"])
def test_what_feature_discovery_appends_is_no_part_of_the_product(suffix):
    assert "NVIDIA-A100-SXM4-80GB" == view(node(whole(1), product=f"NVIDIA-A100-SXM4-80GB{suffix}")).product


def test_devices_that_are_counted_and_not_offered_are_unhealthy():
    body = node(whole(7), whole(8))

    assert (7, 1) == (view(body).whole_gpus, view(body).unhealthy_gpus)
    assert ["unhealthy-gpu"] == codes(body)


def test_renamed_time_slices_are_counted_while_all_cards_are_ill():
    body = node({"nvidia.com/gpu.shared": "0"}, {"nvidia.com/gpu.shared": "8"}, gpu_replicas="4")

    assert (0, 2) == (view(body).whole_gpus, view(body).unhealthy_gpus)


def test_under_the_single_strategy_gpus_are_instances():
    shown = view(node(whole(14), product="NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"))

    assert (0, {"1g.10gb": 14}) == (shown.whole_gpus, shown.instances)


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "nvidia.com/gpu.shared"])
def test_time_sliced_cards_are_counted_once(resource):
    shown = view(node({resource: "8"}, gpu_replicas="4"))

    assert (2, 4) == (shown.whole_gpus, shown.replicas)


def test_the_layout_that_is_offered_is_as_planned():
    body = node(
        {**whole(3), "nvidia.com/mig-4g.40gb": "1", "nvidia.com/mig-3g.40gb": "1"},
        mig_config="split",
        **{"mig_config.state": "success"},
    )

    assert ("as-planned", []) == (view(body).layout_state, codes(body))
    assert [True, False, False, False] == [not layout.is_whole for layout in view(body).layouts]


def test_success_without_the_devices_is_a_drift_that_names_what_is_there():
    body = node(
        {**whole(3), "nvidia.com/mig-4g.40gb": "0"}, mig_config="split", **{"mig_config.state": "success"}
    )

    assert ("drifted", ["layout-drifted"]) == (view(body).layout_state, codes(body))
    assert "success is claimed for split, but what is offered is 3 whole" in said(body)


@pytest.mark.parametrize(
    ("state", "read"),
    [
        ("pending", "changing"),
        ("rebooting", "changing"),
        ("failed", "failed"),
        ("", "unknown"),
        ("success", "unknown"),
    ],
)
def test_a_state_is_believed_only_as_far_as_there_is_evidence(state, read):
    body = node(whole(4), mig_config="nobody-knows-it", **{"mig_config.state": state})

    assert read == view(body).layout_state
    assert {"changing": ["layout-changing"], "failed": ["layout-failed"], "unknown": []}[read] == codes(body)


@pytest.mark.parametrize("config", ["wrong", "misnamed"])
def test_a_configuration_that_cannot_lie_on_the_board_is_said_before_a_card_is_cleared(config):
    body = node(whole(1), mig_config=config)

    assert ["illegal-layout"] == codes(body)
    assert f"{config} cuts card 0 into what cannot lie on a100-80gb" in said(body)


def test_what_to_go_back_to_is_the_configuration_that_shows():
    cut = node({**whole(3), "nvidia.com/mig-4g.40gb": "1", "nvidia.com/mig-3g.40gb": "1"})

    assert "all-disabled" == shown_by(view(node(whole(4))), CONFIGS)
    assert "all-disabled" == shown_by(view(node(whole(4))), {})
    assert shown_by(view(cut), {}) is None
    assert shown_by(view(node(whole(0))), {}) is None
    assert shown_by(view(node(whole(1), product="Imaginary")), CONFIGS) == "all-disabled"


def test_a_node_without_labels_is_read_without_them():
    shown = view({"metadata": {"name": "n"}, "status": {}})

    assert ("", 0, "unknown", 1) == (shown.board, shown.whole_gpus, shown.layout_state, shown.replicas)


def test_a_card_with_mig_on_and_no_instances_is_neither_whole_nor_cut():
    [layout] = card_layouts([{"devices": "all", "mig-enabled": True}], 1, A100_80GB)

    assert (True, False, (), 7) == (
        layout.is_legal,
        layout.is_whole,
        layout.placements,
        layout.free_compute_slices,
    )
    assert (0, {}) == advertised((layout,))


def test_of_two_entries_for_a_card_the_later_counts():
    entries = [{"devices": "all", "mig-enabled": False}, *SPLIT]

    assert (3, {"3g.40gb": 1, "4g.40gb": 1}) == advertised(card_layouts(entries, 4, A100_80GB))


def test_only_faults_of_the_card_make_it_unhealthy():
    lines = "".join(
        f"XidCriticalError: Xid={xid} on Device=GPU-0000000{n}; marking device as unhealthy.\n"
        for n, xid in enumerate((94, 31, 79))
    )

    assert {"GPU-00000000": 94, "GPU-00000002": 79} == unhealthy_cards(f"noise\n{lines}")
    assert {} == unhealthy_cards("")
