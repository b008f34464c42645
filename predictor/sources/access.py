"""How to get at a Prometheus: who we say we are, and whom we believe."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from requests import PreparedRequest, Session
from requests.auth import AuthBase, HTTPBasicAuth

from fleet.errors import InputError, UnavailableError


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials and trust.

    Attributes:
        token_file: File with a bearer token; read for every request, as Kubernetes replaces it.
        username: User of basic authentication.
        password_file: File with that user's password; read for every request.
        ca_file: Certificates that the server's must be signed by, instead of the public ones.
        is_insecure: Take any certificate, and send credentials without TLS.
        timeout_s: Seconds within which an answer must begin, and go on.
    """

    token_file: Path | None = None
    username: str = ""
    password_file: Path | None = None
    ca_file: Path | None = None
    is_insecure: bool = False
    timeout_s: float = 30.0


def checked_url(url: str, access: Access) -> str:
    """Return the address that paths of the API are added to.

    Raises:
        InputError: It is no address, holds or would leak credentials, or a file cannot be used.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise InputError(
            "is no address of a Prometheus", where=shown(url), fix="give one like https://host:9090"
        )
    if parts.username is not None:
        raise InputError(
            "holds credentials, which would be logged",
            where=shown(url),
            fix="give a username and a password_file",
        )
    has_credentials = access.token_file is not None or access.password_file is not None
    if has_credentials and parts.scheme == "http" and not access.is_insecure:
        raise InputError(
            "would get credentials without TLS",
            where=shown(url),
            fix="use https, or say insecure where the network is trusted",
        )
    _check_files(access)
    return url.rstrip("/")


def session_of(access: Access) -> Session:
    """Return a session whose every request carries the credentials, and believes whom it may."""
    session = Session()
    session.auth = _Signed(access)
    session.verify = (
        False if access.is_insecure else str(access.ca_file) if access.ca_file is not None else True
    )
    return session


def shown(url: str) -> str:
    """Return an address as it may be logged: without credentials."""
    scheme, mark, rest = url.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


class _Signed(AuthBase):
    """Adds what a request carries: credentials, and the query in its body, whose length nothing limits."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.url, _, request.body = str(request.url).partition("?")
        request.headers["Content-Type"] = "application/x-www-form-urlencoded"
        access = self._access
        try:
            if access.token_file is not None:
                request.headers["Authorization"] = f"Bearer {secret_in(access.token_file)}"
            if access.password_file is not None:
                HTTPBasicAuth(access.username.encode(), secret_in(access.password_file).encode())(request)
        except InputError as error:
            raise UnavailableError(str(error)) from error
        return request


def _check_files(access: Access) -> None:
    for path in (access.token_file, access.password_file):
        if path is not None:
            secret_in(path)
    if access.ca_file is not None:
        try:
            ssl.create_default_context(cafile=access.ca_file)
        except OSError as error:
            raise InputError(
                f"cannot be used ({error.strerror or error})",
                where=str(access.ca_file),
                fix="give a PEM file with the certificate of the CA",
            ) from error


def secret_in(path: Path) -> str:
    """Read a secret; an `InputError` never shows any of it."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=str(path), fix="give a readable file with the secret"
        ) from error
    except UnicodeDecodeError:
        text = ""
    if not text or not text.isprintable():
        raise InputError(
            "holds no secret of one line", where=str(path), fix="write it there and nothing else"
        )
    return text
