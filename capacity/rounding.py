"""Token mixes rounded up to two significant digits, so that few of them have to be solved.

Rounding up errs on the safe side: longer requests are sustained at a lower rate. (The exception is a tight
ITL: a longer output spreads the same prefill over more iterations. It is worth a few percent at most.)
"""

from __future__ import annotations

import numpy as np

from capacity.law import Floats, Integers
from fleet.demand import Mix

RoundMix = tuple[int, int]
"""Prompt and output tokens."""

_BASE = 10**9
"""More tokens than any request has."""


def rounded_up(mix: Mix) -> RoundMix:
    """Return the mix rounded up."""
    prompt, output = _round_up(np.array([mix.prompt_tokens, mix.output_tokens])).tolist()
    return prompt, output


def distinct_rounded_up(prompts: Floats, outputs: Floats) -> tuple[list[RoundMix], Integers]:
    """Return the distinct mixes after rounding up, and the index into them of each one given.

    Complexity: one sort of the mixes.
    """
    # Both lengths in one integer: numpy sorts integers several times faster than pairs.
    codes, indices = np.unique(_round_up(prompts) * _BASE + _round_up(outputs), return_inverse=True)
    return [divmod(code, _BASE) for code in codes.tolist()], indices


def _round_up(tokens: Floats) -> Integers:
    """Round up to two significant digits, to whole tokens below 10, to at least 1."""
    at_least_one = np.maximum(tokens, 1.0)
    step = np.maximum(10.0 ** (np.floor(np.log10(at_least_one)) - 1), 1.0)
    # 250.0000001 tokens are 250 after a division that was not exact, not a longer prompt.
    return (np.ceil(at_least_one / step - 1e-6) * step).astype(np.int64)
