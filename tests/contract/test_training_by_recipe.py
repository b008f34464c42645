"""What `foreslice train` learns by a recipe is what the service learns by it: one path, one result."""

import math

import numpy as np

from predictor.forecasters.learned import LEARNED, STEP_S, LearnedRung
from predictor.registry.challenge import challenger
from predictor.registry.registry import Registry
from predictor.steps import StepSeries
from tests.builders.recipes import recipe
from tests.builders.work import DAY, daily_work, series

QUICK = recipe(every_s=600, trees=10)
SEEN, ALL = 5 * DAY, 6 * DAY


def test_a_stored_model_is_the_one_that_the_service_would_have_made(tmp_path):
    """Both are taught five days: the service by a history that ends there, the command by its cut."""
    work = daily_work(6)
    below = {window: dict.fromkeys(range(0, 60 * SEEN, STEP_S), math.inf) for window in LEARNED}
    served = LearnedRung.trained(series(work[:SEEN]), below, QUICK).model

    steps = StepSeries.of_minutes(0, work, np.zeros(ALL, bool), STEP_S)
    made = challenger("own", [steps], recipe=QUICK, tried_from_s=60 * SEEN, champions={}, made_s=1)
    registry = Registry(str(tmp_path))
    stored = registry.load("own", registry.publish(made, "own")).model

    assert served.quantiles == stored.quantiles
    np.testing.assert_array_equal(served.columns, stored.columns)
    for what in ("column", "threshold", "left", "right", "value", "base"):
        np.testing.assert_array_equal(getattr(served.models, what), getattr(stored.models, what))
