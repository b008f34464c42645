"""Demand that is noisy and goes nowhere: capacity stays, all but for what the noise needs once."""

import numpy as np
import pytest

from allocator.decide import additions, plan
from allocator.need import Evidence, Timing, need_of
from fleet.workload import Tier
from foreslice.quiet import Quiet
from predictor.ladder import Ladder
from predictor.ports import WorkSeries
from tests.builders.deciding import offers, question, workload
from tests.builders.fleet import NOW_S, fleet, key, running, standing

CHAT, DAYS_BEFORE, HOURS, SETTLED_H = key("chat"), 2, 6, 1
TICK_S, PLAN_S, SEED = 30, 300, 3
RUN, TIMING = workload(ceiling=200), Timing()


def changes(profile, carries, level, noise):
    """Return the changes of six hours, the first left out, each (hour, replicas)."""
    minutes = 1440 * DAYS_BEFORE
    work = level * (1 + noise * np.random.default_rng(SEED).standard_normal(minutes + 60 * HOURS))
    ladder = Ladder(CHAT).fit(WorkSeries(CHAT, 0, work[:minutes], np.zeros(minutes, np.bool_)))
    offered, empty, quiet, found = offers({profile: carries}), fleet(8), Quiet(), []
    seen = running(empty, standing("chat", f"{int(1.2 * level / carries) + 1} x {profile}"))
    for since_s in range(0, 3600 * HOURS, TICK_S):
        minute, at_s = minutes + since_s // 60, NOW_S + since_s
        peaks = ladder.peaks()
        evidence = Evidence(work[minute], work[minute - 10 : minute + 1].max(), (), peaks, 20.0)
        need = need_of(CHAT, "default-scheduler", Tier.BALANCED, evidence, TIMING)
        needs = quiet.kept({CHAT: need}, {CHAT: TIMING}, at_s)
        quiet.note(needs, {CHAT: TIMING}, at_s)
        asked = question(seen, [RUN], needs.values(), {"chat": offered}, at_s=at_s)
        (decision,) = additions(asked)
        if since_s % PLAN_S == 0 and not decision.is_change:
            (decision,) = plan(asked)
        if decision.is_change:
            found.append((since_s / 3600, decision.goal.replicas))
            seen = running(empty, standing("chat", str(decision.goal), changed_at_s=at_s))
        if since_s % 60 == 0:
            ladder.update(float(work[minute]), is_censored=False)
    return [change for change in found if change[0] >= SETTLED_H]


@pytest.mark.parametrize(
    ("profile", "carries", "level", "noise"),
    [("1g.10gb", 0.0333, 1.2, 0.05), ("3g.40gb", 0.42, 0.4, 0.02)],
    ids=["many-small", "few-large"],
)
def test_noise_changes_a_workload_twice_in_five_hours_at_most(profile, carries, level, noise):
    assert len(changes(profile, carries, level, noise)) <= 2
