"""The template switch: a Deployment's pods on another shape, by pointing it to another claim template.

Claim and template specs never change, so a template is named after its content. It is owned by the
Deployment, and says in whose place it stands, so that the way back is known to whoever can read it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from actuator.manifest import Json, digest_of, dns_label, key_of
from actuator.mechanisms.dra import ask_of, claim_template, shape_asked
from actuator.mechanisms.engine_memory import refuse_other_memory
from actuator.objects.holds import may_take_held, toleration
from actuator.objects.rollouts import INSTEAD_OF, owners_template, template_of
from actuator.objects.variants import Makings, gpu_claim, is_given, owner_of, refuse_other_spread
from fleet.errors import RefusedError
from fleet.shape import Shape


def switch_objects(base: Json, makings: Makings, shape: Shape) -> tuple[Json, ...]:
    """Return what takes a Deployment to a shape: the template where it needs one of ours, itself last.

    To the shape that its owner asked for it goes by its owner's own template.

    Raises:
        RefusedError: It cannot be taken there, with the reason.
    """
    name = base["metadata"]["name"]
    where = f"{base['kind']} {name}"
    if base["kind"] != "Deployment":
        raise RefusedError(f"{where}: only Deployments are switched from one template to another")
    board = next((board for board in makings.boards if board.id == shape.board), None)
    if board is None:
        raise RefusedError(f"{where}: no card of the fleet is a {shape.board}")
    if shape.hundredths:
        raise RefusedError(f"{where}: only whole cards and instances are switched to, not {shape}")
    claim, ask = gpu_claim(base, makings.templates)
    refuse_other_spread(where, shape, ask.request.count)
    for container in base["spec"]["template"]["spec"]["containers"]:
        if is_given(container, claim):
            refuse_other_memory(container, shape)
    owners = _owners(base, makings, claim)
    if _shape_of(owners, makings) == shape:
        return (pointed(base, claim, owners),)
    owner = key_of(base)
    if not may_take_held(ask.tolerations, owner):
        ask = replace(ask, tolerations=(*ask.tolerations, toleration(owner)))
    template = claim_template(owner.namespace, board, shape, ask)
    metadata = {
        **template["metadata"],
        # Of two owner's templates in whose place it could stand each has its own.
        "name": dns_label(f"{name}-{shape.name}-{digest_of([template['spec'], owners])}"),
        "annotations": {INSTEAD_OF: owners},
        "ownerReferences": [owner_of(base)],
    }
    return {**template, "metadata": metadata}, pointed(base, claim, metadata["name"])


def pointed(base: Json, claim: str, template: str) -> Json:
    """Return a Deployment whose pods get the claim of this name from a template."""
    spec, pods = base["spec"], base["spec"]["template"]["spec"]
    own = {"name": claim, "resourceClaimTemplateName": template}
    claims = [own if held["name"] == claim else held for held in pods["resourceClaims"]]
    pods = {**pods, "resourceClaims": claims}
    return {**base, "spec": {**spec, "template": {**spec["template"], "spec": pods}}}


def back_to(base: Json, makings: Makings, template: str) -> Json:
    """Return a Deployment as it is once it is pointed back to a template that is there.

    Raises:
        RefusedError: There is no such template.
    """
    if template not in makings.templates:
        raise RefusedError(
            f"Deployment {key_of(base)} cannot go back to ResourceClaimTemplate {template}, which is gone: "
            "create it anew"
        )
    return pointed(base, gpu_claim(base, makings.templates)[0], template)


def pointing(after: Json, claim: str, expects: str | None) -> Json:
    """Return the one field to write of a Deployment that is pointed to a template, to be applied.

    `expects` is the version that the Deployment must still have, `None` = any.
    """
    version = {} if expects is None else {"resourceVersion": expects}
    own = {
        "name": claim,
        "resourceClaimTemplateName": template_of(after["spec"]["template"]["spec"], claim),
    }
    return {
        "apiVersion": after["apiVersion"],
        "kind": after["kind"],
        "metadata": {**{name: after["metadata"][name] for name in ("name", "namespace")}, **version},
        "spec": {"template": {"spec": {"resourceClaims": [own]}}},
    }


def _owners(base: Json, makings: Makings, claim: str) -> str:
    """Return the template that the Deployment's owner named."""
    named = template_of(base["spec"]["template"]["spec"], claim)
    return owners_template(makings.templates.get(named), named)


def _shape_of(template: str, makings: Makings) -> Shape | None:
    """Return what a template asks for, `None` where it is gone, or asks for no one shape."""
    body = makings.templates.get(template)
    if body is not None:
        with suppress(RefusedError):
            return shape_asked(ask_of(body["spec"]["spec"]).request, makings.boards)
    return None
