"""The cheapest counts of pieces that carry a demand, guessed and bounded."""

from itertools import product

import numpy as np
import pytest

from allocator.packing.knapsack import floor_price, guess

MANY = 100_000


def cheapest(capacity, price, work):
    """The truth, by trying everything; a piece without capacity is not used."""
    most = [int(np.ceil(work / c)) if c > 0 else 0 for c in capacity]
    return min(
        sum(n * p for n, p in zip(counts, price, strict=True))
        for counts in product(*(range(m + 1) for m in most))
        if sum(n * c for n, c in zip(counts, capacity, strict=True)) >= work - 1e-9
    )


def rows(*several):
    return np.array(several, dtype=float)


@pytest.mark.parametrize("seed", range(20))
def test_floor_without_slack_is_the_truth(seed):
    rng = np.random.default_rng(seed)
    capacity, price, work = rng.uniform(0.1, 1, (6, 3)), rng.uniform(0.1, 1, (6, 3)), rng.uniform(0.1, 3, 6)
    capacity[0, 1] = 0.0
    truth = [cheapest(*row) for row in zip(capacity, price, work, strict=True)]

    known, counts = guess(capacity, price, work)
    floor, found = floor_price(capacity, price, work, known, np.zeros(6), MANY)

    assert truth == pytest.approx(floor)
    assert (known >= np.array(truth) - 1e-9).all()
    assert ((counts * capacity).sum(axis=1) >= work - 1e-9).all()
    met = found.any(axis=1)
    assert np.array(truth)[met] == pytest.approx((found * price).sum(axis=1)[met])


@pytest.mark.parametrize("most_branches", [0, 1, 3])
def test_few_branches_give_a_lower_floor_never_a_higher_one(most_branches):
    rng = np.random.default_rng(1)
    capacity, price, work = (
        rng.uniform(0.1, 1, (40, 4)),
        rng.uniform(0.1, 1, (40, 4)),
        rng.uniform(0.5, 4, 40),
    )
    known, _ = guess(capacity, price, work)

    truth, _ = floor_price(capacity, price, work, known, np.zeros(40), MANY)
    floor, _ = floor_price(capacity, price, work, known, np.zeros(40), most_branches)

    assert (floor <= truth + 1e-9).all()
    assert (floor >= work * (price / capacity).min(axis=1) - 1e-9).all()


def test_floor_is_off_by_no_more_than_the_slack():
    capacity, price = rows([0.3, 0.5]), rows([0.3, 0.52])
    known, _ = guess(capacity, price, np.array([1.0]))

    (floor,), _ = floor_price(capacity, price, np.array([1.0]), known, np.array([0.05]), MANY)

    assert cheapest(capacity[0], price[0], 1.0) - 0.05 <= floor <= cheapest(capacity[0], price[0], 1.0)


@pytest.mark.parametrize(
    ("work", "expected", "counts"),
    [
        (0.0, 0.0, [0, 0]),
        (0.3, 0.3, [1, 0]),
        (1.0, 1.0, [0, 1]),
        (2.5, 2.6, [2, 2]),
        (1000.0, 1000.0, [0, 1000]),
    ],
)
def test_guess_fills_up_with_small_pieces(work, expected, counts):
    (cost,), (found,) = guess(rows([0.3, 1.0]), rows([0.3, 1.0]), np.array([work]))

    assert expected == pytest.approx(cost)
    assert counts == found.tolist()


def test_nothing_carries_work_where_no_piece_has_capacity():
    (cost,), _ = guess(rows([0.0, 0.0]), rows([1.0, 1.0]), np.array([1.0]))
    assert np.inf == cost
