"""Facts of claims of two alternatives for one profile, of which only the second tolerates standing taints.

The taints lie on the low starts of small profiles, so that the scheduler, which takes the first that fits,
fills a card from its high end. Cards are H100 with dynamic MIG, on Kubernetes 1.37.
"""

import pytest

from fleet.boards import H100_80GB
from simulator.api import CLAIM, POD, TAINT_RULE
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.fakes.manifests import request

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

SMALL = "1g.10gb"
LOW = range(4)
KEY = "foreslice.dev/low"
TOLERATION = {"key": KEY, "operator": "Exists"}


def named(start, card=0):
    return f"gpu-{card}-mig-1g10gb-19-{start}"


def steered():
    """A request for one small instance, wherever no taint lies, else anywhere."""
    part = request(profile=SMALL)["exactly"]
    first, second = {"name": "high", **part}, {"name": "any", **part, "tolerations": [TOLERATION]}
    return {"name": "g", "firstAvailable": [first, second]}


@pytest.fixture
def ask(lab):
    """A function that asks for so many small instances, one after the other, and returns what was given."""

    def asks(times, what=steered):
        first = len(lab.made)
        return [lab.ask(f"p{first}-{number}", what()) for number in range(times)]

    return asks


@pytest.fixture
def low(lab):
    """A function that taints the low starts on the first cards of all nodes: a rule for each device name."""

    def taints(cards):
        for card in range(cards):
            for start in LOW:
                selector = {"driver": "gpu.nvidia.com", "device": named(start, card)}
                taint = {"key": KEY, "value": "x", "effect": "NoSchedule"}
                name = f"{lab.name}-{card}-{start}"
                lab.create(TAINT_RULE, name, spec={"deviceSelector": selector, "taint": taint})
        until(lambda: _is_known(lab))

    return taints


def _is_known(lab):
    """Try whether the scheduler has heard of the rules: for some milliseconds it takes no notice."""
    name = f"probe-{len(lab.made)}"
    got = lab.ask(name, request(profile=SMALL))
    lab.delete(POD, name, grace_s=0)
    lab.delete(CLAIM, name)
    until(lambda: lab.get(CLAIM, name) is None)
    return got.endswith("-4")


def test_a_card_is_filled_from_its_high_half_then_from_its_low_one(lab, low, ask):
    """Within either half it is still the first start that is taken: 4 before 6."""
    lab.node(H100_80GB)
    low(1)
    got = ask(3)
    assert [named(4), named(5), named(6)] == got
    assert "gpu-0-mig-4g40gb-5-0" == lab.ask("large", request(profile="4g.40gb"))
    lab.delete(POD, "large", grace_s=0)
    until(lambda: lab.get(CLAIM, "large").get("status", {}).get("allocation") is None)
    assert [named(0), named(1), named(2), named(3), None] == ask(5)


def test_which_half_was_taken_stands_in_the_allocation(lab, low):
    lab.node(H100_80GB)
    low(1)
    taken = []
    for number in range(4):
        lab.ask(f"p{number}", steered())
        taken += [result["request"] for result in lab.results(f"p{number}")]
    assert ["g/high", "g/high", "g/high", "g/any"] == taken


def test_a_rule_without_a_pool_is_one_for_the_device_of_that_name_on_every_node(lab, low, ask):
    """So the number of rules grows with the cards of a node and not with the nodes."""
    lab.node(H100_80GB)
    lab.node(H100_80GB)
    low(1)
    got = ask(6)
    assert sorted([named(4), named(5), named(6)] * 2) == sorted(got)


def test_the_high_halves_of_all_cards_of_a_node_are_taken_before_the_low_half_of_any(lab, low, ask):
    """Four small ones break two cards, where the first fit breaks one."""
    lab.node(H100_80GB, H100_80GB)
    low(2)
    assert [named(4), named(5), named(6), named(4, 1)] == ask(4)
    whole = request("gpu.nvidia.com", None)
    assert lab.ask("whole", whole) is None


def test_without_rules_the_first_fit_leaves_the_second_card_whole(lab, ask):
    lab.node(H100_80GB, H100_80GB)
    assert [named(start) for start in range(4)] == ask(4)
    assert "gpu-1" == lab.ask("whole", request("gpu.nvidia.com", None))


def test_who_does_not_know_of_the_taints_waits_beside_free_room(lab, low, ask):
    lab.node(H100_80GB)
    low(1)
    got = ask(4, lambda: request(profile=SMALL))
    assert [named(4), named(5), named(6), None] == got
    assert named(0) == lab.ask("ours", steered())
