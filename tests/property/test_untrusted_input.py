"""What others write into objects, series and requests: it is read or refused, and never lets us do more."""

from dataclasses import replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from actuator.gate import Terms, refusal
from actuator.objects.readers import Readers
from actuator.objects.restraints import APPROVED, HELD_UNTIL, MODE, PAUSED, approval, held_until_s, permitted
from actuator.objects.snapshot import Snapshot, fleet_of
from fleet.boards import H100_80GB
from fleet.change import Step, Verb
from fleet.demand import Mix
from fleet.restraints import Approval
from fleet.workload import Mode, Router, WorkloadKey
from foreslice.entrance import Entrance
from foreslice.outlook import Outlook
from foreslice.telemetry import Telemetry
from foreslice.tick import Tick
from simulator.driver import resource_slices
from tests.builders.deciding import offers
from tests.builders.fleet import fleet, running, shape, standing
from tests.contract.test_cluster_contract import deployment

ANY = st.text(max_size=60)
TIMES = st.sampled_from(["2026-12-01T12:00:00Z", "2026-12-01T12:00", "never"])
GOALS = ANY | st.builds("{} until {}".format, ANY, ANY | TIMES)
MEANT = st.sampled_from(["full", "Full", "scale-up-only", "advise", "false", "true", "0"])
OURS = st.dictionaries(st.sampled_from([MODE, PAUSED, HELD_UNTIL, APPROVED]), ANY | MEANT | TIMES | GOALS)
ANYTHING = st.dictionaries(ANY, ANY, max_size=4)
SECRET = "correct-horse-battery-staple"  # noqa: S105  that it shows nowhere is what is asked
WEB = WorkloadKey("shop", "web")


def annotated(annotations):
    return {"metadata": {"namespace": "shop", "name": "web", "annotations": annotations}}


@given(OURS)
def test_whatever_annotations_say_is_read_and_never_more_than_the_mode_of_the_settings(annotations):
    body = annotated(annotations)
    seen = replace(
        running(fleet(1), standing("chat", "1 x whole")).standings[0],
        permits=permitted(body),
        held_until_s=held_until_s(body),
        approval=approval(body),
    )
    step = Step(Verb.SCALE_UP, "chat", shape("whole"), 2, "1", "why")
    for mode in (Mode.OFF, Mode.FORECAST_ONLY, Mode.ADVISE):
        terms = Terms(mode, Router.EQUAL, 0, {}, 0.0, goal="2 x a goal that nobody has agreed to")
        assert refusal(seen, step, terms) is not None


@given(GOALS)
def test_what_is_agreed_to_is_that_text_and_nothing_else(text):
    agreed = approval(annotated({APPROVED: text}))
    assert agreed is None or agreed == Approval(text.partition(" until ")[0].strip(), agreed.until_s)
    assert agreed is None or agreed.until_s == inf or " until " in text


@settings(max_examples=50)
@given(ANYTHING, ANYTHING, ANYTHING)
def test_any_labels_and_annotations_are_read_and_no_secret_is_taken_along(labels, on_deployment, on_pods):
    """Decisions, plans, snapshots, logs and Events are made of what is asked for here, and nothing else."""
    template, body = deployment("web", replicas=1)
    body["metadata"] |= {"annotations": {**on_deployment, "token": SECRET}, "labels": labels}
    pods = body["spec"]["template"]
    pods["metadata"] |= {"annotations": {**on_pods, "token": SECRET}}
    pods["metadata"]["labels"] = {**labels, **pods["metadata"]["labels"]}
    pods["spec"]["containers"][0] |= {
        "env": [{"name": "TOKEN", "value": SECRET}],
        "args": [f"--key={SECRET}"],
    }
    pod = {"metadata": {"namespace": "shop", "name": "web-0", **pods["metadata"]}, "spec": pods["spec"]}
    pod["metadata"]["creationTimestamp"] = "2026-12-01T00:00:00Z"
    snapshot = Snapshot(
        version="1",
        slices=[
            body | {"metadata": {"name": f"n0-{number}", "resourceVersion": "1"}}
            for number, body in enumerate(resource_slices("n0", [H100_80GB]))
        ],
        claims=[],
        deployments=[body | {"metadata": {**body["metadata"], "uid": "u", "resourceVersion": "1"}}],
        templates=[template],
        pods=[pod],
        plans=[],
        budgets=[],
    )

    seen = fleet_of(snapshot, (WEB,), Readers())
    assert ["web-0"] == [replica.pod for replica in seen.standing(WEB).variants[0].replicas]
    assert SECRET not in repr(seen)


@given(ANY, ANY)
def test_any_name_of_a_node_or_a_workload_is_exported_as_one_label_that_reads_back(node, name):
    seen = running(fleet(1), standing("chat", "1 x whole"))
    gpus = tuple(replace(gpu, node=node) for gpu in seen.gpus)
    chat = WorkloadKey("shop", name)
    outlook = Outlook(100.0, None, "", np.zeros(60), Mix(1000, 200), offers())
    telemetry = Telemetry()
    telemetry.observe(Tick(140.0, replace(seen, gpus=gpus), {chat: outlook}))

    text = generate_latest(telemetry.registry).decode()
    found = {
        (family.name, sample.labels.get("node"), sample.labels.get("workload"))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert ("foreslice_forecast_age_seconds", None, name) in found
    assert {("foreslice_gpu_tenants", node, None)} == {one for one in found if one[0].endswith("tenants")}
    assert {None, "chat", name} == {one[2] for one in found}


@given(ANY)
def test_no_header_but_the_token_lets_in(header):
    with TemporaryDirectory() as folder:
        token = Path(folder, "token")
        token.write_text(SECRET)
        assert not Entrance(token_file=token).lets_in(header)
        assert Entrance(token_file=token).lets_in(f"Bearer {SECRET}")
