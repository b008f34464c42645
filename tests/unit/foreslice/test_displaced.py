"""Whether who has to leave a node can be carried elsewhere, as needs grow."""

import pytest

from actuator.layouts.node import Wish
from foreslice.displaced import Begun, overtaken
from tests.builders.deciding import need, question, workload
from tests.builders.fleet import fleet, running, standing

TWO_NODES = {"cards": 2, "per_node": 1}
LEAVES = Begun("node-0", Wish("", ()), frozenset({"3g.40gb"}))
NOBODY_LEAVES = Begun("node-0", Wish("", ()), frozenset())


@pytest.mark.parametrize(
    ("begun", "up", "expected"),
    [
        (LEAVES, 0.8, False),
        (LEAVES, 1.2, False),  # a third one finds room on the other node
        (LEAVES, 2.5, True),  # of which two cards have no more
        (NOBODY_LEAVES, 2.5, False),
    ],
)
def test_need_that_has_no_room_keeps_its_node(begun, up, expected):
    stands = running(fleet(**TWO_NODES), standing("chat", "2 x 3g.40gb"))
    asked = question(stands, [workload()], [need(up=up)])

    assert expected == overtaken(asked, begun)


def test_another_s_need_does_not():
    stands = running(
        fleet(cards=3, per_node=1), standing("chat", "2 x 3g.40gb"), standing("other", "1 x whole")
    )
    needs = [need(up=0.8), need("other", up=5.0)]
    asked = question(stands, [workload(), workload("other")], needs)

    assert not overtaken(asked, LEAVES)
