"""Quantities of the Kubernetes API, as the whole numbers that the API server itself reckons with."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from math import ceil

from kubernetes.utils.quantity import parse_quantity


@lru_cache(maxsize=4096)
def amount(quantity: str | float) -> int:
    """Return a quantity as a whole number, rounded up as `Quantity.Value` is; `ValueError` if it is none."""
    return ceil(_parsed(quantity))


@lru_cache(maxsize=4096)
def milli(quantity: str | float) -> int:
    """Return a quantity in thousandths, rounded up like an amount; `ValueError` if it is none."""
    return ceil(_parsed(quantity) * 1000)


def _parsed(quantity: str | float) -> Decimal:
    parsed: Decimal = parse_quantity(str(quantity))  # type: ignore[no-untyped-call]  # shipped without types
    return parsed
