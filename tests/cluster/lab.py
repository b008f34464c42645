"""A namespace and nodes of one test's own, on a control plane that tests share."""

import time
from itertools import count

from actuator.kube.apiserver import MERGE
from fleet.errors import ConflictError
from simulator.api import CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, NODE, POD, SLICE, Kind
from simulator.driver import resource_slices
from simulator.node import HOSTNAME
from simulator.pods import claim_names, condition
from simulator.rest import address

NAMESPACE = Kind("v1", "Namespace", "namespaces", is_namespaced=False)
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
DEVICE_CLASS = Kind("resource.k8s.io/v1", "DeviceClass", "deviceclasses", is_namespaced=False)
PDB = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
QUOTA = Kind("v1", "ResourceQuota", "resourcequotas")
PRIORITY = Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", is_namespaced=False)
EVENT = Kind("v1", "Event", "events")
RBAC = "rbac.authorization.k8s.io/v1"
CLUSTER_ROLE = Kind(RBAC, "ClusterRole", "clusterroles", is_namespaced=False)
CLUSTER_ROLE_BINDING = Kind(RBAC, "ClusterRoleBinding", "clusterrolebindings", is_namespaced=False)

# Never the same name again: controllers and KWOK take a node that comes back for the one that fell silent.
NODES = count()

SIMULATED_BY_KWOK = {"kwok.x-k8s.io/node": "fake"}
LABEL = "foreslice.dev/lab"
WITHIN_S = 120
"""Waits end with what they wait for; so long only where the machine has much else to do."""
GRACE_S = 5
NOT_ALLOCATED = "cannot allocate all claims"


def until(probe, within_s=WITHIN_S, every_s=0.02):
    """Return the first true answer of `probe`; fail with its last one if there is none in time."""
    deadline_s = time.monotonic() + within_s
    while not (answer := probe()):
        assert time.monotonic() < deadline_s, f"still {answer!r} after {within_s} s"
        time.sleep(every_s)
    return answer


class Lab:
    """What a test does as the owner of a namespace and as administrator of some nodes.

    Pods run on the lab's nodes only. Cluster-wide objects are named after the lab, and go with it.
    """

    def __init__(self, server, name):
        self.server = server
        self.name = name
        self.made = []
        # One of the same name may still be going.
        until(lambda: self.get(NAMESPACE, name) is None)
        self.create(NAMESPACE, name)
        # Until there is one, the server refuses pods.
        until(lambda: self.get(SERVICE_ACCOUNT, "default"))

    def close(self):
        """Delete everything; nothing new comes once the namespace is going."""
        for kind, name in [*self.made, (NAMESPACE, self.name)]:
            if not kind.is_namespaced:
                self.delete(kind, name)
        # One by one: of hundreds at once the server says nothing for longer than a request may take.
        for body in self.list(POD):
            self.delete(POD, body["metadata"]["name"], 0)

    # Objects of any kind.

    def create(self, kind, name=None, /, **body):
        """Create an object; `metadata` adds to the name."""
        metadata = {"name": name} if name else {}
        metadata |= {"namespace": self.name} if kind.is_namespaced else {}
        metadata |= body.pop("metadata", {})
        body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **body}
        path = address(kind, metadata.get("namespace"))
        created = self.server.request("POST", path, body, {"fieldValidation": "Strict"})
        self.made.append((kind, created["metadata"]["name"]))
        return created

    def get(self, kind, name):
        """Return an object, `None` if it does not exist."""
        try:
            return self.server.request("GET", self.path(kind, name))
        except ConflictError:
            return None

    def list(self, kind):
        """Return the lab's objects of a namespaced kind."""
        return self.server.request("GET", address(kind, self.name))["items"]

    def patch(self, kind, name, body, part=""):
        """Merge something into an object."""
        return self.server.request("PATCH", self.path(kind, name) + part, body, None, MERGE)

    def label_namespace(self, labels):
        """Label the lab's namespace."""
        self.patch(NAMESPACE, self.name, {"metadata": {"labels": labels}})

    def delete(self, kind, name, grace_s=None):
        """Delete an object, if it is there."""
        options = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        try:
            self.server.request("DELETE", self.path(kind, name), options)
        except ConflictError:
            return

    def path(self, kind, name):
        """Return the address of one of the lab's objects."""
        return address(kind, self.name if kind.is_namespaced else None, name)

    # Accounts.

    def account(self, name, *rules):
        """Create a ServiceAccount that may do this in the whole cluster, and return a token of it."""
        self.create(SERVICE_ACCOUNT, name)
        role = {"apiGroup": RBAC.partition("/")[0], "kind": "ClusterRole", "name": f"{self.name}-{name}"}
        subject = {"kind": "ServiceAccount", "namespace": self.name, "name": name}
        self.create(CLUSTER_ROLE, role["name"], rules=list(rules))
        self.create(CLUSTER_ROLE_BINDING, role["name"], roleRef=role, subjects=[subject])
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = self.path(SERVICE_ACCOUNT, name) + "/token"
        return self.server.request("POST", path, asked)["status"]["token"]

    # Nodes and what they publish.

    def node(self, *boards, slices=None):
        """Add a node with these cards, or with slices made by hand, and return its name."""
        name = f"{self.name}-n{next(NODES)}"
        labels = {LABEL: self.name, HOSTNAME: name}
        self.create(NODE, name, metadata={"labels": labels, "annotations": SIMULATED_BY_KWOK})
        for body in resource_slices(name, boards) if slices is None else slices(name):
            self.create(SLICE, metadata={"generateName": body["metadata"]["generateName"]}, spec=body["spec"])
        until(lambda: (condition(self.get(NODE, name), "Ready") or {}).get("status") == "True")
        until(lambda: not self.get(NODE, name)["spec"].get("taints"))
        return name

    def agents_node(self, agents, boards, containers, delays, name=None):
        """Add a node of which agents of ours are the kubelet, with these cards, and return its name."""
        name = name or f"{self.name}-agent"
        agents.add_nodes({name: boards}, containers, delays)
        self.adopt(name)
        return name

    def adopt(self, node):
        """Take a node for the lab's: its pods run there, and it goes with it."""
        self.patch(NODE, node, {"metadata": {"labels": {LABEL: self.name}}})
        self.made.append((NODE, node))

    # Pods and their claims.

    def pod(self, name, *, claim=None, template=None, annotations=None, **spec):
        """Create a pod that uses a claim, or makes its own from a template, under the name `r`."""
        source = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
        claims = [{"name": "r", **source}] if claim or template else []
        spec = {**pod_spec(self.name, claims), **spec}
        return self.create(POD, name, metadata={"annotations": annotations or {}}, spec=spec)

    def template(self, name, *requests, **devices):
        """Create a ResourceClaimTemplate and return its name."""
        spec = {"spec": {"devices": {"requests": list(requests), **devices}}}
        self.create(CLAIM_TEMPLATE, name, spec=spec)
        return name

    def claim(self, name, *requests, **devices):
        """Create a ResourceClaim and return its name."""
        self.create(CLAIM, name, spec={"devices": {"requests": list(requests), **devices}})
        return name

    def ask(self, name, *requests, **devices):
        """Run a pod with a claim of its own and return what `got` says of it."""
        self.pod(name, claim=self.claim(name, *requests, **devices))
        return self.got(name)

    def got(self, name):
        """Wait until the scheduler has decided, and return the devices of a pod; `None` if it must wait."""
        until(lambda: self.is_bound(name) or self.is_waiting(name))
        return self.devices(name) if self.is_bound(name) else None

    def is_bound(self, name):
        """Return whether a pod has a node."""
        return "nodeName" in self.get(POD, name)["spec"]

    def is_waiting(self, name, why=NOT_ALLOCATED):
        """Return whether the scheduler says that a pod cannot be placed, for this reason."""
        scheduled = condition(self.get(POD, name), "PodScheduled") or {}
        return scheduled.get("status") == "False" and why in scheduled.get("message", "")

    def is_ready(self, name):
        """Return whether a pod is there and Ready."""
        pod = self.get(POD, name)
        return bool(pod) and (condition(pod, "Ready") or {}).get("status") == "True"

    def claim_of(self, pod):
        """Return a pod's only claim."""
        (name,) = claim_names(self.get(POD, pod)).values()
        return self.get(CLAIM, name)

    def results(self, pod):
        """Return what a pod's claim was allocated."""
        return self.claim_of(pod)["status"]["allocation"]["devices"]["results"]

    def devices(self, pod):
        """Return the names of the devices that a pod's claim was allocated: one alone, or a list."""
        names = [result["device"] for result in self.results(pod)]
        return names[0] if len(names) == 1 else names

    # Deployments.

    def deployment(self, name, template, replicas, annotations=None, labels=None, grace_s=GRACE_S, **spec):
        """Create a Deployment of pods with a claim from a template each."""
        labels = labels or {"app": name}
        pods = pod_spec(self.name, [{"name": "r", "resourceClaimTemplateName": template}], grace_s)
        return self.create(
            DEPLOYMENT,
            name,
            spec={
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels, "annotations": annotations or {}}, "spec": pods},
                **spec,
            },
        )


def pod_spec(lab, claims, grace_s=GRACE_S):
    """Return the spec of a pod on a lab's nodes whose container uses these claims."""
    uses = [{"name": claim["name"]} for claim in claims]
    return {
        "nodeSelector": {LABEL: lab},
        "terminationGracePeriodSeconds": grace_s,
        "automountServiceAccountToken": False,
        "resourceClaims": claims,
        "containers": [{"name": "engine", "image": "engine", "resources": {"claims": uses}}],
    }
