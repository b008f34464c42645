"""A node on the way to another number of time slices: drained, asked, verified by what can be allocated."""

import pytest

from actuator.slicing.node import CONFIG_LABEL
from fleet.errors import InputError
from tests.fakes.slicing import PEOPLES, SlicingSite


def test_whole_cards_become_time_slices_once_who_had_them_is_gone():
    site = SlicingSite("whole")
    site.add_pod("alone", memory="0.9")

    acts, _ = site.until_quiet(4)

    assert ["hold", "write", "evict", "label"] == acts[:4]
    assert ["release", "nothing"] == acts[-2:]
    assert ({"gpu": 8}, "4", []) == (site.offer, site.labels["nvidia.com/gpu.replicas"], site.pods)
    assert not site.is_held
    assert PEOPLES.items() <= site.configs()[0].items(), "what people wrote stays"
    assert "migStrategy: mixed" in site.configs()[0][site.labels[CONFIG_LABEL]], (
        "and so does what else it says"
    )


def test_a_plugin_that_renames_them_goes_on_to_do_so():
    site = SlicingSite("renamed")
    site.until_quiet(2)

    assert {"gpu.shared": 4} == site.offer


@pytest.mark.parametrize(
    ("config", "cards", "replicas", "memory", "stay"),
    [
        # On one card as many stay as it is offered then: the scheduler lets no more come.
        ("quarters", 1, 2, "0.2", ["a", "b"]),
        # Of several, nobody says on which a tenant is, nor that the plugin gives its replica to no other.
        ("quarters", 2, 2, "0.2", []),
        ("quarters", 1, 1, "0.2", []),
        ("quarters", 2, 8, "0.1", ["a", "b", "c"]),
        # Who has a card was promised all of it, however little memory it takes.
        ("whole", 4, 4, "0.2", []),
        # Beside seven others a quarter of the memory is too much.
        ("quarters", 2, 8, "0.2", []),
    ],
)
def test_who_has_to_go_first(config, cards, replicas, memory, stay):
    """What would leave a card with more tenants, or more memory taken, than it has."""
    site = SlicingSite(config, cards)
    for name in "abc":
        site.add_pod(name, memory)
    site.until_quiet(replicas)

    assert (stay, {"gpu": cards * replicas}) == (site.pods, site.offer)


def test_a_tenant_whom_a_budget_keeps_is_waited_for_and_the_count_stays():
    site = SlicingSite("quarters")
    site.add_pod("kept")
    site.kept_by_budget.add("llm/kept")

    steps = [site.turn(2) for _ in range(20)]

    assert "wait" == steps[-1].act
    assert ({"gpu": 8}, "quarters") == (site.offer, site.labels[CONFIG_LABEL])
    site.kept_by_budget.clear()
    site.until_quiet(2)
    assert {"gpu": 4} == site.offer


def test_a_config_that_the_plugin_cannot_read_is_taken_back():
    """Until its label names another one the plugin does not start, and nothing can be allocated."""
    site = SlicingSite("quarters", spoilt=["ours"])

    _, step = site.until_quiet(2)

    assert "failed; it is as it was before" in step.because
    assert ({"gpu": 8}, "quarters", False) == (site.offer, site.labels[CONFIG_LABEL], site.is_held)
    assert "refuse" == site.turn(2).act, "and is left alone for a while"


def test_a_node_that_offers_what_is_wanted_is_left_as_it_is():
    site = SlicingSite("quarters")

    assert (["nothing"], "quarters") == (site.until_quiet(4)[0], site.labels[CONFIG_LABEL])
    assert 1 == len(site.written)


def test_configs_of_ours_that_no_node_uses_go():
    site = SlicingSite("quarters")
    site.until_quiet(2)
    first = site.labels[CONFIG_LABEL]
    site.until_quiet(3)
    site.until_quiet(5)

    assert first not in site.configs()[0]
    assert PEOPLES.items() <= site.configs()[0].items()


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({CONFIG_LABEL: "gone"}, "its config gone is not in the ConfigMap"),
        ({"nvidia.com/gpu.count": None}, "does not say how many cards"),
        ({"nvidia.com/gpu.product": "Tesla-M60"}, "product Tesla-M60 is not known"),
        ({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}, "cut into instances"),
    ],
)
def test_what_speaks_against_it_is_said_and_nothing_is_touched(labels, why):
    site = SlicingSite("quarters")
    node = site.node("gpu-1")
    kept = {name: text for name, text in {**site.labels, **labels}.items() if text is not None}
    site.store.replace({**node, "metadata": {**node["metadata"], "labels": kept}})
    site.clock.run_until(site.clock.now_s + 120)

    step = site.turn(2)

    assert ("refuse", True) == (step.act, why in step.because)
    assert 1 == len(site.written)


def test_cards_that_are_shared_by_a_server_are_left_to_it():
    site = SlicingSite("quarters")
    site.written[-1][1]["quarters"] = (
        "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}"
    )

    assert "shared by MPS" in site.turn(2).because


@pytest.mark.parametrize(
    "text", ["[]", "{a: b", "version: v2", "sharing: {timeSlicing: {resources: [{replicas: 2}]}}"]
)
def test_a_config_that_the_plugin_would_not_take_is_named(text):
    site = SlicingSite("quarters")
    site.written[-1][1]["quarters"] = text

    with pytest.raises(InputError, match="config quarters"):
        site.turn(2)
