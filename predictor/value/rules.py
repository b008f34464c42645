"""The rules that a forecast has to beat: k x what was lately highest, or k x last + residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.highest import trailing_highest
from predictor.ports import Floats
from predictor.value.ledger import Ledger

HELD_MIN = (1, 10, 20, 30, 60, 120, 180, 360, 1440)
"""Minutes that the highest is taken of; the last one amounts to capacity that stays."""

FACTORS = np.concatenate([np.geomspace(0.6, 1.0, 6), np.geomspace(1.0, 8.0, 21)[1:]])
"""k: each ten or eleven per cent above the one before, and 1: a rule as it is."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One of them.

    Attributes:
        held_min: Minutes that the highest is taken of, `None` = last + residual.
        factor: k.
    """

    held_min: int | None
    factor: float

    def __str__(self) -> str:
        """What it does, in words."""
        if self.held_min is None:
            return f"{self.factor:.2f} x last + residual"
        hours, minutes = divmod(self.held_min, 60)
        return f"{self.factor:.2f} x the highest of the last {minutes or hours} {'min' if minutes else 'h'}"


def wanted(work: Floats, residual: Floats) -> Floats:
    """Return what each rule wants for k = 1, by rule (in the order of `HELD_MIN`, then residual) and minute.

    Args:
        work: By minute, without gaps.
        residual: Last + residual quantile of the window ahead, by minute.
    """
    holds = [trailing_highest(work, held) for held in HELD_MIN]
    return np.vstack([*holds, np.maximum(residual, work)])


LEAST_SAVING = 0.05
"""Share that another rule must hold less to take the place of the one in use: which of nearly equal ones is
the cheapest changes by the hour (docs/adr/0054-the-rule-in-use-goes-on.md)."""


def cheapest_rule(tried: Ledger, weights: Floats, unserved: float, before: Rule | None = None) -> Rule:
    """Return the rule that held least of those that left no more unserved; else the one that left least.

    None below k = 1: rounding up to whole pieces can make less than what was seen suffice, for a while. The
    one `before` goes on, unless it left more, or another holds less by `LEAST_SAVING`.

    Args:
        tried: What `wanted` times `FACTORS` came to.
        weights: Of the blocks.
        unserved: Share of the work.
        before: The one in use.
    """
    is_safe = np.tile(FACTORS >= 1.0, len(HELD_MIN) + 1)
    shares = np.where(is_safe, (tried.lacked @ weights) / (tried.asked @ weights), np.inf)
    held = np.where(shares <= max(unserved, float(shares.min())), tried.held @ weights, np.inf)
    best = int(held.argmin())
    if before is not None:
        used = _HELD.index(before.held_min) * len(FACTORS) + FACTORS.tolist().index(before.factor)
        if (1 - LEAST_SAVING) * held[used] <= held[best]:
            best = used
    of_rule, factor = divmod(best, len(FACTORS))
    return Rule(_HELD[of_rule], float(FACTORS[factor]))


_HELD = (*HELD_MIN, None)
"""What tells rules apart besides the factor, in the order of `wanted`."""
