"""Where the service takes its time from."""

from __future__ import annotations

import time
from typing import Protocol

BUCKET_LAG_S = 20
"""A minute's last scrape comes up to one scrape interval after it ends; forecasts wait for it."""

STANDBY_S = 1
"""How often the standby pool is turned: a wake takes seconds, and nobody waits for a tick."""


class Clock(Protocol):
    """Says what time it is; virtual in a replay, the newest row under a recorded file."""

    def now_s(self) -> float:
        """Return seconds since the epoch, UTC."""
        ...


class WallClock:
    """The machine's clock."""

    def now_s(self) -> float:
        """Return seconds since the epoch, UTC."""
        return time.time()  # noqa: TID251 -- this is the clock port
