"""What only a simulation can get wrong."""

from __future__ import annotations

from fleet.errors import ForesliceError


class NotModelledError(ForesliceError):
    """Something was asked that the embedded world does not imitate; a real cluster would know."""
