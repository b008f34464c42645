"""What pods of others count with in KAI's queues."""

import pytest

from actuator.objects.queued import queued
from fleet.workload import WorkloadKey

NODES = [
    {"metadata": {"name": "t4", "labels": {"nvidia.com/gpu.memory": "15360"}}},
    {"metadata": {"name": "silent"}},
]


def pod(name="p", queue="team", node="t4", phase="Running", annotations=None, **limits):
    """A pod of two containers; the second has the limits, `mig_1g_5gb` for the resource of that instance."""
    named = {"nvidia.com/" + key.replace("mig_1g_5gb", "mig-1g.5gb"): n for key, n in limits.items()}
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "labels": {"kai.scheduler/queue": queue} if queue else {},
            "annotations": annotations or {},
        },
        "spec": {"nodeName": node, "containers": [{}, {"resources": {"limits": named}}]},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("body", "gpus"),
    [
        (pod(gpu="2"), 2.0),
        (pod(mig_1g_5gb="3"), 3.0),
        (pod(annotations={"gpu-fraction": "0.254"}), 0.25),
        (pod(annotations={"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}), 1.0),
        (pod(annotations={"gpu-memory": "4096"}), 0.27),
        (pod(node="silent", annotations={"gpu-memory": "4096"}), 1.0),
        (pod(annotations={"gpu-memory": "4Gi"}), None),
        (pod(annotations={"gpu-fraction": "0.5", "gpu-memory": "4096"}), None),
        (pod(gpu="many"), None),
        (pod(), None),
        (pod(queue=None, gpu="1"), None),
        (pod(node=None, gpu="1"), None),
        (pod(phase="Succeeded", gpu="1"), None),
        (pod("ours", gpu="1"), None),
    ],
)
def test_a_bound_pod_of_others_counts_as_kai_counts_it(body, gpus):
    ours = {WorkloadKey("shop", "ours")}
    assert ({} if gpus is None else {"team": gpus}) == queued([body], NODES, ours)


def test_pods_of_a_queue_add_up_and_queues_stay_apart():
    bodies = [pod("a", gpu="1"), pod("b", annotations={"gpu-fraction": "0.5"}), pod("c", "other", gpu="4")]
    assert {"team": 1.5, "other": 4.0} == queued(bodies, NODES, ())
