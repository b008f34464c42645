"""More asked, or a stricter objective, never takes fewer cards: through need and capacity to the packing."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.need import Evidence, Timing, need_of
from allocator.offers import offers_for
from allocator.packing.pack import pack
from allocator.packing.problem import Ask
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import QUANTILES, WINDOWS_S, Mix, PeakForecast
from fleet.workload import LatencyTarget, Router, Slo, Tier
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
    rate, prompt, output = (np.array([x]) for x in (rate_per_s, mix.prompt_tokens, mix.output_tokens))
    return packed_for(one, mix, float(CAPACITY.work(one, rate, prompt, output)[0]))


def packed_for(one, mix, work):
    offered = offers_for(one, [H100_80GB], CAPACITY, [mix])
    return pack(problem(Ask(one.key, work, offered.works, one.router, one.limits, penalty=1e6)))


def refuse_fewer(more, less):
    """Fail if what asks for more takes fewer cards than what asks for less is proven to."""
    assert less.bound.value <= more.packed.cost + ROUNDING
    if less.gap == 0:
        assert less.packed.cost <= more.packed.cost + ROUNDING


@settings(deadline=None, max_examples=30)
@given(TTFT_S, ITL_S, LOOSER, LOOSER, st.sampled_from(Router), MIXES, st.floats(0.5, 60.0))
def test_looser_latency_targets_never_take_more_cards_than_stricter_are_proven_to(
    ttft_s, itl_s, ttft_by, itl_by, router, mix, rate_per_s
):
    strict = packed(ttft_s, itl_s, router, mix, rate_per_s)
    loose = packed(ttft_s * ttft_by, itl_s * itl_by, router, mix, rate_per_s)

    refuse_fewer(strict, loose)


def needed(reactive, level, quantile):
    """What is needed where the forecast says a level at the lowest quantile, and a tenth more at each."""
    grid = {(w, q): level * (1 + n / 10) for w in WINDOWS_S for n, q in enumerate(QUANTILES)}
    said = PeakForecast(workload().key, 0.0, "residual", grid)
    evidence = Evidence(reactive, reactive, (), said, quantile=quantile)
    return need_of(workload().key, "default-scheduler", Tier.BALANCED, evidence, Timing()).up


WORKS, FURTHER = st.floats(0.05, 8.0), st.integers(0, len(QUANTILES) - 1)


@settings(deadline=None, max_examples=15)
@given(WORKS, WORKS, LOOSER, LOOSER, FURTHER, FURTHER, st.sampled_from(Router), MIXES)
def test_more_demand_a_higher_forecast_and_a_higher_quantile_never_take_fewer_cards(
    reactive, level, reactive_by, level_by, notch, other, router, mix
):
    """A19, volcano-sh/kthena#1364: a forecast that was divided by, and not into, took fewer."""
    low, high = sorted((notch, other))
    less = needed(reactive, level, QUANTILES[low])
    more = needed(reactive * reactive_by, level * level_by, QUANTILES[high])
    one = workload(router=router)

    refuse_fewer(packed_for(one, mix, more), packed_for(one, mix, less))
