"""Workloads, needs, offers and questions with sane defaults."""

from allocator.decide import Question
from allocator.need import Need, Timing
from allocator.offers import Offer, Offers
from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from fleet.shape import slice_of
from fleet.workload import Limits, Mode, Router, Slo, Tier, Workload
from tests.builders.fleet import BOARD, NOW_S, key, shape

MODEL = "qwen2.5-7b-bf16"

CAPACITIES = {"1g.10gb": 0.1, "2g.20gb": 0.2, "3g.40gb": 0.4, "whole": 1.0}
"""Work per replica in round numbers: two 3g beat a whole card on paper only."""


def workload(
    name="chat",
    tier=Tier.BALANCED,
    mode=Mode.FULL,
    router=Router.EQUAL,
    floor=1,
    ceiling=64,
    slo=None,
    **more,
):
    """A workload that may do everything."""
    limits = Limits(floor, ceiling)
    return Workload(
        key(name), MODEL, slo or Slo(), tier=tier, mode=mode, router=router, limits=limits, **more
    )


def need(name="chat", up=0.5, keep=None, reactive=..., distrust=(), **more):
    """A need that rests on what is asked now; `keep` is `up` where not given."""
    asked = up if reactive is ... else reactive
    values = {
        "quiet_peak": asked,
        "forecast_up": 0.0 if asked == up else up,
        "forecast_keep": 0.0,
        "scheduler": "default-scheduler",
    }
    return Need(
        workload=key(name),
        up=up,
        keep=max(up, keep or 0.0),
        reactive=asked,
        distrust=tuple(distrust),
        **(values | more),
    )


def offers(capacities=None, router=Router.EQUAL):
    """Offers of H100 shapes: work per replica by profile."""
    table = CAPACITIES if capacities is None else capacities
    return Offers(
        router,
        {
            shape(profile): Offer(shape(profile), work, slice_of(BOARD, shape(profile)).gpu_share)
            for profile, work in table.items()
        },
    )


def question(fleet, workloads, needs, by_name=None, timing=None, at_s=NOW_S):
    """A question about workloads; offers by name, all the usual ones where not given."""
    table = by_name or {}
    return Question(
        fleet=fleet,
        workloads=tuple(workloads),
        needs={(one.workload, 0): one for one in needs},
        offers={w.key: table.get(w.key.name, offers(router=w.router)) for w in workloads},
        timing={w.key: timing or Timing() for w in workloads},
        at_s=at_s,
    )


def forecast(name="chat", made_at_s=NOW_S, peaks=None, level=0.0):
    """A forecast that is the same for every window and quantile, but for `peaks` by (window, quantile)."""
    grid = {(window_s, quantile): level for window_s in WINDOWS_S for quantile in QUANTILES}
    return PeakForecast(key(name), made_at_s, "last+residual", grid | (peaks or {}))
