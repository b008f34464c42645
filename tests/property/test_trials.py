"""Whatever is asked for: what a removal leaves never rests on replicas whose shape is on trial."""

import copy
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from actuator.diff import diff
from actuator.execute import Executor
from capacity.routing import carried
from fleet.shape import Configuration
from fleet.workload import Router
from tests.property.test_execution import (
    CAPACITIES,
    KEYS,
    ROUNDING,
    SHAPES,
    Goal,
    cluster_of,
    configurations,
    fleets,
    terms,
)


@given(
    fleets,
    st.lists(configurations, min_size=3, max_size=3),
    st.floats(min_value=0.0, max_value=4.0),
    st.sampled_from(list(Router)),
    st.frozensets(st.sampled_from(SHAPES)),
)
def test_what_is_proven_carries_what_it_must_or_what_it_did(fleet, goals, need_keep, router, proven):
    """A twin that does nothing has no more on proven shapes than must stay, or no more than we have."""
    cluster = cluster_of(fleet)
    targets = [Goal(workload, goal) for workload, goal in zip(fleet, goals, strict=False)]
    held = {target.workload: replace(terms(need_keep, router=router), proven=proven) for target in targets}
    executor = Executor(cluster)
    for tick in range(4):
        twin = copy.deepcopy(cluster)
        executor.run(diff(cluster.view(KEYS), targets, 0.0), held, tick * 10.0)
        for workload in held:
            ours, theirs = (_proven(each, workload, router, proven) for each in (cluster, twin))
            assert ours >= min(need_keep, theirs) - ROUNDING
        cluster.tick()


def _proven(cluster, workload, router, proven):
    ready = cluster.view([workload]).standing(workload).ready
    counts = {shape: replicas for shape, replicas in ready.counts.items() if shape in proven}
    return carried(Configuration(counts), CAPACITIES, router)
