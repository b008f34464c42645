"""Requests to an API server and its answers, as plain JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from kubernetes.client import ApiClient, ApiException
from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError

from actuator.kube.errors import error_of
from actuator.manifest import FIELD_MANAGER, Json
from fleet.errors import UnavailableError

APPLY = "application/apply-patch+yaml"
"""Content type of server-side apply; JSON is YAML."""

MERGE = "application/merge-patch+json"
"""Content type of a patch whose fields take the place of those that are there."""

# Longest waits for a connection, and for an answer or its next bytes.
_TIMEOUTS_S = (5.0, 15.0)


class ApiServer:
    """An API server, asked by path; threads may share it.

    Every call raises `RefusedError` (400, 403, 422), `ConflictError` or one of `actuator.kube.errors` (404,
    409, 410), or `UnavailableError` (401, 429, 5xx, no answer, or one that is no JSON).
    """

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        query: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> Json:
        """Return the answer to a request."""
        with self._open(method, path, body, query, content_type) as response:
            try:
                return parsed(response.read())
            except (HTTPError, ValueError) as error:
                raise UnavailableError(f"{method} {path}: {error}") from error

    def create(self, path: str, body: Json, *, is_dry: bool = False) -> Json:
        """Write a new object, or only have it judged; `ExistsError` where there is one of its name."""
        return self.request("POST", path, body, {"fieldManager": FIELD_MANAGER, **_dry(is_dry)})

    def apply(self, path: str, body: Json, *, force: bool, is_dry: bool = False) -> Json:
        """Apply fields to an object, on the resourceVersion that the body carries, or only have it judged.

        Raises:
            OwnedError: Another manager owns one of the fields with another value, and `force` is off.
        """
        query = {"fieldManager": FIELD_MANAGER, "force": str(force).lower(), **_dry(is_dry)}
        return self.request("PATCH", path, body, query, APPLY)

    def merge(self, path: str, body: Json, *, is_dry: bool = False) -> Json:
        """Write fields of an object whoever keeps them, and return it: of scales that cannot be applied.

        A custom resource's scale is no version of that resource, and the server does not convert to it what
        is applied (1.37: "request to convert CR to an invalid group/version").
        """
        return self.request("PATCH", path, body, {"fieldManager": FIELD_MANAGER, **_dry(is_dry)}, MERGE)

    def stream(self, path: str, query: Mapping[str, Any]) -> HTTPResponse:
        """Return an answer that goes on, to be read line by line and closed by the caller."""
        return self._open("GET", path, None, query, "application/json", (_TIMEOUTS_S[0], 3 * _TIMEOUTS_S[1]))

    def close(self) -> None:
        """End all connections."""
        self._client.close()  # type: ignore[no-untyped-call]  # shipped without types

    def _open(
        self,
        method: str,
        path: str,
        body: Json | None,
        query: Mapping[str, Any] | None,
        content_type: str,
        timeouts_s: tuple[float, float] = _TIMEOUTS_S,
    ) -> HTTPResponse:
        _, url, headers, _, _ = self._client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params={"Content-Type": content_type},
            auth_settings=["BearerToken"],
        )
        try:
            response: HTTPResponse = self._client.call_api(
                method, url, headers, body, _request_timeout=timeouts_s
            ).response
        except (HTTPError, ApiException) as error:
            raise UnavailableError(f"{method} {path}: {error}") from error
        if response.status >= HTTPStatus.BAD_REQUEST:
            with response:
                raise error_of(_status(response), f"{method} {path}")
        return response


def _dry(is_dry: bool) -> dict[str, str]:  # noqa: FBT001 -- private, and named by its callers
    """Return what makes a request go through validation and admission, and be kept nowhere."""
    return {"dryRun": "All"} if is_dry else {}


def parsed(text: bytes) -> Json:
    """Return JSON in which equal objects with one plain value are one and the same: not for changing.

    Slices say few values hundreds of times over: 41,600 devices take 69 MiB instead of 302, and reading them
    no longer.
    """
    seen: dict[tuple[str, type, Any], Json] = {}

    def share(body: Json) -> Json:
        if len(body) == 1:
            ((key, value),) = body.items()
            if not isinstance(value, dict | list):
                return seen.setdefault((key, type(value), value), body)
        return body

    answer: Json = json.loads(text, object_hook=share)
    return answer


def _status(response: HTTPResponse) -> Json:
    """Return what a failed answer says: a `Status`, or the text of whatever stands before the server."""
    try:
        said = response.read().decode(errors="replace")
    except HTTPError as error:
        said = str(error)
    try:
        status = json.loads(said)
        return {**status, "code": response.status}
    except (ValueError, TypeError):
        return {"code": response.status, "message": f"{response.status} {said[:200].strip()}"}
