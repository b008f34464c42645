"""`foreslice sharing`: from a cluster and its metrics, or what was dumped of both, to tables and a page."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from actuator.inventory.understand import dump_of
from actuator.kube.connect import connect
from actuator.kube.tenancy import read_tenancy
from fleet.errors import InputError, RefusedError
from fleet.signal import Signal
from foreslice import output, show
from foreslice.clock import WallClock
from foreslice.discovery.gather import RECENT_S, speaking
from foreslice.inventory import as_the_api_has_it, objects_in, text_in
from foreslice.sharing.gather import Sharing, sharing_of
from foreslice.sharing.output import as_dict, as_text
from foreslice.sharing.picture import page
from predictor.engines import Role
from predictor.inspection.scrape import Exposed, parsed
from predictor.sources.access import Access
from predictor.sources.promql import selector
from predictor.sources.query import QueryApi


@dataclass(frozen=True, slots=True)
class Live:
    """A cluster, and a Prometheus, empty = none is asked."""

    kubeconfig: Path | None
    context: str
    url: str
    access: Access


@dataclass(frozen=True, slots=True)
class Dumped:
    """Files of objects as `kubectl get -o yaml` writes them, and of metrics as exporters do."""

    objects: Sequence[Path]
    metrics: Sequence[Path]


def run_sharing(source: Live | Dumped, out: Path | None, *, as_json: bool) -> None:
    """Print who shares which card, and leave a page in `out`, if it is named.

    Raises:
        InputError: Something given cannot be used, or the cluster does not let us read.
        UnavailableError: The API server or Prometheus does not answer.
    """
    if out is not None:
        output.check_writable(out)
    sharing = _live(source) if isinstance(source, Live) else _dumped(source)
    if out is not None:
        out.write_text(page(sharing), encoding="utf-8")
    if as_json:
        output.print_json(as_dict(sharing))
    else:
        show.console().print(as_text(sharing))


def _live(source: Live) -> Sharing:
    series, notes = _asked(source) if source.url else ((), ())
    with closing(connect(source.kubeconfig, source.context)) as server:
        try:
            dump, refused = read_tenancy(server)
        except RefusedError as error:
            raise InputError(str(error), where="cluster", fix="ask for that right") from error
    return sharing_of(dump, series, (*refused, *notes))


def _asked(source: Live) -> tuple[tuple[Exposed, ...], tuple[str, ...]]:
    names = speaking(Role.CARD, Role.TENANT).names(Signal)
    answer = QueryApi(source.url, source.access).readings(selector(names, {}), RECENT_S, WallClock().now_s())
    series = tuple(
        Exposed(labels["__name__"], labels, tuple(times.tolist()), tuple(values.tolist()))
        for labels, times, values in answer.series
    )
    partial = f"{source.url}: says that its answer is partial; some series may be missing"
    return series, (partial,) if answer.is_partial else ()


def _dumped(source: Dumped) -> Sharing:
    dump = dump_of(document for path in source.objects for document in objects_in(path))
    scrapes = [parsed(text_in(path), str(path)) for path in source.metrics]
    notes = [
        f"{path}: {line}"
        for path, scrape in zip(source.metrics, scrapes, strict=True)
        for line in scrape.warnings
    ]
    with as_the_api_has_it(", ".join(map(str, source.objects))):
        return sharing_of(dump, [one for scrape in scrapes for one in scrape.series], notes)
