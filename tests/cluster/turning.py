"""A loop that is turned in the test's own process, on simulated engines and another clock than the wall's."""

from threading import Lock

from simulator.metrics import EmbeddedMetrics

PLAN_S = 20.0
"""How often it plans."""


class Metrics:
    """`EmbeddedMetrics` that the agents' thread fills while the loop reads."""

    def __init__(self, engines):
        self._inner, self._lock = EmbeddedMetrics(engines), Lock()

    def __getattr__(self, verb):
        def locked(*args):
            with self._lock:
                return getattr(self._inner, verb)(*args)

        return locked


class Clock:
    def __init__(self, clock):
        self._clock = clock

    def now_s(self):
        return self._clock.now_s


class Turns:
    """Turns a loop as the service does: forecasts and plans now and then, and a tick whenever one is due."""

    def __init__(self, loop, clock, tick_s):
        self._loop, self._clock, self._tick_s = loop, clock, tick_s
        self._next_tick_s = self._next_plan_s = 0.0

    def turn(self):
        """Do what is due."""
        now_s = self._clock.now_s
        if now_s >= self._next_plan_s:
            self._loop.forecast()
            self._loop.plan()
            self._next_plan_s = now_s + PLAN_S
        if now_s >= self._next_tick_s:
            self._loop.tick()
            self._next_tick_s = now_s + self._tick_s
