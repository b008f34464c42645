"""A proposal of settings as a file for people: what is sure is set, what is not stands as a comment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import get_args

from fleet.boards import BOARDS
from foreslice.discovery.gather import Discovery, Found
from foreslice.settings.workload import WorkloadSettings

_HEAD = """\
# Proposed by `foreslice discover` from what was there; nothing is acted on with it as it stands. Read it,
# settle what is not sure, then prove it: foreslice config check FILE --live
version: v1

metrics:
  source: prometheus
  url: {url}
"""

_SLO = "    slo: {ttft: {p95: 1s}, itl: {p95: 60ms}} # not known: put yours"


def settings_text(found: Discovery, *, access: dict[str, str], cluster: dict[str, str]) -> str:
    """Return the settings file.

    Args:
        found: What there is.
        access: What the way to Prometheus takes besides its address, as settings name it.
        cluster: What the way to the API server takes.
    """
    lines = [_HEAD.format(url=json.dumps(found.url)).rstrip()]
    lines += [f"  {key}: {json.dumps(value)}" for key, value in access.items()]
    lines += ["", *_cluster(found, cluster), "", "acting: false", ""]
    lines += [f"# {note}" for note in found.notes]
    sure = [workload for workload in found.workloads if workload.is_usable]
    if not sure:
        lines += [
            "# Nothing is sure enough to be set: settle a workload below and take its comment marks away."
        ]
    lines.append("workloads:")
    for workload in found.workloads:
        lines += ["", *_workload(workload, is_acted_on=bool(found.survey.gpus))]
    if found.unclaimed:
        lines += ["", "# Series that come from no pod with a GPU here:"]
        lines += [f"#   {line}" for line in found.unclaimed]
    return "\n".join(lines) + "\n"


def _cluster(found: Discovery, cluster: dict[str, str]) -> Iterator[str]:
    for title, cards in found.cards.items():
        yield f"# {title} tells of {cards} card(s)."
    gpus = found.survey.gpus
    if gpus:
        boards = sorted({gpu.board.id for gpu in gpus})
        yield f"# NVIDIA's DRA driver publishes {len(gpus)} card(s): {', '.join(boards)}."
        yield f"cluster: {_flow({'kind': 'kubernetes', **cluster})}"
    else:
        yield "# NVIDIA's DRA driver publishes no card, so nothing could be acted on: demand is forecast."
        yield f"# Work is reckoned in one of {', '.join(BOARDS)}."
        yield "cluster: {kind: none, board: h100-80gb}"


def _workload(found: Found, *, is_acted_on: bool) -> Iterator[str]:
    """Yield the lines of one workload; those of one that is not sure are comments, and say why first."""
    serving, proposal, engine = found.serving, found.proposal, found.proposal.engine
    for line in (*_about(found), *(f"not sure: {reason}" for reason in found.unsure)):
        yield f"  # {line}"
    if found.variant_of:
        yield f"  # It serves what {found.variant_of} serves, behind one Service, and is in its `variants`."
        return
    limits = _limits(found)
    lines = [
        f"  - name: {json.dumps(serving.key.name)}",
        f"    namespace: {json.dumps(serving.key.namespace)}",
        f"    model: {json.dumps(found.model)}" if found.model else "    model: # name in the catalogue",
        f"    match: {_flow(dict(proposal.labels))}"
        if proposal.labels
        else "    match: {} # labels of its series",
        *([f"    engine: {engine.name}"] if engine is not None and engine.needs_match else []),
        _SLO,
        *_variants(found, is_acted_on=is_acted_on),
        "    mode: forecast-only",
        *([f"    replicas: {{min: {limits[0]}, max: {limits[1]}}} # as they are set now"] if limits else []),
    ]
    if serving.scheduler != "default-scheduler":
        lines.append(f"    scheduler: {json.dumps(serving.scheduler)}")
    if serving.grant.mechanism in _mechanisms():
        lines.append(f"    mechanism: {serving.grant.mechanism}")
    yield from (f"  # {line[2:]}" for line in lines) if found.unsure else lines


def _variants(found: Found, *, is_acted_on: bool) -> Iterator[str]:
    """Yield the line that names its variants; without cards to act on settings take none."""
    if found.variants:
        mark = "" if is_acted_on else "# "
        yield f"    {mark}variants: [{', '.join(map(json.dumps, found.variants))}]"


def _about(found: Found) -> Iterator[str]:
    serving = found.serving
    yield (
        f"{serving.kind} {serving.key}: {len(serving.ready)} of {serving.replicas} replicas ready; "
        f"{serving.grant.mechanism} ({serving.grant.asks})"
    )
    if found.proposal.engine is not None:
        yield f"{found.proposal.engine.title} serves {found.proposal.model or 'a model that no label names'}"
    if found.router:
        told = _flow(dict(found.router))
        yield f"A router tells of this model; if its requests come that way: router_match: {told}"
    for writer in serving.writers:
        yield f"{writer.name} {writer.does}"
    if serving.kind != "Deployment":
        yield "Only Deployments are acted on: of this one demand is forecast."
    if serving.grant.mechanism not in _mechanisms():
        yield f"Nothing is done through {serving.grant.mechanism} yet: demand is forecast."


def _limits(found: Found) -> tuple[int, int] | None:
    """Return the bounds that an autoscaler sets now; those of ours cannot begin at none."""
    bounds = next((writer.bounds for writer in found.serving.writers if writer.bounds), None)
    return None if bounds is None else (max(bounds[0], 1), max(bounds[1], 1))


def _mechanisms() -> tuple[str, ...]:
    """Return the mechanisms that settings know."""
    return get_args(WorkloadSettings.model_fields["mechanism"].annotation)


def _flow(labels: dict[str, str]) -> str:
    return "{" + ", ".join(f"{label}: {json.dumps(value)}" for label, value in labels.items()) + "}"
