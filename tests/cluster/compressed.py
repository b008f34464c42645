"""Days twelve times as fast, over and over: as engines meet them, and as scraped."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.workload import WorkloadKey
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


class Compressed:
    """Requests of a day that comes again every `PERIOD_S` (`simulator.engine.Demand`), without chance.

    Args:
        workloads: Who is sent them.
        mixes: Tokens of their requests.
        rates: Requests/s by second of the period and workload.
        steepest_s: When the fleet's work is to rise most, seconds since the epoch.
    """

    def __init__(self, workloads, mixes, rates, steepest_s):
        self._model = CapacityModel([H100_80GB])
        self.workloads = workloads
        self._mixes = mixes
        self._rates = rates
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


def shipped(steepest_s, namespace):
    """Return a day of the shipped tenants."""
    model = CapacityModel([H100_80GB])
    tenants = [t for t in shipped_tenants(model, SEED) if t.workload.key.name != TOO_LARGE]
    every = DAY * DAY_S + np.arange(PERIOD_S) * FASTER
    rates = LARGER * np.array([np.interp(every, *continuous(t.requests_per_s)) for t in tenants]).T
    part = slice(DAY * DAY_S // TRACE_STEP_S, (DAY + 1) * DAY_S // TRACE_STEP_S)
    mixes = tuple(
        Mix(float(t.prompt_tokens[part].mean()), float(t.output_tokens[part].mean())) for t in tenants
    )
    return Compressed(in_namespace(namespace, (t.workload for t in tenants)), mixes, rates, steepest_s)


def in_namespace(namespace, workloads):
    """Return workloads as those of a namespace."""
    return [replace(one, key=WorkloadKey(namespace, one.key.name)) for one in workloads]
