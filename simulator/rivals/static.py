"""Capacity that never moves: what most fleets run on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from capacity.estimate import CapacityModel
from fleet.demand import Mix
from fleet.errors import RefusedError
from fleet.workload import Workload
from predictor.ports import Floats

STATIC_QUANTILE = 0.999
"""Share of past minutes that a fleet which never scales is sized for."""


def static_replicas(workload: Workload, capacity: CapacityModel, work: Floats, mixes: Sequence[Mix]) -> int:
    """Return the whole GPUs that carry all but the highest 0.1 % of past work (by minute, NaN = unknown).

    Sized by the same lower bounds as everything else, at the tightest of `mixes`. `RefusedError` where one
    replica cannot keep the SLO however little it has to do.
    """
    one = capacity.capacity(workload, capacity.reference(workload), mixes)
    if one is None or not one.work_low:
        raise RefusedError(f"{workload.key}: a whole GPU does not keep the SLO")
    return max(1, math.ceil(float(np.nanquantile(work, STATIC_QUANTILE)) / one.work_low))
