"""What an API server has against a request, as errors that callers can act on."""

from __future__ import annotations

import re
from http import HTTPStatus

from actuator.manifest import Json
from fleet.errors import ConflictError, ForesliceError, RefusedError, UnavailableError


class NotFoundError(ConflictError):
    """There is no such object, or the server does not serve its kind."""


class ExistsError(ConflictError):
    """There is an object of this name already."""


class ExpiredError(ConflictError):
    """The version to go on from is no longer kept: list anew."""


class OwnedError(ConflictError):
    """Others own fields of a server-side apply.

    Attributes:
        once: Managers that wrote them once, as people with kubectl do.
        lasting: Managers that apply them, and will again.
    """

    def __init__(self, text: str, once: tuple[str, ...], lasting: tuple[str, ...]) -> None:
        super().__init__(text)
        self.once = once
        self.lasting = lasting


# As written by the API server: apiserver/pkg/endpoints/handlers/responsewriters/errors.go, and for conflicts
# structured-merge-diff's names of managers by apimachinery/pkg/util/managedfields/internal/conflict.go: those
# that do not apply are named with the version that they wrote.
_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)"'
    r' in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
_OWNER = re.compile(r'conflict with "(?P<manager>[^"]*)"(?P<once> )?')


def error_of(status: Json, request: str) -> ForesliceError:
    """Return the error that a `Status` object stands for; `request` says what was asked, for the message."""
    code = int(status.get("code") or 0)
    reason, said = status.get("reason", ""), str(status.get("message", ""))
    text = f"{request}: {said}"
    if code == HTTPStatus.NOT_FOUND:
        return NotFoundError(text)
    if code == HTTPStatus.GONE:
        return ExpiredError(text)
    if code == HTTPStatus.CONFLICT:
        return _conflict(status, reason, text)
    if code == HTTPStatus.FORBIDDEN:
        return RefusedError(_permission(said) or text)
    if code == HTTPStatus.UNAUTHORIZED:
        return UnavailableError(f"{request}: the API server does not accept our credentials (401)")
    is_ours = HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR
    return RefusedError(text) if is_ours and code != HTTPStatus.TOO_MANY_REQUESTS else UnavailableError(text)


def _conflict(status: Json, reason: str, text: str) -> ConflictError:
    if reason == "AlreadyExists":
        return ExistsError(text)
    causes: list[Json] = (status.get("details") or {}).get("causes") or []
    owners = [_OWNER.match(c["message"]) for c in causes if c.get("reason") == "FieldManagerConflict"]
    found = [owner for owner in owners if owner is not None]
    if not found:
        return ConflictError(text)
    once = tuple(dict.fromkeys(owner["manager"] for owner in found if owner["once"]))
    return OwnedError(text, once, tuple(dict.fromkeys(o["manager"] for o in found if not o["once"])))


def _permission(said: str) -> str | None:
    """Return which permission is missing and the rule that grants it, `None` where it is something else."""
    match = _FORBIDDEN.search(said)
    if match is None:
        return None
    where = f"in namespace {match['namespace']}" if match["namespace"] else "in the whole cluster"
    rule = f'apiGroups: ["{match["group"]}"], resources: ["{match["resource"]}"], verbs: ["{match["verb"]}"]'
    return f"may not {match['verb']} {match['resource']} {where}: grant {{{rule}}} to {match['user']}"
