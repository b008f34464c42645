"""Pods that take GPUs: through claims, through HAMi's resources, for a model that has to fit."""

from __future__ import annotations

import re
from collections.abc import Mapping

from actuator.manifest import Json, tolerates
from foreslice.doctor.claims import CARDS, VERSION, cards_asked, claim_spec_of, least_memory_bytes
from foreslice.doctor.engines import LEAST_MEMORY, Served, served_by, spread_over
from foreslice.doctor.sheet import Sheet

_HAMI_COUNT, _HAMI_MEMORY, _OLD_COUNT = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/vgpu"
_MIB = {"": 1, "M": 1, "Mi": 1, "MB": 1, "MiB": 1, "G": 1024, "Gi": 1024, "GB": 1024, "GiB": 1024}
_AMOUNT = re.compile(r"(\d+)\s*([KMG]?i?B?)")
_TEMPLATE = "resourceClaimTemplateName"
_TAINT = "nvidia.com/gpu"


def pod_spec_of(body: Json) -> tuple[str, Json] | None:
    """Return the pods' spec of an object and where it stands, `None` for an object without pods."""
    spec: Json = body.get("spec") or {}
    if body.get("kind") == "Pod":
        return "spec", spec
    template = (spec.get("template") or {}) if isinstance(spec.get("template"), dict) else {}
    inner = template.get("spec")
    return ("spec.template.spec", inner) if isinstance(inner, dict) else None


def correct_pod(sheet: Sheet, templates: Mapping[str, Json]) -> list[Json]:
    """Put right how pods ask for GPUs, and return the claim templates that this takes.

    Args:
        sheet: The object with the pods.
        templates: Corrected claim templates of the same file by name.
    """
    found = pod_spec_of(sheet.body)
    if found is None:
        return []
    path, spec = found
    containers: list[Json] = spec.get("containers") or []
    for index, container in enumerate(containers):
        _resources(container, f"{path}.containers[{index}].resources", sheet)
    _claims(spec, containers, path, sheet)
    made = [
        template
        for index, container in enumerate(containers)
        if (template := _room(spec, container, f"{path}.containers[{index}]", sheet, templates)) is not None
    ]
    for claim in spec.get("resourceClaims") or []:
        name = claim.get(_TEMPLATE)
        if name and name not in templates and all(name != each["metadata"]["name"] for each in made):
            what = f"claim template {name} is not in this file"
            sheet.hint("elsewhere", path, what, "have it in the same namespace, or the pods stay pending")
    if spec.get("resourceClaims") and not any(_may_stand(each) for each in spec.get("tolerations") or []):
        what = f"nodes with GPUs are often tainted with {_TAINT}, which a claim does not tolerate by itself"
        sheet.hint("toleration", f"{path}.tolerations", what, "add a toleration where your nodes are")
    return made


def _resources(container: Json, path: str, sheet: Sheet) -> None:
    resources: Json = container.get("resources") or {}
    for kind in ("limits", "requests"):
        amounts = resources.get(kind)
        if not isinstance(amounts, dict):
            continue
        if isinstance(claims := amounts.pop("claims", None), list):
            what = f"claims are no {kind}"
            sheet.fault("claims-place", f"{path}.{kind}.claims", what, "put them under resources.claims")
            resources["claims"] = [*resources.get("claims", []), *claims]
        if not amounts:
            del resources[kind]
        _hami(amounts, f"{path}.{kind}", sheet)
    if resources.get("claims") and _HAMI_COUNT in (resources.get("limits") or {}):
        what = f"{_HAMI_COUNT} and a claim ask for a card each"
        sheet.doubt("asked-twice", path, what, "keep the claim, and take the limit away")


def _hami(amounts: Json, path: str, sheet: Sheet) -> None:
    if _OLD_COUNT in amounts:
        what = f"{_OLD_COUNT} is a name that HAMi's chart does not register"
        sheet.fault("hami-count", f"{path}.{_OLD_COUNT}", what, f"write {_HAMI_COUNT}, or set resourceName")
        amounts[_HAMI_COUNT] = amounts.pop(_OLD_COUNT)
    memory = amounts.get(_HAMI_MEMORY)
    read = _AMOUNT.fullmatch(str(memory)) if memory is not None else None
    if read and read[2] and read[2] in _MIB:
        mib = int(read[1]) * _MIB[read[2]]
        what = f"{_HAMI_MEMORY} counts MiB and takes no unit: {memory} would be read in bytes"
        sheet.fault("hami-memory", f"{path}.{_HAMI_MEMORY}", what, f"write {mib}")
        amounts[_HAMI_MEMORY] = mib


def _claims(spec: Json, containers: list[Json], path: str, sheet: Sheet) -> None:
    claims: list[Json] = spec.get("resourceClaims") or []
    for index, claim in enumerate(claims):
        if isinstance(source := claim.pop("source", None), dict):
            at = f"{path}.resourceClaims[{index}].source"
            sheet.fault("claim-source", at, "source was given up in 1.31", "put what it names one level up")
            claim.update(source)
    known = [claim.get("name") for claim in claims]
    used = set()
    for index, container in enumerate(containers):
        for named in (container.get("resources") or {}).get("claims") or []:
            used.add(named.get("name"))
            if named.get("name") not in known:
                at = f"{path}.containers[{index}].resources.claims"
                fix = f"use one of {', '.join(map(str, known))}" if known else "add it to resourceClaims"
                sheet.fault("claim-name", at, f"the pod has no claim {named.get('name')}", fix)
                if len(known) == 1:
                    named["name"] = known[0]
                    used.add(known[0])
    for name in known:
        if name not in used:
            what = f"no container uses claim {name}, so none sees its devices"
            sheet.fault("claim-unused", f"{path}.resourceClaims", what, "name it in resources.claims")
            if len(containers) == 1:
                containers[0].setdefault("resources", {}).setdefault("claims", []).append({"name": name})


def _room(spec: Json, container: Json, path: str, sheet: Sheet, templates: Mapping[str, Json]) -> Json | None:
    """See that the model fits on what is claimed; return the template that makes it fit."""
    served = served_by([*map(str, container.get("command") or []), *map(str, container.get("args") or [])])
    claim = _claim_used(spec, container)
    if served is None or claim is None:
        return None
    template = templates.get(claim[_TEMPLATE])
    claimed = claim_spec_of(template) if template is not None else {}
    asked = cards_asked(claimed) if template is not None else served.parallel
    cards, least_bytes = served.cards, least_memory_bytes(claimed)
    if cards is None:
        what = f"{served.name} in {served.spec.format.name} does not fit on eight cards of 80 GB"
        sheet.fault("too-large", f"{path}.args", what, "serve it in a smaller number format")
        return None
    is_spread = min(served.parallel, asked) >= cards
    if asked == 0 or (is_spread and (least_bytes is None or served.has_room(asked, least_bytes))):
        return None
    why = (
        f"cards of {least_bytes / 2**30:.0f} GiB would do for the claim, but"
        if is_spread and least_bytes
        else ""
    )
    sheet.fault("no-room", f"{path}.args", f"{why} {_why(served, asked)}".strip(), _fix(cards))
    for place in ("args", "command"):
        if container.get(place):
            container[place] = spread_over(list(map(str, container[place])), cards)
            break
    name = f"{claim[_TEMPLATE]}-{cards}-cards"
    claim[_TEMPLATE] = name
    namespace = (sheet.body.get("metadata") or {}).get("namespace")
    return _template(name, namespace, cards)


def _why(served: Served, asked: int) -> str:
    gib, cards = served.spec.weight_bytes / 2**30, min(served.parallel, asked)
    return (
        f"{served.name} has {gib:.0f} GiB of weights in {served.spec.format.name}, which do not fit "
        f"on {cards} {'card' if cards == 1 else 'cards'} beside its longest sequence"
    )


def _fix(cards: int) -> str:
    cards_of = "card" if cards == 1 else "cards"
    return (
        f"claim {cards} {cards_of} of 80 GB and spread it over them, or serve it in a smaller number format"
    )


def _claim_used(spec: Json, container: Json) -> Json | None:
    """Return the pod's claim from a template that a container uses, `None` unless it is just one."""
    names = [each.get("name") for each in (container.get("resources") or {}).get("claims") or []]
    claims = [
        claim
        for claim in spec.get("resourceClaims") or []
        if claim.get("name") in names and _TEMPLATE in claim
    ]
    return claims[0] if len(claims) == 1 else None


def _template(name: str, namespace: str | None, cards: int) -> Json:
    memory = f"device.capacity['{CARDS}'].memory.compareTo(quantity('{LEAST_MEMORY}')) >= 0"
    ask = {"deviceClassName": CARDS, "count": cards, "selectors": [{"cel": {"expression": memory}}]}
    return {
        "apiVersion": VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "spec": {
            "spec": {
                "devices": {
                    "requests": [{"name": "gpus", "exactly": ask}],
                    "constraints": [{"requests": ["gpus"], "matchAttribute": f"{CARDS}/productName"}],
                }
            }
        },
    }


def _may_stand(toleration: Json) -> bool:
    """Return whether pods may stand on nodes with GPUs; which value the taint has there is not known."""
    taint = {"key": _TAINT, "value": toleration.get("value"), "effect": "NoSchedule"}
    return tolerates([toleration], taint)
