"""A challenger beside the champion: what both would have lost on the same windows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from predictor.forecasters.base import pinball
from predictor.ports import Floats


@dataclass(frozen=True, slots=True)
class Beside:
    """How a challenger did beside the champion, over all workloads.

    Attributes:
        version: The challenger's.
        champion: The version that serves.
        windows: Windows that both were scored on.
        ratio: Loss of the challenger over the champion's; `None` before any.
    """

    version: str
    champion: str
    windows: int
    ratio: float | None


class Tally:
    """Sums of both losses, each over the level of its workload's demand: in no unit, so that they add up."""

    def __init__(self) -> None:
        self._of = ("", "")
        self._windows = 0
        self._losses = [0.0, 0.0]

    def beside(self) -> Beside | None:
        """Return how the challenger does, `None` where there is none."""
        version, champion = self._of
        if not version:
            return None
        ours, theirs = self._losses
        return Beside(version, champion, self._windows, ours / theirs if theirs > 0 else None)

    def begin(self, version: str, champion: str) -> None:
        """Begin anew if these are two others; "" = there is no challenger."""
        if (version, champion) != self._of:
            self._of, self._windows, self._losses = (version, champion), 0, [0.0, 0.0]

    def add(self, version: str, champion: str, losses: tuple[float, float]) -> None:
        """Take in what both lost on a window; what is said of others is not counted."""
        if (version, champion) == self._of:
            self._windows += 1
            for place, loss in enumerate(losses):
                self._losses[place] += loss


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
