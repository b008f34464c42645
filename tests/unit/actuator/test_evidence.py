"""When what a plan added became ready, noted while the pods are there to say so."""

from dataclasses import replace

import pytest

from actuator.evidence import news, starts, unanswered
from actuator.ports import PlanRecord, Readiness, StepRecord
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.cluster import Replica, Standing, Variant
from fleet.past import Start
from fleet.shape import Configuration
from tests.fakes.cluster import key, mig

LARGE, SMALL = mig("3g.40gb"), mig("1g.10gb")
DECIDED_S, WRITTEN_S = 400.0, 1000.0
UP = Step(Verb.SCALE_UP, "llama", LARGE, 4, "1", "r")


def record(state=StepState.DONE, step=UP, readiness=None):
    change = ChangeSet(key(), Configuration({LARGE: 2}), Configuration({LARGE: 4}), (step,), DECIDED_S)
    return PlanRecord(change, (StepRecord(state, WRITTEN_S, "", readiness),), "1")


def replica(created, scheduled=None, ready=None, prepared=None, pod="p"):
    return Replica(
        pod,
        "llama",
        LARGE,
        None,
        ready is not None,
        is_leaving=False,
        created_at_s=created,
        scheduled_at_s=scheduled,
        ready_at_s=ready,
        prepared_at_s=prepared,
    )


OLD = replica(0.0, 1.0, 60.0)


def seen(*replicas, name="llama"):
    return Standing(key(), (Variant(name, LARGE, 4, "1", is_base=True, replicas=(OLD, *replicas)),))


def test_the_last_replica_that_is_ready_makes_the_addition_ready():
    replicas = (replica(1002.0, 1003.0, 1090.0), replica(1003.0, 1010.0, 1070.0))
    assert [(0, Readiness(1010.0, 1090.0))] == list(news(record(), seen(*replicas)))


def test_where_kubelets_say_when_devices_were_prepared_the_last_of_them_counts():
    replicas = (replica(1002.0, 1003.0, 1090.0, 1020.0), replica(1003.0, 1010.0, 1070.0, 1015.0))
    assert [(0, Readiness(1010.0, 1090.0, 1020.0))] == list(news(record(), seen(*replicas)))


class TestTheFirstToken:
    NOTED = record(readiness=Readiness(1010.0, 1090.0))
    ADDED = seen(replica(1002.0, 1003.0, 1090.0, pod="a"), replica(1003.0, 1010.0, 1070.0, pod="b"))

    def test_it_is_there_once_each_of_the_added_has_answered(self):
        assert [] == list(news(self.NOTED, self.ADDED, frozenset("a"), 1100.0))
        told = Readiness(1010.0, 1090.0, first_token_at_s=1110.0)
        assert [(0, told)] == list(news(self.NOTED, self.ADDED, frozenset("abc"), 1110.0))

    def test_it_is_noted_once(self):
        told = record(readiness=Readiness(1010.0, 1090.0, first_token_at_s=1110.0))
        assert [] == list(news(told, self.ADDED, frozenset("ab"), 1120.0))
        assert (frozenset("ab"), frozenset()) == (
            unanswered(self.NOTED, self.ADDED),
            unanswered(told, self.ADDED),
        )

    def test_it_is_not_waited_for_once_they_have_gone(self):
        assert frozenset() == unanswered(self.NOTED, seen())


NO_NEWS = {
    "one still loads": (record(), seen(replica(1002.0, 1003.0, 1090.0), replica(1003.0, 1010.0))),
    "one waits for room": (record(), seen(replica(1002.0, 1003.0, 1090.0), replica(1003.0))),
    "all have gone": (record(), seen()),
    "others came much later": (record(), seen(replica(1061.0, 1062.0, 1090.0))),
    "others came before": (record(), seen(replica(997.0, 998.0, 1090.0))),
    "the copy is another": (record(), seen(replica(1002.0, 1003.0, 1090.0), name="llama-1g")),
    "it was not written": (record(StepState.FAILED), seen(replica(1002.0, 1003.0, 1090.0))),
    "it is noted": (record(readiness=Readiness(1.0, 2.0)), seen(replica(1002.0, 1003.0, 1090.0))),
    "it took away": (record(step=replace(UP, verb=Verb.SCALE_DOWN)), seen(replica(1002.0, 1003.0, 1090.0))),
}


@pytest.mark.parametrize("case", NO_NEWS)
def test_there_is_nothing_to_note(case):
    plan, stands = NO_NEWS[case]
    assert [] == list(news(plan, stands))


def test_creation_times_are_whole_seconds_of_another_clock():
    found = [*news(record(), seen(replica(WRITTEN_S - 2, 1003.0, 1090.0)))]
    assert [(0, Readiness(1003.0, 1090.0))] == found


def test_a_start_is_a_step_with_its_readiness():
    plans = [record(readiness=Readiness(1005.0, 1090.0)), record()]
    assert [Start(WRITTEN_S, 1005.0, 1090.0)] == [*starts(plans)]


@pytest.mark.parametrize(
    ("scheduled", "ready", "lead"),
    [(1000.0, 1090.0, 90.0), (998.0, 1090.0, 90.0), (1300.0, 1390.0, 90.0), (1000.0, 999.0, 0.0)],
    ids=["at once", "by another clock", "after waiting for room", "ready before it was written"],
)
def test_waiting_for_room_is_no_lead_time(scheduled, ready, lead):
    assert lead == Start(WRITTEN_S, scheduled, ready).lead_s
