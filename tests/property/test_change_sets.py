"""Change sets for any fleet and any goal: what they are made of, and that writing them down loses nothing."""

import json
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from actuator.diff import diff
from actuator.manifest import dns_label, seconds_of, timestamp_of
from actuator.objects.plans import plan_of, record_of, status_of
from actuator.ports import StepRecord
from fleet.change import ChangeSet, Lane, Step, StepState, Verb
from fleet.cluster import Fleet, Standing, Variant
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey

KEY = WorkloadKey("llm", "llama")
SHAPES = [
    Shape("h100-80gb"),
    Shape("h100-80gb", "3g.40gb"),
    Shape("h100-80gb", "1g.10gb"),
    Shape("a100-80gb", "1g.10gb"),
]


@dataclass(frozen=True)
class Goal:
    workload: WorkloadKey
    goal: Configuration
    because: tuple[str, ...] = ("peak ahead",)


def fleet(variants):
    return Fleet("1", (), (), (), (Standing(KEY, tuple(variants)),))


def variants_of(held):
    return [
        Variant(KEY.name if i == 0 else f"copy-{i}", shape, wanted, f"v{i}", i == 0)
        for i, (shape, wanted) in enumerate(held)
    ]


def applied(variants, change):
    """The Deployments after every step."""
    held = {v.name: v for v in variants}
    for step in change.steps:
        held[step.variant] = Variant(
            step.variant, step.shape, step.replicas, "new", is_base=step.variant == KEY.name
        )
    return sorted(held.values(), key=lambda v: (not v.is_base, v.name))


deployments = st.lists(st.tuples(st.sampled_from(SHAPES), st.integers(0, 6)), min_size=1, max_size=5).map(
    variants_of
)
goals = st.dictionaries(st.sampled_from(SHAPES), st.integers(0, 6)).map(lambda g: Goal(KEY, Configuration(g)))


@given(deployments, goals)
def test_the_diff_of_an_applied_diff_is_empty(variants, target):
    [change] = diff(fleet(variants), [target], 0.0)

    after = applied(variants, change)

    assert target.goal == fleet(after).standing(KEY).wanted
    assert () == diff(fleet(after), [target], 0.0)[0].steps


@given(deployments, st.data(), goals)
def test_of_one_shape_what_an_owner_made_is_added_to_and_copies_are_taken_from_first(held, data, target):
    own, *others = held
    kinds = [data.draw(st.booleans()) for _ in others]
    others = [replace(v, is_beside=is_beside) for v, is_beside in zip(others, kinds, strict=True)]
    variants = [own, *sorted(others, key=lambda v: not v.is_beside)]
    [change] = diff(fleet(variants), [target], 0.0)

    left = {v.name: v.wanted for v in variants} | {step.variant: step.replicas for step in change.steps}
    copies = [v for v in variants if v.is_copy]
    for owned in (v for v in variants if not v.is_copy):
        same = [copy for copy in copies if copy.shape == owned.shape]
        assert all(left[copy.name] <= copy.wanted for copy in same)
        assert left[owned.name] >= owned.wanted or not any(left[copy.name] for copy in same)


@given(deployments, goals)
def test_additions_come_first_each_missing_copy_right_before_its_replicas(variants, target):
    [change] = diff(fleet(variants), [target], 0.0)

    lanes = [step.lane for step in change.steps]
    assert sorted(lanes, key=[Lane.ADD, Lane.MOVE].index) == lanes
    for step, following in zip(change.steps, [*change.steps[1:], None], strict=False):
        if step.verb is Verb.CREATE_VARIANT:
            assert (Verb.SCALE_UP, step.variant) == (following.verb, following.variant)


@given(deployments, goals)
def test_no_deployment_is_written_twice_nor_in_both_directions(variants, target):
    [change] = diff(fleet(variants), [target], 0.0)

    scaled = [step.variant for step in change.steps if step.verb is not Verb.CREATE_VARIANT]
    assert len(scaled) == len(set(scaled))
    for before in variants:
        for step in change.steps:
            if step.variant == before.name:
                assert (step.verb is Verb.SCALE_UP) == (step.replicas > before.wanted)


@given(deployments, goals)
def test_a_step_on_what_exists_carries_its_version(variants, target):
    [change] = diff(fleet(variants), [target], 0.0)

    versions = {v.name: v.version for v in variants}
    assert all(versions.get(step.variant) == step.expects for step in change.steps)


names = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=20)
shapes = st.builds(Shape, st.sampled_from(["h100-80gb", "a30-24gb"]), st.sampled_from(["whole", "1g.10gb"]))
configurations = st.dictionaries(shapes, st.integers(0, 64), max_size=4).map(Configuration)
some_steps = st.builds(
    Step, st.sampled_from(Verb), names, shapes, st.integers(0, 64), st.none() | names, st.text(max_size=60)
)
times = st.integers(0, 4_000_000_000_000).map(lambda milliseconds: milliseconds / 1000)
changes = st.builds(
    ChangeSet,
    st.builds(WorkloadKey, names, names),
    configurations,
    configurations,
    st.lists(some_steps, max_size=6).map(tuple),
    times,
)


@given(changes, st.data())
def test_any_plan_survives_being_written_as_json_and_read_back(change_set, data):
    count = len(change_set.steps)
    step_records = st.builds(StepRecord, st.sampled_from(StepState), times, st.text(max_size=40))
    steps = tuple(data.draw(st.lists(step_records, min_size=count, max_size=count)))
    body = {**plan_of(change_set), "status": status_of(steps)}

    kept = record_of(json.loads(json.dumps(body)))

    assert change_set == kept.change
    assert steps == kept.steps
    assert change_set.name == kept.change.name


@given(times)
def test_a_time_in_milliseconds_survives_being_written(at_s):
    assert at_s == seconds_of(timestamp_of(at_s))


has_a_letter = st.text(alphabet="abcABC019.-+_ ", min_size=1, max_size=200).filter(
    lambda text: any(c.isalnum() for c in text)
)


@given(has_a_letter)
def test_a_dns_label_is_valid_whatever_it_is_made_from(text):
    name = dns_label(text)

    assert 63 >= len(name) > 0
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert name[0] != "-" != name[-1]
