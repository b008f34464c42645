"""The resources that are read and written, and where an API server serves them."""

from __future__ import annotations

from dataclasses import dataclass

from actuator.manifest import Json
from actuator.objects import holds, targets
from actuator.objects.plans import API_VERSION, KIND


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object.

    Attributes:
        api_version: Group and version.
        kind: As in the object's `kind`.
        plural: As in its address, and in RBAC rules.
    """

    api_version: str
    kind: str
    plural: str

    def path(self, namespace: str = "", name: str = "", part: str = "") -> str:
        """Return the address of all objects, of those in a namespace, of one, or of a part of one."""
        root = "/apis" if "/" in self.api_version else "/api"
        scope = f"/namespaces/{namespace}" if namespace else ""
        tail = "".join(f"/{piece}" for piece in (name, part) if piece)
        return f"{root}/{self.api_version}{scope}/{self.plural}{tail}"

    def named(self, body: Json) -> Json:
        """Return an object that says what it is, which lists leave out."""
        return {**body, "apiVersion": self.api_version, "kind": self.kind}


SLICES = Resource("resource.k8s.io/v1", "ResourceSlice", "resourceslices")
CLAIMS = Resource("resource.k8s.io/v1", "ResourceClaim", "resourceclaims")
CLAIM_TEMPLATES = Resource("resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates")
TAINT_RULES = Resource(holds.API_VERSION, holds.KIND, "devicetaintrules")
DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments")
REPLICA_SETS = Resource("apps/v1", "ReplicaSet", "replicasets")
STATEFUL_SETS = Resource("apps/v1", "StatefulSet", "statefulsets")
LEADER_WORKER_SETS = Resource("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets")
PODS = Resource("v1", "Pod", "pods")
SERVICES = Resource("v1", "Service", "services")
NODES = Resource("v1", "Node", "nodes")
CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps")
PLANS = Resource(API_VERSION, KIND, "fractionplans")
TARGETS = Resource(targets.API_VERSION, targets.KIND, "fractiontargets")
BUDGETS = Resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
EVENTS = Resource("events.k8s.io/v1", "Event", "events")
AUTOSCALERS = Resource("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
SCALED_OBJECTS = Resource("keda.sh/v1alpha1", "ScaledObject", "scaledobjects")
LEASES = Resource("coordination.k8s.io/v1", "Lease", "leases")

CLUSTER_WIDE = (SLICES, CLAIMS, NODES, PODS)
"""What is watched everywhere: claims of foreign namespaces hold devices too, their pods CPU and memory."""

OF_WORKLOADS = (
    DEPLOYMENTS,
    STATEFUL_SETS,
    LEADER_WORKER_SETS,
    CLAIM_TEMPLATES,
    BUDGETS,
    AUTOSCALERS,
    SCALED_OBJECTS,
    PLANS,
)
"""What is watched in the namespaces of workloads and nowhere else."""

SERVING = (DEPLOYMENTS, STATEFUL_SETS, LEADER_WORKER_SETS)
"""What a workload may be; of two of one name the first counts."""

OPTIONAL = frozenset({LEADER_WORKER_SETS, SCALED_OBJECTS, PLANS, TAINT_RULES})
"""What a cluster need not know: without ScaledObjects KEDA scales nothing, without plans we only observe, and
without DeviceTaintRules no room is held."""
