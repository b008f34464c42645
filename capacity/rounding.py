"""Token mixes rounded up to two significant digits, so that few of them have to be solved.

Rounding up errs on the safe side: longer requests are sustained at a lower rate. (The exception is a tight
ITL: a longer output spreads the same prefill over more iterations. It is worth a few percent at most.)
"""

from __future__ import annotations

import math

import numpy as np

from capacity.law import Floats, Integers
from fleet.demand import Mix

RoundMix = tuple[int, int]
"""Prompt and output tokens."""

_BASE = 10**9
"""More tokens than any request has."""

_INEXACT = 1e-6
"""250.0000001 tokens are 250 after a division that was not exact, not a longer prompt."""


def rounded_up(mix: Mix) -> RoundMix:
    """Return the mix rounded up, each length as `distinct_rounded_up` does it."""
    return _one_rounded_up(mix.prompt_tokens), _one_rounded_up(mix.output_tokens)


def distinct_rounded_up(prompts: Floats, outputs: Floats) -> tuple[list[RoundMix], Integers]:
    """Return the distinct mixes after rounding up, and the index into them of each one given.

    Complexity: one sort of the mixes.
    """
    # Both lengths in one integer: numpy sorts integers several times faster than pairs.
    codes, indices = np.unique(_round_up(prompts) * _BASE + _round_up(outputs), return_inverse=True)
    return [divmod(code, _BASE) for code in codes.tolist()], indices


def _one_rounded_up(tokens: float) -> int:
    """Round up like `_round_up`, which takes ten times as long over a single number."""
    at_least_one = max(tokens, 1.0)
    step = max(10.0 ** (math.floor(math.log10(at_least_one)) - 1), 1.0)
    return int(math.ceil(at_least_one / step - _INEXACT) * step)


def _round_up(tokens: Floats) -> Integers:
    """Round up to two significant digits, to whole tokens below 10, to at least 1."""
    at_least_one = np.maximum(tokens, 1.0)
    step = np.maximum(10.0 ** (np.floor(np.log10(at_least_one)) - 1), 1.0)
    return (np.ceil(at_least_one / step - _INEXACT) * step).astype(np.int64)
