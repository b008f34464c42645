"""A replica that is offered what it is said to sustain keeps its SLO, iteration by iteration."""

import random

import numpy as np
import pytest

from capacity.catalogue import MODELS
from capacity.prior import kv_tokens, prior
from capacity.sustained import Binding, sustained_per_s
from fleet.boards import BOARDS
from fleet.demand import Mix
from fleet.shape import Shape
from fleet.workload import LatencyTarget, Slo
from tests.builders.iterations import arrivals, serve

QUANTILE = 0.95


@pytest.mark.parametrize(
    ("shape", "model", "mix", "ttft_s", "itl_s", "binding"),
    [
        ("a100-80gb:3g.40gb", "7b", Mix(1024, 256), 2.0, 0.066, Binding.COMPUTE_ITL),
        ("a100-80gb:whole", "7b", Mix(1024, 256), 1.0, 0.066, Binding.COMPUTE),
        ("h100-80gb:2g.20gb", "7b", Mix(1024, 256), 1.0, 0.066, Binding.KV),
        ("h100-80gb:3g.40gb", "7b", Mix(1024, 256), 0.3, 0.066, Binding.COMPUTE_TTFT),
        ("h100-80gb:1g.10gb", "3b", Mix(256, 64), 1.0, 0.050, Binding.COMPUTE_ITL),
    ],
)
def test_what_is_sustained_keeps_the_slo(shape, model, mix, ttft_s, itl_s, binding):
    """The percentile that was sized for is met to within five points of a hundred, where it binds."""
    board, profile = shape.split(":")
    spec, on = MODELS[f"qwen2.5-{model}-bf16"], (BOARDS[board], Shape(board, profile))
    law, room = prior(spec, *on), kv_tokens(spec, *on)
    slo = Slo(LatencyTarget(QUANTILE, ttft_s), LatencyTarget(QUANTILE, itl_s))

    answer = sustained_per_s(law, room, mix, slo)
    served = serve(law, room, arrivals(mix, answer.requests_per_s, 250_000, random.Random(1)))

    assert binding is answer.binding
    settled = [request for request in served if request.arrived > 50_000]
    assert np.mean([request.ttft <= 1000 * ttft_s for request in settled]) >= QUANTILE - 0.05
    long_enough = [request.itl for request in settled if request.output > 8]
    assert np.mean(np.array(long_enough) <= 1000 * itl_s) >= QUANTILE - 0.05
