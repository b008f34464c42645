"""The very history that the running service would learn from, for whoever learns beside it."""

from __future__ import annotations

from pathlib import Path

from capacity.estimate import CapacityModel
from fleet.demand import PeakForecast
from fleet.errors import RefusedError
from fleet.workload import Mode, Workload
from foreslice.compose import surroundings_of
from foreslice.outlook import Observatory
from foreslice.selection import load_settled
from foreslice.settings.load import workloads_of
from predictor.ports import WorkSeries


def work_of(config: Path) -> list[WorkSeries]:
    """Return the work of every workload that is looked after, minute by minute, over `loop.history`.

    Raises:
        InputError: The settings cannot be used.
        UnavailableError: The metrics source or the cluster did not answer.
    """
    settings = load_settled(config).model_copy(update={"acting": False})
    around = surroundings_of(settings, config.parent)
    kept: list[WorkSeries] = []
    observatory = Observatory(
        [workload for workload in workloads_of(settings) if workload.mode is not Mode.OFF],
        around.metrics,
        CapacityModel(around.boards, around.models),
        around.boards,
        lambda workload: _Listener(workload, kept),
        settings.loop.history,
    )
    try:
        observatory.refresh(around.clock.now_s(), {})
    finally:
        around.close()
    return kept


class _Listener:
    """Stands where a forecaster would, and keeps the history that it is given."""

    def __init__(self, workload: Workload, kept: list[WorkSeries]) -> None:
        self._key = workload.key
        self._kept = kept

    def fit(self, history: WorkSeries) -> _Listener:
        self._kept.append(history)
        return self

    def update(self, work: float, *, is_censored: bool = False) -> None:  # noqa: ARG002 -- the contract's
        raise RefusedError(f"{self._key} is only listened to")

    def peaks(self) -> PeakForecast:
        raise RefusedError(f"{self._key} is only listened to")
