"""The engines as the containers of pods: what node agents start and stop, and what a Service routes to."""

from __future__ import annotations

import math

from actuator.manifest import STANDBY_LABEL, labels_of
from fleet.shape import Shape
from simulator.api import POD, Api, Change, Event, Json
from simulator.clock import Clock
from simulator.delays import Delays
from simulator.engine import Engines
from simulator.journal import Journal, Serving, Start
from simulator.manifests import workload_of
from simulator.pods import is_leaving, is_ready


class EngineContainers:
    """Implements `simulator.node.Containers` on `Engines`; a pod's label names its workload.

    On the profiles in `crashing` no engine ever comes to serve.
    """

    def __init__(
        self,
        api: Api,
        engines: Engines,
        clock: Clock,
        delays: Delays,
        journal: Journal,
        crashing: frozenset[str] = frozenset(),
    ) -> None:
        self._engines = engines
        self._clock = clock
        self._delays = delays
        self._journal = journal
        self._crashing = crashing
        self._shapes: dict[str, Shape] = {}
        api.watch(POD, self._on_pod)

    def start(self, pod: Json, shape: Shape) -> None:
        """Begin to load on this shape."""
        name, workload = pod["metadata"]["name"], workload_of(pod)
        self._shapes[name] = shape
        self._engines.advance(self._clock.now_s)
        self._engines.start(name, workload, shape, is_standby=STANDBY_LABEL in labels_of(pod))
        self._journal.starts.append(Start(self._clock.now_s, name, workload, shape))

    def load_s(self, pod: Json) -> float:
        """Return seconds from start to serving, if nothing else starts on the node."""
        if self._shapes[pod["metadata"]["name"]].profile in self._crashing:
            return math.inf
        return self._delays.engine_init_s(pod)

    def drain_s(self, pod: Json) -> float:
        """Return seconds until the last request that the pod serves now is done."""
        self._engines.advance(self._clock.now_s)
        return self._engines.drain_s(pod["metadata"]["name"])

    def stop(self, pod: Json) -> None:
        """End; whatever is still being served is lost."""
        self._route(pod, is_wanted=False)
        self._engines.stop(pod["metadata"]["name"])
        del self._shapes[pod["metadata"]["name"]]

    def _on_pod(self, event: Event) -> None:
        is_ours = event.body["metadata"]["name"] in self._shapes
        if is_ours and event.change is not Change.DELETED:
            self._route(event.body, is_wanted=is_ready(event.body) and not is_leaving(event.body))

    def _route(self, pod: Json, *, is_wanted: bool) -> None:
        """Send requests to a pod that is ready and not leaving, from now on, or no longer."""
        name, servings, now_s = pod["metadata"]["name"], self._journal.servings, self._clock.now_s
        self._engines.advance(now_s)
        if is_wanted == (name in servings):
            return
        self._engines.set_ready(name, is_ready=is_wanted)
        if is_wanted:
            is_standby = STANDBY_LABEL in labels_of(pod)
            serving = Serving(name, workload_of(pod), self._shapes[name], now_s, is_standby=is_standby)
            servings.begin(name, serving)
        else:
            servings.end(name, now_s)
