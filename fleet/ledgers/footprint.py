"""How much of a card can be used, and how much a tenant takes where nothing keeps it to what was declared."""

from __future__ import annotations

import math

_MARGIN_PCT, _STEP = 105, 5

_RESERVE_PCT, _RESERVE_MIN_MIB = 3, 256
"""What the driver keeps of a card and no ledger subtracts (KAI-Scheduler issue 2212: 450 of 15360 MiB)."""


def usable_mib(total_mib: int) -> int:
    """Return the MiB of a card that its tenants can really use: without what the driver keeps."""
    return total_mib - max(-(-total_mib * _RESERVE_PCT // 100), _RESERVE_MIN_MIB)


def effective_hundredths(declared: int, observed_mib: int, total_mib: int) -> int:
    """Return the hundredths of a card to plan a tenant with.

    Not less than it was bound with: an annotation that was lowered on a running pod frees nothing. What
    was observed counts with 5 % on top, up to full 0.05, so that noise does not move the plan.

    Args:
        declared: Largest of what it was bound with and what its environment was given, in hundredths.
        observed_mib: A high quantile (.99) of the memory that it was seen to use, 0 if unknown.
        total_mib: Memory of the card.
    """
    # Whole numbers: 46 x 1.05 of 80 must not depend on the last bit of a product.
    observed = -(-observed_mib * _MARGIN_PCT // (total_mib * _STEP)) * _STEP
    return max(declared, observed)


def is_overused(declared: int, observed_mib: int, total_mib: int) -> bool:
    """Return whether a tenant uses more memory than its declared hundredths of the card."""
    return observed_mib > math.floor(declared * total_mib / 100)
