"""Need-up, need-keep, and what may be concluded from which evidence."""

import pytest

from allocator.need import Evidence, Timing, need_of, reactive_rate_per_s
from fleet.demand import NowReading
from fleet.sample import Idle, Reason, Unknown, Value
from fleet.workload import Tier
from tests.builders.deciding import forecast, need
from tests.builders.fleet import NOW_S, key

UNKNOWN = Unknown(Reason.ABSENT)


def reading(arrivals, waiting):
    return NowReading(key("chat"), NOW_S, arrivals, waiting, UNKNOWN, None)


@pytest.mark.parametrize(
    ("arrivals", "waiting", "rate_per_s"),
    [
        (Value(4.0), Value(0.0), 4.0),
        (Value(4.0), Value(60.0), 6.0),  # 60 waiting are to be gone in 30 s
        (Value(4.0), Idle(), 4.0),
        (Idle(), Value(15.0), 0.5),
        (Idle(), Idle(), 0.0),
        (Value(4.0), UNKNOWN, 4.0),
        (UNKNOWN, Value(60.0), None),
        (UNKNOWN, UNKNOWN, None),
    ],
)
def test_the_present_asks_for_arrivals_and_for_the_backlog_over_the_drain_target(
    arrivals, waiting, rate_per_s
):
    assert rate_per_s == reactive_rate_per_s(reading(arrivals, waiting), Timing(drain_target_s=30.0))


def needed(tier=Tier.BALANCED, timing=None, **evidence):
    given = {"reactive": 0.0, "quiet_peak": 0.0, "distrust": (), "forecast": None} | evidence
    return need_of(key("chat"), "default-scheduler", tier, Evidence(**given), timing or Timing())


def test_without_a_forecast_the_present_and_the_quiet_time_decide():
    got = needed(reactive=0.3, quiet_peak=0.8)
    assert (0.3, 0.8) == (got.up, got.keep)
    assert (0.0, 0.0) == (got.forecast_up, got.forecast_keep)
    assert () == got.distrust


def test_the_present_is_kept_even_where_the_quiet_time_saw_less():
    got = needed(reactive=0.9, quiet_peak=0.2)
    assert (0.9, 0.9) == (got.up, got.keep)


# Lead 90 s and a tick of 10 s are read off the 120 s window, growing back and dwelling (790 s) off 900 s.
PEAKS = {(120, 0.95): 0.5, (300, 0.95): 0.6, (900, 0.95): 0.7, (1800, 0.95): 0.8, (120, 0.99): 0.9}


def test_the_forecast_is_read_within_the_lead_time_and_within_the_time_to_grow_back():
    got = needed(forecast=forecast(peaks=PEAKS))
    assert (0.5, 0.7) == (got.forecast_up, got.forecast_keep)
    assert (0.5, 0.7) == (got.up, got.keep)


@pytest.mark.parametrize(
    ("age_s", "up", "keep"),
    [(0.0, 0.5, 0.7), (20.0, 0.5, 0.7), (21.0, 0.6, 0.7), (110.0, 0.6, 0.7), (111.0, 0.6, 0.8)],
)
def test_a_forecast_that_ages_is_read_further_ahead(age_s, up, keep):
    got = needed(forecast=forecast(peaks=PEAKS), forecast_age_s=age_s)
    assert (up, keep) == (got.up, got.keep)


@pytest.mark.parametrize(
    ("timing", "up", "keep"),
    [
        (Timing(lead_s=110.0), 0.5, 0.7),
        (Timing(lead_s=111.0), 0.6, 0.7),
        (Timing(tick_s=31.0), 0.6, 0.7),
        (Timing(regrow_s=201.0), 0.5, 0.8),
        (Timing(dwell_s=711.0), 0.5, 0.8),
    ],
)
def test_every_time_that_passes_until_capacity_is_there_is_looked_across(timing, up, keep):
    got = needed(forecast=forecast(peaks=PEAKS), timing=timing)
    assert (up, keep) == (got.up, got.keep)


def test_a_stricter_tier_reads_a_higher_quantile():
    assert 0.9 == needed(Tier.STRICT, forecast=forecast(peaks=PEAKS)).up
    assert 0.0 == needed(Tier.ECONOMY, forecast=forecast(peaks=PEAKS)).up


def test_a_present_above_the_forecast_counts():
    got = needed(reactive=1.0, quiet_peak=1.5, forecast=forecast(peaks=PEAKS))
    assert (1.0, 1.5) == (got.up, got.keep)


def test_an_unknown_present_leaves_the_forecast_and_forbids_removal():
    got = needed(reactive=None, forecast=forecast(peaks=PEAKS))
    assert (0.5, 0.7) == (got.up, got.keep)
    assert ("demand now is unknown",) == got.distrust


def test_an_unknown_quiet_time_forbids_removal():
    got = needed(quiet_peak=None)
    assert ("demand over the quiet time is not known throughout",) == got.distrust


def test_doubts_about_the_readings_come_first():
    got = needed(reactive=None, quiet_peak=None, distrust=("a pod is not scraped",))
    assert "a pod is not scraped" == got.distrust[0]
    assert 3 == len(got.distrust)


def test_a_need_says_whose_it_is_who_places_it_and_for_when():
    got = needed()
    assert (key("chat"), "default-scheduler", 0) == (got.workload, got.scheduler, got.step)


def test_the_counterfactual_knows_the_same_but_for_the_forecast():
    got = needed(reactive=0.2, quiet_peak=0.3, forecast=forecast(peaks=PEAKS)).without_forecast()
    assert (0.2, 0.3, 0.0, 0.0) == (got.up, got.keep, got.forecast_up, got.forecast_keep)


def test_the_counterfactual_of_an_unknown_present_adds_nothing_and_trusts_nothing():
    got = needed(reactive=None, quiet_peak=0.4, forecast=forecast(peaks=PEAKS)).without_forecast()
    assert (0.0, 0.4) == (got.up, got.keep)
    assert got.distrust


@pytest.mark.parametrize(
    ("up", "reactive", "because"),
    [
        (0.5, 0.5, "0.50 is asked now, forecast peak 0.00"),
        (0.5, 0.2, "forecast peak 0.50 above what is asked now (0.20)"),
        (0.5, None, "demand now is unknown, forecast peak 0.50"),
    ],
)
def test_a_need_says_what_it_rests_on(up, reactive, because):
    assert because == need(up=up, reactive=reactive).because


def test_what_is_announced_is_carried_and_kept_whatever_is_forecast_and_also_without_a_forecast():
    got = needed(reactive=0.3, forecast=forecast(peaks=PEAKS), announced=1.5, announced_keep=2.0)
    assert (1.5, 2.0) == (got.up, got.keep)
    assert (1.5, 2.0) == (got.without_forecast().up, got.without_forecast().keep)
    assert "1.50 is announced" == got.because
