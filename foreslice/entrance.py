"""Who may ask the service over HTTP, and how it shows that it is the one that was asked."""

from __future__ import annotations

import hmac
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from fleet.errors import InputError
from predictor.sources.access import secret_in


@dataclass(frozen=True, slots=True)
class Entrance:
    """TLS and a bearer token of our own endpoints.

    All files are read for every connection: those that Kubernetes or cert-manager replace are taken up.

    Attributes:
        cert_file: Our certificate and those that signed it, PEM; `None` = plain HTTP.
        key_file: Its key.
        token_file: File with the token that whoever asks for metrics must send; `None` = anyone may.
    """

    cert_file: Path | None = None
    key_file: Path | None = None
    token_file: Path | None = None

    def check(self) -> None:
        """Raise `InputError` if a file cannot be used."""
        if self.token_file is not None:
            secret_in(self.token_file)
        if self.cert_file is not None:
            self._context()

    def wrap(self, connection: socket.socket) -> socket.socket:
        """Return a new connection with TLS, if that is spoken here; `OSError` if the client does not."""
        if self.cert_file is None:
            return connection
        return self._context().wrap_socket(connection, server_side=True)

    def lets_in(self, authorization: str) -> bool:
        """Return whether a request with this header `Authorization` may see metrics."""
        if self.token_file is None:
            return True
        try:
            wanted = f"Bearer {secret_in(self.token_file)}"
        except InputError:  # a secret that has gone lets nobody in
            return False
        return hmac.compare_digest(authorization.encode(), wanted.encode())

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(str(self.cert_file), self.key_file)
        except OSError as error:  # which `ssl.SSLError` is
            raise InputError(
                f"cannot be used with its key ({error.strerror or error})",
                where=str(self.cert_file),
                fix="give PEM files with a certificate and its unencrypted key",
            ) from error
        return context
