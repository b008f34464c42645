"""A search over a recipe's space that never looks at what it is judged by in the end."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from foreslice.api.demand import series_of
from foreslice.settings.recipe_file import SHIPPED, shipped_path, variants
from predictor.recipe import Recipe
from predictor.registry.challenge import tried
from predictor.registry.gate import RULES, ratio_to
from predictor.registry.manifest import Score
from predictor.steps import StepSeries

LEARNT, CHOSEN = 0.4, 0.7
"""Shares of the time up to which a search learns, and up to which it looks at all: the rest judges it."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search found.

    Attributes:
        trials: A row a trial, best first: its values, and `over_rules`, its loss over that of the better rule
            on days that it had not learnt from.
        recipe: The best of them.
        over_rules: Of that one, taught again, on days that no trial has seen.
    """

    trials: pd.DataFrame
    recipe: Recipe
    over_rules: float


def tune(
    demand: pd.DataFrame,
    recipe: str | Path = "pooled",
    *,
    trials: int = 8,
    seed: int = 0,
    value: str = "requests_per_s",
    allowed: Collection[str] = (),
) -> Tuned:
    """Return the best of some points of a recipe's search space, drawn at random, and what it is worth.

    Trials learn from the first 40 % of the time and are compared on what follows up to 70 %, which is cut off
    before anything is made of it. The winner is taught the 70 % and judged by the rest.

    Args:
        demand: As `read_demand` returns it.
        recipe: "own", "pooled" or a file with a search space.
        trials: How many points.
        seed: Draws them.
        value: Column of demand.
        allowed: Import paths of estimators, beside ours, that the recipe may name.

    Raises:
        InputError: The recipe or the demand cannot be used.
    """
    path = shipped_path(str(recipe)) if recipe in SHIPPED else Path(recipe)
    points = variants(path, trials, seed, allowed)
    series = [tidy.series for tidy in series_of(demand, value)]
    start_s, end_s = min(one.start_s for one in series), max(one.end_s for one in series)
    learnt_s, chosen_s = (round(start_s + share * (end_s - start_s)) for share in (LEARNT, CHOSEN))
    seen = [one.part(0, max(0, (chosen_s - one.start_s) // one.step_s)) for one in series]
    scored = sorted(((_over_rules(seen, one, learnt_s), at) for at, (_, one) in enumerate(points)))
    table = pd.DataFrame([{**points[at][0], "over_rules": ratio} for ratio, at in scored])
    best = points[scored[0][1]][1]
    return Tuned(table, best, _over_rules(series, best, chosen_s))


def _over_rules(series: Sequence[StepSeries], recipe: Recipe, tried_from_s: int) -> float:
    made = tried(recipe.name, series, recipe=recipe, tried_from_s=tried_from_s, champions={})
    return max(_ratio(made.scores, rule) for rule in RULES)


def _ratio(scores: tuple[Score, ...], rule: str) -> float:
    ratio = ratio_to(scores, rule)
    return math.inf if ratio is None else ratio
