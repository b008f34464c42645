"""What every cluster promises of Deployments that owners made beside a workload's own, for other shapes."""

import pytest

from actuator.objects.beside import Beside
from actuator.ways import with_ways
from fleet.change import ChangeSet, Step, Verb
from fleet.errors import ConflictError, RefusedError
from fleet.shape import Configuration
from fleet.workload import Way, WorkloadKey
from tests.contract.test_cluster_contract import HALF, START_S, WEB, WHOLE, deployment, embedded, standing
from tests.contract.test_floor_contract import autoscaler

BESIDE = Beside({WEB: ("by-owner",)})
WORLDS = {"embedded": embedded}


@pytest.fixture(params=WORLDS.values(), ids=WORLDS.keys())
def flanked(request):
    """A world with Deployment `web` on whole cards, that serves, and settings that name one beside it."""
    built = request.param(BESIDE)
    for body in deployment("web", replicas=1):
        built.owner(body)
    built.settle()
    return built


@pytest.fixture
def pair(flanked):
    """Its adapter, once the owner has made that one, on halves of cards and without replicas."""
    if reason := flanked.cluster.view([]).barred.get(HALF):
        pytest.skip(reason)
    for body in deployment("by-owner", 0, HALF):
        flanked.owner(body)
    flanked.settle()
    return flanked.cluster


def rise(replicas):
    start = Configuration({WHOLE: 1})
    step = Step(Verb.SCALE_UP, "by-owner", HALF, replicas, None, "a peak ahead")
    return ChangeSet(WEB, start, start.plus(HALF, replicas), (step,), START_S)


class TestBeside:
    def test_it_stands_beside_the_workloads_own_and_no_copy_is_needed(self, pair):
        seen = standing(pair)
        assert [("web", WHOLE, 1, False), ("by-owner", HALF, 0, True)] == [
            (v.name, v.shape, v.wanted, v.is_beside) for v in seen.variants
        ]
        assert (False, ()) == (seen.may_have_variants, seen.left_out)

    def test_its_replicas_follow_and_serve_and_are_given_back(self, flanked, pair):
        pair.scale(WEB, "by-owner", 2, expects=standing(pair).variants[1].version)
        flanked.settle()
        assert Configuration({WHOLE: 1, HALF: 2}) == standing(pair).ready
        pair.scale(WEB, "by-owner", 0, expects=None)
        flanked.settle()
        assert Configuration({WHOLE: 1}) == standing(pair).ready == standing(pair).wanted

    def test_on_an_older_version_nothing_is_written(self, pair):
        version = standing(pair).variants[1].version
        pair.scale(WEB, "by-owner", 1, expects=version)
        with pytest.raises(ConflictError):
            pair.scale(WEB, "by-owner", 0, expects=version)
        assert 1 == standing(pair).variants[1].wanted

    def test_its_replicas_are_all_that_is_written_of_it(self, flanked, pair):
        [_, before] = pair.rehearse(rise(1), rise(1).steps)
        assert {**before.before["spec"], "replicas": 1} == before.after["spec"]
        pair.scale(WEB, "by-owner", 1, expects=None)
        flanked.settle()
        [_, after] = pair.rehearse(rise(2), rise(2).steps)
        assert {**before.before["spec"], "replicas": 1} == after.before["spec"]
        for part in ("labels", "annotations", "ownerReferences"):
            assert _ours(before.before, part) == _ours(after.before, part)

    def test_it_is_of_its_workload_and_of_no_other(self, flanked, pair):
        for body in deployment("chat", replicas=0):
            flanked.owner(body)
        with pytest.raises(RefusedError, match="by-owner is no variant of shop/chat"):
            pair.scale(WorkloadKey("shop", "chat"), "by-owner", 1, expects=None)
        with pytest.raises(RefusedError, match="chat is no variant of shop/web"):
            pair.scale(WEB, "chat", 1, expects=None)

    def test_what_scales_it_is_not_fought(self, flanked, pair):
        pair.scale(WEB, "by-owner", 1, expects=None)
        flanked.settle()
        flanked.owner(autoscaler(of="by-owner"))
        flanked.settle()
        seen = standing(with_ways(pair, {WEB: Way.OWN}))
        assert "or take by-owner out of variants" in seen.forbidden

    def test_while_it_is_not_there_the_workload_stands_alone_and_says_so(self, flanked):
        seen = standing(flanked.cluster)
        assert ["web"] == [variant.name for variant in seen.variants]
        assert ("variants: Deployment by-owner does not exist: create it, or take it out",) == seen.left_out


def _ours(body, part):
    """Return what is said of an object; controllers number revisions."""
    said = body["metadata"].get(part)
    return {k: v for k, v in said.items() if "revision" not in k} if isinstance(said, dict) else said
