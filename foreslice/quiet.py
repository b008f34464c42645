"""What was needed at most over the quiet time, as this process saw it tick by tick.

Closed minutes say what was asked in them on average. What capacity was added for is more: a moment's reading,
a queue, a forecast that rose and fell again. Had that no quiet time of its own, capacity would go in every
lull and come back with the next rise. A new process begins with the closed minutes alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from allocator.need import Need, Timing
from fleet.workload import WorkloadKey


class Quiet:
    """Remembers needs for as long as they count."""

    def __init__(self) -> None:
        # By workload (time in s, need-up), oldest first: of those only that no later one has reached.
        self._highs: dict[WorkloadKey, tuple[tuple[float, float], ...]] = {}

    def note(
        self, needs: Mapping[WorkloadKey, Need], timing: Mapping[WorkloadKey, Timing], at_s: float
    ) -> None:
        """Remember what is needed now; what is older than the quiet time is forgotten."""
        for key, need in needs.items():
            highs = self._highs.get(key, ())
            lasting = (one for one in highs if one[0] > at_s - timing[key].quiet_s and one[1] > need.up)
            self._highs[key] = (*lasting, (at_s, need.up))

    def kept(
        self, needs: Mapping[WorkloadKey, Need], timing: Mapping[WorkloadKey, Timing], at_s: float
    ) -> dict[WorkloadKey, Need]:
        """Return needs of which nothing goes that was needed within the quiet time."""
        return {
            key: need.kept(
                max(
                    (up for then_s, up in self._highs.get(key, ()) if then_s > at_s - timing[key].quiet_s),
                    default=0.0,
                )
            )
            for key, need in needs.items()
        }
