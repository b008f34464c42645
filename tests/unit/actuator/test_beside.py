"""Deployments that owners made beside a workload's own: read as its own is, never as copies of ours."""

from dataclasses import replace

import pytest

from actuator.objects.beside import Beside
from actuator.objects.plans import plan_of
from actuator.objects.readers import Readers
from actuator.objects.snapshot import fleet_of
from actuator.ways import as_acted_on, as_made
from fleet.boards import H100_80GB
from fleet.cards import CardShares
from fleet.change import ChangeSet, Step, Verb
from fleet.restraints import DisruptionBudget
from fleet.shape import Configuration, Shape
from fleet.workload import Mode, Way
from tests.fakes.manifests import claim, claim_spec, deployment, pod, request, template
from tests.unit.actuator.test_snapshot import COPY, LARGE, LLAMA, SMALL, snapshot

SEVENTH = template("mig-1g", claim_spec(request(profile="1g.10gb")))


def small(name="small", replicas=0, **meta):
    return deployment(name, "mig-1g", replicas, **meta)


def seen(*deployments, names=("small",), readers=None, base=None, **parts):
    """The fleet with Deployment `llama` on 3g.40gb, and these of which settings name some."""
    held = {"templates": [template("mig-3g"), SEVENTH], "deployments": [base or deployment(), *deployments]}
    return fleet_of(
        snapshot(**{**held, **parts}), [LLAMA], readers or Readers(), "", Beside({LLAMA: tuple(names)})
    )


def standing(*deployments, **more):
    [found] = seen(*deployments, **more).standings
    return found


def autoscaler(of):
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": of}
    return {
        "metadata": {"name": "by-load", "namespace": "llm"},
        "spec": {"scaleTargetRef": reference, "minReplicas": 1, "maxReplicas": 4},
    }


def managed_by(manager, operation="Apply"):
    fields = {"f:spec": {"f:replicas": {}}}
    time = "2026-01-01T00:10:00Z"
    return {"managedFields": [{"manager": manager, "operation": operation, "time": time, "fieldsV1": fields}]}


class TestHowItStands:
    def test_it_stands_between_the_workloads_own_and_copies(self):
        found = standing(COPY, small(replicas=2), names=("small",))

        assert [
            ("llama", LARGE, 1, True, False, False),
            ("small", SMALL, 2, False, True, False),
            ("llama-copy", LARGE, 1, False, False, True),
        ] == [(v.name, v.shape, v.wanted, v.is_base, v.is_beside, v.is_copy) for v in found.variants]

    def test_its_pods_are_those_of_its_selector_and_count_among_the_workloads(self):
        pods = [pod("a"), pod("b", app="small"), pod("c", app="other")]
        claims = [claim("a-gpus", "gpu-0-mig-3g40gb-9-4"), claim("b-gpus", "gpu-1-mig-1g10gb-19-0")]
        found = standing(small(replicas=1), pods=pods, claims=claims)

        assert [["a"], ["b"]] == [[replica.pod for replica in v.replicas] for v in found.variants]
        assert Configuration({LARGE: 1, SMALL: 1}) == found.ready

    def test_no_copies_are_made_of_a_workload_whose_owner_made_other_shapes(self):
        assert standing(small(), names=()).may_have_variants
        assert not standing(small()).may_have_variants

    def test_its_pods_gather_with_no_copies(self):
        found = standing(small(), COPY)
        assert [False, False, True] == [
            found.pods(shape).gathers for shape in (LARGE, SMALL, Shape("h100-80gb"))
        ]

    def test_without_a_name_in_the_settings_it_is_none_of_ours(self):
        assert ["llama"] == [v.name for v in standing(small(), names=()).variants]

    def test_two_stand_in_the_order_of_the_settings(self):
        found = standing(small("a"), small("b"), names=("b", "a"))
        assert ["llama", "b", "a"] == [variant.name for variant in found.variants]


def stateful(name="small"):
    return {**small(name), "kind": "StatefulSet"}


LEFT_OUT = {
    "it is not there": ([], ("small",), "Deployment small does not exist: create it, or take it out"),
    "it is no Deployment": ([stateful()], ("small",), "StatefulSet small is no Deployment: take it out"),
    "it asks for no GPU": (
        [deployment("small", "nothing")],
        ("small",),
        "Deployment small: exactly one claim template must ask for a GPU, found 0",
    ),
    "it is a copy of ours": (
        [COPY],
        ("llama-copy",),
        "Deployment llama-copy is a copy that foreslice keeps: take it out",
    ),
}


@pytest.mark.parametrize(("deployments", "names", "line"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_cannot_be_used_is_left_out_and_named_and_the_rest_goes_on(deployments, names, line):
    found = standing(*deployments, small("good", replicas=3), names=(*names, "good"))

    assert (f"variants: {line}",) == found.left_out
    assert [("llama", 1), ("good", 3)] == [(v.name, v.wanted) for v in found.variants if not v.is_copy]


def test_beside_what_is_no_deployment_there_is_nothing():
    found = standing(small(), base={**deployment(), "kind": "StatefulSet"})
    assert (
        "variants: small is left out: only a Deployment has others beside it, and StatefulSet llama is none",
    ) == found.left_out


def selecting(name, **labels):
    body = small(name)
    body["spec"]["selector"]["matchLabels"] = labels
    return body


@pytest.mark.parametrize(
    ("other", "names", "who"),
    [
        (selecting("small", team="search"), ("small",), ("small", "llama")),
        (selecting("other", app="small"), ("small", "other"), ("other", "small")),
    ],
    ids=["the workload's own", "another beside it"],
)
def test_where_pods_of_two_cannot_be_told_apart_the_workload_is_refused(other, names, who):
    held = {"small": small(), other["metadata"]["name"]: other}
    found = seen(*held.values(), names=names)
    one, two = who
    assert {
        LLAMA: f"variants: the selector of Deployment {one} picks pods of Deployment {two}: "
        "give the pods of each a label of its own, and name it in its selector"
    } == found.refused


class TestRestraints:
    """What an owner asks for on any of his Deployments holds for the workload."""

    @pytest.mark.parametrize("where", ["llama", "small"])
    def test_annotations_of_either(self, where):
        said = {
            "annotations": {
                "foreslice.dev/mode": "advise",
                "foreslice.dev/hold-until": "2026-01-01T00:00:00Z",
                "foreslice.dev/changes-per-day": "2",
            }
        }
        found = standing(
            small(**(said if where == "small" else {})),
            base=deployment(**(said if where == "llama" else {})),
        )
        assert (Mode.ADVISE, 1767225600.0, 2) == (
            found.permits,
            found.held_until_s,
            found.changes_per_day,
        )

    def test_the_stricter_of_two_counts(self):
        said = ({"foreslice.dev/changes-per-day": each} for each in ("3", "1"))
        base, other = (make(annotations=each) for make, each in zip((deployment, small), said, strict=True))
        assert 1 == standing(other, base=base).changes_per_day

    def test_a_budget_of_its_pods(self):
        budget = {
            "metadata": {"name": "calm", "namespace": "llm"},
            "spec": {"selector": {"matchLabels": {"app": "small"}}},
            "status": {"disruptionsAllowed": 1},
        }
        assert (DisruptionBudget("calm", 1),) == standing(small(), budgets=[budget]).budgets
        assert () == standing(small(), budgets=[budget], names=()).budgets

    def test_an_autoscaler_of_it_is_not_fought(self):
        found = as_acted_on(standing(small(), autoscalers=[autoscaler("small")]), Way.OWN)
        assert () == found.scalers
        assert (
            "spec.replicas is kept by HorizontalPodAutoscaler by-load (sets 1 to 4 replicas, of Deployment "
            "small): delete the HorizontalPodAutoscaler, or take small out of variants"
        ) == found.forbidden

    def test_nor_is_who_applies_its_replicas(self):
        found = as_acted_on(standing(small(**managed_by("argocd-controller"))), Way.OWN)
        assert (
            "spec.replicas is kept by argocd-controller (applies spec.replicas, of Deployment small): take "
            "spec.replicas out of what argocd-controller applies"
        ) == found.forbidden

    def test_what_a_person_wrote_on_it_is_by_hand(self):
        found = standing(small(**managed_by("kubectl", "Update")))
        assert 1767226200.0 == found.written_by_hand_at_s
        assert standing(small()).written_by_hand_at_s is None

    def test_nothing_is_written_where_its_shares_are_none_that_the_mechanism_makes(self):
        found = standing(small())
        variants = (found.own, replace(found.variants[1], shape=Shape("h100-80gb", "50/100")))
        made = replace(found, variants=variants)
        assert "its pods have shares of cards" in as_made(made, "dra").forbidden
        assert "" == as_made(made, "dra-shares").forbidden


CHANGES = {
    "it comes": ([], [small()]),
    "it goes": ([small()], []),
    "it is asked for more": ([small()], [small(replicas=2)]),
    "it becomes something else": ([], [stateful()]),
}


@pytest.mark.parametrize(("was", "now"), CHANGES.values(), ids=CHANGES)
def test_whatever_becomes_of_it_is_seen_by_readers_that_saw_what_was_before(was, now):
    readers = Readers()
    before, after = (seen(*held, readers=readers) for held in (was, now))
    assert before.standings != after.standings
    assert seen(*now) == after


class TestItsPast:
    def test_what_its_owner_ran_before_foreslice_came_is_proven(self):
        """It was emptied since, and a plan has added to it again; what first came with a plan is tried."""
        added = Step(Verb.SCALE_UP, "small", SMALL, 1, None, "why")
        for start, is_proven in ({LARGE: 1, SMALL: 2}, True), ({LARGE: 1}, False):
            body = plan_of(ChangeSet(LLAMA, Configuration(start), Configuration({SMALL: 1}), (added,), 1.0))
            found = standing(small(replicas=1), pods=[pod("b", app="small")], plans=[body])
            assert is_proven == found.is_proven(SMALL)

    def test_what_stood_on_it_is_safe_on_it_and_the_rest_on_the_workloads_own(self):
        found = standing(small())
        stood = replace(found, before=Configuration({LARGE: 2, SMALL: 3, Shape("h100-80gb"): 1}))
        cards = CardShares([H100_80GB])
        assert Configuration({LARGE: 4, SMALL: 3}) == cards.safe(stood)
        assert Configuration({LARGE: 5}) == cards.safe(replace(stood, variants=(found.own,)))


def test_one_whose_pods_share_a_claim_is_left_out_as_soon_as_the_claim_is_seen_to_be_for_a_gpu():
    body, readers = small(), Readers()
    body["spec"]["template"]["spec"]["resourceClaims"].append({"name": "too", "resourceClaimName": "of-all"})
    found = [seen(body, readers=readers, claims=claims).standings[0] for claims in ([], [claim("of-all")])]
    assert [2, 1] == [len(one.variants) for one in found]
    [line] = found[1].left_out
    assert line.startswith("variants: Deployment small: its pods share claim of-all: more replicas are more")
