"""Facts of device taints, as Kubernetes 1.37 has them."""

import time

import pytest

from fleet.boards import H100_80GB
from fleet.errors import UnavailableError
from simulator.api import CLAIM, POD, TAINT_RULE
from simulator.pods import condition
from simulator.rest import address
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import PDB, until
from tests.fakes.manifests import request

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

PART = request(profile="3g.40gb")
FIRST, SECOND = "gpu-0-mig-3g40gb-9-0", "gpu-0-mig-3g40gb-9-4"
KEY = "foreslice.dev/hold"


@pytest.fixture
def node(lab):
    return lab.node(H100_80GB)


@pytest.fixture
def taint(lab, node):
    """A function that taints one device, or all of the node."""

    def rule(effect, device=None):
        selector = {"driver": "gpu.nvidia.com", "pool": node} | ({"device": device} if device else {})
        spec = {"deviceSelector": selector, "taint": {"key": KEY, "value": "x", "effect": effect}}
        name = f"{lab.name}-{effect.lower()}"
        lab.create(TAINT_RULE, name, spec=spec)
        if effect == "NoSchedule":
            until(lambda: is_known(lab, device))
        return name

    return rule


def is_known(lab, device):
    """Try whether the scheduler has heard of a rule: for some milliseconds it gives away what is tainted."""
    name = f"probe-{len(lab.made)}"
    got = lab.ask(name, PART)
    lab.delete(POD, name, grace_s=0)
    lab.delete(CLAIM, name)
    until(lambda: lab.get(CLAIM, name) is None)
    return got is None or device not in {None, got}


def eviction(lab, rule):
    """The condition that says what a rule does, or would do."""
    return condition(lab.get(TAINT_RULE, rule), "EvictionInProgress")


def test_effect_none_changes_nothing_and_counts_what_would_be_evicted(lab, taint):
    lab.ask("p", PART)
    rule = taint("None")
    said = until(lambda: eviction(lab, rule))
    assert ("False", "NoEffect") == (said["status"], said["reason"])
    for part in ("26 published devices selected", "1 allocated device selected", "1 pod would be evicted"):
        assert part in said["message"]
    assert SECOND == lab.ask("q", PART)
    assert "deletionTimestamp" not in lab.get(POD, "p")["metadata"]


def test_no_schedule_keeps_new_pods_off_and_leaves_those_that_run(lab, taint):
    assert FIRST == lab.ask("p", PART)
    taint("NoSchedule")
    assert lab.ask("q", PART) is None
    assert lab.is_bound("p")
    assert "deletionTimestamp" not in lab.get(POD, "p")["metadata"]


def test_a_rule_on_one_device_steers_the_next_pod_to_another(lab, taint):
    """Placements have no attribute to select them by; taints go by name."""
    taint("NoSchedule", FIRST)
    assert SECOND == lab.ask("p", PART)


def test_who_tolerates_a_taint_gets_the_device(lab, taint):
    taint("NoSchedule")
    tolerating = request(profile="3g.40gb", tolerations=[{"key": KEY, "operator": "Exists"}])
    assert FIRST == lab.ask("p", tolerating)


@pytest.mark.usefixtures("node")
def test_what_a_claim_tolerates_is_copied_to_what_it_was_given(lab):
    tolerations = [{"key": KEY, "operator": "Exists"}]
    lab.ask("p", request(profile="3g.40gb", tolerations=tolerations))
    [result] = lab.get(CLAIM, "p")["status"]["allocation"]["devices"]["results"]
    assert tolerations == result["tolerations"]


def test_who_waits_is_bound_when_the_rule_goes(lab, taint):
    rule = taint("NoSchedule")
    assert lab.ask("p", PART) is None
    lab.delete(TAINT_RULE, rule)
    until(lambda: lab.is_bound("p"))


def test_no_execute_evicts_who_runs_there_and_nobody_else(lab, taint):
    lab.pod("p", claim=lab.claim("p", PART), annotations={"foreslice.dev/ends-after": "2s"})
    assert [FIRST, SECOND] == [lab.got("p"), lab.ask("q", PART)]
    taint("NoExecute", FIRST)
    gone = until(lambda: condition(lab.get(POD, "p"), "DisruptionTarget"))
    assert "DeletionByDeviceTaintManager" == gone["reason"]
    until(lambda: lab.get(POD, "p") is None)
    assert "deletionTimestamp" not in lab.get(POD, "q")["metadata"]


def test_no_execute_waits_as_long_as_a_pod_tolerates_it(lab, taint):
    patient = {"key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}
    lab.ask("p", request(profile="3g.40gb", tolerations=[patient]))
    until(lambda: lab.is_ready("p"))
    began_s = time.monotonic()
    taint("NoExecute")
    until(lambda: lab.get(POD, "p") is None)
    assert 1.0 <= time.monotonic() - began_s, "seconds count from the last full one"


def test_no_execute_asks_no_disruption_budget(lab, taint):
    """The eviction subresource refuses; the taint manager deletes all the same."""
    lab.deployment("web", lab.template("t", PART), 1)
    pod = until(lambda: [body["metadata"]["name"] for body in lab.list(POD)])[0]
    assert FIRST == lab.got(pod)
    until(lambda: lab.is_ready(pod))
    lab.create(PDB, "web", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}})
    until(lambda: "disruptionsAllowed" in lab.get(PDB, "web").get("status", {}))
    evict = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    with pytest.raises(UnavailableError, match="would violate the pod's disruption budget"):
        lab.server.request("POST", address(POD, lab.name, pod) + "/eviction", evict)
    taint("NoExecute", FIRST)
    until(lambda: lab.get(POD, pod) is None)
    (replacement,) = until(lambda: [body["metadata"]["name"] for body in lab.list(POD)])
    assert SECOND == lab.got(replacement)
