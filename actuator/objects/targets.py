"""FractionTargets: where a workload should be, for others who write it."""

from __future__ import annotations

from actuator.manifest import GROUP, MANAGED_BY, Json, timestamp_of
from actuator.objects.plans import counts_of
from actuator.ports import Advice

API_VERSION = f"{GROUP}/v1alpha1"
KIND = "FractionTarget"


def target_of(base: Json) -> Json:
    """Return the FractionTarget of a Deployment, which goes when that goes."""
    meta = base["metadata"]
    owner = {"apiVersion": base["apiVersion"], "kind": base["kind"], "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": dict(MANAGED_BY),
            "ownerReferences": [owner],
        },
    }


def status_of(advice: Advice) -> Json:
    """Return the `status` that gives an advice; work as text, since a CRD should hold no floats."""
    return {
        "at": timestamp_of(advice.at_s),
        "target": counts_of(advice.goal),
        "replicas": advice.goal.replicas,
        "need": {"up": f"{advice.up:.2f}", "keep": f"{advice.keep:.2f}", "short": f"{advice.short:.2f}"},
        "reason": advice.reason,
    }
