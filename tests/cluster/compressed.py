"""One real day of seven tenants, twelve times as fast, over and over: as engines meet it, and as scraped."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import Mix
from simulator.tenants import shipped_tenants
from simulator.traces import TRACE_STEP_S
from simulator.traffic import DAY_S, continuous
from tests.cluster.days import HISTORY_S, STEP_S, scraped

FASTER = 12
PERIOD_S = DAY_S // FASTER
DAY = 10
"""Day of the shipped traffic."""

LARGER = 8.0
"""Tenants of the demo's sixteen cards, so much larger on sixty-four."""

TOO_LARGE = "switching"
"""Its one spike of that day alone asks for more than all cards."""

SEED = 1
RISE_S = 60
"""Demand that is this much later higher by `BY` rises."""

BY = 0.2
LEAST = 0.25
"""Rises by less than so many whole cards ask for no replica."""


class CompressedDay:
    """Requests of the shipped tenants (`simulator.engine.Demand`), without the chance of single arrivals.

    Args:
        steepest_s: When the fleet's work is to rise most, seconds since the epoch.
        namespace: Where the tenants' workloads are.
    """

    def __init__(self, steepest_s, namespace):
        self._model = CapacityModel([H100_80GB])
        self.tenants = [t for t in shipped_tenants(self._model, SEED) if t.workload.key.name != TOO_LARGE]
        self.workloads = [
            replace(tenant.workload, key=replace(tenant.workload.key, namespace=namespace))
            for tenant in self.tenants
        ]
        every = DAY * DAY_S + np.arange(PERIOD_S) * FASTER
        self._rates = (
            LARGER * np.array([np.interp(every, *continuous(t.requests_per_s)) for t in self.tenants]).T
        )
        part = slice(DAY * DAY_S // TRACE_STEP_S, (DAY + 1) * DAY_S // TRACE_STEP_S)
        self._mixes = tuple(
            Mix(float(t.prompt_tokens[part].mean()), float(t.output_tokens[part].mean()))
            for t in self.tenants
        )
        total = self.works.sum(axis=1)
        steepest = int(np.argmax(np.roll(total, -RISE_S) - total))
        self._begins_s = int(steepest_s) - steepest

    @cached_property
    def works(self):
        """Work in whole cards by second of the period and tenant."""
        full = [
            self._model.sustained(workload, self._model.reference(workload), mix)
            for workload, mix in zip(self.workloads, self._mixes, strict=True)
        ]
        return self._rates / np.array(full)

    def at(self, times):
        """Return the second of the period at these times."""
        return (np.asarray(times) - self._begins_s) % PERIOD_S

    def seconds(self, from_s, count):
        """Return the requests that arrive in each of `count` seconds, shape (count, tenants)."""
        return self._rates[self.at(from_s + np.arange(count))]

    def mixes(self, _at_s):
        """Return the tokens of a request by tenant."""
        return self._mixes

    def rises(self, from_s, until_s):
        """Return (tenant, second) where a rise of this span is over: a minute later there is so much more."""
        times = np.arange(from_s, until_s)
        now, later = self.works[self.at(times)], self.works[self.at(times + RISE_S)]
        found = later - now > np.maximum(BY * now, LEAST)
        begins = found & ~np.roll(found, 1, axis=0)
        return [(int(row), int(times[at]) + RISE_S) for at, row in np.argwhere(begins)]

    def past(self, namespace, end_s):
        """Yield what was scraped of engines that served it all until now: series, time, value."""
        times = np.arange(end_s - HISTORY_S, end_s, STEP_S)
        rates = self._rates[self.at(times)]
        for row, (workload, mix) in enumerate(zip(self.workloads, self._mixes, strict=True)):
            yield from scraped(namespace, workload.key.name, times, rates[:, row], mix)
