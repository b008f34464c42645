"""A real Kubernetes control plane on loopback: etcd, API server, controllers, scheduler, and KWOK.

One set of binaries emulates older minors: their feature gates and served versions, with today's code.
KWOK plays the kubelet for nodes with the annotation `kwok.x-k8s.io/node`; other nodes are left to whoever
registers them.
"""

import json
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.part import NotStartedError, Part
from tests.controlplane.build import CONTROL_PLANE
from tests.ports import free_port

STAGES = Path(__file__).with_name("kwok.yaml")

ADMIN, SCHEDULER = "admin", "scheduler"
# Group system:masters may do everything; the scheduler has the role that a new cluster gives to this user, so
# what it may not do here it may not do elsewhere.
TOKENS = f'{ADMIN},admin,1,system:masters\n{SCHEDULER},system:kube-scheduler,2,""\n'

# What Deployments, StatefulSets, claims, nodes and clean-up need. Fewer start faster and log less.
CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "device-taint-eviction-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "horizontal-pod-autoscaler-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "taint-eviction-controller",
)
# The defaults of 20 requests a second make a test with many claims wait for the client, not for the server.
RATES = ("--kube-api-qps=500", "--kube-api-burst=1000")
# KWOK makes a pod ready once. On a busy machine it sends no heartbeat for longer than the default of 50 s:
# pods of the node are then taken to be not ready, and would remain so.
CONTROLLING = ("--horizontal-pod-autoscaler-sync-period=1s", "--node-monitor-grace-period=1h")


@dataclass
class ControlPlane:
    """A control plane.

    Attributes:
        minor: Kubernetes minor that it emulates, such as 1.37.
        logs: Folder with a log of each part, and their files.
        url: Address of the API server.
        parts: Processes by name, in the order in which they were started.
    """

    minor: str
    logs: Path
    url: str = ""
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def kubeconfig(self):
        """File for clients that may do everything."""
        return self.kubeconfig_of(ADMIN, ADMIN)

    def kubeconfig_of(self, name, token):
        """Write a kubeconfig for whose token it is, and return its path; JSON is YAML, too."""
        authority = self.logs / "certificates" / "apiserver.crt"
        cluster = {"server": self.url, "certificate-authority": str(authority)}
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "current-context": "test",
        }
        path = self.logs / f"{name}.kubeconfig"
        whole = path.with_suffix(".new")
        whole.write_text(json.dumps(body, indent=2))
        return whole.replace(path)  # a part that starts may be reading it

    def start(self, name, *arguments, health):
        """Start a part, without waiting for it."""
        self.parts[name] = Part(CONTROL_PLANE.folder() / name, arguments, health, self.logs / f"{name}.log")
        self.parts[name].start()

    def kill(self):
        """End everything, clients first."""
        for part in reversed(self.parts.values()):
            part.kill()


@contextmanager
def control_plane(minor, directory):
    """Start everything in an empty directory, wait until it is ready, and end it at the end of the block."""
    if absent := CONTROL_PLANE.missing():
        raise NotStartedError(f"{CONTROL_PLANE.folder()} lacks {', '.join(absent)}; run make controlplane")
    plane = ControlPlane(minor, directory)
    with ExitStack() as stack:
        stack.callback(plane.kill)
        etcd = _start_etcd(plane)
        _start_api_server(plane, etcd)
        _start_clients(plane)
        for part in plane.parts.values():
            part.wait()
        yield plane


def _start_etcd(plane):
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    plane.start(
        "etcd",
        f"--data-dir={plane.logs / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        health=f"{client}/health",
    )
    plane.parts["etcd"].wait()
    return client


def _start_api_server(plane, etcd):
    port = free_port()
    plane.url = f"https://127.0.0.1:{port}"
    tokens, certificates = plane.logs / "tokens.csv", plane.logs / "certificates"
    tokens.write_text(TOKENS)
    key = certificates / "apiserver.key"  # the server makes it, with a certificate of its own
    plane.start(
        "kube-apiserver",
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={certificates}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/24",
        f"--service-account-issuer={plane.url}",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--endpoint-reconciler-type=none",
        f"--emulated-version=kube={plane.minor}",
        health=f"{plane.url}/readyz",
    )
    plane.parts["kube-apiserver"].wait()


def _start_clients(plane):
    """Start what watches the API server, together."""
    controllers = f"--controllers={','.join(CONTROLLERS)}"
    for name, user, more in (
        ("kube-controller-manager", ADMIN, [controllers, *CONTROLLING]),
        ("kube-scheduler", SCHEDULER, []),
    ):
        port = free_port()
        plane.start(
            name,
            f"--kubeconfig={plane.kubeconfig_of(user, user)}",
            f"--authentication-kubeconfig={plane.kubeconfig}",
            f"--authorization-kubeconfig={plane.kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={plane.logs / name}",
            "--leader-elect=false",
            f"--emulated-version=kube={plane.minor}",
            *RATES,
            *more,
            health=f"https://127.0.0.1:{port}/healthz",
        )
    port = free_port()
    plane.start(
        "kwok",
        f"--kubeconfig={plane.kubeconfig}",
        f"--config={STAGES}",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node",
        f"--server-address=127.0.0.1:{port}",
        health=f"http://127.0.0.1:{port}/healthz",
    )
