import pytest

from fleet.errors import ConflictError, RefusedError, UnavailableError
from simulator.workqueue import RETRY_S, WorkQueue


def test_a_key_is_looked_at_once_however_often_it_was_added(clock):
    seen = []
    queue = WorkQueue(clock, seen.append)
    for key in "abaab":
        queue.add(key)
    clock.run_until(clock.now_s)
    assert ["a", "b"] == seen


def test_a_key_added_while_it_is_looked_at_is_looked_at_again(clock):
    seen = []

    def reconcile(key):
        seen.append(key)
        if len(seen) < 3:
            queue.add(key)

    queue = WorkQueue(clock, reconcile)
    queue.add("a")
    clock.run_until(clock.now_s)
    assert ["a", "a", "a"] == seen


def test_a_key_waits_for_its_delay(clock):
    seen = []
    start_s = clock.now_s
    queue = WorkQueue(clock, lambda key: seen.append((key, clock.now_s - start_s)))
    queue.add("a", 3.0)
    queue.add("a")
    clock.run_until(start_s + 10)
    assert [("a", 3.0)] == seen


@pytest.mark.parametrize("error", [ConflictError, UnavailableError])
def test_what_failed_for_now_is_tried_again(clock, error):
    seen = []
    start_s = clock.now_s

    def reconcile(key):
        seen.append(clock.now_s - start_s)
        if len(seen) == 1:
            raise error("not now")

    WorkQueue(clock, reconcile).add("a")
    clock.run_until(start_s + 10)
    assert [0.0, RETRY_S] == pytest.approx(seen)


def test_what_is_refused_is_not_tried_again(clock):
    def reconcile(key):
        raise RefusedError("never")

    WorkQueue(clock, reconcile).add("a")
    with pytest.raises(RefusedError):
        clock.run_until(clock.now_s)
    clock.run_until(clock.now_s + 10)
