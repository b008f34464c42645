"""What replicas use up beside cards, as rows of a packing."""

import pytest

from allocator.packing.limits import limits_of
from allocator.packing.pack import pack
from allocator.packing.tableau import tableau_of
from fleet.boards import A100_80GB, H100_80GB
from fleet.host import HostAmount
from fleet.shape import Shape
from tests.builders.packing import ask, problem, stock

GIB = 1 << 30
WHOLE = {"whole": 1.0}
LARGE = HostAmount(2000, 64 * GIB, 1)


def test_queues_come_first_each_with_those_who_are_in_it():
    asked = problem(ask("a", queues=("x",)), ask("b", queues=("x", "y")), queues={"x": 4.0, "y": 2.5})
    x, y = limits_of(asked)
    assert ("queue x: 4 GPUs", 4.0, [1.0, 1.0], None) == (str(x), x.amount, x.weights.tolist(), x.board)
    assert ("queue y: 2.5 GPUs", 2.5, [0.0, 1.0]) == (str(y), y.amount, y.weights.tolist())


@pytest.mark.parametrize(
    ("works", "gpus", "amount"), [({50: 0.5}, 2.0, 1.99), (WHOLE, 2.0, 2.0), ({50: 0.5}, 0.0, 0.0)]
)
def test_of_a_queue_that_takes_shares_a_hundredth_is_left_free(works, gpus, amount):
    shared = stock(shares=(50,))
    [limit] = limits_of(problem(ask("a", works=works, queues=("x",)), stocks=(shared,), queues={"x": gpus}))
    assert amount == pytest.approx(limit.amount)


def test_shares_of_those_in_another_queue_leave_nothing_free():
    asks = ask("a", works={50: 0.5}, queues=("y",)), ask("b", queues=("x",))
    x, _ = limits_of(problem(*asks, stocks=(stock(shares=(50,)),), queues={"x": 2.0, "y": 2.0}))
    assert 2.0 == x.amount


def test_a_queue_counts_each_piece_as_kai_does_and_nodes_each_replica_on_their_cards():
    [queue] = limits_of(problem(ask("a", queues=("x",)), queues={"x": 4.0}))
    cpu, memory = limits_of(problem(ask("a", host=LARGE), stocks=(stock(host=LARGE),)))
    pieces = [
        Shape(H100_80GB.id),
        Shape(H100_80GB.id, "3g.40gb"),
        Shape(H100_80GB.id, "25/100"),
        Shape(A100_80GB.id),
    ]
    assert [1.0, 3.0, 0.25, 1.0] == [queue.of(piece) for piece in pieces]
    assert (
        [1.0, 1.0, 1.0, 0.0] == [cpu.of(piece) for piece in pieces] == [memory.of(piece) for piece in pieces]
    )


def test_nodes_with_one_kind_of_card_are_added_up_over_domains():
    stocks = (
        stock("a", host=HostAmount(8000, 100 * GIB, 9)),
        stock("b", host=HostAmount(4000, 28 * GIB, 9)),
        stock("a", A100_80GB, host=HostAmount(500, GIB, 9)),
    )
    found = [
        (str(one), one.amount, one.weights.tolist(), one.board)
        for one in limits_of(problem(ask(host=LARGE), stocks=stocks))
    ]
    assert [
        ("CPU of nodes with a100-80gb: 0.5 cores", 0.5, [2.0], "a100-80gb"),
        ("memory of nodes with a100-80gb: 1 GiB", 1.0, [64.0], "a100-80gb"),
        ("CPU of nodes with h100-80gb: 12 cores", 12.0, [2.0], "h100-80gb"),
        ("memory of nodes with h100-80gb: 128 GiB", 128.0, [64.0], "h100-80gb"),
    ] == found


@pytest.mark.parametrize(
    ("host", "there", "names"),
    [
        (HostAmount(), LARGE, []),
        (HostAmount(cpu_m=1), LARGE, ["CPU"]),
        (HostAmount(memory_bytes=1), LARGE, ["memory"]),
        (LARGE, None, []),
    ],
)
def test_only_what_is_asked_for_and_known_is_a_limit(host, there, names):
    found = limits_of(problem(ask("a", host=host), ask("b"), stocks=(stock(host=there),)))
    assert names == [limit.name.split()[0] for limit in found]


def test_where_one_domain_s_nodes_are_not_known_those_of_the_other_do_not_bind():
    assert () == limits_of(problem(ask(host=LARGE), stocks=(stock("a", host=LARGE), stock("b"))))


def test_overdrawn_nodes_have_nothing_left():
    [limit] = limits_of(problem(ask(host=HostAmount(1000)), stocks=(stock(host=HostAmount(-5000)),)))
    assert 0.0 == limit.amount


def test_rows_have_the_units_of_each_piece_and_the_weights_of_each_workload():
    asks = ask("a", host=LARGE, queues=("x",)), ask("b")
    made = tableau_of(problem(*asks, stocks=(stock(host=LARGE),), queues={"x": 9.0}))
    assert [[1.0, 2.0, 64.0], [0.0, 0.0, 0.0]] == made.weights.tolist()
    assert [9.0, 2.0, 64.0] == made.limits.tolist()
    assert (3, made.kinds[0].width) == made.kinds[0].charges.shape
    assert {1.0} == set(made.kinds[0].charges[1:].ravel().tolist())


def test_memory_of_nodes_makes_one_large_replica_of_two_small_ones_and_is_named():
    """Two halves would carry the work, but there is memory for one replica."""
    works = {"3g.40gb": 0.5, "whole": 1.0}
    roomy = pack(
        problem(ask("a", 1.0, works, host=LARGE), stocks=(stock(cards=1, host=HostAmount(9000, 200 * GIB)),))
    )
    tight = pack(
        problem(ask("a", 1.0, works, host=LARGE), stocks=(stock(cards=1, host=HostAmount(9000, 100 * GIB)),))
    )
    assert 1 == tight.packed.columns.counts.sum()
    assert 0.0 == tight.packed.columns.short.sum() == roomy.packed.columns.short.sum()
    none = pack(
        problem(ask("a", 1.0, works, host=LARGE), stocks=(stock(cards=1, host=HostAmount(9000, 9 * GIB)),))
    )
    assert 1.0 == none.packed.columns.short.sum()
    assert "memory of nodes with h100-80gb: 9 GiB, one more would save" in none.binding[0]
