"""Fields that an object has and its kind does not: what an API server drops, or refuses when it is strict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kubernetes.client import models

from actuator.manifest import Json
from foreslice.doctor.sheet import Sheet, nearest

_MODEL_BY_KIND = {
    "resource.k8s.io/v1": {
        "ResourceClaim": "ResourceV1ResourceClaim",
        "ResourceClaimTemplate": "V1ResourceClaimTemplate",
        "DeviceClass": "V1DeviceClass",
        "ResourceSlice": "V1ResourceSlice",
        "DeviceTaintRule": "V1DeviceTaintRule",
    },
    "v1": {"Pod": "V1Pod", "ConfigMap": "V1ConfigMap", "Service": "V1Service", "Namespace": "V1Namespace"},
    "apps/v1": {
        "Deployment": "V1Deployment",
        "StatefulSet": "V1StatefulSet",
        "DaemonSet": "V1DaemonSet",
        "ReplicaSet": "V1ReplicaSet",
    },
    "batch/v1": {"Job": "V1Job", "CronJob": "V1CronJob"},
}
"""Kinds whose fields are known, under the names of the Kubernetes client's models."""

_LIST = re.compile(r"[Ll]ist\[(.+)\]")
_MAP = re.compile(r"[Dd]ict\[[^,]+,\s*(.+)\]")


def drop_unknown(sheet: Sheet) -> None:
    """Take away the fields that the kind of an object does not have; a misspelt one gets its name.

    A kind that is not known is left as it is.
    """
    body = sheet.body
    model = _MODEL_BY_KIND.get(str(body.get("apiVersion")), {}).get(str(body.get("kind")))
    if model is not None:
        _walk(body, model, "", sheet)


def _walk(value: Any, kind: str, path: str, sheet: Sheet) -> None:  # noqa: ANN401 -- any JSON
    if inner := _LIST.fullmatch(kind):
        for index, each in enumerate(value if isinstance(value, list) else ()):
            _walk(each, inner[1], f"{path}[{index}]", sheet)
    elif inner := _MAP.fullmatch(kind):
        for key, each in (value if isinstance(value, dict) else {}).items():
            _walk(each, inner[1], f"{path}.{key}", sheet)
    elif isinstance(value, dict) and (model := getattr(models, kind, None)) is not None:
        _fields(value, model, path, sheet)


def _fields(value: Json, model: Any, path: str, sheet: Sheet) -> None:  # noqa: ANN401 -- a class of the client
    kinds = {json: model.openapi_types[name] for name, json in model.attribute_map.items()}
    for name in list(value):
        at = f"{path}.{name}".removeprefix(".")
        if name in kinds:
            continue
        like = nearest(name, [known for known in kinds if known not in value])
        what = f"there is no field {name}" + (f" in {path}" if path else "")
        sheet.fault("unknown-field", at, what, f"write {like}" if like else "take it away")
        content = value.pop(name)
        if like is not None:
            value[like] = content
    for name, kind in _present(value, kinds):
        _walk(value[name], kind, f"{path}.{name}".removeprefix("."), sheet)


def _present(value: Json, kinds: dict[str, str]) -> Iterator[tuple[str, str]]:
    return ((name, kind) for name, kind in kinds.items() if value.get(name) is not None)
