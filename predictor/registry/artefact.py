"""A model with what proves it, as files: written once, and read back only if all of it holds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from predictor.features import Table
from predictor.forest import Forest
from predictor.ports import Floats
from predictor.registry.card import card
from predictor.registry.manifest import (
    FORMAT,
    ID_DIGITS,
    File,
    Manifest,
    Score,
    Signature,
    Training,
    Versions,
    manifest_of,
)
from predictor.registry.trust import MODELS, packed, unpacked

MANIFEST, MODEL, GOLDEN, CARD = "manifest.json", "model.skops", "golden.skops", "card.md"
FILES = (MODEL, GOLDEN, CARD)

GOLDEN_ROWS = 8
"""Rows whose answers are kept, to be worked out again when the model is read."""

SAME = 1e-6
"""Relative difference of answers that another processor's rounding may make."""

_NUMBER = re.compile(r"\d+")


class Model(Protocol):
    """What is stored: `predictor.learned.Learned` is one."""

    def predict(self, rows: Table, window_s: float | Floats) -> tuple[Floats, Floats]:
        """Return by row and quantile the log of what comes over level, and the median's over the newest."""
        ...


@dataclass(frozen=True, slots=True)
class Artefact:
    """A stored model that was found sound.

    Attributes:
        sha256: Hash of its manifest, and so of all of it.
        manifest: What is said of it.
        model: The model.
        card: The same for people, Markdown.
    """

    sha256: str
    manifest: Manifest
    model: Model
    card: str

    @property
    def version(self) -> str:
        """Its name: the first digits of that hash."""
        return self.sha256[:ID_DIGITS]


def version_of(manifest: bytes) -> str:
    """Return the name of the version with this manifest."""
    return sha256(manifest)[:ID_DIGITS]


def sha256(data: bytes) -> str:
    """Return the SHA-256 of these bytes, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def write(
    name: str,
    model: Model,
    rows: Table,
    *,
    signature: Signature,
    training: Training,
    folds: str,
    scores: tuple[Score, ...],
    made_s: int,
) -> dict[str, bytes]:
    """Return the files of an artefact by name, the manifest last.

    Args:
        name: Of the model.
        model: The model; its types must be among `trust.MODELS` to be read back.
        rows: Some rows of features, the last of which become the golden input.
        signature: What it takes and gives.
        training: What it learnt from.
        folds: Fingerprint of the windows that it was scored on.
        scores: By window and quantile.
        made_s: Now, seconds since the epoch.
    """
    asked = np.asarray(rows[-GOLDEN_ROWS:], dtype=np.float32)
    golden = {"rows": asked, "said": _answers(model, asked, signature)}
    versions = Versions.here()
    blank = Manifest(FORMAT, name, made_s, signature, versions, training, folds, scores, ())
    files = {MODEL: packed(model), GOLDEN: packed(golden), CARD: card(blank).encode()}
    hashes = tuple(File(one, sha256(data)) for one, data in files.items())
    manifest = Manifest(FORMAT, name, made_s, signature, versions, training, folds, scores, hashes)
    return {**files, MANIFEST: manifest.as_bytes()}


def read(
    files: Mapping[str, bytes | None], name: str, version: str, trusted: frozenset[str] = MODELS
) -> Artefact:
    """Return the artefact in these files, after everything that is said of it was found to hold.

    Args:
        files: By name, `None` = not there.
        name: Of the model that it has to be a version of.
        version: That it has to be.
        trusted: Full names of the types that the model may consist of, beside plain data.

    Raises:
        ValueError: It does not hold; in words for the user.
    """
    manifest = read_manifest(files.get(MANIFEST), name, version)
    contents = {}
    for file in manifest.files:
        data = files.get(file.name)
        if data is None:
            raise ValueError(f"{file.name} is missing")
        if sha256(data) != file.sha256:
            raise ValueError(f"{file.name} is not what was published (another SHA-256)")
        contents[file.name] = data
    try:
        model = unpacked(contents[MODEL], trusted)
    except ValueError as error:
        raise ValueError(f"{MODEL} {error}") from error
    _check_golden(model, contents[GOLDEN], manifest.signature)
    return Artefact(sha256(files[MANIFEST] or b""), manifest, model, contents[CARD].decode(errors="replace"))


def read_manifest(data: bytes | None, name: str, version: str) -> Manifest:
    """Return a manifest that belongs to this version and can be used here; `ValueError` if not."""
    if data is None:
        raise ValueError(f"{MANIFEST} is missing")
    manifest = manifest_of(data)
    if version_of(data) != version:
        raise ValueError(f"{MANIFEST} is that of another version ({version_of(data)})")
    if manifest.name != name:
        raise ValueError(f"is a version of another model ({manifest.name!r})")
    _check_versions(manifest.versions, Versions.here())
    if tuple(file.name for file in manifest.files) != FILES:
        raise ValueError(f"{MANIFEST} names other files than {', '.join(FILES)}")
    return manifest


def check_signature(found: Signature, wanted: Signature) -> None:
    """Raise `ValueError`, naming the first difference, unless a model takes and gives what is wanted."""
    for what in ("step_s", "windows_s", "quantiles", "target"):
        has, wants = getattr(found, what), getattr(wanted, what)
        if has != wants:
            raise ValueError(f"has {what} {has}, wanted are {wants}")
    if found.features != wanted.features:
        unlike = sorted(set(found.features) ^ set(wanted.features)) or ["their order"]
        raise ValueError(f"takes other features: {', '.join(unlike[:3])}")


def _check_versions(wrote: Versions, here: Versions) -> None:
    pairs = {
        "foreslice": (wrote.foreslice, here.foreslice),
        "scikit-learn": (wrote.scikit_learn, here.scikit_learn),
        "numpy": (wrote.numpy, here.numpy),
        "skops": (wrote.skops, here.skops),
        "Python": (wrote.python, here.python),
    }
    for what, (written, running) in pairs.items():
        if _release(written) > _release(running):
            raise ValueError(f"was written by {what} {written}, newer than {running}, which runs here")


def _release(version: str) -> tuple[int, ...]:
    """Return major and minor number; a bug fix more is not newer."""
    return tuple(int(part) for part in _NUMBER.findall(version)[:2])


def _check_golden(model: Any, data: bytes, signature: Signature) -> None:  # noqa: ANN401 -- whatever was read
    try:
        golden = unpacked(data, frozenset())
    except ValueError as error:
        raise ValueError(f"{GOLDEN} {error}") from error
    try:
        if isinstance(model.models, Forest):
            _check_depth(model.models)
        said = _answers(model, golden["rows"], signature)
        is_same = said.shape == golden["said"].shape and np.allclose(
            said, golden["said"], rtol=SAME, atol=SAME, equal_nan=True
        )
    except Exception as error:  # a model made by hand may fail anywhere
        raise ValueError(f"does not answer its golden input ({type(error).__name__}: {error})") from error
    if not is_same:
        raise ValueError("answers its golden input otherwise than when it was published")


def _check_depth(forest: Forest) -> None:
    """Raise `ValueError` where a walk down a tree would take more steps than it has nodes, or never end."""
    nodes = forest.column.shape[1]
    if not 0 <= forest.depth < nodes:
        raise ValueError(f"trees of {nodes} nodes are {forest.depth} deep")


def _answers(model: Model, rows: Table, signature: Signature) -> Floats:
    """Return what a model says of rows, by window, row and quantile, the median over the newest last."""
    if rows.ndim != 2 or rows.shape[1] != len(signature.features):  # noqa: PLR2004 -- a table
        raise ValueError(f"rows have another shape than {len(signature.features)} features")
    said = [model.predict(rows, window_s) for window_s in signature.windows_s]
    table: Floats = np.stack([np.column_stack([quantiles, anchored]) for quantiles, anchored in said])
    if table.shape[2] != len(signature.quantiles) + 1:
        raise ValueError(f"answers are not of {len(signature.quantiles)} quantiles")
    return table
