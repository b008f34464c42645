"""Makes what is held in the cluster what should be held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from actuator.ports import Cluster
from fleet.errors import ConflictError, ForesliceError
from fleet.holds import Hold


def hold_rooms(cluster: Cluster, held: Iterable[Hold], wanted: Iterable[Hold]) -> tuple[str, ...]:
    """Release what is not wanted and hold what is; return what stands against it, one line.

    A device changes hands by a release now and a hold once that is seen. What the cluster refuses is tried
    once a turn, and not for each device.
    """
    seen, due = tuple(held), {hold.device: hold for hold in wanted}
    there = {hold.device for hold in seen}
    writes = [partial(cluster.release, hold) for hold in seen if due.get(hold.device) != hold]
    writes += [partial(cluster.hold, hold) for device, hold in due.items() if device not in there]
    return tuple(_first_refusal(writes))


def _first_refusal(writes: Iterable[Callable[[], None]]) -> Iterator[str]:
    for write in writes:
        try:
            write()
        except ConflictError:
            continue  # others were quicker, or what was seen is old: the next turn looks again
        except ForesliceError as error:
            yield f"room is not held or released as it should be: {error}"
            return
