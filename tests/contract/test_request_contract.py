"""What owners may write into a claim: a generation and a size, alternatives, or what cannot be had.

On the embedded cluster and on the real scheduler, as `test_cluster_contract` is.
"""

import pytest

from allocator.room import room_of
from fleet.change import ChangeSet, Step, Verb
from fleet.errors import RefusedError
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey
from tests.contract import test_cluster_contract as contract
from tests.contract.test_cluster_contract import HALF, START_S, WEB, WHOLE, deployment, standing
from tests.fakes.manifests import cel

world, cluster, halves = contract.world, contract.cluster, contract.halves

CHAT = WorkloadKey("shop", "chat")
ATTRIBUTES = "device.attributes['gpu.nvidia.com']"
CAPACITY = "device.capacity['gpu.nvidia.com']"
LARGE, SMALL = Shape("h100-80gb", "4g.40gb"), Shape("h100-80gb", "1g.10gb")


def asking(device_class, *expressions):
    """Return a request, or an alternative, for a device that these select."""
    return {"deviceClassName": device_class, "selectors": [cel(expression) for expression in expressions]}


def sized(sign, memory):
    return f"{CAPACITY}.memory.compareTo(quantity('{memory}')) {sign} 0"


def served(world, request, replicas=1, pods=None, **devices):
    """Let a Deployment `chat` with this request, and with this in its pods, be created, and settle."""
    template, body = deployment("chat", replicas)
    body["spec"]["template"]["spec"] |= pods or {}
    template["spec"]["spec"]["devices"] = {"requests": [{"name": "gpu", **request}], **devices}
    for each in (template, body):
        world.owner(each)
    world.settle()


class TestRequests:
    def test_a_whole_card_by_generation_and_size(self, world):
        served(
            world,
            {
                "exactly": asking(
                    "gpu.nvidia.com", f"{ATTRIBUTES}.architecture == 'Hopper' && {sized('>=', '70Gi')}"
                )
            },
        )
        assert Configuration({WHOLE: 1}) == standing(world.cluster, CHAT).ready

    def test_a_part_of_a_card_by_size_alone(self, world, halves):
        fewer = f"'multiprocessors' in {CAPACITY} && {CAPACITY}.multiprocessors.isLessThan(quantity('62'))"
        served(world, {"exactly": asking("mig.nvidia.com", sized(">=", "30Gi"), fewer)})
        assert Configuration({HALF: 1}) == standing(world.cluster, CHAT).ready

    @pytest.mark.parametrize(
        ("request_", "reason"),
        [
            (asking("gpu.nvidia.com", sized(">=", "200Gi")), "which no card of the fleet offers"),
            (asking("mig.nvidia.com", sized(">=", "30Gi")), "any of 3g.40gb, 4g.40gb, 7g.80gb is: select a"),
            (
                asking("gpu.nvidia.com", f"{ATTRIBUTES}.architecture == 'Ampere'"),
                "which no card of the fleet",
            ),
        ],
        ids=["too large", "several", "another generation"],
    )
    def test_what_cannot_be_had_or_told_is_refused_with_the_reason(self, world, halves, request_, reason):
        served(world, {"exactly": request_}, replicas=0)
        assert reason in world.cluster.view([CHAT]).refused[CHAT]

    def test_of_alternatives_it_is_read_back_which_was_taken(self, world, halves):
        """One card is free: the large part fits once, small ones beside it."""
        alternatives = [
            {"name": name, **asking("mig.nvidia.com", f"{ATTRIBUTES}.profile == '{shape.profile}'")}
            for name, shape in (("large", LARGE), ("small", SMALL))
        ]
        served(world, {"firstAvailable": alternatives}, replicas=3)
        seen = standing(world.cluster, CHAT)
        assert (LARGE, (SMALL,)) == (seen.own.shape, seen.own.alternatives)
        assert Configuration({LARGE: 1, SMALL: 2}) == seen.ready == seen.wanted

    def test_several_cards_that_share_an_attribute_are_one_replica(self, world):
        world.cluster.scale(WEB, "web", 0, expects=None)
        world.settle()
        same = [{"matchAttribute": "gpu.nvidia.com/architecture"}]
        served(world, {"exactly": {**asking("gpu.nvidia.com"), "count": 2}}, replicas=2, constraints=same)
        seen = standing(world.cluster, CHAT)
        pair = Shape("h100-80gb", cards=2)
        assert (Configuration({pair: 1}), Configuration({pair: 2})) == (seen.ready, seen.wanted)
        assert 2 == len(world.cluster.view([CHAT]).allocated)
        assert pair == world.cluster.record(change_of(pair)).change.steps[0].shape
        with pytest.raises(RefusedError, match="arguments spread it over 2 cards, not over 1"):
            world.cluster.create_variant(CHAT, "chat-one", WHOLE)

    @pytest.mark.parametrize(
        ("chosen", "ready"), [({}, 1), ({"tier": "gold"}, 0)], ids=["any node", "a node that is not there"]
    )
    def test_cards_are_room_where_its_nodes_let_its_pods_in_and_nowhere_else(self, world, chosen, ready):
        """One card is free; where pods find no node, nothing is asked for that would wait for ever."""
        served(world, {"exactly": asking("gpu.nvidia.com")}, replicas=0, pods={"nodeSelector": chosen})
        fleet = world.cluster.view([CHAT])
        pods = fleet.standing(CHAT).pods(WHOLE)
        assert ready == room_of(fleet).fill(WHOLE, 2, pods)[0]
        world.cluster.scale(CHAT, "chat", 1, expects=None)
        world.settle()
        assert ready == standing(world.cluster, CHAT).own.ready

    def test_pods_that_share_a_claim_by_its_name_are_no_replicas_and_hold_its_card_once(self, world):
        """Two engines on one card: more of them are no more capacity, so nothing is read that could grow."""
        template, body = deployment("chat", 2)
        metadata = {"namespace": "shop", "name": "of-all"}
        world.owner(
            {**template, "kind": "ResourceClaim", "metadata": metadata, "spec": template["spec"]["spec"]}
        )
        body["spec"]["template"]["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "of-all"}]
        world.owner(body)
        world.settle()
        fleet = world.cluster.view([CHAT, WEB])
        assert "Deployment chat: its pods share claim of-all: more replicas are" in fleet.refused[CHAT]
        assert (None, 2) == (fleet.standing(CHAT), len(fleet.allocated))
        assert 0 == room_of(fleet).fill(WHOLE, 1, fleet.standing(WEB).pods(WHOLE))[0]
        with pytest.raises(RefusedError, match="exactly one claim template must ask for a GPU"):
            world.cluster.create_variant(CHAT, "chat-whole", WHOLE)

    def test_cards_that_nothing_shares_are_not_given(self, world):
        """Where no card says on which PCIe root it is, none can be on the same."""
        world.cluster.scale(WEB, "web", 0, expects=None)
        world.settle()
        same = [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]
        served(world, {"exactly": {**asking("gpu.nvidia.com"), "count": 2}}, constraints=same)
        assert Configuration() == standing(world.cluster, CHAT).ready


def change_of(shape):
    step = Step(Verb.SCALE_UP, "chat", shape, 2, None, "a peak ahead")
    return ChangeSet(CHAT, Configuration({shape: 1}), Configuration({shape: 2}), (step,), START_S)
