"""Shares of cards by DRA's consumable capacity (KEP-5075), whatever cluster is behind the port.

`shared` is all that an adapter must bring: a cluster of two H100 of which several claims may have parts, and
Deployment `shop/web` on a whole one. The other one is for `shop/chat`.
"""

import pytest

from actuator.mechanisms.engine_memory import UTILISATION
from allocator.room import room_of
from fleet.boards import H100_80GB
from fleet.change import ChangeSet, Step, Verb
from fleet.errors import RefusedError
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey
from simulator.agents import start_control_plane
from simulator.api import FRACTION_TARGET
from simulator.clock import VirtualClock
from simulator.cluster import EmbeddedCluster
from simulator.delays import Delays
from simulator.driver import publish
from simulator.node import NodeAgent
from simulator.static_driver import BY_MEMORY, Card, static_slices
from simulator.store import ObjectStore
from tests.contract.test_cluster_contract import (
    SETTLING_S,
    START_S,
    WEB,
    WHOLE,
    Containers,
    World,
    deployment,
    standing,
)

CHAT, ODD = WorkloadKey("shop", "chat"), WorkloadKey("shop", "odd")
QUARTER, HALF, THIRD = (Shape("h100-80gb", f"{size}/100") for size in (25, 50, 33))
TOLD = f"--gpu-memory-utilization=$({UTILISATION})"
SHARED_CARDS = [Card(H100_80GB)] * 2
TOTAL_MIB = 81559
HALF_MIB, QUARTER_MIB = TOTAL_MIB // 2, TOTAL_MIB // 4


def embedded():
    clock = VirtualClock(START_S)
    store = ObjectStore(clock)
    NodeAgent(store, clock, "n0", Containers(), Delays(3))
    publish(store, "n0", static_slices("n0", SHARED_CARDS, BY_MEMORY))
    start_control_plane(store, clock, Delays(3))

    def settle():
        clock.run_until(clock.now_s + SETTLING_S)

    return World(EmbeddedCluster(store), store.create, settle, lambda: store.list(FRACTION_TARGET))


@pytest.fixture
def shared():
    built = embedded()
    for body in deployment("web", replicas=1):
        built.owner(body)
    built.settle()
    return built


def sharing(name, memory_mib, args, replicas=1, clause="device.allowMultipleAllocations"):
    """A claim template for so much of a card and a Deployment on it."""
    template, body = deployment(name, replicas)
    (asked,) = template["spec"]["spec"]["devices"]["requests"]
    asked["exactly"]["capacity"] = {"requests": {"memory": f"{memory_mib}Mi"}}
    asked["exactly"]["selectors"] += [{"cel": {"expression": clause}}] if clause else []
    (container,) = body["spec"]["template"]["spec"]["containers"]
    container["args"] = [args]
    container["env"] = [{"name": UTILISATION, "value": "0.2"}]
    container["resources"] = {"claims": [{"name": "gpu"}]}
    return template, body


@pytest.fixture
def chat(shared):
    """Deployment `chat`, by its owner on half of the second card."""
    for body in sharing("chat", HALF_MIB, TOLD):
        shared.owner(body)
    shared.settle()
    return shared.cluster


def change(shape, name, replicas):
    steps = (
        Step(Verb.CREATE_VARIANT, name, shape, 0, None, "a smaller shape"),
        Step(Verb.SCALE_UP, name, shape, replicas, None, "a peak ahead"),
    )
    start = Configuration({HALF: 1})
    return ChangeSet(CHAT, start, start.plus(shape, replicas), steps, START_S)


class TestShares:
    def test_what_a_claim_consumed_is_the_shape_that_it_has(self, chat):
        (replica,) = standing(chat, CHAT).own.replicas
        assert (HALF, True) == (replica.shape, replica.is_ready)
        assert ("share", [HALF_MIB << 20]) == (replica.device.kind, list(replica.device.draws.values()))
        assert {"gpu", "share"} == {device.kind for device in chat.view([CHAT]).allocated}
        assert {WHOLE: 1} == standing(chat).ready.counts

    def test_copies_get_as_many_shares_as_there_is_room_for_and_no_more(self, shared, chat):
        chat.create_variant(CHAT, "chat-quarter", QUARTER)
        placed, _ = room_of(chat.view([CHAT, WEB])).fill(QUARTER, 9)
        chat.scale(CHAT, "chat-quarter", placed + 1, expects=None)
        shared.settle()
        assert (2, {HALF: 1, QUARTER: 2}) == (placed, standing(chat, CHAT).ready.counts)
        devices = [r.device for v in standing(chat, CHAT).variants for r in v.replicas]
        assert 1 == len({device.gpu for device in devices if device is not None})
        assert 3 == len({device.id for device in devices if device is not None})

    def test_what_others_consume_is_not_there_for_ours_whatever_its_size(self, shared, chat):
        for body in sharing("odd", 5000, "serve", clause=""):
            shared.owner(body)
        shared.settle()
        chat.create_variant(CHAT, "chat-quarter", QUARTER)
        fleet = chat.view([CHAT])
        assert 1 == room_of(fleet).fill(QUARTER, 9)[0]
        assert {5000 << 20, HALF_MIB << 20, TOTAL_MIB << 20} == {
            amount for device in fleet.allocated for amount in device.draws.values()
        }
        chat.scale(CHAT, "chat-quarter", 2, expects=None)
        shared.settle()
        assert {HALF: 1, QUARTER: 1} == standing(chat, CHAT).ready.counts

    def test_a_share_that_is_given_back_is_there_for_the_next(self, shared, chat):
        chat.create_variant(CHAT, "chat-quarter", QUARTER)
        chat.scale(CHAT, "chat-quarter", 2, expects=None)
        shared.settle()
        chat.scale(CHAT, "chat-quarter", 0, expects=None)
        shared.settle()
        assert 2 == room_of(chat.view([CHAT, WEB])).fill(QUARTER, 9)[0]
        assert 1 == room_of(chat.view([CHAT, WEB])).fill(HALF, 9)[0]

    def test_beside_shares_there_is_no_room_for_a_whole_card(self, chat):
        assert 0 == room_of(chat.view([CHAT, WEB])).fill(WHOLE, 1)[0]

    def test_a_copy_asks_for_its_part_of_memory_and_its_engine_is_told(self, chat):
        asked = change(QUARTER, "chat-quarter", 1)
        template, copy = (
            each.after for each in chat.rehearse(asked, asked.steps) if each.after["kind"] != "FractionPlan"
        )
        (request,) = template["spec"]["spec"]["devices"]["requests"]
        (container,) = copy["spec"]["template"]["spec"]["containers"]
        assert {"memory": f"{QUARTER_MIB}Mi"} == request["exactly"]["capacity"]["requests"]
        assert [{"name": UTILISATION, "value": "0.225"}] == container["env"]
        assert "" == "".join(each.objection for each in chat.rehearse(asked, asked.steps))

    def test_an_engine_that_cannot_be_told_gets_no_share_of_another_size(self, shared):
        for body in sharing("chat", HALF_MIB, "--gpu-memory-utilization=0.45"):
            shared.owner(body)
        shared.settle()
        with pytest.raises(RefusedError, match=r"keeps it to 0\.225"):
            shared.cluster.create_variant(CHAT, "chat-quarter", QUARTER)

    @pytest.mark.parametrize(
        ("memory_mib", "args", "clause", "why"),
        [
            (
                30_000,
                TOLD,
                "device.allowMultipleAllocations",
                "and foreslice reckons with memory 8155Mi (10/100) or",
            ),
            (QUARTER_MIB, "--gpu-memory-utilization=0.9", "", "keeps it to 0.225"),
        ],
    )
    def test_a_share_that_cannot_be_reckoned_with_is_refused(self, shared, memory_mib, args, clause, why):
        for body in sharing("chat", memory_mib, args, clause=clause):
            shared.owner(body)
        shared.settle()
        assert why in shared.cluster.view([CHAT]).refused[CHAT]
