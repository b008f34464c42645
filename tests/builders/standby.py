"""Outlooks and terms of a standby pool, with sane defaults."""

import numpy as np

from fleet.demand import Mix
from fleet.workload import Tier
from foreslice.outlook import Outlook
from foreslice.standby.terms import PoolTerms
from tests.builders.deciding import offers


def terms(shape, **changes):
    """Terms that bound nothing much."""
    values = {
        "shape": shape,
        "slices": 4,
        "sleepers": 3,
        "host_gib": 500.0,
        "memory_gib": 80.0,
        "quantile": 0.98,
        "level": 1.0,
        "lasts_s": 120.0,
        "tiers": frozenset(Tier),
    }
    return PoolTerms(**(values | changes))


def outlook(offered=None, work=(1.0,), forecast=None, end_s=1e9):
    """What is known of a workload whose work was this, by minute."""
    mix = Mix(300.0, 60.0)
    return Outlook(end_s, forecast, "", np.asarray(work, dtype=np.float64), mix, offered or offers())
