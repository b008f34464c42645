"""kube-scheduler lets pods onto nodes by the rules that we reckon with."""

import pytest

from actuator.objects.places import places_of
from simulator.api import NODE, POD
from simulator.pods import condition
from tests.builders.places import LABELS, TAINTS, cases
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import LABEL, until

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)


def test_pods_are_put_where_we_say_and_nowhere_else(lab):
    name = lab.node(slices=lambda _: [])
    lab.patch(NODE, name, {"metadata": {"labels": LABELS}, "spec": {"taints": TAINTS}})
    asked = cases(name)
    for case, (says, _) in asked.items():
        selector = {"nodeSelector": {LABEL: lab.name, **says.get("nodeSelector", {})}}
        lab.pod(case, **{**says, **selector})
    until(lambda: all(lab.is_bound(case) or _is_refused(lab, case) for case in asked))
    places = places_of([lab.get(NODE, name)])
    for case, (_, is_let_in) in asked.items():
        pod = lab.get(POD, case)
        assert (case, is_let_in) == (case, lab.is_bound(case))
        # What admission adds to a pod says nothing else.
        assert (case, is_let_in) == (case, name not in places.closed_to(pod["spec"]))


def _is_refused(lab, case):
    return (condition(lab.get(POD, case), "PodScheduled") or {}).get("status") == "False"
