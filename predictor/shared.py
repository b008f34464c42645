"""The model that many workloads share, as a store has it at the moment."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

from fleet.errors import InputError, UnavailableError
from predictor.registry.artefact import Artefact, Model
from predictor.registry.manifest import Signature
from predictor.registry.registry import Registry

LOOK_EVERY_S = 300.0
"""A promotion serves within five minutes; a look loads the model and proves it."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A model that has learnt from many series.

    Attributes:
        version: Its name.
        model: The trees.
        until_s: End of what it has learnt from, seconds since the epoch.
    """

    version: str
    model: Model
    until_s: int

    @staticmethod
    def of(found: Artefact) -> Shared:
        """Return a stored model as one that workloads share."""
        return Shared(found.version, found.model, found.manifest.training.until_s)


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


class Shelf:
    """Keeps the newest sound champion of a store at hand, and the one before while the store fails.

    Args:
        registry: Of the store, `None` = only the prior is there.
        name: Of the model.
        signature: What it has to take and give; another one is passed over.
        prior: What serves while no champion does, `None` = nothing.

    Attributes:
        trouble: What keeps a newer model from serving, one line each.
        challenger: The newest sound version that does not serve and is younger than what does, if any: it
            says beside the champion what nobody uses.
        tally: What both lost.
    """

    def __init__(
        self,
        registry: Registry | None = None,
        name: str = "",
        signature: Signature | None = None,
        prior: Shared | None = None,
    ) -> None:
        self._registry = registry
        self._name = name
        self._signature = signature
        self._prior = prior
        self._champion: Shared | None = None
        self._looked_s = -math.inf
        self.trouble: tuple[str, ...] = ()
        self.challenger: Shared | None = None
        self.tally = Tally()

    def now(self) -> Shared | None:
        """Return what serves."""
        return self._champion or self._prior

    def look(self, at_s: float) -> None:
        """Look into the store, not too often; what cannot be used there leaves what serves as it is."""
        if self._registry is None or at_s - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = at_s
        try:
            serving = self._registry.champion(self._name, self._signature)
            younger = self._younger(
                self._registry, serving.artefact.manifest.made_s if serving.artefact is not None else 0
            )
        except UnavailableError as error:
            self.trouble = (f"model {self._name}: the newest is not known, what serves goes on: {error}",)
            return
        self.trouble = tuple(f"model {self._name}: passed over: {line}" for line in serving.passed_over)
        found = serving.artefact
        if found is None and serving.passed_over:
            return  # what served before is better than nothing
        self._champion = Shared.of(found) if found is not None else None
        self.challenger, now = younger, self.now()
        self.tally.begin(
            self.challenger.version if self.challenger and now else "", now.version if now else ""
        )

    def _younger(self, registry: Registry, than_s: int) -> Shared | None:
        """Return the newest version that is sound, takes and gives what it has to, and was made later."""
        made: list[tuple[int, str]] = []
        for version in registry.versions(self._name):
            with suppress(InputError):
                made.append((registry.manifest(self._name, version).made_s, version))
        for made_s, version in sorted(made, reverse=True):
            if made_s <= than_s:
                break
            with suppress(InputError):
                return Shared.of(registry.load(self._name, version, self._signature))
        return None
