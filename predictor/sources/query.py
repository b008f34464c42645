"""One query to a Prometheus: the raw readings it has, whether that is all, or one clear line why not."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NoReturn

import numpy as np
from prometheus_api_client import PrometheusConnect
from requests import RequestException, Response
from requests.exceptions import JSONDecodeError, SSLError, Timeout
from urllib3 import Retry

from fleet.errors import UnavailableError
from predictor.ports import Floats
from predictor.sources.access import Access, checked_url, session_of, shown

_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query found.

    Attributes:
        series: Labels, times in s and values of each series; an infinite value says as little as NaN.
        is_partial: Whether the server says that there may be more than it could get at.
    """

    series: tuple[tuple[dict[str, str], Floats, Floats], ...]
    is_partial: bool


class _PartialError(Exception):
    """The answer comes with warnings."""

    def __init__(self, found: list[dict[str, Any]]) -> None:
        super().__init__()
        self.found = found


class QueryApi:
    """Asks one server, which may be anything that speaks Prometheus' HTTP API.

    Raises `InputError` when it is made with what cannot be used, see `checked_url`.
    """

    def __init__(self, url: str, access: Access) -> None:
        self._url = checked_url(url, access)
        self._timeout_s = access.timeout_s
        session = session_of(access)
        session.hooks["response"].append(self._check)
        # No second try: whoever asks comes back at the next tick.
        self._connection = PrometheusConnect(self._url, session=session, retry=Retry(0), method="POST")

    def readings(self, selector: str, span_s: int, at_s: float) -> Answer:
        """Return the raw readings of the selected series in the last `span_s` before and at `at_s`.

        Raises:
            UnavailableError: No answer that could be used.
        """
        is_partial = False
        try:
            try:
                found = self._connection.custom_query(
                    f"{selector}[{span_s}s]", {"time": f"{at_s:.3f}"}, timeout=self._timeout_s
                )
            except _PartialError as partial:
                found, is_partial = partial.found, True
            return Answer(tuple(_series(found)), is_partial)
        except (JSONDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
            self._give_up("answers JSON that no Prometheus would", "give the address of its HTTP API", error)
        except RequestException as error:
            self._give_up(*_why(error, self._timeout_s), error)

    def _check(self, response: Response, **_: object) -> None:
        """Let only JSON that answers the query pass, and stop at anything that says it is partial."""
        content = response.content  # read to its end whatever it is, so that the connection can be used again
        is_json = "json" in response.headers.get("Content-Type", "")
        if not response.ok or response.is_redirect:
            self._give_up(*_refusal(response, is_json=is_json))
        if not is_json:
            kind = response.headers.get("Content-Type") or "nothing"
            self._give_up(
                f"answers {kind} instead of JSON",
                "give the address of its HTTP API, not of a log-in or web page",
            )
        # Parsing costs as much as all the rest, so only an answer that may be partial is parsed here as well.
        if b'"warnings"' in content or b'"isPartial"' in content:
            document = response.json()
            if document.get("warnings") or document.get("isPartial"):
                raise _PartialError(document["data"]["result"])

    def _give_up(self, what: str, fix: str, error: Exception | None = None) -> NoReturn:
        line = " ".join(what.split())[:_SHOWN_CHARACTERS]
        raise UnavailableError(f"{shown(self._url)}: {line}; {fix}") from error


def _series(found: list[dict[str, Any]]) -> Iterator[tuple[dict[str, str], Floats, Floats]]:
    for series in found:
        times = np.array([t_s for t_s, _ in series["values"]], dtype=np.float64)
        values = np.array([float(text) for _, text in series["values"]], dtype=np.float64)
        yield series["metric"], times, np.where(np.isfinite(values), values, np.nan)


def _refusal(response: Response, *, is_json: bool) -> tuple[str, str]:
    """Return what an error status means, and what to do about it."""
    status = response.status_code
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return f"refuses who we are (HTTP {status})", "check token_file, or username and password_file"
    if response.is_redirect:
        return (
            f"sends us on (HTTP {status})",
            f"give the address that it means: {response.headers['Location']}",
        )
    if status == HTTPStatus.NOT_FOUND:
        return "is no Prometheus (HTTP 404)", "give the part of its address that stands before /api/v1/query"
    said = str(response.json().get("error", "")) if is_json else response.text
    return f"does not answer the query (HTTP {status}: {said.strip()})", "see what it logs"


def _why(error: RequestException, timeout_s: float) -> tuple[str, str]:
    """Return why there is no answer, and what to do about it."""
    cause = _root(error)
    if isinstance(error, Timeout):
        return f"has not answered within {timeout_s:g} s", "see how busy it is, or wait longer"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"has a certificate that is not trusted ({cause.verify_message})",
            "give the CA that signed it as ca_file",
        )
    if isinstance(error, SSLError):
        return f"does not speak TLS as we do ({cause})", "check https and the port"
    said = getattr(cause, "strerror", None) or str(cause)
    return f"cannot be reached ({said})", "check the address, and that Prometheus runs"


def _root(error: BaseException) -> BaseException:
    """Return what a chain of wrapped errors began with."""
    inner = (getattr(error, "reason", None), *error.args, error.__cause__)
    first = next((wrapped for wrapped in inner if isinstance(wrapped, BaseException)), None)
    return error if first is None else _root(first)
