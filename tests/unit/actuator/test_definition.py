"""What is defined in `deploy/crds` keeps all that is written and nothing else."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from actuator.objects import targets
from actuator.objects.plans import API_VERSION, KIND, plan_of, status_of
from actuator.ports import Advice, StepRecord
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.shape import Configuration, Shape
from fleet.trial import Trial
from fleet.workload import WorkloadKey

WHOLE, HALF = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")
FOLDER = Path(__file__).parents[3] / "deploy/crds"
PLAN, TARGET = (
    yaml.safe_load((FOLDER / f"fraction{name}.yaml").read_text())["spec"] for name in ("plan", "target")
)
TRIALS = (
    Trial(600.0, proven_at_s=1_750_000_000.0),
    Trial().failed("too slow", 1_750_000_000.0),
    Trial().abandoned("it never served", 1_750_000_000.0),
    Trial().without_room("no room", 1_750_000_000.0),
    None,
)
[VERSION], [VERSION_OF_TARGET] = PLAN["versions"], TARGET["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def closed(schema):
    """The schema as the API server takes it: what it does not name is dropped."""
    if "properties" in schema:
        parts = {name: closed(part) for name, part in schema["properties"].items()}
        return {**schema, "properties": parts, "additionalProperties": False}
    return {**schema, "items": closed(schema["items"])} if "items" in schema else schema


def plan(**changes):
    steps = (
        Step(Verb.CREATE_VARIANT, "web-half", HALF, 0, None, "a smaller shape"),
        Step(Verb.SCALE_UP, "web-half", HALF, 2, None, "a peak ahead"),
        Step(Verb.SCALE_DOWN, "web", WHOLE, 0, "17", "no longer needed"),
    )
    start = Configuration({WHOLE: 1})
    change = ChangeSet(WorkloadKey("shop", "web"), start, Configuration({HALF: 2}), steps, 1_750_000_000.0)
    records = [
        StepRecord(state, 1_750_000_000.5, "why", trial=trial)
        for state, trial in zip(StepState, TRIALS, strict=True)
    ]
    return {
        "spec": plan_of(change)["spec"],
        "status": {"leaseTransitions": 3, **status_of(records)},
        **changes,
    }


def test_it_is_served_under_the_names_that_are_written():
    for spec, version, kind in ((PLAN, VERSION, KIND), (TARGET, VERSION_OF_TARGET, targets.KIND)):
        assert (API_VERSION, kind) == (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
        assert {"status": {}} == version["subresources"]


def test_nothing_that_is_written_is_dropped():
    jsonschema.validate(plan(), closed(SCHEMA))
    advice = Advice(Configuration({HALF: 2}), 0.5, 0.75, 0.25, "a peak ahead", 1_750_000_000.0)
    schema = closed(VERSION_OF_TARGET["schema"]["openAPIV3Schema"])
    jsonschema.validate({"status": targets.status_of(advice)}, schema)


@pytest.mark.parametrize("part", ["target", "decidedAt", "start", "goal", "steps"])
def test_a_plan_that_says_less_is_refused(part):
    spec = {key: value for key, value in plan()["spec"].items() if key != part}
    with pytest.raises(jsonschema.ValidationError, match="required"):
        jsonschema.validate(plan(spec=spec), closed(SCHEMA))


def test_words_are_those_of_the_code():
    spec, status = (SCHEMA["properties"][name]["properties"] for name in ("spec", "status"))
    assert [*Verb] == spec["steps"]["items"]["properties"]["verb"]["enum"]
    assert [*StepState] == status["steps"]["items"]["properties"]["state"]["enum"]
