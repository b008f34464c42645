"""A challenger beside the champion: what both would have lost on the same windows."""

from __future__ import annotations

from collections import deque

import numpy as np

from predictor.forecasters.base import pinball
from predictor.ports import Floats
from predictor.shared import Tally


class Shadow:
    """The windows of one workload that are open, with what both models said of each.

    Args:
        width: Steps of the window.
    """

    def __init__(self, width: int) -> None:
        self._open: deque[tuple[tuple[str, str], float, Floats] | None] = deque(maxlen=width)
        self._width = width

    def advance(
        self,
        closed: float,
        level: float,
        floor: float,
        said: tuple[tuple[str, str], Floats] | None,
        tally: Tally,
    ) -> None:
        """Take in a step: score the window that it closes, and note what both say of the one after it.

        Args:
            closed: What came in the window that ends with the step, NaN where that is not known whole.
            level: What logs are relative to, plus floor.
            floor: What was added to demand.
            said: Versions, and logs over the level by version (challenger first) and quantile;
                `None` = there are not two.
            tally: What is added up.
        """
        oldest = self._open[0] if len(self._open) == self._width else None
        if oldest is not None and np.isfinite(closed):
            versions, unit, demand = oldest
            tally.add(*versions, (pinball(closed, demand[0]) / unit, pinball(closed, demand[1]) / unit))
        if said is None or not np.isfinite(level):
            self._open.append(None)
            return
        versions, logs = said
        demand = np.sort(np.maximum(np.exp(logs) * level - floor, 0.0), axis=1)
        self._open.append((versions, level, demand))
