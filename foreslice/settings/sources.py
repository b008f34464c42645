"""Where demand is read from, as settings say it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from foreslice.settings.durations import Pause
from foreslice.settings.engines import Several
from foreslice.settings.group import Group
from predictor.copies import SCRAPER_LABELS


class FileMetrics(Group):
    """Demand from a recorded CSV of scraped series; time stands at its newest row."""

    source: Literal["file"]
    path: Annotated[Path, Field(description="CSV; relative to this file")]


class PrometheusMetrics(Group):
    """Demand from a Prometheus, or from anything that speaks its HTTP API."""

    source: Literal["prometheus"]
    url: Annotated[str, Field(description="address, with whatever stands before /api/v1")]
    token_file: Annotated[Path | None, Field(description="file with a bearer token")] = None
    username: Annotated[str | None, Field(description="user of basic authentication")] = None
    password_file: Annotated[Path | None, Field(description="file with that user's password")] = None
    ca_file: Annotated[Path | None, Field(description="certificate of a private CA, PEM")] = None
    replica_labels: Annotated[
        Several, Field(description="labels of who scraped a series, not of what it is: copies count once")
    ] = SCRAPER_LABELS
    insecure: Annotated[
        bool, Field(description="true: take any certificate, and send credentials without TLS")
    ] = False
    timeout: Annotated[Pause, Field(description="within which an answer must begin, and go on")] = 30.0

    @model_validator(mode="after")
    def _one_way_in(self) -> PrometheusMetrics:
        if (self.username is None) != (self.password_file is None):
            raise ValueError("username and password_file belong together")
        if self.token_file is not None and self.password_file is not None:
            raise ValueError("give token_file, or username and password_file, not both")
        return self


class EmbeddedMetrics(Group):
    """Demand from the embedded world's simulated engines."""

    source: Literal["embedded"]
