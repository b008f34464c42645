"""From a need to a standby pod that is Ready: ten seconds at p95 are wanted, engines wake as simulated.

Turned every second, as the service does, each turn by a process that knows nothing of the last; an engine of
7B takes 0.9 s to wake, median (`simulator.sleep`).
"""

import pytest

from tests.cluster.conftest import NEWEST
from tests.cluster.test_standby import Place, is_at_rest, is_full, place

__all__ = ["place"]

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
ROUNDS = 20


def test_wake(benchmark, place: Place, lab):
    place.turn_s = 1.0
    place.turn_until(is_full)

    def wake():
        place.turn_until(lambda _: lab.is_ready("ant-s"), wish="ant")

    benchmark.pedantic(wake, setup=lambda: place.turn_until(is_at_rest), rounds=ROUNDS)
    took = sorted(benchmark.stats.stats.data)
    benchmark.extra_info["p95_s"] = took[-(-95 * ROUNDS // 100) - 1]
    assert ([], 1) == (place.mode.collisions, max(place.awake))
