import numpy as np

from predictor.value.breaker import Breaker

CAME = np.random.default_rng(2).uniform(1.0, 2.0, 288)
BASELINE = np.full(288, 2.2)
GOOD = np.full(288, 2.0)


def test_it_opens_on_cost_within_hours_and_closes_once_forecasts_are_as_good_as_the_baseline():
    breaker = Breaker(per_hour=12, width=3)
    assert breaker.trip(0.95, CAME, GOOD, BASELINE) == ""
    wasteful = np.where(np.arange(288) >= 288 - 72, 8.0, GOOD)
    assert breaker.trip(0.95, CAME, wasteful, BASELINE).startswith("forecasts cost 8.7 times")
    middling = np.full(288, 2.5)
    assert breaker.trip(0.95, CAME, middling, BASELINE).startswith("forecasts cost 1.")
    assert breaker.trip(0.95, CAME, GOOD, BASELINE) == ""
    assert breaker.trip(0.95, CAME, middling, BASELINE) == ""


def test_it_opens_where_a_day_of_forecasts_covered_too_little():
    too_low = np.full(288, 1.8)
    said = Breaker(per_hour=12, width=3).trip(0.95, CAME, too_low, np.full(288, 1.8))
    assert said.startswith("forecasts held in 8")
    assert said.endswith("% of the last 24 h, 88% is the least")


def test_few_outcomes_open_and_close_nothing():
    breaker = Breaker(per_hour=12, width=3)
    unknown = np.where(np.arange(288) >= 288 - 40, np.nan, CAME)
    assert breaker.trip(0.95, unknown, np.full(288, 9.0), BASELINE) == ""
    assert breaker.trip(0.95, CAME, np.full(288, 9.0), BASELINE) != ""
    assert "forecasts are still held back" == breaker.trip(0.95, unknown, GOOD, BASELINE)
