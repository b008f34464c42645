"""Objects of resource.k8s.io in every served version, brought to the shape of v1.

v1beta1 wraps a device's content in `basic` and writes a request's content directly on it; v1beta2 and v1
have neither (kubernetes staging/src/k8s.io/api/resource). Nothing is dropped: what v1 does not know
stays where it is.
"""

from __future__ import annotations

from actuator.manifest import Json

_GROUP = "resource.k8s.io/"
_NEWEST = f"{_GROUP}v1"
_ALTERNATIVES = ("exactly", "firstAvailable")


def as_v1(body: Json) -> Json:
    """Return an object in the shape of v1; other groups are returned as they are."""
    if not str(body.get("apiVersion", "")).startswith(_GROUP):
        return body
    spec: Json = body.get("spec") or {}
    kind = body["kind"]
    if kind == "ResourceSlice":
        spec = {**spec, "devices": [_device(device) for device in spec.get("devices") or []]}
    elif kind == "ResourceClaim":
        spec = _claim_spec(spec)
    elif kind == "ResourceClaimTemplate":
        spec = {**spec, "spec": _claim_spec(spec.get("spec") or {})}
    return {**body, "apiVersion": _NEWEST, "spec": spec}


def result_names(claim_spec: Json) -> list[str]:
    """Return the names that an allocation may use for the requests of a claim spec: `request/subrequest`."""
    names: list[str] = []
    for request in (claim_spec.get("devices") or {}).get("requests") or []:
        parts = request.get("firstAvailable") or []
        names += [f"{request['name']}/{part['name']}" for part in parts] or [request["name"]]
    return names


def _device(device: Json) -> Json:
    rest = {key: value for key, value in device.items() if key != "basic"}
    return {**rest, **(device.get("basic") or {})}


def _claim_spec(spec: Json) -> Json:
    devices: Json = spec.get("devices") or {}
    if not devices:
        return spec
    return {**spec, "devices": {**devices, "requests": [_request(r) for r in devices.get("requests") or []]}}


def _request(request: Json) -> Json:
    if any(part in request for part in _ALTERNATIVES):
        return request
    return {"name": request["name"], "exactly": {key: held for key, held in request.items() if key != "name"}}
