"""Namespace `shop`, with one node of two H100, as the real adapter of the cluster sees it."""

import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import yaml

from actuator.kube.cluster import KubeCluster
from actuator.kube.connect import connect
from actuator.kube.errors import NotFoundError
from actuator.kube.resources import (
    AUTOSCALERS,
    CLAIM_TEMPLATES,
    CLAIMS,
    DEPLOYMENTS,
    OPTIONAL,
    PLANS,
    PODS,
    SERVING,
    TARGETS,
)
from actuator.objects.beside import ALONE
from fleet.boards import H100_80GB
from fleet.errors import ConflictError
from fleet.workload import WorkloadKey
from simulator.pods import condition
from tests.cluster.lab import NAMESPACE, NOT_ALLOCATED, SERVICE_ACCOUNT, Lab, until
from tests.contract.test_cluster_contract import deployment

SHOP = "shop"
DEPLOY = Path(__file__).parents[2] / "deploy"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUIET_S = 0.3
NOT_CHOSEN = "didn't match Pod's node affinity/selector"
WEB = WorkloadKey(SHOP, "web")
KNOWN = tuple(kind for kind in SERVING if kind not in OPTIONAL)
MADE = {made.kind: made for made in (*KNOWN, CLAIM_TEMPLATES, CLAIMS, AUTOSCALERS)}
"""Kinds that the owner of the namespace makes."""


def always():
    """Lead, for the first time."""
    return 1


@contextmanager
def shop_of(plane, slices=None):
    """Set the shop up, on a node of two H100 or of these slices; only its namespace is left in the end."""
    with closing(connect(plane.kubeconfig)) as server:
        install_plans(server)
        lab = _ShopLab(server)
        lab.node(H100_80GB, H100_80GB, slices=slices)
        try:
            yield Shop(server)
        finally:
            lab.close()


class _ShopLab(Lab):
    """A lab whose namespace stays, for the next module: one of the same name takes half a minute to go."""

    def __init__(self, server):
        self.server = server
        self.name = SHOP
        self.made = []
        if self.get(NAMESPACE, SHOP) is None:
            self.create(NAMESPACE, SHOP)
            until(lambda: self.get(SERVICE_ACCOUNT, "default"))
            self.made.clear()

    def close(self):
        """Take the node and what it publishes away."""
        for kind, name in self.made:
            self.delete(kind, name)


def install_plans(server):
    """Make FractionPlan and FractionTarget known, if they are not yet."""
    for resource in (PLANS, TARGETS):
        body = yaml.safe_load((DEPLOY / f"crds/{resource.kind.lower()}.yaml").read_text())
        with suppress(ConflictError):
            server.request("POST", CRDS, body)
            until(partial(_is_served, server, resource))


def _is_served(server, resource):
    try:
        return server.request("GET", resource.path(SHOP))["items"] == []
    except ConflictError:
        return False


class Shop:
    """What the owner of the namespace does, and how its cluster comes to rest."""

    def __init__(self, server):
        self.server = server

    @contextmanager
    def cluster(self, fence=always, server=None, *, beside=ALONE, holds=False):
        """Open the adapter."""
        with closing(
            KubeCluster(server or self.server, [SHOP], fence, beside=beside, holds=holds)
        ) as cluster:
            yield cluster

    @contextmanager
    def open(self, server=None, **options):
        """Open the adapter on a shop with Deployment `web`: one replica on a whole card, that serves."""
        try:
            with self.cluster(server=server, **options) as cluster:
                for body in deployment("web", replicas=1):
                    self.create(cluster, body)
                # News of the template has a watch of its own, which may be behind.
                until(lambda: cluster.view([WEB]).standing(WEB))
                self.settle(cluster)
                yield cluster
        finally:
            self.clear()

    def create(self, cluster, body):
        """Create an object and return when the adapter has heard of it."""
        resource = MADE[body["kind"]]
        self.server.request("POST", resource.path(SHOP), body)
        name = body["metadata"]["name"]
        if resource in KNOWN:
            until(lambda: _is_seen(cluster, WorkloadKey(SHOP, name)))
        elif resource is AUTOSCALERS and _target(body) == "web":
            until(lambda: _is_scaled(cluster, WEB))

    def settle(self, cluster):
        """Return when every Deployment has its pods, each pod serves or waits, and no news comes."""
        while True:
            until(self._is_at_rest)
            before = cluster.version()
            time.sleep(QUIET_S)
            if before == cluster.version():
                return

    def clear(self):
        """Delete everything but the node."""
        for resource in (AUTOSCALERS, *KNOWN, PLANS, CLAIM_TEMPLATES, CLAIMS, TARGETS):
            with suppress(NotFoundError):  # a test may have deleted the definition
                self.server.request("DELETE", resource.path(SHOP))
        until(lambda: not any(self.list(kind) for kind in (*KNOWN, PODS, CLAIMS, PLANS)))

    def list(self, resource):
        """Return the shop's objects of a resource, none where it is not served."""
        try:
            return self.server.request("GET", resource.path(SHOP))["items"]
        except NotFoundError:
            return []

    def _is_at_rest(self):
        pods = self.list(PODS)
        replicas = {
            body["metadata"]["name"]: body["spec"]["replicas"] for kind in KNOWN for body in self.list(kind)
        }
        if any(
            replicas.get(_target(body), 0) < body["spec"]["minReplicas"] for body in self.list(AUTOSCALERS)
        ):
            return False
        if not all(map(_is_rolled_out, self.list(DEPLOYMENTS))):
            return False
        if sum(map(_templates, pods)) != sum("ownerReferences" in c["metadata"] for c in self.list(CLAIMS)):
            return False
        return sum(replicas.values()) == len(pods) and all(map(_is_settled, pods))


def _is_rolled_out(deployment):
    """Tell whether the controller has seen what is asked for, and all pods are of the newest template."""
    status = deployment.get("status") or {}
    has_seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    return has_seen and status.get("updatedReplicas", 0) == deployment["spec"]["replicas"]


def _is_seen(cluster, key):
    view = cluster.view([key])
    return key in view.refused or view.standing(key) is not None


def _templates(pod):
    """Return how many claims are made for a pod; others it may name."""
    return sum("resourceClaimTemplateName" in claim for claim in pod["spec"].get("resourceClaims", ()))


def _target(autoscaler):
    return autoscaler["spec"]["scaleTargetRef"]["name"]


def _is_scaled(cluster, key):
    return bool(cluster.view([key]).standing(key).scalers)


def _is_settled(pod):
    if "deletionTimestamp" in pod["metadata"]:
        return False
    if (condition(pod, "Ready") or {}).get("status") == "True":
        return True
    said = (condition(pod, "PodScheduled") or {}).get("message", "")
    return NOT_ALLOCATED in said or NOT_CHOSEN in said
