"""Forecasts of your own demand: a table in, calibrated peaks out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import pandas as pd

from fleet.errors import InputError, RefusedError
from foreslice.api.demand import series_of
from foreslice.settings.durations import seconds, written
from foreslice.settings.recipe_file import shipped_recipes
from predictor.ahead import ahead
from predictor.ports import Floats
from predictor.recipe import Question, Recipe, Recipes
from predictor.sources.demand_table import TidySeries


class Forecaster:
    """Forecasts the peaks of regular series, with the models, the rules and the calibration of the service.

    Args:
        windows: Windows ahead, as "30m".
        quantiles: Rising, each between 0 and 1.
        recipe: How each series' own model is learnt; default: the shipped one.
        value: Column of demand, in any unit.

    Example:
        >>> import pandas as pd
        >>> from foreslice import Forecaster
        >>> demand = pd.DataFrame({
        ...     "time": pd.date_range("2026-03-02", periods=2 * 144, freq="10min", tz="UTC"),
        ...     "requests_per_s": [5.0 if 54 <= step % 144 < 102 else 1.0 for step in range(288)],
        ... })
        >>> Forecaster(windows=["30m"], quantiles=[0.5, 0.95]).fit(demand).forecast()
          workload                   made_at window  quantile  peak
        0      all 2026-03-04 00:00:00+00:00    30m      0.50   1.0
        1      all 2026-03-04 00:00:00+00:00    30m      0.95   1.0
    """

    def __init__(
        self,
        windows: Sequence[str] = ("30m", "60m"),
        quantiles: Sequence[float] = (0.5, 0.9, 0.95, 0.99),
        *,
        recipe: Recipe | None = None,
        value: str = "requests_per_s",
    ) -> None:
        shipped = shipped_recipes()
        own = shipped.own if recipe is None else recipe
        self._recipes = Recipes(own, shipped.pooled)
        self._question = Question(
            _windows_s(windows), tuple(quantiles), own.question.target, own.question.calendar
        )
        self._value = value
        self._said: list[tuple[TidySeries, dict[int, Floats]]] | None = None

    def fit(self, demand: pd.DataFrame) -> Self:
        """Learn from a table and return self.

        Args:
            demand: Columns `time`, `workload` (tells series apart; may be absent) and the value, of equal
                steps; NaN and missing rows are unknown, never zero.

        Raises:
            InputError: A column is missing, times or values are malformed, or a window is not whole steps.
        """
        series = series_of(demand, self._value)
        for step_s in {one.series.step_s for one in series}:
            if short := [one for one in self._question.windows_s if one % step_s]:
                what = f"window {written(short[0])} is not whole steps of {written(step_s)}"
                raise InputError(what, where="windows", fix="ask for whole steps")
        self._said = []
        for step_s in sorted({one.series.step_s for one in series}):
            alike = [one for one in series if one.series.step_s == step_s]
            said = ahead([one.series for one in alike], self._question, self._recipes)
            self._said += zip(alike, said, strict=True)
        return self

    def forecast(self) -> pd.DataFrame:
        """Return peaks ahead, a row for each workload, window and quantile.

        Columns: `workload`, `made_at` (end of its newest step), `window`, `quantile`, `peak` (NaN where too
        little is known to say anything). `RefusedError` before `fit`.
        """
        if self._said is None:
            raise RefusedError("nothing was learnt yet: call fit first")
        rows = [
            (
                tidy.name,
                pd.Timestamp(tidy.series.end_s, unit="s", tz="UTC"),
                written(window_s),
                quantile,
                float(peak),
            )
            for tidy, by_window in self._said
            for window_s, peaks in by_window.items()
            for quantile, peak in zip(self._question.quantiles, peaks, strict=True)
        ]
        return pd.DataFrame(rows, columns=["workload", "made_at", "window", "quantile", "peak"])


def _windows_s(windows: Sequence[str]) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(seconds(window)) for window in windows}))
    except ValueError as error:
        raise InputError(str(error), where="windows", fix='write ["30m", "60m"]') from error
