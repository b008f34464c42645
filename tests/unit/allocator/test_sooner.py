"""Of two choices that cost the same the one is taken whose replicas are ready sooner."""

from dataclasses import replace

import pytest

from allocator.decide import additions, plan
from allocator.offers import Offer, Offers
from fleet.boards import A100_80GB, H100_80GB
from fleet.cluster import Gpu
from fleet.holds import Hold
from fleet.shape import Shape
from fleet.workload import Router
from tests.builders.deciding import need, question, workload
from tests.builders.fleet import NOW_S, fleet, key, running, standing

BOARDS = (A100_80GB, H100_80GB)


def two_boards(stands, foreign):
    """Two nodes of four cards each: A100 beside the H100 on which the workload runs."""
    ours = running(fleet(8, per_node=4, foreign=foreign), stands)
    [kept, changed] = ours.pools
    others = tuple(replace(d, product=A100_80GB.product_names[0]) for d in changed.devices)
    gpus = [Gpu(g.uuid, g.node, A100_80GB if g.node == changed.node else g.board) for g in ours.gpus]
    return replace(ours, gpus=tuple(gpus), pools=(kept, replace(changed, devices=others)))


def decided(rule, start, proven, foreign=(), holds=(), **needed):
    """What is decided where the same profile of both boards carries the same at the same price."""
    profile = "3g.40gb"
    stands = replace(standing("chat", start), proven=proven)
    shapes = [Shape(H100_80GB.id), *(Shape(board.id, profile) for board in BOARDS)]
    share = {"whole": 1.0, "3g.40gb": 0.5}
    offered = Offers(Router.LEAST_LOADED, {s: Offer(s, share[s.profile], share[s.profile]) for s in shapes})
    asked = question(
        replace(two_boards(stands, foreign), holds=holds),
        [workload(router=Router.LEAST_LOADED)],
        [need(**needed)],
        {"chat": offered},
    )
    [decision] = rule(asked)
    return {
        shape.board for shape in decision.goal if shape.profile == profile and shape not in decision.start
    }


@pytest.mark.parametrize(
    ("board", "proven"),
    [("h100-80gb", None), ("a100-80gb", (Shape("a100-80gb", "3g.40gb"),))],
)
def test_of_shapes_that_save_the_same_a_proven_one_then_one_whose_node_has_the_files(board, proven):
    assert {board} == decided(plan, "2 x whole", proven, up=0.4)


CARDS = [("node-0", card) for card in range(1, 4)] + [("node-1", card) for card in range(4)]
FOREIGN = [(node, f"gpu-{card}-mig-1g10gb-19-6") for node, card in CARDS]
"""With these no card is left whole but the one that the workload has."""


def test_what_is_added_goes_where_image_and_weights_are_but_first_where_room_is_held():
    held = ("node-1", "gpu-0-mig-3g40gb-9-0")
    ours, anothers = (Hold(held, key(name), "a peak ahead", NOW_S + 600.0) for name in ("chat", "search"))
    for board, holds in (("h100-80gb", ()), ("a100-80gb", (ours,)), ("h100-80gb", (anothers,))):
        assert {board} == decided(additions, "1 x whole", None, FOREIGN, holds, up=1.4)
