"""A real Kubernetes control plane on loopback: etcd, API server, controllers, scheduler, and KWOK.

One set of binaries emulates older minors: their feature gates and served versions, with today's code.
KWOK plays the kubelet for nodes with the annotation `kwok.x-k8s.io/node`; other nodes are left to whoever
registers them. Nothing here outlives the process that started it (`tests.cluster.leash`).
"""

import json
import os
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from tests.controlplane.build import folder, missing

HERE = Path(__file__).parent
READY_WITHIN_S = 120
POLL_S = 0.05
TAIL_LINES = 15

ADMIN, SCHEDULER = "admin", "scheduler"
# Group system:masters may do everything; the scheduler has the role that a new cluster gives to this user, so
# what it may not do here it may not do elsewhere.
TOKENS = f'{ADMIN},admin,1,system:masters\n{SCHEDULER},system:kube-scheduler,2,""\n'

# What Deployments, claims, nodes and clean-up need. Fewer controllers start faster and log less.
CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "device-taint-eviction-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "taint-eviction-controller",
)
# The defaults of 20 requests a second make a test with many claims wait for the client, not for the server.
RATES = ("--kube-api-qps=500", "--kube-api-burst=1000")


class NotStartedError(Exception):
    """A part of the control plane ended, or was not ready in time."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A control plane that is up.

    Attributes:
        minor: Kubernetes minor that it emulates, such as 1.37.
        url: Address of the API server.
        kubeconfig: File for clients that may do everything.
        logs: Folder with a log of each process.
        pids: Process id by name.
    """

    minor: str
    url: str
    kubeconfig: Path
    logs: Path
    pids: dict[str, int]

    def kubeconfig_of(self, name, token):
        """Return a kubeconfig for the account that a token belongs to."""
        return write_kubeconfig(self.logs, self.url, name, token)


@contextmanager
def control_plane(minor, directory):
    """Start everything in an empty directory, wait until it is ready, and end it at the end of the block."""
    binaries = folder()
    if absent := missing(binaries):
        raise NotStartedError(f"{binaries} lacks {', '.join(absent)}; run make controlplane")
    with ExitStack() as stack:
        parts = _Parts(binaries, directory, stack)
        emulated = f"--emulated-version=kube={minor}"
        etcd = _start_etcd(parts)
        url = _start_api_server(parts, etcd, emulated)
        configs = {user: write_kubeconfig(directory, url, user, user) for user in (ADMIN, SCHEDULER)}
        _start_clients(parts, configs, emulated)
        pids = {name: process.pid for name, process in parts.processes.items()}
        yield ControlPlane(minor, url, configs[ADMIN], directory, pids)


class _Parts:
    """The processes of one control plane, each with its log, ended in reverse order."""

    def __init__(self, binaries, directory, stack):
        self.directory = directory
        self.processes = {}
        self._binaries = binaries
        self._stack = stack

    def start(self, name, *arguments):
        log = self._stack.enter_context((self.directory / f"{name}.log").open("wb"))
        leash = [sys.executable, HERE / "leash.py", str(os.getpid()), self._binaries / name]
        process = subprocess.Popen([*leash, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        # Nothing in it is worth an orderly end, and the API server takes more than ten seconds for one.
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        self.processes[name] = process

    def wait_for(self, name, url):
        """Return when a process answers OK; an answer by anyone else on its port does not count."""
        deadline_s = time.monotonic() + READY_WITHIN_S
        while not _is_ok(url):
            if self.processes[name].poll() is not None or time.monotonic() > deadline_s:
                log = self.directory / f"{name}.log"
                tail = "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
                raise NotStartedError(f"{name} is not ready at {url}; {log} ends with\n{tail}")
            time.sleep(POLL_S)


def _free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def _is_ok(url):
    # The certificate is made by the process that is waited for, so there is nothing to hold it against yet.
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusting)
    )
    try:
        with direct.open(url, timeout=5) as answer:
            return answer.status == HTTPStatus.OK
    except OSError:
        return False


def _start_etcd(parts):
    client, peer = (f"http://127.0.0.1:{_free_port()}" for _ in range(2))
    parts.start(
        "etcd",
        f"--data-dir={parts.directory / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
    )
    parts.wait_for("etcd", f"{client}/health")
    return client


def _start_api_server(parts, etcd, emulated):
    port = _free_port()
    url = f"https://127.0.0.1:{port}"
    tokens, certificates = parts.directory / "tokens.csv", parts.directory / "certificates"
    tokens.write_text(TOKENS)
    key = certificates / "apiserver.key"  # the server makes it, with a certificate of its own
    parts.start(
        "kube-apiserver",
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={certificates}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/24",
        f"--service-account-issuer={url}",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--endpoint-reconciler-type=none",
        emulated,
    )
    parts.wait_for("kube-apiserver", f"{url}/readyz")
    return url


def write_kubeconfig(directory, url, name, token):
    """Write a kubeconfig for whose token it is, and return its path; JSON is YAML, too."""
    cluster = {"server": url, "certificate-authority": str(directory / "certificates" / "apiserver.crt")}
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
        "current-context": "test",
    }
    path = directory / f"{name}.kubeconfig"
    path.write_text(json.dumps(body, indent=2))
    return path


def _start_clients(parts, configs, emulated):
    """Start what watches the API server, together, and wait for each."""
    urls = {}
    for name, user, more in (
        ("kube-controller-manager", ADMIN, [f"--controllers={','.join(CONTROLLERS)}"]),
        ("kube-scheduler", SCHEDULER, []),
    ):
        port = _free_port()
        urls[name] = f"https://127.0.0.1:{port}/healthz"
        parts.start(
            name,
            f"--kubeconfig={configs[user]}",
            f"--authentication-kubeconfig={configs[ADMIN]}",
            f"--authorization-kubeconfig={configs[ADMIN]}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={parts.directory / name}",
            "--leader-elect=false",
            emulated,
            *RATES,
            *more,
        )
    port = _free_port()
    urls["kwok"] = f"http://127.0.0.1:{port}/healthz"
    parts.start(
        "kwok",
        f"--kubeconfig={configs[ADMIN]}",
        f"--config={HERE / 'kwok.yaml'}",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node",
        f"--server-address=127.0.0.1:{port}",
    )
    for name, url in urls.items():
        parts.wait_for(name, url)
