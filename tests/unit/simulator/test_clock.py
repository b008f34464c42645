import pytest

from simulator.clock import VirtualClock


@pytest.fixture
def clock():
    return VirtualClock(100.0)


def test_time_stands_until_it_is_told_to_pass(clock):
    assert 100.0 == clock.now_s
    clock.run_until(160.0)
    assert 160.0 == clock.now_s


def test_actions_run_in_order_of_time_and_see_their_own_time(clock):
    seen = []
    clock.after(20.0, lambda: seen.append(("late", clock.now_s)))
    clock.at(110.0, lambda: seen.append(("early", clock.now_s)))
    clock.run_until(200.0)
    assert [("early", 110.0), ("late", 120.0)] == seen


def test_actions_of_one_time_run_in_the_order_in_which_they_were_ordered(clock):
    seen = []
    for name in "badc":
        clock.at(130.0, lambda name=name: seen.append(name))
    clock.run_until(130.0)
    assert list("badc") == seen


def test_what_is_due_later_waits(clock):
    seen = []
    clock.after(10.0, lambda: seen.append("now"))
    clock.after(10.001, lambda: seen.append("later"))
    clock.run_until(110.0)
    assert ["now"] == seen
    assert 110.001 == clock.next_due_s()


def test_what_an_action_orders_runs_in_the_same_go_if_it_is_due(clock):
    seen = []

    def first():
        clock.after(0.0, lambda: seen.append(clock.now_s))
        clock.after(5.0, lambda: seen.append(clock.now_s))
        clock.after(500.0, lambda: seen.append(clock.now_s))

    clock.after(1.0, first)
    clock.run_until(150.0)
    assert [101.0, 106.0] == seen


def test_an_action_never_runs_inside_the_call_that_orders_it(clock):
    seen = []
    clock.after(0.0, lambda: seen.append("ran"))
    assert [] == seen
    clock.run_until(100.0)
    assert ["ran"] == seen


def test_a_time_that_has_passed_is_now(clock):
    seen = []
    clock.at(3.0, lambda: seen.append(clock.now_s))
    clock.run_until(100.0)
    assert [100.0] == seen


def test_nothing_due_is_none(clock):
    assert clock.next_due_s() is None


def test_time_does_not_run_backwards(clock):
    with pytest.raises(ValueError, match=r"99\.0 is before 100\.0"):
        clock.run_until(99.0)
