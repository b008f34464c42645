"""What a real API server answers to raw JSON, with errors that callers can act on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from kubernetes.client import ApiClient, ApiException
from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError

from fleet.errors import ConflictError, ForesliceError, RefusedError, UnavailableError
from simulator.api import Json, Kind

# Longest waits for a connection, and for an answer or its next line: a watch says something every minute.
_TIMEOUTS_S = (5.0, 120.0)
_MOVED_ON = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.GONE)
_NO_ANSWER = 0
_PATCH_TYPE = "application/merge-patch+json"


class ApiServer:
    """An API server, asked by path; threads may share it. A PATCH is a merge patch.

    Every call raises `ConflictError` (404, 409, 410), `RefusedError` (other 4xx) or `UnavailableError`
    (429, 5xx, no answer), in the server's own words.
    """

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def request(
        self, method: str, path: str, body: Json | None = None, query: Mapping[str, Any] | None = None
    ) -> Json:
        """Return the answer to a request."""
        with self._open(method, path, body, query) as response:
            try:
                answer: Json = json.loads(response.read())
            except (HTTPError, ValueError) as error:
                raise UnavailableError(f"{method} {path}: {error}") from error
        return answer

    def stream(self, path: str, query: Mapping[str, Any]) -> HTTPResponse:
        """Return an answer that goes on, to be read line by line and closed by the caller."""
        return self._open("GET", path, None, query)

    def close(self) -> None:
        """End all connections."""
        self._client.close()  # type: ignore[no-untyped-call]  # shipped without types

    def _open(
        self, method: str, path: str, body: Json | None, query: Mapping[str, Any] | None
    ) -> HTTPResponse:
        _, url, headers, _, _ = self._client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params={"Content-Type": _PATCH_TYPE if method == "PATCH" else "application/json"},
            auth_settings=["BearerToken"],
        )
        try:
            response: HTTPResponse = self._client.call_api(
                method, url, headers, body, _request_timeout=_TIMEOUTS_S
            ).response
            if response.status >= HTTPStatus.BAD_REQUEST:
                with response:
                    raise _error(response.status, f"{method} {path}: {_message(response)}")
        except (HTTPError, ApiException) as error:
            raise UnavailableError(f"{method} {path}: {error}") from error
        return response


def address(kind: Kind, namespace: str | None = None, name: str | None = None) -> str:
    """Return the path of a kind's objects, of those in a namespace, or of one.

    Raises `RefusedError` for an empty name: a mistake must not become the address of all.
    """
    if name == "":
        raise RefusedError(f"a {kind.name} without a name has no address")
    root = "/apis" if "/" in kind.api_version else "/api"
    parts = [root, kind.api_version, *(["namespaces", namespace] if namespace else []), kind.plural]
    return "/".join(parts if name is None else [*parts, name])


def error_of(status: Json) -> ForesliceError:
    """Return the error that a `Status` object stands for."""
    return _error(status.get("code", _NO_ANSWER), status.get("message", ""))


def _error(code: int, text: str) -> ForesliceError:
    if code in _MOVED_ON:
        return ConflictError(text)
    is_ours = HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR
    return RefusedError(text) if is_ours and code != HTTPStatus.TOO_MANY_REQUESTS else UnavailableError(text)


def _message(response: HTTPResponse) -> str:
    """Return what a failed answer says: a `Status` has a message, what stands before the server may not."""
    said = response.read().decode(errors="replace")
    try:
        return str(json.loads(said)["message"])
    except (ValueError, KeyError, TypeError):
        return f"{response.status} {said[:200]}"
