"""Replicas that are ready a lag after they were ordered: what is held, what is lacking, and when."""

import numpy as np

from predictor.value.ledger import Limits, ledger
from simulator.coarse import Stage, Wish, drive


def stage(work, lag=2, piece=1.0, cards=0.5, block=100):
    demand = np.asarray(work, dtype=np.float64)[:, np.newaxis]
    counts = np.ones(demand.shape, dtype=np.bool_)
    return Stage(demand, counts, 60, lag, np.array([piece]), np.array([cards]), block)


class Follow:
    """Wants what came in the last step."""

    def begin(self, around):
        self.around = around
        return around.replicas(around.work[:1])

    def wish(self, seen):
        wanted = self.around.replicas(seen.work[np.newaxis])
        return Wish(wanted, wanted)


def test_an_order_is_held_at_once_and_ready_a_lag_later():
    account = drive(Follow(), stage([1, 3, 3, 3, 3, 3]))
    assert [[0.5 * (1 + 1 + 3 + 3 + 3 + 3)]] == account.held.sum(axis=2).tolist()
    assert [[2.0 * 3]] == account.lacked.sum(axis=2).tolist()


def test_what_is_given_up_is_gone_at_once_and_has_to_be_ordered_anew():
    account = drive(Follow(), stage([3, 1, 3, 3, 3, 3], lag=1))
    assert [[4.0]] == account.lacked.sum(axis=2).tolist()


def test_only_what_is_scored_counts():
    around = stage([1, 3, 3, 3])
    around.is_scored[1:] = False
    account = drive(Follow(), around)
    assert (0.5, 0.0, 1.0) == tuple(float(x.sum()) for x in (account.held, account.lacked, account.asked))


def test_blocks_add_up():
    work = np.random.default_rng(1).uniform(0, 5, 50)
    whole, parts = drive(Follow(), stage(work)), drive(Follow(), stage(work, block=7))
    assert (1, 1, 8) == parts.held.shape
    np.testing.assert_allclose(whole.held.sum(axis=2), parts.held.sum(axis=2))
    np.testing.assert_allclose(whole.asked.sum(), parts.asked.sum())


class FollowForAWhile:
    """Wants the newest work, and keeps what it wanted over the last steps."""

    def __init__(self, quiet):
        self.quiet = quiet

    def begin(self, around):
        self.around, self.wanted = around, []
        return around.replicas(around.work[:1])

    def wish(self, seen):
        self.wanted.append(self.around.replicas(seen.work[np.newaxis]))
        return Wish(self.wanted[-1], np.maximum.reduce(self.wanted[-self.quiet :]))


def test_step_by_step_it_comes_to_what_the_closed_form_of_the_ledger_says():
    work = np.random.default_rng(2).gamma(2.0, 1.0, 400)
    stepped = drive(FollowForAWhile(5), stage(work, lag=3, piece=0.7, cards=0.7, block=40))
    told = ledger(
        work[np.newaxis], np.ones(1), work, np.ones(400, np.bool_), Limits(lag=3, quiet=5, grain=0.7), 40
    )
    np.testing.assert_allclose(told.held, stepped.held[:, 0])
    np.testing.assert_allclose(told.lacked, stepped.lacked[:, 0])
