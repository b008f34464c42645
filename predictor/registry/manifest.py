"""What is said of a stored model: what it takes, what it learnt from, how good it was, and what proves it."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version

from fleet.codec import decode, encode
from predictor.ports import Floats

FORMAT = 1
"""Of stored models, counted up when an older foreslice could no longer read them."""

ID_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Signature:
    """What a model takes and gives.

    Attributes:
        features: Names of the columns, in order (`predictor.features.Features.names`).
        windows_s: Windows ahead that it was taught.
        quantiles: Of its answers, rising.
        step_s: Length of the steps that features are made of.
        target: What of a window (`predictor.features.Target`).
    """

    features: tuple[str, ...]
    windows_s: tuple[int, ...]
    quantiles: tuple[float, ...]
    step_s: int
    target: str


@dataclass(frozen=True, slots=True)
class Versions:
    """What wrote a model."""

    foreslice: str
    scikit_learn: str
    numpy: str
    skops: str
    python: str

    @classmethod
    def here(cls) -> Versions:
        """Return what runs here."""
        return cls(
            version("foreslice"),
            version("scikit-learn"),
            version("numpy"),
            version("skops"),
            platform.python_version(),
        )


@dataclass(frozen=True, slots=True)
class Training:
    """What a model learnt from: [from_s, until_s) in seconds since the epoch, and `fingerprint` of it."""

    from_s: int
    until_s: int
    series: int
    data: str


@dataclass(frozen=True, slots=True)
class Loss:
    """Mean pinball loss of a method (a rule, or a version of this model) over mean demand."""

    method: str
    pinball: float


@dataclass(frozen=True, slots=True)
class Score:
    """How good a model was on windows that it had not seen.

    Attributes:
        window_s: Length of these windows.
        quantile: What was asked.
        windows: How many there were.
        coverage: Share of them at or below its answer.
        pinball: Its mean pinball loss over mean demand.
        rivals: Losses of others on the very same windows.
    """

    window_s: int
    quantile: float
    windows: int
    coverage: float
    pinball: float
    rivals: tuple[Loss, ...]

    def loss_of(self, method: str) -> float | None:
        """Return the loss of a rival, `None` if it was not measured."""
        return next((loss.pinball for loss in self.rivals if loss.method == method), None)


@dataclass(frozen=True, slots=True)
class File:
    """A file of an artefact and the SHA-256 of what is in it, hexadecimal."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of that.

    Attributes:
        format: `FORMAT` of whoever wrote it.
        name: Of the model, of which there are many versions.
        made_s: When, seconds since the epoch.
        signature: What it takes and gives.
        versions: What wrote it.
        training: What it learnt from.
        folds: Fingerprint of the windows that it was scored on.
        scores: By window and quantile.
        files: All files beside the manifest.
    """

    format: int
    name: str
    made_s: int
    signature: Signature
    versions: Versions
    training: Training
    folds: str
    scores: tuple[Score, ...]
    files: tuple[File, ...]

    def as_bytes(self) -> bytes:
        """Return it as JSON."""
        return json.dumps(encode(self), indent=1, allow_nan=False).encode()


def manifest_of(data: bytes) -> Manifest:
    """Return the manifest in these bytes; `ValueError`, in words for the user, if it is none or newer."""
    try:
        found = json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError("manifest.json is not JSON") from error
    number = found.get("format") if isinstance(found, dict) else None
    if not isinstance(number, int):
        raise ValueError("manifest.json is none of foreslice's")  # noqa: TRY004 -- wrong data, not a wrong program
    if number > FORMAT:
        raise ValueError(f"has format {number}, newer than {FORMAT}, which is read here")
    try:
        manifest: Manifest = decode(Manifest, found)
    except (ValueError, TypeError) as error:
        raise ValueError(f"manifest.json is malformed ({' '.join(str(error).split())})") from error
    if not all(math.isfinite(value) for value in _numbers(manifest)):
        raise ValueError("manifest.json holds scores that are no numbers")
    return manifest


def fingerprint(arrays: Iterable[Floats]) -> str:
    """Return the SHA-256 of arrays, shapes included, as hexadecimal."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode() + array.tobytes())
    return digest.hexdigest()


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _numbers(manifest: Manifest) -> Iterable[float]:
    for score in manifest.scores:
        yield from (score.coverage, score.pinball, *(loss.pinball for loss in score.rivals))
