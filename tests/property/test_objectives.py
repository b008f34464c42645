"""A stricter objective never takes fewer cards: from latency targets through capacity to the packing."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.offers import offers_for
from allocator.packing.pack import pack
from allocator.packing.problem import Ask
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.workload import LatencyTarget, Router, Slo
from tests.builders.deciding import workload
from tests.builders.packing import problem

CAPACITY = CapacityModel([H100_80GB])
MIXES = st.builds(Mix, st.sampled_from([100.0, 500.0, 2000.0]), st.sampled_from([50.0, 300.0]))
TTFT_S, ITL_S = st.sampled_from([0.4, 0.6, 1.0]), st.sampled_from([0.025, 0.04, 0.06])
LOOSER = st.sampled_from([1.0, 1.2, 2.0, 5.0])
ROUNDING = 1e-6


def packed(ttft_s, itl_s, router, mix, rate_per_s):
    """The packing of one workload that is asked for so many requests a second."""
    one = workload(slo=Slo(LatencyTarget(0.95, ttft_s), LatencyTarget(0.95, itl_s)), router=router)
    offered = offers_for(one, [H100_80GB], CAPACITY, [mix])
    rate, prompt, output = (np.array([x]) for x in (rate_per_s, mix.prompt_tokens, mix.output_tokens))
    work = float(CAPACITY.work(one, rate, prompt, output)[0])
    return pack(problem(Ask(one.key, work, offered.works, router, one.limits, penalty=1e6)))


@settings(deadline=None, max_examples=30)
@given(TTFT_S, ITL_S, LOOSER, LOOSER, st.sampled_from(Router), MIXES, st.floats(0.5, 60.0))
def test_looser_latency_targets_never_take_more_cards_than_stricter_are_proven_to(
    ttft_s, itl_s, ttft_by, itl_by, router, mix, rate_per_s
):
    strict = packed(ttft_s, itl_s, router, mix, rate_per_s)
    loose = packed(ttft_s * ttft_by, itl_s * itl_by, router, mix, rate_per_s)

    assert loose.bound.value <= strict.packed.cost + ROUNDING
    if loose.gap == 0:
        assert loose.packed.cost <= strict.packed.cost + ROUNDING
