"""Engines start a few at a time on a node; the rest wait their turn, and what hangs holds nobody up."""

from dataclasses import replace

import pytest

from actuator.crowd import HANGS_S, PLACED_S, Crowd
from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from actuator.outcome import Outcome
from fleet.boards import H100_80GB
from fleet.cluster import Standing, Variant
from fleet.errors import RefusedError
from fleet.shape import Configuration, Shape, share_of
from fleet.workload import Mode, Router
from foreslice.safety import Return
from tests.builders.execution import LARGE, LLAMA, MISTRAL, Process, goal
from tests.builders.fleet import NOW_S, fleet, running, standing, time_sliced
from tests.builders.stage import WEB, Stage
from tests.fakes.cluster import FakeCluster

HALF = Shape("h100-80gb", "3g.40gb")
WHOLE = Shape("h100-80gb")
ANY = Terms(Mode.FULL, Router.LEAST_LOADED, 1, {WHOLE: 1.0}, 0.0)
TERMS = {WEB.key: Terms(Mode.FULL, Router.LEAST_LOADED, 1, {HALF: 0.5}, 0.0)}


def started(per_node, replicas=2):
    """How many engines were starting at most, after how long all were ready, and why any waited."""
    stage, most, reasons = Stage(), 0, set()
    cluster = stage.opened()
    executor = Executor(cluster, starts_per_node=per_node)
    goal = Configuration({**cluster.view([WEB.key]).standing(WEB.key).wanted.counts, HALF: replicas})
    for second in range(60):
        seen = cluster.view([WEB.key])
        [stands] = seen.standings
        if stands.ready == goal:
            return most, second, reasons
        results = executor.run(
            diff(seen, [Return(WEB.key, goal, ("needed",))], stage.now_s), TERMS, stage.now_s
        )
        reasons |= {result.reason for result in results if result.outcome is Outcome.HELD}
        stage.wait(1.0)
        most = max(most, sum(not r.is_ready for v in stands.variants for r in v.replicas))
    raise AssertionError(reasons)


def test_no_more_start_than_there_are_places_and_in_the_end_all_have():
    most, serial_s, reasons = started(per_node=1)
    assert (1, {"1 engines are starting, and there are 1 places for that"}) == (most, reasons)
    most, together_s, reasons = started(per_node=8)
    assert (2, set()) == (most, reasons)
    assert together_s < serial_s


def crowd(age_s, *, is_placed, replicas=4, per_node=2):
    """Two nodes on which replicas that are not ready were made so long ago."""
    stands = standing("chat", f"{replicas} x whole")
    seen = running(fleet(16), stands)
    [ours] = seen.standings
    [variant] = ours.variants
    new = (
        replace(r, is_ready=False, created_at_s=NOW_S - age_s, device=r.device if is_placed else None)
        for r in variant.replicas
    )
    ours = replace(ours, variants=(replace(variant, replicas=tuple(new)),))
    return Crowd(replace(seen, standings=(ours,)), per_node, NOW_S), ours


def raised(ours, replicas):
    """The change that brings a workload to so many whole cards."""
    seen, goal = running(fleet(16), ours), Configuration({WHOLE: replicas})
    [change] = diff(seen, [Return(ours.key, goal, ("needed",))], NOW_S)
    return change


def test_what_may_not_be_added_takes_no_place_from_others():
    seen, ours = crowd(HANGS_S, is_placed=True)
    change = raised(ours, 8)
    refused = seen.cut(change, ours, replace(ANY, mode=Mode.ADVISE))
    assert change.steps == seen.cut(refused, ours, ANY).steps
    [step] = change.steps
    assert seen.refusal(ours, step) is None


class Carded(FakeCluster):
    """A cluster that has cards, on one node."""

    def view(self, workloads):
        return replace(super().view(workloads), gpus=fleet(1).gpus)


def test_what_cannot_be_added_takes_no_place_from_others():
    """Twice as many are wanted as there are places, and the first that asks is refused by the cluster."""
    cluster = Carded().add(LLAMA, LARGE, 1).add(MISTRAL, LARGE, 1)
    cluster.fail(LLAMA, RefusedError("quota exceeded"))
    Process(cluster, starts_per_node=2).tick(goal({LARGE: 3}), goal({LARGE: 3}, MISTRAL))
    assert 3 == cluster.view([MISTRAL]).standing(MISTRAL).wanted.replicas


@pytest.mark.parametrize(("per_node", "granted"), [(8, 2), (1, 1)])
def test_of_time_slices_no_more_start_at_once_than_there_are_cards(per_node, granted):
    quarter, seen = share_of(H100_80GB, 25), time_sliced(cards=2, replicas=4)
    stands = Standing(WEB.key, (Variant("web", quarter, 0, "1", is_base=True),))
    [change] = diff(
        replace(seen, standings=(stands,)), [Return(WEB.key, Configuration({quarter: 8}), ("needed",))], NOW_S
    )
    terms = replace(ANY, capacities={quarter: 0.2})
    [step] = Crowd(seen, per_node, NOW_S).cut(change, stands, terms).steps
    assert granted == step.replicas


@pytest.mark.parametrize(
    ("waves", "age_s", "is_placed"),
    [
        (2, 10.0, True),
        (2, 10.0, False),
        (2, HANGS_S - 1.0, True),
        (1, HANGS_S, True),
        (1, PLACED_S, False),
    ],
)
def test_a_lead_time_more_is_reckoned_with_while_all_places_are_taken(waves, age_s, is_placed):
    seen, ours = crowd(age_s, is_placed=is_placed)
    [step] = seen.cut(raised(ours, 6), ours, ANY).steps
    assert (waves, waves > 1) == (seen.waves, seen.refusal(ours, step) is not None)


def test_places_are_given_out_once_and_those_given_back_are_given_again():
    """Three are wanted by each of two workloads and by a third six, and there are five places."""
    chat, code, search = (standing(name, "1 x whole") for name in ("chat", "code", "search"))
    crowd = Crowd(fleet(8), 5, NOW_S)

    def granted(ours, replicas):
        [step] = crowd.cut(raised(ours, replicas), ours, ANY).steps
        return step

    first = granted(chat, 4)
    assert [4, 3] == [first.replicas, granted(code, 4).replicas]
    crowd.give_back(chat, first)
    crowd.give_back(chat, first)
    assert 4 == granted(search, 7).replicas


@pytest.mark.parametrize("is_placed", [[True] * 4, [False] * 4, [True, False] * 2])
def test_those_that_start_take_places_whether_their_node_is_known_or_not(is_placed):
    """Seven places on one node, four of them taken."""
    stands = standing("chat", "4 x whole")
    seen = running(fleet(8), stands)
    [ours] = seen.standings
    [variant] = ours.variants
    new = [
        replace(r, is_ready=False, created_at_s=NOW_S - 1.0, device=r.device if placed else None)
        for r, placed in zip(variant.replicas, is_placed, strict=True)
    ]
    ours = replace(ours, variants=(replace(variant, replicas=tuple(new)),))
    [step] = Crowd(replace(seen, standings=(ours,)), 7, NOW_S).cut(raised(ours, 9), ours, ANY).steps
    assert 4 + 3 == step.replicas


def test_a_node_over_its_own_places_takes_none_from_the_others():
    """Two nodes of two places, three starting on the first: as many as the second has are free."""
    seen = running(fleet(16), standing("chat", "3 x whole"))
    [ours] = seen.standings
    [variant] = ours.variants
    first = [
        replace(r, is_ready=False, created_at_s=NOW_S - 1.0, device=replace(r.device, node="node-0"))
        for r in variant.replicas
    ]
    ours = replace(ours, variants=(replace(variant, replicas=tuple(first)),))
    [step] = Crowd(replace(seen, standings=(ours,)), 2, NOW_S).cut(raised(ours, 9), ours, ANY).steps
    assert 3 + 2 == step.replicas
