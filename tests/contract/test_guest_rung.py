"""A forecaster of another library on top of the ladder: judged as ours, used where it won, let go else."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from fleet.errors import RefusedError
from foreslice.settings.load import load, rung_of
from foreslice.settings.recipe_file import load as load_recipe
from foreslice.training import here
from predictor.forecasters.guest import GuestRung
from predictor.forecasters.learned import HELD_OUT_S, LEARNED, LearnedRung
from predictor.ladder import Ladder
from predictor.recipe import Guest
from predictor.registry.challenge import challenger
from predictor.registry.registry import Registry
from predictor.steps import StepSeries
from tests.builders.examples import FOLDER, acme
from tests.builders.work import DAY, KEY, daily_work, series

GRID_S = tuple(WINDOWS_S[window] for window in LEARNED)


class Seer:
    """Says a constant, or whatever it is told to, from the moment that it has seen something."""

    says = 5.0

    def __init__(self, workload, fails_after=math.inf):
        self.workload, self.left = workload, fails_after

    def fit(self, history):
        self.end_s = history.end_s
        return self

    def update(self, work, *, is_censored=False):
        self.end_s += 60
        self.left -= 1

    def peaks(self):
        if self.left < 0:
            raise RefusedError("tired")
        grid = {(window_s, quantile): self.says for window_s in WINDOWS_S for quantile in QUANTILES}
        return PeakForecast(self.workload, self.end_s, "seer", grid)


def guest(windows_s=GRID_S, **parameters):
    return Guest("seer", Seer, parameters, windows_s)


def below(days, loss):
    return {window: dict.fromkeys(range(0, round(days * 86400), 300), loss) for window in LEARNED}


def trained(days=5.5, loss=math.inf, **given):
    return GuestRung.trained(series(np.full(round(days * DAY), 5.0)), below(days, loss), guest(**given))


@pytest.mark.parametrize(("days", "is_made"), [(4.9, False), (5.1, True)])
def test_it_takes_as_much_history_as_our_own(days, is_made):
    assert is_made == (trained(days) is not None)


def test_it_serves_the_windows_that_it_names_and_has_won():
    rung = trained(windows_s=(900, 1800))
    assert [True, True, False] == [rung.row(window) is not None for window in LEARNED]
    assert [5.0] * len(QUANTILES) == [*rung.row(LEARNED[0]).work]
    assert rung.row(0) is None
    assert trained(loss=-1.0) is None


def test_it_is_judged_by_what_it_said_as_windows_opened():
    """What comes is what it said until a fall on the last day, which costs it the windows."""
    work = np.full(round(5.5 * DAY), 5.0)
    fair = GuestRung.trained(series(work), below(5.5, 0.01), guest())
    work[-DAY // 2 :] = 1.0
    assert fair is not None
    assert GuestRung.trained(series(work), below(5.5, 0.01), guest()) is None


def test_once_it_fails_the_rung_below_goes_on():
    rung = trained(fails_after=HELD_OUT_S // 60 + 5)
    for _ in range(HELD_OUT_S // 60 + 6):
        rung.update(5.0, is_censored=False)
    assert rung.row(LEARNED[0]) is None
    rung.update(5.0, is_censored=False)


@pytest.mark.parametrize("said", [math.nan, math.inf, -1.0])
def test_what_is_no_peak_is_not_said(said, monkeypatch):
    rung = trained()
    monkeypatch.setattr(Seer, "says", said)
    assert rung.row(LEARNED[0]) is None


def test_a_users_forecaster_plugs_into_the_ladder_by_a_recipe():
    """As docs/examples has it: settings allow it, the recipe names it, and the ladder is asked as ever."""
    acme()
    recipe = rung_of(load(FOLDER / "settings.yaml"), FOLDER)
    # Wild until two days ago and calm since: who remembers hours knows, who remembers days does not.
    spread = np.where(np.arange(round(5.6 * DAY)) < 3 * DAY, 1.5, 0.05)
    work = 5 + spread * np.random.default_rng(1).uniform(-1, 1, len(spread))
    ladder = Ladder(KEY, here(recipe)).fit(series(work[: -DAY // 2]))
    for value in work[-DAY // 2 :]:
        ladder.update(float(value))
    assert GRID_S == recipe.windows_s
    assert "learned" == ladder.rungs[3600]
    assert math.isfinite(ladder.peaks().peak(3600, 0.95))


def test_a_users_estimator_is_learnt_stored_and_read_back_where_it_is_allowed(tmp_path):
    module = acme()
    allowed = load(FOLDER / "settings.yaml").learning.allowed
    recipe = load_recipe(FOLDER / "linear.yaml", allowed)
    recipe = replace(recipe, parameters={"rows": 200})
    work = daily_work(6)
    steps = StepSeries.of_minutes(0, work, np.zeros(len(work), bool), 300)
    made = challenger("mine", [steps], recipe=recipe, tried_from_s=4 * 86400, champions={}, made_s=1)
    full = f"{module.LinearQuantile.__module__}.{module.LinearQuantile.__qualname__}"
    registry = Registry(str(tmp_path), [full])
    version = registry.publish(made, "mine")
    stored = registry.load("mine", version).model
    assert {module.LinearQuantile} == {type(one) for one in stored.models.models}
    with pytest.raises(Exception, match=r"types that are not allowed: acme_forecasts\.LinearQuantile"):
        Registry(str(tmp_path)).load("mine", version)


def test_the_service_learns_by_a_users_estimator():
    acme()
    recipe = load_recipe(FOLDER / "linear.yaml", ["acme_forecasts.LinearQuantile"])
    recipe = replace(recipe, parameters={"rows": 200})
    rung = LearnedRung.trained(series(daily_work(5.2)), below(5.2, math.inf), recipe)
    assert rung.row(LEARNED[0]) is not None
