"""What every adapter of `actuator.ports.Cluster` promises, whatever cluster is behind it.

`worlds` is all that an adapter must bring: a cluster of two H100 with dynamic MIG, whose owner has
created Deployment `shop/web` on whole GPUs, with the means to let things settle.
"""

from dataclasses import dataclass, replace

import pytest

from actuator.mechanisms.dra import Ask, claim_template, request_of
from actuator.objects.beside import ALONE
from actuator.ports import Readiness, StepRecord
from fleet.boards import H100_80GB
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.errors import ConflictError, RefusedError
from fleet.past import Start
from fleet.shape import Configuration, Shape
from fleet.trial import Trial
from fleet.workload import WorkloadKey
from simulator.agents import start_control_plane, start_nodes
from simulator.api import FRACTION_TARGET
from simulator.clock import VirtualClock
from simulator.cluster import EmbeddedCluster
from simulator.delays import Delays
from simulator.store import ObjectStore

WEB = WorkloadKey("shop", "web")
WHOLE = Shape("h100-80gb")
HALF = Shape("h100-80gb", "3g.40gb")
START_S = 1_750_000_000.0
SETTLING_S = 600.0


@dataclass
class World:
    """A cluster under test.

    Attributes:
        cluster: The adapter.
        owner: Applies an object as its owner would.
        settle: Lets the cluster do what it has been asked for.
        targets: Returns the FractionTargets that are held.
    """

    cluster: object
    owner: object
    settle: object
    targets: object


class Containers:
    def start(self, pod, shape):
        pass

    def load_s(self, pod):
        return 60.0

    def drain_s(self, pod):
        return 5.0

    def stop(self, pod):
        pass


def embedded(beside=ALONE):
    clock = VirtualClock(START_S)
    store = ObjectStore(clock)
    start_nodes(store, clock, {"n0": [H100_80GB] * 2}, Containers(), Delays(3))
    start_control_plane(store, clock, Delays(3))

    def settle():
        clock.run_until(clock.now_s + SETTLING_S)

    return World(
        EmbeddedCluster(store, beside=beside), store.create, settle, lambda: store.list(FRACTION_TARGET)
    )


WORLDS = {"embedded": embedded}


@pytest.fixture(params=WORLDS.values(), ids=WORLDS.keys())
def world(request):
    built = request.param()
    for body in deployment("web", replicas=1):
        built.owner(body)
    built.settle()
    return built


@pytest.fixture
def cluster(world):
    return world.cluster


@pytest.fixture
def halves(cluster):
    """Makes sure, by what was read back, that cards may be cut; a test on parts of cards asks for it."""
    if reason := cluster.view([]).barred.get(HALF):
        pytest.skip(reason)


def deployment(name, replicas, shape=WHOLE):
    """Return a claim template for whole cards, or another shape, and a Deployment on it."""
    template = claim_template("shop", H100_80GB, shape, Ask("gpu", request_of(H100_80GB, shape)))
    template["metadata"] = {"namespace": "shop", "name": f"{name}-gpu"}
    pods = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "containers": [{"name": "engine", "image": "vllm"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": f"{name}-gpu"}],
        },
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pods}
    metadata = {"namespace": "shop", "name": name}
    return template, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def covered(device):
    """Return the memory slices of a device, which are neighbours."""
    return range(min(device.memory_slices), max(device.memory_slices) + 1)


def standing(cluster, key=WEB):
    return cluster.view([key]).standing(key)


def change(goal=3, decided_at_s=START_S, target=WEB):
    steps = (
        Step(Verb.CREATE_VARIANT, "web-half", HALF, 0, None, "a smaller shape"),
        Step(Verb.SCALE_UP, "web-half", HALF, goal, None, "a peak ahead"),
    )
    start = Configuration({WHOLE: 1})
    return ChangeSet(target, start, start.plus(HALF, goal), steps, decided_at_s)


class TestView:
    def test_it_shows_cards_pools_and_what_is_allocated(self, cluster):
        fleet = cluster.view([WEB])
        assert [H100_80GB, H100_80GB] == [gpu.board for gpu in fleet.gpus]
        assert [52] == [len(pool.devices) for pool in fleet.pools]
        assert [("gpu", None)] == [(device.kind, device.profile) for device in fleet.allocated]

    def test_it_shows_how_a_workload_stands(self, cluster):
        seen = standing(cluster)
        (variant,) = seen.variants
        (replica,) = variant.replicas
        assert ("web", WHOLE, 1, True) == (variant.name, variant.shape, variant.wanted, variant.is_base)
        assert (WHOLE, True, False) == (replica.shape, replica.is_ready, replica.is_leaving)
        assert (replica.device,) == cluster.view([WEB]).allocated
        assert Configuration({WHOLE: 1}) == seen.ready

    def test_it_shows_since_when_a_replica_is_placed_and_ready(self, cluster):
        (replica,) = standing(cluster).variants[0].replicas
        assert replica.created_at_s <= replica.scheduled_at_s <= replica.ready_at_s

    def test_a_workload_that_is_not_there_has_no_standing(self, cluster):
        assert standing(cluster, WorkloadKey("shop", "nothing")) is None

    def test_a_workload_that_cannot_be_handled_is_refused_with_a_reason(self, world):
        _, bare = deployment("bare", 0)
        del bare["spec"]["template"]["spec"]["resourceClaims"]
        world.owner(bare)
        key = WorkloadKey("shop", "bare")
        assert "one claim template must ask for a GPU" in world.cluster.view([key]).refused[key]

    def test_only_what_was_asked_for_is_shown(self, cluster):
        shown = [len(cluster.view(asked).standings) for asked in ([], [WEB], [])]
        assert [0, 1, 0] == shown

    def test_it_is_the_same_while_nothing_changes(self, cluster):
        assert cluster.view([WEB]) == cluster.view([WEB])


class TestVersion:
    def test_it_stays_while_nothing_changes(self, cluster):
        before = cluster.version()
        cluster.view([WEB])
        cluster.plans(WEB)
        assert before == cluster.version() == cluster.view([WEB]).version

    def test_it_changes_with_every_write(self, world, halves):
        cluster = world.cluster
        seen = [cluster.version()]
        plan = cluster.record(change())
        seen.append(cluster.version())
        cluster.claim_step(plan, 0, START_S)
        seen.append(cluster.version())
        cluster.create_variant(WEB, "web-half", HALF)
        seen.append(cluster.version())
        cluster.scale(WEB, "web-half", 1, expects=None)
        seen.append(cluster.version())
        world.settle()
        seen.append(cluster.version())
        assert len(seen) == len(set(seen))


class TestVariants:
    def test_a_variant_begins_without_replicas_beside_the_base(self, cluster, halves):
        cluster.create_variant(WEB, "web-half", HALF)
        base, half = standing(cluster).variants
        assert ("web", True, 1) == (base.name, base.is_base, base.wanted)
        assert ("web-half", False, 0, HALF) == (half.name, half.is_base, half.wanted, half.shape)

    def test_creating_it_again_changes_nothing(self, world, halves):
        world.cluster.create_variant(WEB, "web-half", HALF)
        world.cluster.scale(WEB, "web-half", 2, expects=None)
        world.settle()
        before = world.cluster.version()
        world.cluster.create_variant(WEB, "web-half", HALF)
        assert before == world.cluster.version()

    def test_its_replicas_serve_on_its_shape(self, world, halves):
        world.cluster.create_variant(WEB, "web-half", HALF)
        world.cluster.scale(WEB, "web-half", 2, expects=None)
        world.settle()
        seen = standing(world.cluster)
        assert Configuration({WHOLE: 1, HALF: 2}) == seen.ready
        base, half = seen.variants
        (card,) = {replica.device.gpu for replica in half.replicas}
        assert card != base.replicas[0].device.gpu
        assert [range(4), range(4, 8)] == sorted(
            (covered(replica.device) for replica in half.replicas), key=lambda slices: slices.start
        )

    def test_one_shape_of_two_workloads_is_two_variants(self, world, halves):
        for body in deployment("chat", replicas=0):
            world.owner(body)
        world.cluster.create_variant(WEB, "web-half", HALF)
        world.cluster.create_variant(WorkloadKey("shop", "chat"), "chat-half", HALF)
        assert ["chat", "chat-half"] == [
            variant.name for variant in standing(world.cluster, WorkloadKey("shop", "chat")).variants
        ]

    def test_a_shape_that_no_card_has_is_refused(self, cluster):
        before = cluster.version()
        with pytest.raises(RefusedError):
            cluster.create_variant(WEB, "web-other", Shape("a100-80gb", "3g.40gb"))
        assert before == cluster.version()

    def test_a_workload_that_is_not_there_is_refused(self, cluster):
        with pytest.raises(RefusedError, match="shop/nothing does not exist"):
            cluster.create_variant(WorkloadKey("shop", "nothing"), "nothing-half", HALF)

    def test_a_name_that_belongs_to_someone_else_is_refused(self, world, halves):
        for body in deployment("web-half", replicas=1):
            world.owner(body)
        with pytest.raises(RefusedError, match="web-half is no variant of shop/web"):
            world.cluster.create_variant(WEB, "web-half", HALF)


class TestScale:
    def test_replicas_follow(self, world):
        world.cluster.scale(WEB, "web", 2, expects=None)
        assert Configuration({WHOLE: 2}) == standing(world.cluster).wanted
        world.settle()
        assert Configuration({WHOLE: 2}) == standing(world.cluster).ready
        world.cluster.scale(WEB, "web", 0, expects=None)
        world.settle()
        assert ((), ()) == (standing(world.cluster).variants[0].replicas, world.cluster.view([WEB]).allocated)

    def test_what_does_not_fit_waits(self, world):
        world.cluster.scale(WEB, "web", 3, expects=None)
        world.settle()
        seen = standing(world.cluster)
        assert Configuration({WHOLE: 2}) == seen.ready
        assert [(None, False)] == [
            (replica.device, replica.is_ready)
            for replica in seen.variants[0].replicas
            if replica.device is None
        ]

    def test_on_the_version_that_was_seen_it_is_written(self, cluster):
        cluster.scale(WEB, "web", 2, expects=standing(cluster).variants[0].version)
        assert 2 == standing(cluster).variants[0].wanted

    def test_on_an_older_version_nothing_is_written(self, cluster):
        seen = standing(cluster).variants[0].version
        cluster.scale(WEB, "web", 2, expects=seen)
        with pytest.raises(ConflictError):
            cluster.scale(WEB, "web", 0, expects=seen)
        assert 2 == standing(cluster).variants[0].wanted

    def test_the_same_again_changes_nothing(self, world):
        world.cluster.scale(WEB, "web", 2, expects=None)
        world.settle()
        before = world.cluster.version()
        world.cluster.scale(WEB, "web", 2, expects=None)
        assert before == world.cluster.version()

    def test_fewer_than_none_is_refused(self, cluster):
        with pytest.raises(RefusedError):
            cluster.scale(WEB, "web", -1, expects=None)

    def test_a_deployment_of_someone_else_is_refused(self, world):
        for body in deployment("chat", replicas=1):
            world.owner(body)
        with pytest.raises(RefusedError, match="chat is no variant of shop/web"):
            world.cluster.scale(WEB, "chat", 5, expects=None)

    def test_a_deployment_that_is_not_there_is_a_conflict(self, cluster):
        with pytest.raises(ConflictError, match="web-half does not exist"):
            cluster.scale(WEB, "web-half", 1, expects=None)


class TestPlans:
    def test_a_plan_is_read_back_as_it_was_recorded(self, cluster):
        recorded = cluster.record(change())
        assert change() == recorded.change
        assert [(StepState.PENDING, START_S)] * 2 == [(step.state, step.at_s) for step in recorded.steps]
        assert (recorded,) == cluster.plans(WEB)

    def test_recording_it_again_changes_nothing(self, cluster):
        first = cluster.claim_step(cluster.record(change()), 0, START_S + 1)
        before = cluster.version()
        assert first == cluster.record(replace(change(), decided_at_s=START_S + 60))
        assert before == cluster.version()

    def test_steps_are_claimed_and_finished_one_by_one(self, cluster):
        plan = cluster.record(change())
        plan = cluster.claim_step(plan, 0, START_S + 10)
        plan = cluster.finish_step(plan, 0, StepState.DONE, START_S + 20, "created")
        plan = cluster.claim_step(plan, 1, START_S + 30)
        assert [(StepState.DONE, START_S + 20, "created"), (StepState.CLAIMED, START_S + 30, "")] == [
            (step.state, step.at_s, step.note) for step in plan.steps
        ]
        assert (plan,) == cluster.plans(WEB)

    def test_when_what_it_added_was_ready_stays_with_a_step(self, cluster):
        plan = cluster.claim_step(cluster.record(change()), 1, START_S + 10)
        plan = cluster.finish_step(plan, 1, StepState.DONE, START_S + 20, "added")
        seen = Readiness(START_S + 21, START_S + 95, START_S + 40, START_S + 99)
        noted = cluster.note_readiness(plan, 1, seen)
        expected = StepRecord(StepState.DONE, START_S + 20, "added", seen)
        assert expected == noted.steps[1]
        assert (noted,) == cluster.plans(WEB)
        assert (Start(START_S + 20, START_S + 21, START_S + 95),) == standing(cluster).starts

    def test_how_far_a_trial_has_come_stays_with_its_step_whatever_becomes_of_the_plan(self, cluster):
        plan = cluster.finish_step(cluster.record(change()), 0, StepState.DONE, START_S + 20)
        served = Trial(served_s=600.0, proven_at_s=START_S + 700.0)
        for trial in (served, Trial(failures=2, because="too slow", until_s=START_S + 900.0)):
            plan = cluster.claim_step(cluster.note_trial(plan, 0, trial), 0, START_S + 30)
            assert [trial, None] == [step.trial for step in cluster.plans(WEB)[0].steps]

    def test_readiness_is_noted_on_the_version_that_was_read(self, cluster):
        plan = cluster.claim_step(cluster.record(change()), 1, START_S + 10)
        done = cluster.finish_step(plan, 1, StepState.DONE, START_S + 20)
        with pytest.raises(ConflictError):
            cluster.note_readiness(plan, 1, Readiness(START_S + 21, START_S + 95))
        assert (done,) == cluster.plans(WEB)

    def test_of_two_that_claim_a_step_one_is_too_late(self, cluster):
        plan = cluster.record(change())
        cluster.claim_step(plan, 0, START_S + 10)
        with pytest.raises(ConflictError):
            cluster.claim_step(plan, 0, START_S + 11)

    def test_a_step_of_a_plan_that_is_gone_is_a_conflict(self, cluster):
        cluster.record(change(goal=1))
        second = cluster.record(change(goal=2, decided_at_s=START_S + 1))
        for nth in range(20):
            cluster.record(change(goal=3 + nth, decided_at_s=START_S + 2 + nth))
        with pytest.raises(ConflictError, match="does not exist"):
            cluster.claim_step(second, 0, START_S + 60)

    def test_a_standing_says_what_was_asked_for_before_the_first(self, cluster):
        assert standing(cluster).before is None
        cluster.record(change())
        later = replace(change(), start=Configuration({WHOLE: 9}), decided_at_s=START_S + 60)
        cluster.record(later)
        assert Configuration({WHOLE: 1}) == standing(cluster).before

    def test_the_newest_twenty_of_a_workload_are_kept_and_the_first(self, cluster):
        goals = range(1, 26)
        for goal in goals:
            cluster.record(change(goal=goal, decided_at_s=START_S + goal))
        kept = [plan.change.goal.counts[HALF] for plan in cluster.plans(WEB)]
        assert [*range(25, 5, -1), 1] == kept

    def test_plans_of_another_workload_are_apart(self, cluster):
        other = WorkloadKey("shop", "chat")
        cluster.record(change())
        cluster.record(change(target=other))
        assert ([WEB], [other]) == (
            [plan.change.target for plan in cluster.plans(WEB)],
            [plan.change.target for plan in cluster.plans(other)],
        )

    def test_a_standing_says_when_its_workload_was_last_changed(self, cluster):
        assert standing(cluster).changed_at_s is None
        plan = cluster.claim_step(cluster.record(change()), 0, START_S + 10)
        cluster.finish_step(plan, 0, StepState.DONE, START_S + 20)
        assert START_S + 20 == standing(cluster).changed_at_s
