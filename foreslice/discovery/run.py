"""`foreslice discover`: from a cluster and a Prometheus to a settings file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.table import Table

from actuator.kube.connect import connect
from actuator.kube.survey import survey
from fleet.errors import InputError, RefusedError
from foreslice import output, show
from foreslice.clock import WallClock
from foreslice.discovery.file import settings_text
from foreslice.discovery.gather import Discovery, Found, discover
from predictor.sources.access import Access
from predictor.sources.query import QueryApi


def run_discover(
    url: str,
    access: Access,
    kubeconfig: Path | None,
    context: str,
    namespaces: Sequence[str],
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Write a proposal of settings to `out`, or print it where there is none, and say what is sure.

    Raises:
        InputError: Address, kubeconfig or file cannot be used, or the cluster does not let us read.
        UnavailableError: The API server or Prometheus does not answer.
    """
    api = QueryApi(url, access)
    with closing(connect(kubeconfig, context)) as server:
        try:
            held = survey(server, namespaces)
        except RefusedError as error:
            fix = "ask for that right, or name namespaces in which you have it with --namespace"
            raise InputError(str(error), where="cluster", fix=fix) from error
    found = discover(held, api, url, WallClock().now_s())
    text = settings_text(
        found,
        access=_paths(token_file=access.token_file, ca_file=access.ca_file),
        cluster=_paths(kubeconfig=kubeconfig) | ({"context": context} if context else {}),
    )
    if out is not None:
        with output.writable(out):
            out.write_text(text, encoding="utf-8")
    if as_json:
        told = {"file": None if out is None else str(out), **as_dict(found), "settings": text}
        output.print_json(told)
        return
    if out is None:
        print(text, end="")  # noqa: T201 -- the command's output
    people = show.console(to_stderr=out is None)
    people.print(_table(found))
    for note in found.notes:
        people.print(note)
    if out is not None:
        people.print(f"\n{out}: read it, then: foreslice config check {out} --live")


def as_dict(found: Discovery) -> dict[str, Any]:
    """Return what was found for scripts."""
    return {
        "usable": any(workload.is_usable for workload in found.workloads),
        "workloads": [_as_dict(workload) for workload in found.workloads],
        "cards": {"published": len(found.survey.gpus), **found.cards},
        "unclaimed": list(found.unclaimed),
        "notes": list(found.notes),
    }


def _as_dict(found: Found) -> dict[str, Any]:
    serving, proposal = found.serving, found.proposal
    return {
        "workload": str(serving.key),
        "kind": serving.kind,
        "replicas": serving.replicas,
        "ready": sorted(serving.ready),
        "mechanism": serving.grant.mechanism,
        "asks": serving.grant.asks,
        "scheduler": serving.scheduler,
        "engine": proposal.engine.title if proposal.engine is not None else None,
        "served": proposal.model or None,
        "model": found.model or None,
        "match": dict(proposal.labels),
        "router_match": dict(found.router),
        "writers": [
            {"name": writer.name, "does": writer.does, "of_replicas": writer.is_of_replicas}
            for writer in serving.writers
        ],
        "unsure": list(found.unsure),
        "variants": list(found.variants),
        "variant_of": found.variant_of or None,
    }


def _table(found: Discovery) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("workload", "mechanism", "engine", "serves", "also written by", "not sure"):
        table.add_column(name)
    for workload in found.workloads:
        serving = workload.serving
        of = f", variant of {workload.variant_of}" if workload.variant_of else ""
        table.add_row(
            f"{serving.key} ({serving.kind}{of})",
            serving.grant.mechanism,
            workload.proposal.engine.title if workload.proposal.engine is not None else "-",
            workload.proposal.model or "-",
            ", ".join(writer.name for writer in serving.writers) or "-",
            "; ".join(workload.unsure) or "-",
        )
    return table


def _paths(**paths: Path | None) -> dict[str, str]:
    """Return files by the key that settings name them by: whole, wherever the settings are written."""
    return {key: str(path.absolute()) for key, path in paths.items() if path is not None}
