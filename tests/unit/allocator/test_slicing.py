"""Which idle nodes should offer their cards how often."""

import pytest

from allocator.slicing import reslices
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import running, standing, time_sliced

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
