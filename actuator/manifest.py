"""What every Kubernetes object has: a name, labels, times, selectors, as plain JSON."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from fleet.workload import WorkloadKey

Json = dict[str, Any]

GROUP = "foreslice.dev"
MANAGED_BY = {"app.kubernetes.io/managed-by": "foreslice"}
FIELD_MANAGER = "foreslice"
"""Name under which the API server records which fields we own."""

VARIANT_LABEL = f"{GROUP}/variant"
STANDBY_LABEL = f"{GROUP}/standby"
"""On claims and pods of the standby pool: name of the slice."""
TARGET_LABEL = f"{GROUP}/target"

_LABEL_LENGTH = 63


def key_of(body: Json) -> WorkloadKey:
    """Return namespace and name of an object."""
    meta = body["metadata"]
    return WorkloadKey(meta.get("namespace", ""), meta["name"])


def by_namespace(bodies: Iterable[Json]) -> defaultdict[str, list[Json]]:
    """Return objects by namespace, in their order."""
    found: defaultdict[str, list[Json]] = defaultdict(list)
    for body in bodies:
        found[key_of(body).namespace].append(body)
    return found


def labels_of(body: Json) -> Json:
    """Return the labels of an object."""
    labels: Json = body["metadata"].get("labels") or {}
    return labels


def version_of(body: Json) -> str:
    """Return the version that a write must still find."""
    return str(body["metadata"].get("resourceVersion", ""))


def seconds_of(timestamp: str) -> float:
    """Return seconds since the epoch of an RFC 3339 time."""
    return datetime.fromisoformat(timestamp).timestamp()


def timestamp_of(at_s: float) -> str:
    """Return a time as RFC 3339 in UTC with microseconds, as Kubernetes' MicroTime."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def digest_of(body: object) -> str:
    """Return a short hash of JSON content: equal content, equal hash."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:10]


def dns_label(text: str) -> str:
    """Return `text` as a name that is valid as object name and label value, at most 63 characters.

    Names that had to be cut end on a hash of the whole, so that they stay apart.
    """
    safe = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if len(safe) <= _LABEL_LENGTH:
        return safe
    digest = digest_of(text)
    return f"{safe[: _LABEL_LENGTH - len(digest) - 1].rstrip('-')}-{digest}"


def selects(selector: Json, labels: Json) -> bool:
    """Return whether a label selector matches; an empty one never does.

    In the API an empty selector matches everything; here that would make foreign pods a workload's own.
    """
    wanted: Json = selector.get("matchLabels") or {}
    expressions: list[Json] = selector.get("matchExpressions") or []
    if not wanted and not expressions:
        return False
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        holds(expression, labels) for expression in expressions
    )


def holds(expression: Json, labels: Json) -> bool:
    """Return whether labels meet one expression of a selector."""
    present = expression["key"] in labels
    is_among = present and labels[expression["key"]] in (expression.get("values") or [])
    return {"In": is_among, "NotIn": not is_among, "Exists": present, "DoesNotExist": not present}[
        expression["operator"]
    ]


def tolerates(tolerations: Iterable[Json], taint: Json) -> bool:
    """Return whether who has these tolerations may go where a taint is, of a node or of a device.

    As Toleration of core/v1 and DeviceToleration of resource/v1: an empty effect stands for all, an empty key
    with `Exists`, too. Operators that are not known tolerate nothing.
    """
    return any(
        each.get("effect") in {None, "", taint["effect"]}
        and (
            (each.get("operator") == "Exists" and each.get("key") in {None, "", taint["key"]})
            or (
                each.get("operator") in {None, "", "Equal"}
                and each.get("key") == taint["key"]
                and (each.get("value") or "") == (taint.get("value") or "")
            )
        )
        for each in tolerations
    )


def dropped(sent: Json, kept: Json, path: str = "spec") -> str:
    """Return the first field of what was sent that is not in what a server keeps, empty = all are there."""
    if isinstance(sent, dict):
        for name, value in sent.items():
            if value and name not in kept:
                return f"{path}.{name}"
            if value and (lost := dropped(value, kept[name], f"{path}.{name}")):
                return lost
    if isinstance(sent, list):
        for number, (one, held) in enumerate(zip(sent, kept, strict=False)):
            if lost := dropped(one, held, f"{path}[{number}]"):
                return lost
        if len(kept) < len(sent):
            return f"{path}[{len(kept)}]"
    return ""
