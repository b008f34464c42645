"""A cluster under examination: DRA's abilities, its driver's gates, and what its objects say is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from actuator.inventory.findings import Finding, Severity, error, info
from actuator.inventory.understand import understand
from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.listing import Lister
from actuator.kube.resources import PLANS, Resource
from actuator.kube.tenancy import read_tenancy
from actuator.manifest import Json, key_of
from fleet.errors import RefusedError
from foreslice.doctor import driver
from foreslice.doctor.features import Found, found_in

_DAEMON_SETS = Resource("apps/v1", "DaemonSet", "daemonsets")
_PLUGIN = "gpu-kubelet-plugin"
"""Command of the driver's node plugin (kubernetes-sigs/dra-driver-nvidia-gpu, deployments/helm)."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found in a cluster.

    Attributes:
        features: Every ability of DRA.
        findings: What is wrong or should be known.
        notes: What could not be read, with the rule that would let it.
    """

    features: tuple[Found, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def diagnose(server: ApiServer, namespace: str) -> Diagnosis:
    """Return what a cluster can do and what is wrong with it; nothing is written.

    Args:
        server: Its API server.
        namespace: Where claims are tried as dry runs.

    Raises:
        RefusedError: Pods may not be read.
        UnavailableError: The API server does not answer.
    """
    reader = Lister(server)
    plugins = [(each, pod) for each in reader.some(_DAEMON_SETS) if (pod := _plugin(each)) is not None]
    gates = [finding for each, pod in plugins for finding in _gates(each, pod)]
    dump, unread = read_tenancy(server)
    seen = [
        Finding(Severity(found["severity"]), *(found[part] for part in ("code", "object", "what", "fix")))
        for found in understand(dump)["findings"]
    ]
    return Diagnosis(
        found_in(server, namespace),
        (*_presence(bool(plugins)), *gates, *_plans(server), *seen),
        (*reader.notes, *unread),
    )


def _plugin(daemon_set: Json) -> Json | None:
    """Return the container that is the driver's node plugin."""
    containers: list[Json] = daemon_set["spec"]["template"]["spec"].get("containers") or []
    return next((c for c in containers if _PLUGIN in " ".join([c["name"], *(c.get("command") or [])])), None)


def _presence(is_there: bool) -> Iterator[Finding]:  # noqa: FBT001 -- what was seen
    if not is_there:
        what = "no node plugin of NVIDIA's DRA driver is seen"
        yield info("driver", "cluster", what, "install the driver to have cards published and claims served")


def _gates(daemon_set: Json, container: Json) -> Iterator[Finding]:
    on = f"DaemonSet/{key_of(daemon_set)}"
    gates: dict[str, bool] = {}
    for variable in container.get("env") or []:
        if variable["name"] == "FEATURE_GATES":
            gates |= driver.parse(variable.get("value", ""))
    for argument in [*(container.get("command") or []), *(container.get("args") or [])]:
        if argument.startswith("--feature-gates="):
            gates |= driver.parse(argument.partition("=")[2])
    for one, other in driver.clashes(gates):
        what = f"driver gates {one} and {other} shut each other out: the plugin does not start with both"
        yield error("driver-gates", on, what, f"switch {other} off, or {one}")
    for gate, need in driver.lacking(gates):
        yield error("driver-gates", on, f"driver gate {gate} needs {need}", f"switch {need} on")
    if not driver.is_on("DynamicMIG", gates):
        what = "driver gate DynamicMIG is off: slices are those that nodes were cut into beforehand"
        yield info("driver-mig", on, what, "switch it on to have slices cut as they are asked for")
    if not driver.is_on("DeviceMetadata", gates):
        what = "driver gate DeviceMetadata is off: pods are not told which device they got (KEP-5304)"
        yield info("driver-metadata", on, what, "nothing that foreslice does needs it")


def _plans(server: ApiServer) -> Iterator[Finding]:
    try:
        server.request("GET", PLANS.path(), query={"limit": 1})
    except NotFoundError:
        what = "FractionPlan is not served: foreslice observes, forecasts and reports, and acts on nothing"
        yield info("no-plans", "cluster", what, "apply deploy/crds to let it act")
    except RefusedError as refused:
        yield info(
            "no-plans", "cluster", f"FractionPlans may not be read ({refused})", "grant it, or go on without"
        )
