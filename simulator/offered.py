"""What all tenants are offered, on the calendar of the world."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fleet.demand import Mix
from fleet.workload import WorkloadKey
from simulator.traces import TRACE_STEP_S, Floats
from simulator.traffic import DAY_S, MINUTE_S, Tenant, minute_arrivals, second_arrivals

EPOCH_S = 1_767_225_600
"""Where midnight of day 0 of the traffic is put, 2026-01-01 UTC: its true date is not published."""


class OfferedTraffic:
    """The requests of all tenants by minute for as long as the traffic lasts, and by second.

    Two of them with the same tenants and seed give the same requests.
    """

    def __init__(self, tenants: Sequence[Tenant], seed: int) -> None:
        self.tenants = tuple(tenants)
        self._seed = seed
        self._row = {tenant.workload.key: row for row, tenant in enumerate(self.tenants)}
        self._days = min(tenant.days for tenant in self.tenants)
        self._minutes = np.array(
            [
                np.concatenate([minute_arrivals(tenant, day, seed) for day in range(self._days)])
                for tenant in self.tenants
            ],
            dtype=np.float64,
        )
        # The engines ask for the second at hand; a day of a fleet is megabytes, so few are kept.
        self._day = lru_cache(maxsize=2)(self._seconds_of_day)
        self._mixes = lru_cache(maxsize=2)(self._mixes_of_step)

    @property
    def start_s(self) -> int:
        """Begin of the traffic, seconds since the epoch."""
        return EPOCH_S

    @property
    def end_s(self) -> int:
        """End of the traffic, seconds since the epoch."""
        return EPOCH_S + self._days * DAY_S

    def seconds(self, from_s: int, count: int) -> Floats:
        """Return the requests that arrive in `count` seconds of one day, shape (count, tenants)."""
        day, second = divmod(from_s - EPOCH_S, DAY_S)
        return self._day(day)[second : second + count].astype(np.float64)

    def minutes(self, key: WorkloadKey, start_s: int, end_s: int) -> Floats:
        """Return the requests of a tenant in each whole minute of [start_s, end_s)."""
        first, last = ((at_s - EPOCH_S) // MINUTE_S for at_s in (start_s, end_s))
        return self._minutes[self._row[key], first:last]

    def tokens(self, key: WorkloadKey, start_s: int, end_s: int) -> tuple[Floats, Floats]:
        """Return mean prompt and output tokens of a request in each whole minute of [start_s, end_s)."""
        tenant = self.tenants[self._row[key]]
        steps = (np.arange(start_s, end_s, MINUTE_S) - EPOCH_S) // TRACE_STEP_S
        return tenant.prompt_tokens[steps], tenant.output_tokens[steps]

    def mixes(self, at_s: int) -> tuple[Mix, ...]:
        """Return each tenant's token mix at a time; it changes at most every `TRACE_STEP_S`."""
        return self._mixes((at_s - EPOCH_S) // TRACE_STEP_S)

    def _mixes_of_step(self, step: int) -> tuple[Mix, ...]:
        return tuple(
            Mix(float(tenant.prompt_tokens[step]), float(tenant.output_tokens[step]))
            for tenant in self.tenants
        )

    def _seconds_of_day(self, day: int) -> NDArray[np.uint32]:
        counts = np.empty((DAY_S, len(self.tenants)), dtype=np.uint32)
        for row, tenant in enumerate(self.tenants):
            counts[:, row] = second_arrivals(tenant, day, self._seed)
        return counts
