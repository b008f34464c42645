"""What `deploy/rbac` grants, applied to a cluster, and what is asked for."""

import json
from collections import Counter

import yaml
from kubernetes.client import ApiClient, Configuration

from actuator.kube.apiserver import ApiServer
from fleet.errors import ConflictError
from tests.cluster.lab import until
from tests.cluster.shop import DEPLOY, SHOP

RBAC = "/apis/rbac.authorization.k8s.io/v1"
FORESLICE = "/api/v1/namespaces/foreslice"
ADDRESS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"{FORESLICE}/serviceaccounts",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "Role": f"{RBAC}/namespaces/foreslice/roles",
    "RoleBinding": f"{RBAC}/namespaces/foreslice/rolebindings",
}
TOKEN_LASTS_S = 6 * 3600
"""Longer than any soak: a kubeconfig's token, unlike that of a pod, is not renewed by anybody."""

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def documents(name):
    """Return the objects of one file under `deploy/rbac`."""
    return list(yaml.safe_load_all((DEPLOY / f"rbac/{name}.yaml").read_text()))


def granted(*names):
    """Return verb, API group and resource of everything that these files grant."""
    rules = [rule for name in names for body in documents(name) for rule in body.get("rules", [])]
    return {
        (verb, group, resource)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def install(server, name):
    """Apply one file under `deploy/rbac`."""
    for body in documents(name):
        _create(server, ADDRESS[body["kind"]], body)


def bind(server, role, namespace=SHOP):
    """Bind a ClusterRole to our service account in a namespace of workloads."""
    body = {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "namespace": "foreslice", "name": "foreslice"}],
    }
    _create(server, f"{RBAC}/namespaces/{namespace}/rolebindings", body)


def lead_in(server, namespace):
    """Let our service account lead by a Lease in another namespace, by the rules of `act.yaml`."""
    for body in documents("act"):
        if body["kind"] in ("Role", "RoleBinding"):
            path = ADDRESS[body["kind"]].replace("/foreslice/", f"/{namespace}/")
            _create(server, path, {**body, "metadata": {**body["metadata"], "namespace": namespace}})


def unbind(server, role, namespace=SHOP):
    """Take a binding away."""
    server.request("DELETE", f"{RBAC}/namespaces/{namespace}/rolebindings/{role}")


def _create(server, path, body):
    try:
        server.request("POST", path, body)
    except ConflictError:
        return


class Recorder(ApiServer):
    """An API server that notes what it is asked for, as RBAC names it, and how often."""

    def __init__(self, client):
        super().__init__(client)
        self.calls = Counter()

    @property
    def asked(self):
        """What was asked for."""
        return self.calls.keys()

    def _open(self, method, path, body, query, *rest):
        self.calls[as_rbac(method, path, query or {})] += 1
        return super()._open(method, path, body, query, *rest)


def as_rbac(method, path, query):
    """Return verb, API group and resource of a request (kubernetes.io, "Request verbs")."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    resource, name, part = (*rest, "", "")[:3]
    verb = VERBS.get(method) or ("watch" if query.get("watch") else "get" if name else "list")
    return verb, group, f"{resource}/{part}" if part else resource


def as_service_account(plane, admin):
    """Return a recorder that has our service account's token."""
    (cluster,) = json.loads(plane.kubeconfig.read_text())["clusters"]
    token = until(lambda: token_of(admin))
    configuration = Configuration(host=plane.url, api_key={"BearerToken": f"Bearer {token}"})
    configuration.ssl_ca_cert = cluster["cluster"]["certificate-authority"]
    return Recorder(ApiClient(configuration))


def token_of(admin):
    """Return a new token of our service account."""
    path = f"{FORESLICE}/serviceaccounts/foreslice/token"
    return admin.request("POST", path, {"spec": {"expirationSeconds": TOKEN_LASTS_S}})["status"]["token"]
