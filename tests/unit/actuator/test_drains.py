"""How many workloads lose replicas on one node at the same time."""

from dataclasses import replace

from actuator.drains import Drains
from actuator.outcome import Outcome
from actuator.pace import NO_LIMITS
from fleet.change import Step, Verb
from tests.builders.execution import LARGE, LLAMA, MISTRAL, QWEN, Process, goal, llama
from tests.builders.fleet import fleet, running, shape, standing

ONE = replace(NO_LIMITS, per_node=1)


def test_the_next_workload_waits_until_the_first_has_left_the_node_and_is_told_which():
    cluster = llama(2).add(MISTRAL, LARGE, 2)
    cluster.stuck.add(LLAMA)
    process = Process(cluster, limits=ONE)
    goals = [goal({LARGE: 1}, LLAMA), goal({LARGE: 1}, MISTRAL)]
    held = "1 workloads are losing replicas on node node, at most 1 may"
    assert [(Outcome.DONE, "peak ahead"), (Outcome.HELD, held)] == [r[1:] for r in process.tick(*goals)]
    assert [(Outcome.HELD, held)] == [r[1:] for r in process.tick(*goals)], "also as read from the cluster"

    cluster.stuck.clear()
    process.tick(*goals)
    assert [Outcome.DONE] == [outcome for _, outcome, _ in process.tick(*goals)]


def test_additions_wait_for_no_drain():
    cluster = llama(2).add(QWEN, LARGE, 1)
    cluster.stuck.add(LLAMA)
    process = Process(cluster, limits=ONE)
    found = process.tick(goal({LARGE: 1}, LLAMA), goal({LARGE: 2}, QWEN))
    assert {("scale-up", Outcome.DONE), ("scale-down", Outcome.DONE)} == {result[:2] for result in found}


def test_only_nodes_that_would_lose_a_replica_count_and_the_newest_leave():
    seen = running(fleet(2, per_node=1), standing("chat", "2 x 3g.40gb"), standing("code", "2 x 3g.40gb"))
    chat, code = (replace_newest(one) for one in seen.standings)
    drains = Drains(replace(seen, standings=(chat, code)), 1)
    assert drains.refusal(chat, less(chat)) is None
    drains.take(chat, less(chat))
    assert drains.refusal(chat, less(chat)) is None, "its own drain is no other's"
    assert "node-1" in drains.refusal(code, less(code))

    [elsewhere] = running(fleet(1), standing("search", "1 x 3g.40gb")).standings
    assert drains.refusal(elsewhere, less(elsewhere)) is None


def replace_newest(one):
    """The standing whose replica on the second node came last."""
    variant = one.variants[0]
    replicas = tuple(
        replace(r, created_at_s=r.created_at_s + (r.device.node == "node-1")) for r in variant.replicas
    )
    return replace(one, variants=(replace(variant, replicas=replicas),))


def less(one):
    variant = one.variants[0]
    return Step(Verb.SCALE_DOWN, variant.name, shape("3g.40gb"), variant.wanted - 1, None, "less")
