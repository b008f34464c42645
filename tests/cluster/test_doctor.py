"""`foreslice doctor` on a real control plane: what it corrects is accepted, what it finds is so."""

import pytest

from fleet.boards import H100_80GB
from fleet.errors import RefusedError
from foreslice.doctor.cluster import diagnose
from foreslice.doctor.examine import examine
from foreslice.doctor.features import State, found_in
from simulator.api import CLAIM_TEMPLATE, POD, Kind
from tests.cluster.conftest import MINORS
from tests.cluster.lab import LABEL, until
from tests.unit.foreslice.doctor.test_manifests import pasted

DAEMON_SET = Kind("apps/v1", "DaemonSet", "daemonsets")
DYNAMIC_MIG = [m for m in MINORS if m not in {"1.34", "1.35"}]

# kube_features.go of each minor; what has no gate in the cluster cannot be known from its API server.
MISSING = {
    "1.34": {5004, 5055, 5075, 4815, 5729, 4680, 5517},
    "1.35": {5004, 5055, 5075, 4815, 5729, 4680, 5517},
    "1.36": {5055, 5729, 5517},
    "1.37": {5729, 5517},
}


def put_right(name):
    return examine(pasted(name)).corrected


def test_every_ability_is_found_as_the_minor_has_it(plane, server):
    found = found_in(server, "default")

    assert MISSING[plane.minor] == {each.feature.kep for each in found if each.state is State.MISSING}
    assert {5304} == {each.feature.kep for each in found if each.state is State.UNKNOWN}


def test_corrected_templates_are_taken_as_strictly_as_the_server_can(lab):
    for name in ("attribute-template.yaml", "mig-template.yaml"):
        (body,) = put_right(name)
        lab.create(CLAIM_TEMPLATE, body["metadata"]["name"], spec=body["spec"])


def test_as_they_were_pasted_the_server_refuses_them(lab):
    for name in ("attribute-template.yaml", "mig-template.yaml"):
        (body,) = pasted(name)
        with pytest.raises(RefusedError, match=r"unknown field"):
            lab.create(CLAIM_TEMPLATE, body["metadata"]["name"], spec=body["spec"])


@pytest.mark.parametrize("plane", DYNAMIC_MIG, indirect=True)
def test_a_corrected_slice_is_scheduled(lab):
    lab.node(H100_80GB)
    (body,) = put_right("mig-template.yaml")
    lab.create(CLAIM_TEMPLATE, "t", spec=body["spec"])
    lab.pod("p", template="t")

    until(lambda: lab.is_bound("p"))
    assert "1g10gb" in lab.devices("p")


def test_the_corrected_pod_of_a_large_model_is_scheduled_onto_four_cards(lab):
    lab.node(*[H100_80GB] * 4)
    template, pod = put_right("vllm-70b-pod.yaml")
    lab.create(CLAIM_TEMPLATE, template["metadata"]["name"], spec=template["spec"])
    spec = {**pod["spec"], "nodeSelector": {LABEL: lab.name}}
    lab.create(POD, pod["metadata"]["name"], spec=spec)

    until(lambda: lab.is_bound("llm-inference"))
    assert 4 == len(lab.devices("llm-inference"))


def test_a_corrected_pod_of_hami_is_taken(lab):
    _, pod = put_right("hami.yaml")
    made = lab.create(POD, pod["metadata"]["name"], spec=pod["spec"])

    assert "8k" == made["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpumem"]


def test_gates_of_the_driver_that_exclude_each_other_are_found(lab):
    labels = {"app": "driver"}
    gates = [{"name": "FEATURE_GATES", "value": "DynamicMIG=true,MPSSupport=true"}]
    plugin = {"name": "gpus", "image": "driver", "command": ["gpu-kubelet-plugin"], "env": gates}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [plugin]}}
    lab.create(DAEMON_SET, "driver", spec={"selector": {"matchLabels": labels}, "template": template})

    found = [each for each in diagnose(lab.server, lab.name).findings if each.code == "driver-gates"]

    assert [f"DaemonSet/{lab.name}/driver"] == [each.object for each in found]
    assert "DynamicMIG and MPSSupport" in found[0].what
