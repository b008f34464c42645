"""The queue model against the iteration-level simulation, up to 0.70 of the full rate.

Published errors of such a model against such a simulation, same law and mix (geometric lengths): mean ITL 2
to 10 % low, mean TTFT 9 to 21 % low. Ours may be off by as much, either way.
"""

import random

import numpy as np
import pytest

from capacity.law import Law
from capacity.replica import Replica
from fleet.demand import Mix
from tests.builders.iterations import arrivals, serve

LAW, MIX, PLACES = Law(19.7, 0.10, 3.5e-5), Mix(512.0, 256.0), 64
ROOM = PLACES * (MIX.prompt_tokens + MIX.output_tokens)
LONG_MS, SETTLED_MS = 1_500_000, 150_000


@pytest.mark.parametrize("load", [0.30, 0.50, 0.70])
def test_means_are_those_of_the_simulation_within_the_published_errors(benchmark, load):
    rate = load * LAW.rate_per_s(MIX.prompt_tokens, MIX.output_tokens, float(PLACES))
    engine = Replica(LAW, ROOM, np.array([MIX.prompt_tokens]), np.array([MIX.output_tokens]))
    means = engine.at(np.array([rate]))
    model = np.array([means.ttft_ms[0], means.itl_ms[0], means.e2e_ms[0]])

    served = benchmark.pedantic(
        serve, args=(LAW, ROOM, arrivals(MIX, rate, LONG_MS, random.Random(1))), rounds=1
    )

    settled = [request for request in served if SETTLED_MS < request.arrived < LONG_MS - SETTLED_MS]
    simulated = np.array(
        [
            np.mean([request.ttft for request in settled]),
            np.mean([request.itl for request in settled if request.output > 1]),
            np.mean([request.e2e for request in settled]),
        ]
    )
    error = model / simulated - 1
    figures = {
        name: f"{at:.1f} ms, simulated {seen:.1f} ({off:+.1%})"
        for name, at, seen, off in zip(("ttft", "itl", "e2e"), model, simulated, error, strict=True)
    }
    benchmark.extra_info |= figures
    assert np.abs(error[0]) <= 0.21
    assert np.abs(error[1]) <= 0.10
    assert np.abs(error[2]) <= 0.10
