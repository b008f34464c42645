"""Which idle nodes should offer their cards how often."""

from dataclasses import replace

import pytest

from allocator.slicing import reslices
from fleet.host import Host, HostAmount
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import fleet, running, standing, time_sliced

WORKS = {"whole": 1.0, "50/100": 0.45, "25/100": 0.2}


def asked(scene, works=WORKS, **more):
    """The answer where these workloads, told apart by name, need so much and are offered these shapes."""
    workloads = [workload(name) for name in more]
    needs = [need(name, work) for name, work in more.items()]
    found = reslices(
        question(scene, workloads, needs, {name: offers(works) for name in more}), {"node-0", "node-1"}
    )
    return [(one.node, one.replicas) for one in found]


def idle(replicas):
    """A node with one idle card, beside a workload that waits for room."""
    return time_sliced(1, replicas, standings=(standing("a", "0 x 25/100"),))


@pytest.mark.parametrize(
    ("now", "works", "work", "answer"),
    [
        (4, WORKS, 0.8, []),
        (4, {"50/100": 0.45}, 0.9, [("node-0", 2)]),
        (2, {"25/100": 0.2}, 0.8, [("node-0", 4)]),
        (4, {"whole": 1.0}, 1.0, [("node-0", 1)]),
        # Of numbers that carry as much the smallest.
        (2, {"25/100": 0.2, "12/100": 0.2}, 0.8, [("node-0", 4)]),
        # Where nothing would carry more, nothing is changed.
        (4, {"25/100": 0.2}, 5.0, []),
        (4, {"20/100": 0.1}, 0.0, []),
    ],
)
def test_an_idle_node_offers_what_leaves_least_short(now, works, work, answer):
    assert answer == asked(idle(now), works, a=work)


def test_a_node_on_which_somebody_is_stays_as_it_is():
    scene = running(time_sliced(1, 4), standing("a", "1 x 25/100"))

    works = {"25/100": 0.2, "12/100": 0.2}
    assert [] == asked(scene, works, a=1.2)
    assert [("node-0", 8)] == asked(idle(4), works, a=1.2)


def test_a_node_whose_cards_may_be_cut_into_instances_stays_as_it_is():
    """One card, one mechanism: it would be refused, each time anew, in the place of others."""
    assert [] == asked(fleet(1, standings=(standing("a", "0 x 50/100"),)), {"50/100": 0.45}, a=0.9)


class TestSeveral:
    """Two nodes, each with one card in quarters on which nobody is."""

    HALVES, QUARTERS = {"50/100": 0.45}, {"25/100": 0.2}

    def two(self, *standings, **more):
        first, second = (time_sliced(1, 4, node=f"node-{n}") for n in range(2))
        gpus, pools = (*first.gpus, *second.gpus), (*first.pools, *second.pools)
        return replace(first, gpus=gpus, pools=pools, standings=standings, **more)

    @pytest.mark.parametrize(
        ("work", "answer"), [(0.9, [("node-0", 2)]), (1.2, [("node-0", 2), ("node-1", 2)])]
    )
    def test_no_more_nodes_are_changed_than_are_needed(self, work, answer):
        assert answer == asked(self.two(standing("a", "0 x 50/100")), self.HALVES, a=work)

    def test_a_node_without_a_core_left_does_not_stand_for_others_with_as_many_cards(self):
        core = HostAmount(cpu_m=1000)
        none_yet = standing("a", "1 x 50/100")
        waits = replace(none_yet, variants=(replace(none_yet.own, wanted=0, host=core),))
        hosts = {"node-0": Host("", HostAmount()), "node-1": Host("", HostAmount(cpu_m=9000))}
        assert [("node-1", 2)] == asked(self.two(waits, hosts=hosts), self.HALVES, a=0.9)

    @pytest.mark.parametrize(("quarters", "nodes"), [(4, ["node-0"]), (5, [])])
    def test_nobody_is_left_shorter_for_others_to_be_less_short(self, quarters, nodes):
        names = {"a": (self.HALVES, 0.9), "b": (self.QUARTERS, 0.2 * quarters)}
        asks = question(
            self.two(standing("a", "0 x 50/100"), standing("b", "0 x 25/100")),
            [workload(name) for name in names],
            [need(name, work) for name, (_, work) in names.items()],
            {name: offers(works) for name, (works, _) in names.items()},
        )
        assert nodes == [one.node for one in reslices(asks, {"node-0", "node-1"})]
