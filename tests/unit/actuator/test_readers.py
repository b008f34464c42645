"""What is kept from one view to the next."""

from actuator.objects.readers import KEPT_TURNS, StandingReader
from fleet.workload import WorkloadKey

CHAT, CODE = WorkloadKey("serving", "chat"), WorkloadKey("serving", "code")


def test_a_workload_that_nobody_asks_for_is_not_kept_and_one_that_is_asked_for_now_and_then_is():
    reader, made = StandingReader(), []

    def read(key):
        reader.read(key, ("as it is",), lambda: made.append(key))

    for turn in range(3 * KEPT_TURNS):
        reader.turn(("as it was",))
        if turn == 0:
            read(CODE)
        if turn % (KEPT_TURNS // 2) == 0:
            read(CHAT)
    assert [CODE, CHAT] == made
    read(CODE)
    assert [CODE, CHAT, CODE] == made


def test_what_is_asked_for_as_seldom_as_that_is_kept_whenever_it_is_asked_for_first():
    for first in range(0, KEPT_TURNS, 9):
        reader, made = StandingReader(), []
        for turn in range(3 * KEPT_TURNS):
            reader.turn(())
            if turn % KEPT_TURNS == first:
                reader.read(CHAT, (), lambda: made.append(CHAT))  # noqa: B023 -- called within the turn
        assert [CHAT] == made
