"""Boosted trees with the rules beside them, on five-minute steps of work: the top rung of the ladder."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from fleet.demand import QUANTILES, WINDOWS_S
from predictor.blend import Line, Origin
from predictor.calendar import Calendar
from predictor.features import Features, Table, features
from predictor.forecasters.base import STRIDE, Row, pinball
from predictor.forecasters.shadow import Shadow
from predictor.learned import LEAST_S, Learned, Lesson, learn
from predictor.ports import BUCKET_S, Floats, WorkSeries
from predictor.recipe import Recipe
from predictor.shared import Shared, Shelf, Tally
from predictor.steps import DAY_S, StepSeries

STEP_S = STRIDE * BUCKET_S
"""Features of single minutes were measured to add nothing from ten minutes ahead on."""

LEARNED = tuple(index for index, window_s in enumerate(WINDOWS_S) if 3 * STEP_S <= window_s <= 12 * STEP_S)
"""Windows of the grid that may be learnt: over shorter ones what stands now says most, and steps are too
long."""

HELD_OUT_S = 2 * DAY_S
"""End of a history that a first model does not see: what it says there decides whether the rung is used."""

_RUN_IN_S = 6 * DAY_S
"""End of a history over which the rules beside the models gather their errors."""

_REMEMBERED_S = 8 * DAY_S
"""Past that features look back on: last week's window."""

_ENOUGH = DAY_S // STEP_S // 2
"""Moments at which a comparison counts: half a day of them."""

Below = Mapping[int, Mapping[int, float]]

Models = tuple[Learned | None, Shared | None]
"""An own model, and one that many workloads share."""


class LearnedRung:
    """Forecasts of windows in `LEARNED`, made as a five-minute step closes and standing until the next does.

    It is made from a history, in a process of its own where nothing may wait for it, and fed by minutes from
    then on. It has the windows in which a model that had not seen the last two days cost less there than the
    rung below: the pinball loss, summed over quantiles, of what it had said a step *earlier*. A forecast
    stands that long, so it is judged as it is when it is oldest.

    Where there is a model that many workloads share, the window's mixture has both; where the history is too
    short for an own one, it has the shared one alone.

    Attributes:
        model: The last own model, which has seen all of the history; `None` = the history is too short.
    """

    rung = "learned"

    def __init__(
        self,
        models: Models,
        calendar: Calendar,
        series: StepSeries,
        watched: Mapping[int, _Watched],
    ) -> None:
        self.model, self._shared = models
        self._has_shared = self._shared is not None
        self._challenger: Shared | None = None
        self._tally = Tally()
        self._calendar = calendar
        self._series = series
        self._highest = float(np.nanmax(series.highest))
        self._minutes: list[tuple[float, bool]] = []
        self._watched = watched

    @classmethod
    def trained(
        cls, history: WorkSeries, below: Below, recipe: Recipe, shared: Shared | None = None
    ) -> LearnedRung | None:
        """Return a rung that has learnt from a history, `None` where that is too short or no window is won.

        Args:
            history: Minutes of work.
            below: What the rung below lost: by window of the grid and by when it opened, seconds since the
                epoch.
            recipe: How models are learnt, and of which windows in `LEARNED`.
            shared: A model that many workloads share; it is used if it has not seen what is tried on.
        """
        series = StepSeries.of_minutes(history.start_s, history.work, history.is_censored, STEP_S)
        held_out = len(series) - HELD_OUT_S // STEP_S
        is_long = held_out >= LEAST_S // STEP_S
        if not is_long:
            held_out = max(0, held_out)
        if shared is not None and shared.until_s > series.start_s + held_out * STEP_S:
            shared = None
        windows = [window for window in LEARNED if WINDOWS_S[window] in recipe.question.windows_s]
        if not len(series) or not (is_long or shared is not None):
            return None
        calendar = recipe.question.calendar
        tables = features(series, [WINDOWS_S[window] for window in windows], calendar)
        first = learn([Lesson(tables, held_out, STEP_S)], QUANTILES, recipe) if is_long else None
        if first is None and shared is None:
            return None
        watched = {window: _Watched(WINDOWS_S[window], recipe) for window in windows}
        for one in watched.values():
            one.run_in(series, tables[one.window_s], (first, shared), held_out)
        won = {window: one for window, one in watched.items() if has_won(one.losses, below.get(window, {}))}
        if not won:
            return None
        last = learn([Lesson(tables, len(series), STEP_S)], QUANTILES, recipe) if is_long else None
        rung = cls((last, shared), calendar, series, won)
        done = (series.end_s - history.start_s) // BUCKET_S
        for work, is_censored in zip(history.work[done:], history.is_censored[done:], strict=True):
            rung.update(float(work), is_censored=bool(is_censored))
        return rung

    def update(self, work: float, *, is_censored: bool) -> None:
        """Take in the next minute (NaN = unknown)."""
        self._minutes.append((work, is_censored))
        if len(self._minutes) == STRIDE:
            minutes, censored = zip(*self._minutes, strict=True)
            self._minutes.clear()
            step = StepSeries.of_minutes(self._series.end_s, np.array(minutes), np.array(censored), STEP_S)
            self._take(self._series.followed_by(step))

    def tried(self, window: int) -> Sequence[tuple[int, Sequence[float]]]:
        """Return what its models said on the days that they had not seen: ends of steps in s, and rows."""
        watched = self._watched.get(window)
        return watched.tried if watched is not None else ()

    def share(self, shelf: Shelf) -> None:
        """Go on with what a shelf has now; a rung that was made without a shared model goes on without."""
        if self._has_shared:
            self._shared, self._challenger, self._tally = shelf.now(), shelf.challenger, shelf.tally

    def row(self, window: int) -> Row | None:
        """Return the forecast of a window of the grid, `None` where this rung has none."""
        watched = self._watched.get(window)
        return watched.row if watched is not None else None

    def _take(self, series: StepSeries) -> None:
        series = series.part(max(0, len(series) - _REMEMBERED_S // STEP_S), len(series))
        self._series = series
        self._highest = float(np.fmax(self._highest, series.highest[-1]))
        windows_s = [watched.window_s for watched in self._watched.values()]
        tables = features(series, windows_s, self._calendar, since=len(series) - 1)
        rows = np.concatenate([tables[window_s].rows for window_s in windows_s])
        logs, anchored = _say((self.model, self._shared), rows, np.array(windows_s, dtype=np.float64))
        beside = self._beside(rows, np.array(windows_s, dtype=np.float64))
        for place, watched in enumerate(self._watched.values()):
            origin = Origin.of(tables[watched.window_s], 0, self._highest, logs[place], anchored[place])
            closed = watched.advance(series, len(series), origin)
            said = (beside[0], beside[1][place]) if beside is not None else None
            watched.shadow.advance(closed, origin.level, origin.floor, said, self._tally)

    def _beside(self, rows: Table, windows_s: Floats) -> tuple[tuple[str, str], Floats] | None:
        """Return the versions of challenger and champion, and what they say by row, `None` without both."""
        champion, challenger = self._shared, self._challenger
        if champion is None or challenger is None:
            return None
        logs = [one.model.predict(rows, windows_s)[0] for one in (challenger, champion)]
        return (challenger.version, champion.version), np.stack(logs, axis=1)


def _say(models: Models, rows: Table, window_s: float | Floats) -> tuple[Floats, Floats]:
    """Return what models say, by row, model and quantile, and of the median; NaN where there is none."""
    own, shared = models
    logs = np.full((len(rows), len(models), len(QUANTILES)), np.nan)
    anchored = np.full((len(rows), len(models)), np.nan)
    for place, model in enumerate((own, shared.model if shared is not None else None)):
        if model is not None:
            logs[:, place], anchored[:, place] = model.predict(rows, window_s)
    return logs, anchored


def has_won(ours: Mapping[int, float], below: Mapping[int, float]) -> bool:
    """Return whether forecasts cost less than those of the rung below, at the moments known of both."""
    both = ours.keys() & below.keys()
    return len(both) >= _ENOUGH and sum(ours[at] for at in both) < sum(below[at] for at in both)


class _Watched:
    """One window: its forecasts, and what they lost, by when the window opened."""

    def __init__(self, window_s: int, recipe: Recipe) -> None:
        self.window_s = window_s
        self.losses: dict[int, float] = {}
        self._width = window_s // STEP_S
        self.shadow = Shadow(self._width)
        self.tried: list[tuple[int, Sequence[float]]] = []
        self._line = Line(QUANTILES, STEP_S, self._width, recipe.calibration)
        self._rows: deque[Row | None] = deque(maxlen=self._width + 2)

    @property
    def row(self) -> Row | None:
        """The newest forecast."""
        return self._rows[-1] if self._rows else None

    def run_in(self, series: StepSeries, table: Features, models: Models, held_out: int) -> None:
        """Go through the end of a history with models that have not seen the steps from `held_out` on."""
        logs, anchored = _say(models, table.rows[held_out:], self.window_s)
        nothing = np.full_like(logs[0], np.nan), np.full_like(anchored[0], np.nan)
        highest = np.fmax.accumulate(series.highest)
        for step in range(max(0, len(series) - _RUN_IN_S // STEP_S), len(series)):
            place = step - held_out
            said = (logs[place], anchored[place]) if place >= 0 else nothing
            origin = Origin.of(table, step, highest[step], *said)
            self.advance(series, step + 1, origin, is_fair=place >= 0)
            if place >= 0 and (row := self.row) is not None:
                self.tried.append((series.start_s + (step + 1) * STEP_S, row.work))

    def advance(self, series: StepSeries, end: int, origin: Origin, *, is_fair: bool = True) -> float:
        """Take in the step before `end`: note what the window that it closes cost, and forecast the next one.

        Returns what came in that window, NaN where that is not known exactly. Only what is said from a step
        that `is_fair` is noted: with a model that has seen nothing later.
        """
        window = slice(max(0, end - self._width), end)
        closed, is_bound = float(series.highest[window].max()), bool(series.is_censored[window].any())
        said = self._line.advance(origin, closed, is_bound=is_bound)
        self._rows.append(Row(said.demand.tolist()) if said is not None and is_fair else None)
        older = self._rows[0] if len(self._rows) == self._rows.maxlen else None
        if older is not None and math.isfinite(closed):
            opened_s = series.start_s + (end - self._width) * STEP_S
            self.losses[opened_s] = pinball(closed, older.work)
        return math.nan if is_bound else closed
