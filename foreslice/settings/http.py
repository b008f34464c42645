"""Where the service listens, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from foreslice.settings.group import Group


class HttpSettings(Group):
    """Where /metrics, /healthz and /readyz are served."""

    address: Annotated[str, Field(description="address to listen on")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="0 takes a free one")] = 8080
    cert_file: Annotated[Path | None, Field(description="our certificate, PEM: TLS is spoken")] = None
    key_file: Annotated[Path | None, Field(description="key of that certificate, PEM")] = None
    token_file: Annotated[
        Path | None, Field(description="file with the bearer token that /metrics takes; with cert_file only")
    ] = None

    @model_validator(mode="after")
    def _belong_together(self) -> HttpSettings:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file belong together")
        if self.token_file is not None and self.cert_file is None:
            raise ValueError("token_file needs cert_file: without TLS anybody on the way reads the token")
        return self
