"""Counters hold for any scraping: nothing lost, nothing counted twice, nothing invented, nothing foreseen."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fleet.sample import Value, known
from fleet.signal import Signal
from predictor.demand import demand_history
from predictor.ports import SignalBuckets
from predictor.readings import SeriesKey, SeriesStore
from predictor.series import Series
from tests.builders.work import KEY

DONE = "vllm:request_success_total"
END_S = 600

scrapes = st.lists(
    st.tuples(st.integers(1, 100), st.one_of(st.integers(0, 50), st.just(None), st.just(math.nan))),
    max_size=60,
)
"""Steps of a counter: seconds since the last scrape, what came since; None = restart, NaN = no reading."""


def scraped(steps):
    """Times, raw values, and what really happened up to each reading."""
    t_s, raw, true = 0, 0.0, 0.0
    readings, truth = [], []
    for gap_s, came in steps:
        t_s += gap_s
        if came is not None and math.isnan(came):
            readings.append((t_s, math.nan))
            continue
        raw = 0.0 if came is None else raw + came
        true += came or 0.0
        readings.append((t_s, raw))
        truth.append((t_s, true))
    return readings, truth


def counter(readings):
    series = Series(is_counter=True)
    for t_s, value in readings:
        series.append(t_s, value)
    return series


@given(steps=scrapes, is_counter=st.booleans(), settled=st.lists(st.integers(0, END_S), max_size=4))
def test_buckets_stay_what_they_were_when_older_readings_are_thinned_out(steps, is_counter, settled):
    """Whenever that is done, between whichever readings; nothing that is read later is touched."""
    readings, _ = scraped(steps)
    whole, thinned = Series(is_counter=is_counter), Series(is_counter=is_counter)
    due = sorted(settled)
    for t_s, value in readings:
        while due and due[0] < t_s:
            thinned.settle(due.pop(0))
        for series in (whole, thinned):
            series.append(t_s, value)
    for at_s in due:
        thinned.settle(at_s)
    assert whole.buckets(0, END_S).tobytes() == thinned.buckets(0, END_S).tobytes()
    assert whole.first_s == thinned.first_s


@given(steps=scrapes)
def test_a_known_bucket_holds_what_happened_between_two_readings_that_bound_it(steps):
    readings, truth = scraped(steps)
    for bucket, told in enumerate(counter(readings).buckets(0, END_S)):
        start_s, end_s = 60 * bucket, 60 * bucket + 60
        inside = [true for t, true in truth if start_s < t <= end_s]
        before = [true for t, true in truth if t <= start_s]
        if math.isnan(told):
            continue
        first = before[-1] if before else inside[0]
        assert inside[-1] - first == told


@given(steps=scrapes)
def test_a_bucket_is_known_exactly_where_two_readings_tell_it(steps):
    readings, truth = scraped(steps)
    times = [t for t, _ in truth]
    for bucket, told in enumerate(counter(readings).buckets(0, END_S)):
        inside = [t for t in times if 60 * bucket < t <= 60 * bucket + 60]
        before = [t for t in times if t <= 60 * bucket]
        first = (before or inside or [math.nan])[-1 if before else 0]
        is_told = bool(inside) and inside[-1] > first and inside[-1] - first <= 90
        assert is_told != math.isnan(told)


@given(steps=scrapes)
def test_an_increase_is_never_negative(steps):
    readings, _ = scraped(steps)
    series = counter(readings)
    assert not np.any(series.buckets(0, END_S) < 0)
    assert all((known(series.increase(at_s)) or 0.0) >= 0 for at_s in range(0, END_S, 7))


@given(steps=scrapes, cut=st.integers(0, 60))
def test_added_at_once_or_one_by_one_it_is_the_same_series(steps, cut):
    readings, _ = scraped(steps)
    once = Series(is_counter=True)
    for part in (readings[:cut], readings[cut:]):
        once.extend([t for t, _ in part], [v for _, v in part])
    one_by_one = counter(readings)
    np.testing.assert_array_equal(one_by_one.buckets(0, END_S), once.buckets(0, END_S))
    for at_s in range(0, END_S, 31):
        assert one_by_one.increase(at_s) == once.increase(at_s)


@given(steps=scrapes, minute=st.integers(0, 10))
def test_a_closed_bucket_is_final(steps, minute):
    readings, _ = scraped(steps)
    end_s = 60 * minute
    early = counter([(t, v) for t, v in readings if t <= end_s])
    np.testing.assert_array_equal(early.buckets(0, end_s), counter(readings).buckets(0, end_s))


@given(steps=scrapes)
def test_the_last_minute_is_what_its_bucket_holds(steps):
    """`now` at the end of a minute and the bucket of that minute agree wherever both know."""
    readings, _ = scraped(steps)
    series = counter(readings)
    for bucket, told in enumerate(series.buckets(0, END_S)):
        match series.increase(60 * bucket + 60):
            case Value(value):
                assert told == value
            case _:
                assert math.isnan(told)


pods = st.dictionaries(st.sampled_from("abcd"), scrapes, min_size=1)


@given(fleet=pods, order=st.randoms(use_true_random=False))
def test_pods_add_up_in_any_order(fleet, order):
    def total(names):
        store = SeriesStore()
        for name in names:
            for t_s, value in scraped(fleet[name])[0]:
                store.append(SeriesKey(name, DONE), t_s, value)
        return store.buckets([Signal.COMPLETIONS], 0, END_S)[Signal.COMPLETIONS]

    names = sorted(fleet)
    np.testing.assert_allclose(total(names), total(order.sample(names, len(names))))


@given(fleet=pods)
def test_a_workload_never_did_more_than_its_pods(fleet):
    store, alone = SeriesStore(), []
    for name, steps in fleet.items():
        readings, _ = scraped(steps)
        alone.append(counter(readings).buckets(0, END_S))
        for t_s, value in readings:
            store.append(SeriesKey(name, DONE), t_s, value)
    together = store.buckets([Signal.COMPLETIONS], 0, END_S)[Signal.COMPLETIONS]
    sums = np.nansum(alone, axis=0)
    is_known = np.isfinite(together)
    np.testing.assert_allclose(together[is_known], sums[is_known])
    assert np.isnan(alone).all(axis=0)[is_known].sum() == 0, "known though no pod knew"


WAITING, KV_OLD = "vllm:num_requests_waiting", "vllm:gpu_cache_usage_perc"
SERIES_OF = ((DONE, "stop", 0), (DONE, "abort", 0), (DONE, "stop", 1), (WAITING, "", 0), (KV_OLD, "", 0))


@given(
    told=st.dictionaries(st.tuples(st.sampled_from("ab"), st.sampled_from(SERIES_OF)), scrapes, min_size=1)
)
def test_a_minute_that_is_asked_for_alone_holds_what_it_does_among_others(told):
    """By pods, parts of a signal, scrapers and gauges: arrays of one bucket are not worth their cost."""
    store = SeriesStore()
    for (pod, (name, reason, scraper)), steps in told.items():
        labels = (("finished_reason", reason),) if reason else ()
        for t_s, value in scraped(steps)[0]:
            store.append(SeriesKey(pod, name, labels, scraper), t_s, value)
    asked = (Signal.COMPLETIONS, Signal.WAITING, Signal.KV_USE, Signal.FAILURES)
    for start_s in range(60, END_S, 60):
        alone, two = (store.buckets(asked, first_s, start_s + 60) for first_s in (start_s, start_s - 60))
        for signal in asked:
            np.testing.assert_array_equal(two[signal][1:], alone[signal])


rows = st.lists(st.one_of(st.integers(0, 500), st.just(math.nan)), min_size=6, max_size=6)


@given(completions=rows, waiting=rows, running=rows, prompt=rows, output=rows)
def test_demand_is_unknown_or_not_negative_and_never_less_known_than_said(
    completions, waiting, running, prompt, output
):
    values = dict(
        zip(
            (
                Signal.COMPLETIONS,
                Signal.PROMPT_TOKENS,
                Signal.OUTPUT_TOKENS,
                Signal.WAITING,
                Signal.RUNNING,
            ),
            map(np.array, (completions, prompt, output, waiting, running)),
            strict=True,
        )
    )
    demand = demand_history(
        SignalBuckets(KEY, 0, {signal: row.astype(float) for signal, row in values.items()})
    )
    assert not np.any(demand.requests_per_s < 0)
    assert np.isnan(demand.requests_per_s[np.isnan(completions)]).all()
    assert np.isnan(demand.prompt_tokens).tolist() == np.isnan(demand.output_tokens).tolist()
    assert (np.diff(np.isnan(demand.prompt_tokens).astype(int)) <= 0).all(), "a mix once known stays known"


@given(completions=rows, waiting=rows, running=rows)
def test_what_came_is_what_was_finished_or_is_still_there(completions, waiting, running):
    """Over any stretch that is known and in which no bucket lost requests, the sums agree."""
    values = {
        Signal.COMPLETIONS: completions,
        Signal.WAITING: waiting,
        Signal.RUNNING: running,
    }
    demand = demand_history(
        SignalBuckets(KEY, 0, {signal: np.array(row, dtype=float) for signal, row in values.items()})
    )
    offered = 60 * demand.requests_per_s[1:]
    in_flight = np.add(waiting, running)
    if np.isnan(offered).any() or (offered == 0).any() or np.isnan(in_flight).all():
        return
    assert np.isclose(offered.sum(), sum(completions[1:]) + in_flight[-1] - in_flight[0])
