"""`deploy/rbac` grants what the adapter and the election ask for, and nothing else."""

from contextlib import closing

import pytest

from actuator.kube.events import EventRecorder
from actuator.kube.resources import DEPLOYMENTS, EVENTS
from actuator.notice import Notice
from actuator.objects.plans import KEPT_PER_TARGET
from fleet.change import StepState
from fleet.errors import RefusedError, UnavailableError
from foreslice.lease import Candidate
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.permissions import as_service_account, bind, granted, install, unbind
from tests.cluster.shop import SHOP
from tests.cluster.test_stateful_sets import LEDGER, stateful_set
from tests.contract.test_cluster_contract import HALF, START_S, WEB, change
from tests.contract.test_floor_contract import autoscaler
from tests.contract.test_publish_contract import advice

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
OBSERVING, ACTING = "foreslice-observe-workloads", "foreslice-act"
UNKNOWN = {
    ("patch", "keda.sh", "scaledobjects"),
    ("watch", "keda.sh", "scaledobjects"),
    ("patch", "leaderworkerset.x-k8s.io", "leaderworkersets/scale"),
    ("watch", "leaderworkerset.x-k8s.io", "leaderworkersets"),
}
"""What cannot be asked where ScaledObjects and LeaderWorkerSets are not known."""


@pytest.fixture(scope="module", autouse=True)
def _installed(shop):
    for name in ("observe", "act"):
        install(shop.server, name)


@pytest.fixture
def ours(plane, shop):
    """The API server as our service account sees it, in a shop with Deployment `web`."""
    with closing(as_service_account(plane, shop.server)) as server, shop.open():
        yield server


@pytest.fixture
def bound(shop):
    """Bind roles for the length of a test."""
    roles = []

    def add(*names):
        for name in names:
            bind(shop.server, name)
            roles.append(name)

    yield add
    for name in roles:
        unbind(shop.server, name)


def said_in(shop, namespace):
    """Return what our Events in a namespace say."""
    found = shop.server.request("GET", EVENTS.path(namespace))["items"]
    ours = "foreslice.dev/foreslice"
    return [event["note"] for event in found if event.get("reportingController") == ours]


def watched():
    return {each for each in granted("observe") if each[0] == "watch"} - UNKNOWN


def has_swept(cluster, ours):
    """Sweep, and tell whether there was a template to be deleted: a copy's goes once its pods do."""
    cluster.sweep_templates(WEB)
    return ("delete", "resource.k8s.io", "resourceclaimtemplates") in ours.asked


def test_observing_asks_for_all_that_observe_grants_and_nothing_else(shop, ours, bound):
    bound(OBSERVING)
    with shop.cluster(server=ours) as cluster:
        assert cluster.view([WEB]).standing(WEB) is not None
        until(lambda: {each for each in ours.asked if each[0] == "watch"} == watched())
    assert granted("observe") - UNKNOWN == ours.asked


def test_acting_asks_for_all_that_both_grant_and_nothing_else(shop, ours, bound):
    bound(OBSERVING, ACTING, "foreslice-act-floor", "foreslice-act-publish", "foreslice-act-switch")
    leader = Candidate(ours, "foreslice", "a", lambda: START_S)
    for _ in range(2):
        leader.turn()
    with shop.cluster(leader.fence, ours) as cluster:
        assert cluster.view([WEB]).standing(WEB) is not None
        plan = cluster.claim_step(cluster.record(change()), 0, START_S)
        cluster.create_variant(WEB, "web-half", HALF)
        cluster.scale(WEB, "web-half", 1, expects=None)
        for body in stateful_set("ledger", replicas=0):
            shop.create(cluster, body)
        cluster.scale(LEDGER, "ledger", 1, expects=None)
        shop.create(cluster, autoscaler())
        cluster.set_floor(WEB, 1, expects=None)
        cluster.switch(WEB, HALF, expects=None)
        shop.server.request("DELETE", DEPLOYMENTS.path(SHOP, "web-half"))
        until(lambda: has_swept(cluster, ours))
        cluster.publish(WEB, advice(1))
        cluster.finish_step(plan, 0, StepState.DONE, START_S)
        for nth in range(KEPT_PER_TARGET + 1):
            cluster.record(change(goal=4 + nth, decided_at_s=START_S + 1 + nth))
        with closing(EventRecorder(ours, cluster.reference, "foreslice", "me", cluster.is_leader)) as events:
            for about, place in ((WEB, SHOP), (None, "foreslice")):
                events.tell(Notice(about, "ScaleUp", "a peak ahead", is_warning=False, at_s=START_S))
                until(lambda: said_in(shop, place))  # noqa: B023  answered before the next one
        until(lambda: {each for each in ours.asked if each[0] == "watch"} == watched())
    leader.release()
    assert granted("observe", "act") - UNKNOWN == ours.asked


def test_who_may_not_read_is_told_which_rule_is_missing(shop, ours):
    with shop.cluster(server=ours) as cluster, pytest.raises(UnavailableError) as said:
        cluster.view([WEB])
    assert (
        'may not list deployments in namespace shop: grant {apiGroups: ["apps"], resources: ["deployments"], '
        'verbs: ["list"]} to system:serviceaccount:foreslice:foreslice'
    ) == str(said.value)


@pytest.mark.parametrize(
    ("act", "missing"),
    [
        (lambda cluster: cluster.record(change()), ("create", "foreslice.dev", "fractionplans")),
        (
            lambda cluster: cluster.create_variant(WEB, "web-half", HALF),
            ("create", "resource.k8s.io", "resourceclaimtemplates"),
        ),
        (lambda cluster: cluster.scale(WEB, "web", 2, expects=None), ("patch", "apps", "deployments/scale")),
        (
            lambda cluster: cluster.switch_back(WEB, "web-gpu", expects=None),
            ("patch", "apps", "deployments"),
        ),
    ],
    ids=["record", "create", "scale", "switch"],
)
def test_who_may_only_read_is_told_which_rule_acting_takes(shop, ours, bound, act, missing):
    bound(OBSERVING)
    verb, group, resource = missing
    with shop.cluster(server=ours) as cluster:
        cluster.view([WEB])
        with pytest.raises(RefusedError) as said:
            act(cluster)
    assert str(said.value).startswith(f"may not {verb} {resource} in namespace shop: grant {{apiGroups: [")
    assert f'apiGroups: ["{group}"], resources: ["{resource}"], verbs: ["{verb}"]' in str(said.value)
    assert missing in granted("act")
