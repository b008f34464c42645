"""What somebody scraped or asked once: exposition text, or an answer of Prometheus' API, as series."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from fleet.errors import InputError

BARE = "series"

_NAME = re.compile(r"^\s*([a-zA-Z_:][\w:]*)", re.MULTILINE)

ADVICE = {
    "bad_data": "ask for less at once, or mend the query; it will be refused again as it is",
    "execution": "ask for a shorter range or fewer series; it will fail again as it is",
    "timeout": "ask again later, for a shorter range",
    "unavailable": "ask again later",
}
"""What to do about an error of Prometheus' API, by its `errorType` (prometheus: web/api/v1/api.go)."""


@dataclass(frozen=True, slots=True)
class Exposed:
    """One series with its readings in the order of time; text that was scraped once has no times.

    Attributes:
        name: Its name, empty for the result of an expression.
        labels: Its labels.
        times_s: Times of the readings in s, none where they are not told.
        values: The readings.
    """

    name: str
    labels: Mapping[str, str]
    times_s: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        """Raise `ValueError` for what no scraper would give."""
        if not self.values:
            raise ValueError("a series without readings")
        if any(later <= earlier for earlier, later in pairwise(self.times_s)):
            raise ValueError("times of readings do not rise")
        if math.isnan(float(self.labels.get("le", 0.0))):
            raise ValueError("a bucket without a bound")

    @property
    def newest(self) -> float:
        """The newest reading."""
        return self.values[-1]


@dataclass(frozen=True, slots=True)
class Scrape:
    """Series, and whether they are all.

    Attributes:
        form: In what form they came: exposition, openmetrics, vector, matrix, or a bare series.
        series: The series.
        warnings: Why something may be missing; empty = complete.
        infos: What the server says besides.
    """

    form: str
    series: tuple[Exposed, ...]
    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()


def parsed(text: str, where: str) -> Scrape:
    """Return the series in a text.

    Raises:
        InputError: It is neither exposition text nor an answer of Prometheus' API, or holds its error.
    """
    if text.lstrip().startswith(("{", "[")):
        return _answer(text, where)
    form, families = (
        ("openmetrics", openmetrics.text_string_to_metric_families)
        if text.rstrip().endswith("# EOF")
        else ("exposition", text_string_to_metric_families)
    )
    written = set(_NAME.findall(text))
    try:
        series = tuple(
            Exposed(_as_written(sample.name, written), dict(sample.labels), (), (sample.value,))
            for family in families(text)
            for sample in family.samples
        )
    except (ValueError, KeyError, IndexError) as error:
        raise InputError(
            f"is no exposition text ({error})", where=where, fix="give what an engine answers at /metrics"
        ) from error
    if not series:
        raise InputError("holds no series", where=where, fix="give what an engine answers at /metrics")
    return Scrape(form, series)


def _as_written(name: str, written: set[str]) -> str:
    """Return a sample's own name: the parser appends _total to counters that were written without."""
    return name if name in written else name.removesuffix("_total")


def _answer(text: str, where: str) -> Scrape:
    fix = "give the JSON that /api/v1/query or /api/v1/query_range answers"
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InputError(f"is no JSON ({error})", where=where, fix=fix) from error
    if isinstance(document, dict) and document.get("status") == "error":
        kind, said = document.get("errorType", ""), document.get("error", "")
        advice = ADVICE.get(kind, "see what the server logs")
        raise InputError(f"holds no answer but an error ({kind}: {said})", where=where, fix=advice)
    try:
        return _result(document)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"is JSON that no Prometheus would answer ({type(error).__name__}: {error})",
            where=where,
            fix=fix,
        ) from error


def _result(document: Any) -> Scrape:  # noqa: ANN401 -- whatever JSON holds
    if "metric" in document:
        return Scrape(BARE, tuple(_series([document])))
    data = document["data"]
    warnings = [str(warning) for warning in document.get("warnings", ())]
    if document.get("isPartial"):
        warnings.append("the server says that its answer is partial")
    result = data["result"]
    if data["resultType"] == "scalar":
        result = [{"metric": {}, "value": result}]
    return Scrape(
        data["resultType"],
        tuple(_series(result)),
        tuple(warnings),
        tuple(str(info) for info in document.get("infos", ())),
    )


def _series(result: Sequence[Mapping[str, Any]]) -> Iterator[Exposed]:
    for one in result:
        labels = {str(label): str(value) for label, value in one["metric"].items()}
        readings = one["values"] if "values" in one else [one["value"]]
        yield Exposed(
            labels.pop("__name__", ""),
            labels,
            tuple(float(t_s) for t_s, _ in readings),
            tuple(float(value) for _, value in readings),
        )
