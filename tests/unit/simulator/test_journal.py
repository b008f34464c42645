"""Spans begin, last and end by name, in the order in which they began."""

import numpy as np
import pytest

from simulator.counts import PodCounts, Tally
from simulator.journal import Serving, Spans
from tests.builders.engines import WHOLE, workload

KEY = workload().key


def serving(pod, from_s):
    return Serving(pod, KEY, WHOLE, from_s)


@pytest.fixture
def spans():
    made = Spans()
    made.begin("a", serving("a", 1.0))
    made.begin("b", serving("b", 2.0))
    made.end("a", 5.0)
    return made


def test_a_span_lasts_until_it_is_ended(spans):
    assert [("a", 1.0, 5.0), ("b", 2.0, np.inf)] == [(s.pod, s.from_s, s.until_s) for s in spans]


def test_only_what_lasts_is_found_by_name(spans):
    assert ("b" in spans, "a" in spans) == (True, False)


def test_a_name_can_be_used_again_once_its_span_is_over(spans):
    spans.begin("a", serving("a", 7.0))
    assert ["a", "b", "a"] == [s.pod for s in spans]


def test_what_does_not_last_cannot_end(spans):
    with pytest.raises(KeyError):
        spans.end("a", 9.0)


def test_a_tally_is_split_into_before_and_after():
    tally = Tally.zero(2)
    tally.offered += [3, 4]
    before = tally.copy()
    tally.offered += [1, 1]
    tally.refused += [0, 1]
    assert [1, 1] == tally.since(before).offered.tolist()
    assert [0, 1] == tally.since(before).refused.tolist()
    assert [3, 4] == before.offered.tolist()


def test_counts_of_other_pods_stay_when_one_comes_or_goes():
    counts = PodCounts.zero(2)
    counts.completions += [5, 6]
    counts.ttft_under += 1
    assert [5, 6, 0] == counts.with_one_more().completions.tolist()
    assert [6] == counts.without(0).completions.tolist()
    assert (3, counts.ttft_under.shape[1]) == counts.with_one_more().ttft_under.shape
