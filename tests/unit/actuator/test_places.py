"""Which nodes let pods in, by what both say; the real scheduler is asked the same in tests/cluster."""

import pytest

from actuator.objects.places import Places, places_of
from tests.builders.places import FOR_GPU, LABELS, TAINTS, cases

CASES = cases("n0")


def node(name="n0", labels=LABELS, taints=TAINTS):
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}}


@pytest.mark.parametrize("case", CASES)
def test_a_node_lets_in_whom_its_taints_and_their_choice_allow(case):
    says, is_let_in = CASES[case]
    assert (frozenset() if is_let_in else {"n0"}) == places_of([node()]).closed_to(says)


def test_each_node_is_judged_by_itself_and_labels_that_are_not_meant_are_not_looked_at():
    places = places_of([node("a"), node("b", {"pool": "training"}), {"metadata": {"name": "c"}}])
    says = {"nodeSelector": {"pool": "inference", "product": "H100"}, "tolerations": [FOR_GPU]}
    assert {"a", "b", "c"} == places.closed_to(says)
    assert {"b", "c"} == places.closed_to(says, besides=("product",))


@pytest.mark.parametrize(
    ("says", "is_let_in"),
    [({}, True), ({"value": ""}, True), ({"value": "x"}, False), ({"operator": "Lt"}, False)],
)
def test_a_taint_without_a_value_is_borne_by_who_names_none_and_by_no_rule_that_is_not_known(says, is_let_in):
    bare = node(taints=[{"key": "spot", "effect": "NoExecute"}])
    tolerating = {"tolerations": [{"key": "spot", **says}]}
    assert is_let_in == (frozenset() == places_of([bare]).closed_to(tolerating))


def test_places_are_the_same_as_long_as_they_let_in_the_same():
    assert places_of([node()]) == places_of([{**node(), "status": {"newer": True}}])
    assert places_of([node()]) != places_of([node(taints=[])])
    assert places_of([node()]) != places_of([node(labels={})])
    assert frozenset() == Places().closed_to({"nodeSelector": {"pool": "inference"}})
