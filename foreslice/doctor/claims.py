"""ResourceClaims and their templates, as `resource.k8s.io/v1` has them."""

from __future__ import annotations

from collections.abc import Iterator

from actuator.manifest import Json
from actuator.quantity import amount
from foreslice.doctor import cel
from foreslice.doctor.sheet import Sheet

VERSION = "resource.k8s.io/v1"
_OLDER = ("resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3")
CARDS, SLICES = "gpu.nvidia.com", "mig.nvidia.com"

_OF_EXACTLY = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
"""What v1beta1 has in a request itself and v1 one level deeper."""

_OF_CLAIM = ("devices",)
_OF_TEMPLATE_METADATA = ("labels", "annotations")


def correct_claim(sheet: Sheet) -> None:
    """Bring a claim or a template into the form of `resource.k8s.io/v1`; faults go to the sheet."""
    _version(sheet)
    body = sheet.body
    if body.get("kind") == "ResourceClaimTemplate":
        path, spec = "spec.spec", _template_spec(sheet)
    else:
        path, spec = "spec", _claim_spec(sheet)
    devices = spec.get("devices")
    if not isinstance(devices, dict):
        sheet.fault("no-devices", f"{path}.devices", "nothing is asked for", "name devices.requests")
        return
    _limits(devices, devices.get("requests") or [], f"{path}.devices", sheet)
    for index, request in enumerate(devices.get("requests") or []):
        _request(request, f"{path}.devices.requests[{index}]", sheet)


def claim_spec_of(body: Json) -> Json:
    """Return the claim's spec of a claim or template in the form of v1; empty where there is none."""
    spec: Json = body.get("spec") or {}
    found: Json = (spec.get("spec") or {}) if body.get("kind") == "ResourceClaimTemplate" else spec
    return found


def asked_of(spec: Json) -> Iterator[Json]:
    """Return what every request of a claim asks for in the first place."""
    for request in (spec.get("devices") or {}).get("requests") or []:
        first = request.get("exactly") or next(iter(request.get("firstAvailable") or []), None)
        if first is not None:
            yield first


def cards_asked(spec: Json) -> int:
    """Return how many whole cards a claim asks for."""
    return sum(int(ask.get("count", 1)) for ask in asked_of(spec) if ask.get("deviceClassName") == CARDS)


def _version(sheet: Sheet) -> None:
    given = sheet.body.get("apiVersion")
    if given in _OLDER:
        what = f"{given} is an older form that servers offer only where they are told to"
        sheet.fault("old-version", "apiVersion", what, f"write {VERSION}, there since Kubernetes 1.34")
        sheet.body["apiVersion"] = VERSION


def _template_spec(sheet: Sheet) -> Json:
    spec: Json = sheet.body.setdefault("spec", {})
    if "spec" not in spec:
        what = "a template's spec has metadata and the claim's spec, and that one is not there"
        sheet.fault("template-spec", "spec", what, "put devices under spec.spec")
        spec["spec"] = {name: spec.pop(name) for name in _OF_CLAIM if name in spec}
    if isinstance(metadata := spec.get("metadata"), dict):
        for name in [name for name in metadata if name not in _OF_TEMPLATE_METADATA]:
            what = (
                f"claims are named by Kubernetes: a template sets only {' and '.join(_OF_TEMPLATE_METADATA)}"
            )
            sheet.fault("template-metadata", f"spec.metadata.{name}", what, "take it away")
            del metadata[name]
        if not metadata:
            del spec["metadata"]
    inner: Json = spec["spec"]
    return inner


def _claim_spec(sheet: Sheet) -> Json:
    spec: Json = sheet.body.setdefault("spec", {})
    if isinstance(spec.get("spec"), dict):
        what = "only a template has a spec within its spec"
        sheet.fault("claim-spec", "spec.spec", what, "put devices under spec")
        spec = sheet.body["spec"] = spec["spec"]
    return spec


def _request(request: Json, path: str, sheet: Sheet) -> None:
    _limits(request, [request], path, sheet)
    misplaced = [name for name in _OF_EXACTLY if name in request]
    if misplaced and "firstAvailable" not in request:
        what = f"{', '.join(misplaced)} stand in the request itself, as in v1beta1"
        sheet.fault("exactly", path, what, "put them under exactly")
        request["exactly"] = {name: request.pop(name) for name in misplaced} | request.get("exactly", {})
    if "exactly" in request:
        _ask(request["exactly"], f"{path}.exactly", sheet)
    for index, ask in enumerate(request.get("firstAvailable") or []):
        _ask(ask, f"{path}.firstAvailable[{index}]", sheet)
    if "exactly" not in request and not request.get("firstAvailable"):
        fix = "say what under exactly, or in turn under firstAvailable"
        sheet.fault("no-ask", path, "the request asks for nothing", fix)


def _limits(holder: Json, requests: list[Json], path: str, sheet: Sheet) -> None:
    """Turn `limits: [{gpu: 1}]`, which DRA does not have, into a count."""
    if "limits" not in holder:
        return
    limits = holder.pop("limits")
    entries = limits if isinstance(limits, list) else [limits]
    counts = [
        int(n) for entry in entries if isinstance(entry, dict) for n in entry.values() if str(n).isdigit()
    ]
    what = "DRA has no limits: how many devices a request gets is its count"
    sheet.fault("limits", f"{path}.limits", what, f"write count: {counts[0]}" if counts else "write a count")
    for request in requests if counts else ():
        inner = request.get("exactly", request)
        inner.setdefault("count", counts[0])


def _ask(ask: Json, path: str, sheet: Sheet) -> None:
    if "deviceClassName" not in ask:
        fix = f"name {CARDS} for whole cards, or {SLICES}"
        sheet.fault("no-class", f"{path}.deviceClassName", "no device class is named", fix)
    if isinstance(selectors := ask.get("selectors"), dict):
        sheet.fault("selectors", f"{path}.selectors", "selectors are a list", "put a dash before it")
        ask["selectors"] = [selectors]
    expressions: list[str] = []
    for index, selector in enumerate(ask.get("selectors") or []):
        if isinstance(rule := selector.get("cel"), dict) and isinstance(rule.get("expression"), str):
            at = f"{path}.selectors[{index}].cel.expression"
            rule["expression"] = cel.corrected(rule["expression"], sheet, at)
            expressions.append(rule["expression"])
    _class_fits(ask, " ".join(expressions), path, sheet)


def _class_fits(ask: Json, expressions: str, path: str, sheet: Sheet) -> None:
    """See that what is selected exists on devices of the class: a missing attribute keeps the pod pending."""
    asks_profile, at = ".profile " in expressions, f"{path}.deviceClassName"
    if ask.get("deviceClassName") == CARDS and asks_profile:
        what = f"devices of class {CARDS} are whole cards and have no profile"
        sheet.fault("class", at, what, f"write {SLICES}")
        ask["deviceClassName"] = SLICES
    if ask.get("deviceClassName") == SLICES and expressions and not asks_profile:
        what = "the scheduler takes the first slice that fits, which may be a far larger one"
        sheet.doubt("profile", f"{path}.selectors", what, "name the profile as well")
    if isinstance(count := ask.get("count"), str) and count.isdigit():
        sheet.fault("count", f"{path}.count", "count is a number", f"write {count}")
        ask["count"] = int(count)


def least_memory_bytes(spec: Json) -> int | None:
    """Return what the cards that a claim asks for have at least, bytes; `None` where it does not say."""
    found = [
        amount(quantity)
        for ask in asked_of(spec)
        for selector in ask.get("selectors") or []
        for quantity in cel.quantities((selector.get("cel") or {}).get("expression", ""), "memory")
    ]
    return max(found, default=None)
