"""Room is held only where a dry run shows that a rule is kept whole; of holds, all that can be are ended."""

import pytest

from actuator.kube.errors import NotFoundError
from actuator.kube.holds import DROPPED, NO_RULES, Holds, holds_in
from actuator.kube.mirror import Mirror
from actuator.kube.resources import TAINT_RULES
from fleet.errors import ConflictError, RefusedError
from fleet.holds import Hold
from fleet.workload import WorkloadKey
from foreslice.release import released
from tests.fakes.apiserver import FakeServer

CHAT = WorkloadKey("serving", "chat")


class Forgetful(FakeServer):
    """An API server that keeps rules without a field of their spec."""

    def __init__(self, field):
        super().__init__()
        self._field = field

    def create(self, path, body, *, is_dry=False):
        spec = {name: value for name, value in body["spec"].items() if name != self._field}
        return super().create(path, {**body, "spec": spec}, is_dry=is_dry)


def hold(device="gpu-0"):
    return Hold(("n0", device), CHAT, "a replica", 2e9)


@pytest.mark.parametrize("field", ["deviceSelector", "taint"])
def test_where_a_field_is_dropped_nothing_is_ever_written(field):
    server = Forgetful(field)
    with pytest.raises(RefusedError, match=DROPPED.format(field=field)):
        Holds(server, Mirror(), lambda: 0).hold(hold())
    assert [] == server.writes()


def test_what_becomes_of_a_rule_is_tried_out_once_and_again_after_the_kind_was_gone():
    server = FakeServer()
    cluster = Holds(server, Mirror(), lambda: 0)

    def tried():
        return sum("dryRun" in path for _, path in server.asked)

    cluster.hold(hold("gpu-0"))
    cluster.hold(hold("gpu-1"))
    assert (1, 2) == (tried(), len(holds_in(server)))
    server.trouble[TAINT_RULES.path()] = NotFoundError("no such kind")
    with pytest.raises(RefusedError, match=NO_RULES):
        cluster.hold(hold("gpu-2"))
    server.trouble.clear()
    cluster.hold(hold("gpu-2"))
    assert (2, 3) == (tried(), len(holds_in(server)))


def test_a_hold_that_cannot_be_ended_keeps_no_other_from_being_ended():
    server = FakeServer()
    cluster = Holds(server, Mirror(), lambda: 0)
    for device in ("gpu-0", "gpu-1", "gpu-2"):
        cluster.hold(hold(device))
    first, *others = holds_in(server)
    server.trouble[TAINT_RULES.path(name=first.name)] = ConflictError(
        "the UID in the precondition is another"
    )
    assert tuple(others) == released(server, lambda _: True, is_sure=True)
    assert (first,) == holds_in(server)


def test_a_hold_that_was_never_read_back_ends_no_other():
    server = FakeServer()
    cluster = Holds(server, Mirror(), lambda: 0)
    cluster.hold(hold("gpu-0"))
    cluster.release(hold("gpu-1"))
    assert (hold("gpu-0"),) == holds_in(server)
    assert all(path != TAINT_RULES.path() for method, path, *_ in server.writes() if method == "DELETE")
