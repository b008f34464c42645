"""What nodes should be cut into: only where a need would be short."""

from dataclasses import replace

import pytest

from allocator.layouts import NodeCuts, frees_of, relayouts
from fleet.cluster import Fleet, Gpu, Replica, Standing, Variant
from fleet.devices import Device, Pool
from fleet.mig import realise
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import BOARD, PRODUCT, key, shape

SMALL, LARGE, HALVES = {"1g.10gb": 7}, {"3g.40gb": 1, "4g.40gb": 1}, {"3g.40gb": 2}
BY_NAME = {"chat": offers({"3g.40gb": 0.4, "4g.40gb": 0.4}), "bulk": offers({"1g.10gb": 0.1})}


def cut(*cuts, node="n1"):
    return NodeCuts(node, BOARD, cuts)


def fleet(nodes, **replicas):
    """Nodes cut so, and workloads with so many replicas that run on the first instances of their shape."""
    pools, gpus, taken, standings = [], [], set(), []
    for node in nodes:
        devices = [
            Device(
                node.node,
                node.node,
                f"{index}-{number}",
                "mig",
                f"{node.node}/{index}",
                at.profile,
                {},
                frozenset({at.start}),
                PRODUCT,
            )
            for index, each in node.cut.items()
            for number, at in enumerate(sorted(realise(BOARD, each), key=lambda one: one.start))
        ]
        pools.append(Pool(node.node, node.node, tuple(devices), {}))
        gpus += [Gpu(f"{node.node}/{index}", node.node, BOARD) for index in node.cut]
    free = [device for pool in pools for device in pool.devices]
    for name, (profile, count) in replicas.items():
        mine = [device for device in free if device.profile == profile and device.id not in taken][:count]
        taken |= {device.id for device in mine}
        pods = [Replica(f"{name}-{n}", name, shape(profile), d, True, False, 0.0) for n, d in enumerate(mine)]
        variant = Variant(name, shape(profile), len(pods), "1", is_base=True, replicas=tuple(pods))
        standings.append(Standing(key(name), (variant,)))
    allocated = tuple(device for device in free if device.id in taken)
    return Fleet("1", tuple(gpus), tuple(pools), allocated, tuple(standings))


def planned(nodes, needs, **replicas):
    asked = question(
        fleet(nodes, **replicas),
        [workload(name) for name in needs],
        [need(name, up=work) for name, work in needs.items()],
        BY_NAME,
    )
    return relayouts(asked, nodes)


def test_what_carries_the_needs_stays_as_it_is():
    nodes = [cut(SMALL, LARGE)]
    assert () == planned(nodes, {"chat": 0.8, "bulk": 0.7}, chat=("3g.40gb", 1), bulk=("1g.10gb", 3))


def test_a_card_that_nobody_needs_is_cut_for_who_would_be_short():
    nodes = [cut(SMALL, SMALL, LARGE)]
    (one,) = planned(nodes, {"chat": 1.6, "bulk": 0.5}, chat=("3g.40gb", 1), bulk=("1g.10gb", 5))

    assert 1 == sum(each == SMALL for each in one.cuts), "one card of small ones stays"
    assert 4 <= sum(each.get("3g.40gb", 0) + each.get("4g.40gb", 0) for each in one.cuts)
    assert "1g.10gb" in one.frees
    assert "serving/chat would be short of 0.80" == one.because


def test_what_must_be_kept_counts_as_well_as_what_is_needed_now():
    nodes = [cut(SMALL, LARGE)]
    asked = question(
        fleet(nodes, chat=("3g.40gb", 1)), [workload("chat")], [need("chat", up=0.4, keep=1.6)], BY_NAME
    )
    assert ["n1"] == [one.node for one in relayouts(asked, nodes)]


def test_nodes_with_fewest_replicas_change_first():
    nodes = [cut(SMALL, SMALL, node="busy"), cut(SMALL, SMALL, node="quiet"), cut(LARGE, LARGE, node="large")]
    found = planned(nodes, {"chat": 2.4, "bulk": 1.4}, bulk=("1g.10gb", 14), chat=("3g.40gb", 2))

    assert ["quiet"] == [one.node for one in found]


def test_whole_cards_stay_whole():
    nodes = [cut(None, SMALL)]
    assert [None] == [one.cuts[0] for one in planned(nodes, {"chat": 0.8}, chat=("3g.40gb", 0))]


def test_replicas_on_other_nodes_carry_their_part():
    other = cut(LARGE, node="other")
    mine = [cut(SMALL, SMALL)]
    asked = question(
        fleet([*mine, other], chat=("3g.40gb", 1)), [workload("chat")], [need("chat", up=1.2)], BY_NAME
    )
    (one,) = relayouts(asked, mine)

    assert 1 == sum(each != SMALL for each in one.cuts), "0.8 is left for these nodes, which is one card"


@pytest.mark.parametrize("proven", [True, False])
def test_shapes_that_have_proven_themselves_are_cut_where_there_are_any(proven):
    nodes = [cut(SMALL, SMALL, {"2g.20gb": 3})]
    standings = fleet(nodes, chat=("2g.20gb", 1))
    (one,) = standings.standings
    tried = (shape("7g.80gb"),) if proven else ()
    asked = question(
        replace(standings, standings=(replace(one, proven=tried),)),
        [workload("chat")],
        [need("chat", up=1.0)],
        {"chat": offers({"2g.20gb": 0.2, "7g.80gb": 1.0})},
    )
    (found,) = relayouts(asked, nodes)

    assert proven == any("7g.80gb" in each for each in found.cuts)


def test_only_cards_that_change_free_their_instances():
    assert {"1g.10gb"} == frees_of((SMALL, LARGE, None), (HALVES, LARGE, None))
    assert frozenset() == frees_of((SMALL, None), (SMALL, None))
