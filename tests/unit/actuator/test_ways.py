"""How a workload is acted on: which object is written, and why not where another one keeps the field."""

from dataclasses import replace

import pytest

from actuator.execute import MANUAL_HOLD_S, Executor
from actuator.gate import refusal
from actuator.outcome import Outcome
from actuator.ports import Rewrite
from actuator.ways import as_acted_on, as_described, as_made, as_reshaped, with_ways
from fleet.change import ChangeSet, Step, Verb
from fleet.errors import RefusedError
from fleet.shape import Configuration, Shape
from fleet.workload import Way
from fleet.writers import Scaler, Writer
from tests.builders.engines import workload
from tests.builders.execution import LARGE, LLAMA, SMALL, Process, goal, llama, standing, terms
from tests.fakes.cluster import FakeCluster

HPA = Scaler("HorizontalPodAutoscaler", "llama", 1, 8, "7")
KEDA = Scaler("ScaledObject", "by-queue", 0, 9, "8")
ARGO = Writer("argocd-controller", "applies spec.replicas", is_of_replicas=True, fix="take it out")
HELM = Writer("helm", "has written spec.replicas", is_of_replicas=True, is_lasting=False)
FLUX = Writer("Flux", "applies it", is_of_replicas=False)
FLOOR_OR = "set `way: floor` for the workload, or delete the HorizontalPodAutoscaler"


@pytest.mark.parametrize(
    ("shape", "mechanism", "is_forbidden"),
    [
        ("25/100", "dra", True),
        ("25/100", "device-plugin", True),
        ("25/100", "dra-shares", False),
        ("25/100", "time-slicing", False),
        ("25/100", None, False),
        ("whole", "dra", False),
    ],
)
def test_nothing_is_written_for_shares_that_the_mechanism_does_not_make(shape, mechanism, is_forbidden):
    """They carry nothing by its reckoning, so that others would be added in their place."""
    made = standing(llama())
    made = replace(made, variants=(replace(made.own, shape=Shape("h100-80gb", shape)),))
    assert is_forbidden == ("mechanism` to dra-shares or time-slicing" in as_made(made, mechanism).forbidden)


@pytest.mark.parametrize(
    ("expected", "way", "scalers", "writers"),
    [
        ("", Way.OWN, (), ()),
        ("", Way.OWN, (), (HELM, FLUX)),
        (
            f"spec.replicas is kept by HorizontalPodAutoscaler llama (sets 1 to 8 replicas): {FLOOR_OR}",
            Way.OWN,
            (HPA,),
            (),
        ),
        (
            "spec.replicas is kept by argocd-controller (applies spec.replicas): take it out",
            Way.OWN,
            (),
            (FLUX, ARGO),
        ),
        (
            (
                "spec.replicas is kept by HorizontalPodAutoscaler llama (sets 1 to 8 replicas) "
                f"and argocd-controller (applies spec.replicas): {FLOOR_OR}"
            ),
            Way.OWN,
            (HPA,),
            (ARGO,),
        ),
        ("", Way.FLOOR, (HPA,), (HELM,)),
        (
            "spec.replicas is kept by argocd-controller (applies spec.replicas): take it out",
            Way.FLOOR,
            (HPA,),
            (ARGO,),
        ),
        (
            (
                "`way: floor`, and nothing scales it: create a HorizontalPodAutoscaler or ScaledObject, "
                "or set `way: own`"
            ),
            Way.FLOOR,
            (),
            (),
        ),
        (
            (
                "spec.replicas is kept by ScaledObject by-queue and HorizontalPodAutoscaler llama: "
                "delete one of them"
            ),
            Way.FLOOR,
            (KEDA, HPA),
            (),
        ),
        ("`way: publish` changes nothing, it says where it should be", Way.PUBLISH, (HPA,), (ARGO,)),
    ],
)
def test_what_another_one_keeps_is_not_written_and_its_owner_is_told_what_to_change(
    expected, way, scalers, writers
):
    seen = as_acted_on(replace(standing(llama()), scalers=scalers, writers=writers), way)
    assert expected == seen.forbidden
    step = Step(Verb.SCALE_UP, "llama", LARGE, 3, None, "a peak ahead")
    assert (expected or None) == refusal(seen, step, terms())


def test_what_is_wanted_is_the_floor_and_what_runs_above_it_is_asked_for_by_another():
    own = as_acted_on(replace(standing(llama(5)), scalers=(HPA,)), Way.FLOOR).own
    assert (1, 5, 5, "7") == (own.wanted, own.told, own.ready, own.version)


class Scaled:
    """A cluster whose workload is scaled between bounds; notes floors that are set."""

    def __init__(self, cluster):
        self._cluster = cluster
        self.scaler = HPA
        self.floors = []

    def __getattr__(self, verb):
        return getattr(self._cluster, verb)

    def view(self, workloads):
        fleet = self._cluster.view(workloads)
        return replace(fleet, standings=tuple(replace(s, scalers=(self.scaler,)) for s in fleet.standings))

    def set_floor(self, workload, replicas, *, expects):
        assert expects == self.scaler.version
        self.floors.append(replicas)
        self.scaler = replace(self.scaler, floor=replicas, version=str(int(self.scaler.version) + 1))


def test_a_floor_is_moved_in_place_of_replicas():
    cluster = Scaled(llama(2))
    process = Process(with_ways(cluster, {LLAMA: Way.FLOOR}))
    up, down = (process.tick(goal({LARGE: n})) for n in (4, 2))
    assert (["scale-up"], ["scale-down"]) == tuple([verb for verb, _, _ in each] for each in (up, down))
    assert {Outcome.DONE} == {outcome for _, outcome, _ in (*up, *down)}
    assert ([4, 2], []) == (cluster.floors, cluster.scaled)


def test_a_floor_that_falls_is_judged_as_if_all_above_it_went_at_once():
    cluster = Scaled(llama(5))
    cluster.scaler = replace(HPA, floor=4)
    process = Process(with_ways(cluster, {LLAMA: Way.FLOOR}))
    [(_, outcome, why)] = process.tick(goal({LARGE: 2}), held=terms(1.0))
    assert (Outcome.HELD, []) == (outcome, cluster.floors)
    assert "2 x 3g.40gb would be ready and carry 0.90, 1.00 must stay" == why


def test_a_floor_has_no_copies():
    cluster = with_ways(Scaled(llama()), {LLAMA: Way.FLOOR})
    with pytest.raises(RefusedError, match="counts their pods as its own"):
        cluster.create_variant(LLAMA, "llama-small", SMALL)


def test_what_a_person_set_is_not_taken_away_for_half_an_hour_but_added_to():
    cluster = llama(4)
    seen = cluster.view

    def by_hand(workloads):
        fleet = seen(workloads)
        hands = tuple(replace(s, written_by_hand_at_s=100.0) for s in fleet.standings)
        return replace(fleet, standings=hands)

    cluster.view = by_hand
    process = Process(cluster)
    process.at_s = 700.0
    assert [Outcome.DONE] == [outcome for _, outcome, _ in process.tick(goal({LARGE: 5}))]
    [(_, outcome, why)] = process.tick(goal({LARGE: 2}))
    assert (Outcome.HELD, "replicas were set by hand 10 min ago, and stay for 30 min") == (outcome, why)
    process.at_s = 100.0 + MANUAL_HOLD_S
    assert [Outcome.DONE] == [outcome for _, outcome, _ in process.tick(goal({LARGE: 2}))]


def test_ways_change_nothing_of_a_workload_that_is_our_own():
    cluster = llama()
    assert standing(cluster) == standing(with_ways(cluster, {LLAMA: Way.OWN}))
    assert Executor(with_ways(cluster, {})).run([], {}, 0.0) == ()


class Written:
    """A cluster with one or more scalers that notes what is asked of it, and rehearses what it is told."""

    def __init__(self, *scalers):
        self.cluster = llama()
        self.scalers, self.asked, self.found = scalers, [], ()

    def __getattr__(self, verb):
        def noted(*args, **named):
            self.asked.append((verb, *args, *named.values()))
            return self.found

        return noted

    def view(self, workloads):
        fleet = self.cluster.view(workloads)
        return replace(fleet, standings=tuple(replace(s, scalers=self.scalers) for s in fleet.standings))


@pytest.mark.parametrize(
    ("way", "variant", "verb"),
    [
        (Way.OWN, "llama", "scale"),
        (None, "llama", "scale"),
        (Way.FLOOR, "llama", "set_floor"),
        (Way.FLOOR, "llama-small", "scale"),
    ],
)
def test_what_is_asked_for_is_written_on_the_version_that_was_seen(way, variant, verb):
    cluster = Written(HPA)
    with_ways(cluster, {LLAMA: way} if way else {}).scale(LLAMA, variant, 3, expects="7")
    named = (variant,) if verb == "scale" else ()
    assert [(verb, LLAMA, *named, 3, "7")] == cluster.asked


@pytest.mark.parametrize("ways", [{LLAMA: Way.OWN}, {}], ids=["said", "by default"])
def test_copies_of_our_own_are_made_as_they_are_asked_for(ways):
    cluster = Written()
    with_ways(cluster, ways).create_variant(LLAMA, "llama-small", SMALL)
    assert [("create_variant", LLAMA, "llama-small", SMALL)] == cluster.asked


@pytest.mark.parametrize(
    ("way", "scalers", "floors"),
    [
        (Way.FLOOR, (HPA,), [4]),
        (Way.FLOOR, (), None),
        (Way.FLOOR, (HPA, KEDA), None),
        (Way.OWN, (HPA,), None),
    ],
    ids=["floor", "nothing scales it", "two scale it", "our own"],
)
def test_a_rehearsal_shows_the_floor_in_place_of_the_replicas(way, scalers, floors):
    """Of a copy, and where there is no one floor, what would be written is what the cluster says."""
    cluster = Written(*scalers)
    web, copy = (
        Rewrite(None, {"kind": "Deployment", "metadata": {"name": name}}) for name in ("llama", "copy")
    )
    cluster.found = (web, copy)
    steps = tuple(
        Step(Verb.SCALE_UP, *made, None, "why") for made in (("llama", LARGE, 4), ("copy", SMALL, 2))
    )
    change = ChangeSet(LLAMA, Configuration({LARGE: 2}), Configuration({LARGE: 4}), steps, 0.0)

    shown = with_ways(cluster, {LLAMA: way}).rehearse(change, steps)

    assert [("rehearse", change, steps)] == cluster.asked
    if floors is None:
        assert (web, copy) == shown
        return
    kept, *floored = shown
    written = [(each.after["metadata"]["name"], each.after["spec"]["minReplicas"]) for each in floored]
    assert (copy, [("llama", floor) for floor in floors]) == (kept, *[written])
    assert ["HorizontalPodAutoscaler"] == [each.after["kind"] for each in floored]
    assert {"llm"} == {each.after["metadata"]["namespace"] for each in floored}


def test_workloads_are_acted_on_as_their_settings_describe_them():
    cluster = Written()
    described = workload("llama", namespace="llm")
    assert "" == standing(as_described(cluster, [described])).forbidden
    published = as_described(cluster, iter([replace(described, way=Way.PUBLISH)]))
    assert "`way: publish` changes nothing" in standing(published).forbidden
    share = Shape("h100-80gb", "25/100")
    cluster.cluster = FakeCluster().add(LLAMA, share, 1)
    seen = [
        standing(as_described(cluster, [replace(described, mechanism=mechanism)])).forbidden
        for mechanism in ("dra", "dra-shares")
    ]
    assert [True, False] == ["makes none" in why for why in seen]


def test_a_view_that_did_not_change_is_made_once():
    cluster = Written(HPA)
    fleet = cluster.view([LLAMA])
    cluster.view = lambda _: fleet
    seen = with_ways(cluster, {LLAMA: Way.FLOOR})
    assert seen.view([LLAMA]) is seen.view([LLAMA])


def test_of_a_workload_that_is_switched_no_copies_are_made():
    cluster = with_ways(llama(), {}, switching=[LLAMA])
    assert (True, False) == (standing(cluster).switches, standing(cluster).may_have_variants)
    assert (False, True) == (standing(llama()).switches, standing(llama()).may_have_variants)
    with pytest.raises(RefusedError, match="gets no copies: `reshape: switch` changes itself"):
        cluster.create_variant(LLAMA, "llama-1g", SMALL)


@pytest.mark.parametrize("replicas", [0, 1])
def test_while_copies_of_before_stand_it_is_not_switched(replicas):
    made = llama()
    made.create_variant(LLAMA, "llama-1g", SMALL)
    made.scale(LLAMA, "llama-1g", replicas, expects=None)
    seen = standing(with_ways(made, {}, switching=[LLAMA]))
    assert (not replicas, False) == (seen.switches, seen.may_have_variants)


@pytest.mark.parametrize(("shape", "is_on_its_way"), [(SMALL, False), (LARGE, True)])
def test_a_switch_that_is_not_written_yet_is_decided_on_anew(shape, is_on_its_way):
    seen = as_reshaped(replace(standing(llama()), moving_to=Configuration({shape: 2})))
    assert is_on_its_way == (seen.moving_to is not None)
