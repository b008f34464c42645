"""Manifests in, faults and corrected manifests out; nothing is asked of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from actuator.inventory.findings import Finding
from actuator.manifest import Json
from foreslice.doctor.charts import correct_values, is_values
from foreslice.doctor.claims import correct_claim
from foreslice.doctor.pods import correct_pod
from foreslice.doctor.sheet import Sheet
from foreslice.doctor.strict import drop_unknown

_CLAIMS = {"ResourceClaim", "ResourceClaimTemplate"}


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found in a file.

    Attributes:
        findings: What is wrong, document by document.
        corrected: The documents put right, in their order; templates that a pod needs stand before it.
    """

    findings: tuple[Finding, ...]
    corrected: tuple[Json, ...]


def examine(documents: Sequence[Json]) -> Examination:
    """Return what is wrong with manifests and Helm values, and both put right.

    Known are claims and their templates, whatever has pods, and values of the charts of HAMi and of
    NVIDIA's DRA driver; other documents come back as they are.
    """
    sheets = [Sheet(body, _name(body, index)) for index, body in enumerate(documents)]
    for sheet in sheets:
        if sheet.body.get("kind") in _CLAIMS:
            correct_claim(sheet)
    templates = {
        str(name): sheet.body
        for sheet in sheets
        if sheet.body.get("kind") == "ResourceClaimTemplate"
        and (name := (sheet.body.get("metadata") or {}).get("name"))
    }
    corrected: list[Json] = []
    for sheet in sheets:
        if is_values(sheet.body):
            correct_values(sheet)
        elif "kind" not in sheet.body:
            fix = "give apiVersion and kind, or values of HAMi's or NVIDIA's chart"
            sheet.fault("no-kind", "", "this is neither an object nor values of a known chart", fix)
        corrected += correct_pod(sheet, templates)
        drop_unknown(sheet)
        corrected.append(sheet.body)
    return Examination(tuple(found for sheet in sheets for found in sheet.findings), tuple(corrected))


def _name(body: Json, index: int) -> str:
    name = (body.get("metadata") or {}).get("name")
    kind = body.get("kind", f"document {index + 1}")
    return f"{kind}/{name}" if name else str(kind)
