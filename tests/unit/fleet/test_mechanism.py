"""What each way of sharing keeps, and what follows for the engine."""

import pytest

from fleet.mechanism import MECHANISMS, FaultDomain, memory_utilization
from fleet.workload import Isolation

KEPT = {
    "dra": "hard",
    "mig-manager": "hard",
    "device-plugin": "hard",
    "dra-shares": "none",
    "kai": "none",
    "kai-hami-core": "memory",
    "kai-nv-fractions": "memory",
    "hami": "memory",
    "time-slicing": "none",
    "mps": "memory",
}


def test_the_table_says_of_every_mechanism_the_strongest_wish_that_it_keeps():
    assert KEPT == {name: mechanism.isolation.value for name, mechanism in MECHANISMS.items()}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("wish", Isolation)
def test_a_wish_is_met_by_what_keeps_as_much_or_more(name, wish):
    order = ["none", "memory", "hard"]

    assert (order.index(KEPT[name]) >= order.index(wish)) is MECHANISMS[name].satisfies(wish)


def test_only_instances_fail_alone():
    assert {"dra", "mig-manager", "device-plugin"} == {
        name for name, mechanism in MECHANISMS.items() if mechanism.fault_domain is FaultDomain.INSTANCE
    }


@pytest.mark.parametrize(
    ("name", "utilization"),
    [
        ("kai", 0.45),
        ("dra-shares", 0.45),
        ("time-slicing", 0.45),
        ("kai-hami-core", 0.9),
        ("kai-nv-fractions", 0.9),
        ("hami", 0.9),
        ("mps", 0.9),
        ("dra", 0.9),
    ],
)
def test_half_a_card_is_the_same_36_gib_of_80_whether_the_engine_sees_all_of_it_or_its_part(
    name, utilization
):
    seen_gib = 40 if MECHANISMS[name].isolates_memory else 80

    assert utilization == memory_utilization(MECHANISMS[name], 50)
    assert 36 == seen_gib * utilization
