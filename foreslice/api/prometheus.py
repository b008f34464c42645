"""The demand of all that engines serve, from a Prometheus whose workloads nobody has described."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice.clock import WallClock
from foreslice.discovery.gather import live_series, speaking
from predictor.demand import HISTORY_SIGNALS
from predictor.engines import Role
from predictor.identity import Seen, proposed
from predictor.ports import BUCKET_S
from predictor.sources.access import Access
from predictor.sources.matching import Match
from predictor.sources.prometheus import PrometheusSource
from predictor.sources.query import QueryApi
from predictor.steps import DAY_S
from predictor.tidy import tidy


def demand_of_prometheus(url: str, days: float) -> pd.DataFrame:
    """Return the demand of every model that an engine serves in a namespace, minute by minute.

    Raises:
        InputError: No engine that is known shows what it serves, or the address cannot be used.
        UnavailableError: Prometheus does not answer.
    """
    now_s = WallClock().now_s()
    live, _ = live_series(QueryApi(url, Access()), speaking(Role.ENGINE), now_s)
    matches = dict(_matches(live))
    if not matches:
        raise InputError(
            "shows no model that an engine serves", where=url, fix="look with `foreslice metrics inspect`"
        )
    end_s = int(now_s) // BUCKET_S * BUCKET_S
    start_s = end_s - round(days * DAY_S) // BUCKET_S * BUCKET_S
    source = PrometheusSource(url, matches)
    read = source.samples(HISTORY_SIGNALS, list(matches), start_s, end_s)
    return pd.concat([tidy(buckets, start_s) for buckets in read.values()], ignore_index=True)


def _matches(live: list[Seen]) -> Iterator[tuple[WorkloadKey, Match]]:
    """Yield what is served as workloads: by namespace, and by the last part of the model's name."""
    served: dict[tuple[str, str], set[WorkloadKey]] = {}
    for one in live:
        if one.model:
            served.setdefault((one.pod.namespace, one.model), set()).add(one.pod)
    everybody = frozenset[WorkloadKey]().union(*served.values())
    for (namespace, model), pods in served.items():
        found = proposed(frozenset(pods), everybody - pods, live)
        if found.labels:
            yield WorkloadKey(namespace, model.rpartition("/")[2]), Match(dict(found.labels))
