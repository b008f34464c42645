"""Many nodes under MIG managers whose kubelets are KWOK's, and Deployments on their instances."""

from concurrent.futures import ThreadPoolExecutor

from actuator.kube.apiserver import MERGE
from actuator.layouts.node import CONFIG_LABEL
from actuator.mechanisms.device_plugin import PRODUCT_LABEL, resource_of
from fleet.boards import H100_80GB
from simulator.api import DEPLOYMENT, NODE, POD
from simulator.manifests import plugged_deployment
from simulator.mig_manager import STATE
from simulator.node import HOSTNAME
from simulator.pods import condition
from tests.cluster.lab import LABEL, SIMULATED_BY_KWOK, until

PREFIX = "kwok-"
START_WITHIN_S = 900


def kwok_nodes(lab, count, layout, cuts):
    """Add so many nodes of one layout to a lab."""
    labels = {
        LABEL: lab.name,
        PRODUCT_LABEL: H100_80GB.product_names[0].replace(" ", "-"),
        CONFIG_LABEL: layout,
        STATE: "success",
    }
    offered = {}
    for cut in cuts:
        for profile, number in cut.items():
            offered[resource_of(profile)] = offered.get(resource_of(profile), 0) + number
    amounts = {name: str(number) for name, number in offered.items()}

    def add(number):
        name = f"{PREFIX}{number}"
        metadata = {"labels": {**labels, HOSTNAME: name}, "annotations": SIMULATED_BY_KWOK}
        lab.create(NODE, name, metadata=metadata)
        until(lambda: (condition(lab.get(NODE, name), "Ready") or {}).get("status") == "True", every_s=0.2)
        lab.server.request(
            "PATCH",
            lab.path(NODE, name) + "/status",
            {"status": {"capacity": amounts, "allocatable": amounts}},
            content_type=MERGE,
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(count)))


def run_replicas(lab, asked):
    """Run workloads, each with a shape and so many replicas, and return their pods once all are Ready."""
    for workload, shape, replicas in asked:
        body = plugged_deployment(workload, shape, replicas)
        body["spec"]["template"]["spec"]["nodeSelector"] = {LABEL: lab.name}
        lab.create(DEPLOYMENT, workload.key.name, spec=body["spec"])
    for workload, _, replicas in asked:
        until(
            lambda: lab.get(DEPLOYMENT, workload.key.name)["status"].get("readyReplicas") == replicas,  # noqa: B023
            within_s=START_WITHIN_S,
            every_s=1.0,
        )
    return lab.list(POD)
