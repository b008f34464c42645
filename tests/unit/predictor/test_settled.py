"""How much is kept of what was scraped does not grow with the days."""

import pickle

import numpy as np
import pytest

from fleet.signal import Signal
from predictor.readings import SeriesKey, SeriesStore

DONE = "vllm:request_success_total"
HOUR_S, RAW_S, KEPT_S, SCRAPE_S = 3_600, 900, 7_200, 15
SINCE_S = 6 * HOUR_S + 120


def scraped(store, pod, hour):
    """Let an hour of one request a second pass, scrape by scrape."""
    times_s = np.arange(hour * HOUR_S, (hour + 1) * HOUR_S, SCRAPE_S) + SCRAPE_S
    store.extend(SeriesKey(pod, DONE), times_s, times_s)
    return times_s[-1]


def lived(hours, lives_h):
    """A store of pods that live for some hours each, one after the other, settled hourly."""
    store = SeriesStore()
    for hour in range(hours):
        now_s = scraped(store, f"pod-{hour // lives_h:02d}", hour)
        store.settle(now_s - RAW_S, now_s - KEPT_S)
    return store


@pytest.mark.parametrize("lives_h", [1, 6, 1000])
def test_twice_the_days_are_not_more_to_keep(lives_h):
    short, long = (len(pickle.dumps(lived(hours, lives_h))) for hours in (48, 96))
    assert short == pytest.approx(long, rel=0.01)


def test_older_readings_are_kept_by_the_minute():
    once, whole = lived(2, 1000), SeriesStore()
    for hour in range(2):
        scraped(whole, "pod-00", hour)
    # 105 minutes, and each scrape of a quarter of an hour, of 480 readings of 16 bytes.
    assert (480 - 105 - 60) * 16 == pytest.approx(
        len(pickle.dumps(whole)) - len(pickle.dumps(once)), rel=0.02
    )


def test_what_is_kept_says_what_it_said():
    kept, whole = lived(8, 1000), SeriesStore()
    for hour in range(8):
        scraped(whole, "pod-00", hour)
    said = [store.buckets([Signal.COMPLETIONS], SINCE_S, 8 * HOUR_S) for store in (whole, kept)]
    assert said[0][Signal.COMPLETIONS].tobytes() == said[1][Signal.COMPLETIONS].tobytes()
    assert [60.0] == sorted(set(said[0][Signal.COMPLETIONS]))
