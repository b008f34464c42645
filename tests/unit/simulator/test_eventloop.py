"""The clock of agents that act on a real cluster; delays are short, because they pass."""

import time
from threading import Thread

import pytest

from simulator.eventloop import EventLoop


@pytest.fixture
def loop():
    return EventLoop()


def test_actions_run_at_their_times_whatever_the_order_of_asking(loop):
    ran = []
    start_s = loop.now_s
    loop.after(0.06, loop.stop)
    loop.after(0.04, lambda: ran.append("late"))
    loop.after(0.02, lambda: ran.append("early"))
    loop.run()
    assert ["early", "late"] == ran
    assert 0.06 <= loop.now_s - start_s


def test_time_may_pass_faster_than_the_machine_s():
    """A minute here is over before the test would be given up."""
    loop = EventLoop(1000.0)
    start_s = loop.now_s
    loop.after(60.0, loop.stop)
    loop.run()
    assert 60.0 <= loop.now_s - start_s


def test_what_is_due_at_once_runs_in_the_order_of_asking(loop):
    ran = []
    for number in range(100):
        loop.after(0, lambda number=number: ran.append(number))
    loop.after(0, loop.stop)
    loop.run()
    assert list(range(100)) == ran


def test_an_action_never_runs_inside_the_call_that_orders_it(loop):
    ran = []

    def order():
        loop.after(0, lambda: ran.append("inner"))
        ran.append("outer")

    loop.after(0, order)
    loop.after(0.01, loop.stop)
    loop.run()
    assert ["outer", "inner"] == ran


def test_another_thread_wakes_it_before_the_time_that_it_waits_for(loop):
    loop.after(30, lambda: None)
    caller = Thread(target=lambda: loop.after(0, loop.stop))
    start_s = loop.now_s
    caller.start()
    loop.run()
    caller.join()
    assert loop.now_s - start_s < 1


def test_all_actions_run_on_the_thread_that_runs_it_one_at_a_time(loop):
    running, most = [], []

    def work():
        running.append(1)
        most.append(len(running))
        time.sleep(0.001)
        running.pop()

    callers = [Thread(target=lambda: [loop.after(0, work) for _ in range(20)]) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    loop.after(0, loop.stop)
    loop.run()
    assert [1] * 80 == most


def test_nothing_runs_after_it_was_stopped(loop):
    ran = []
    loop.after(0, loop.stop)
    loop.after(0, lambda: ran.append("too late"))
    loop.run()
    assert [] == ran


def test_it_can_be_stopped_before_it_runs(loop):
    loop.stop()
    loop.run()


def test_what_an_action_raises_is_raised_to_whoever_runs_it(loop):
    loop.after(0, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loop.run()


def test_it_tells_the_time_of_the_machine(loop):
    assert time.time() == pytest.approx(loop.now_s, abs=0.1)  # noqa: TID251  compared with the clock
