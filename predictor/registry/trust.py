"""Models to bytes and back by skops, of types that are named here and no others.

skops (0.16) never unpickles, and refuses types that it does not trust; but it trusts all of scikit-learn by
itself. So what a file asks for is compared with an explicit list before skops sees it.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import skops.io

MODELS = frozenset(
    {"predictor.learned.Learned", "predictor.forest.Forest", "predictor.regressors.Regressors"}
)
"""Types of ours that a stored model may consist of, beside plain data."""

MOST_BYTES = 32 * 2**20
"""Size of a stored model, unpacked; one of 1,350 trees takes under a MiB."""

_SCALARS = frozenset({"builtins.str", "builtins.int", "builtins.float", "builtins.bool", "builtins.NoneType"})
_PLAIN = {
    "JsonNode": _SCALARS,
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "DictNode": frozenset({"builtins.dict"}),
    "TypeNode": _SCALARS,
    "NdArrayNode": frozenset(
        {"numpy.ndarray", "numpy.float64", "numpy.float32", "numpy.int64", "numpy.int32"}
    ),
    "CachedNode": _SCALARS,
}
_INDEX = "schema.json"


def packed(model: object) -> bytes:
    """Return a model as a skops file."""
    data: bytes = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
    return data


def unpacked(data: bytes, trusted: frozenset[str] = MODELS) -> Any:  # noqa: ANN401 -- whatever was packed
    """Return the model in a skops file; nothing of it is built unless all of its types are allowed.

    Args:
        data: The file.
        trusted: Full names of types that may be in it, beside plain data and arrays.

    Raises:
        ValueError: It is broken or too large, or holds a file or type that is not allowed; in words for the
            user.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_names(archive)
            index = json.loads(archive.read(_INDEX))
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ValueError(f"is no intact skops file ({_line(error)})") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    foreign = sorted({name for loader, name in _types(index) if name not in _allowed(loader, trusted)})
    if foreign:
        raise ValueError(f"holds types that are not allowed: {_line(', '.join(foreign))}")
    try:
        return skops.io.loads(data, trusted=sorted(trusted))
    except Exception as error:  # a file made by hand may fail anywhere in skops
        raise ValueError(f"cannot be read ({type(error).__name__}: {_line(error)})") from error


def _line(said: object) -> str:
    return " ".join(str(said).split())


def _check_names(archive: zipfile.ZipFile) -> None:
    names = archive.namelist()
    strange = [name for name in names if name != _INDEX and not _is_array(name)]
    if strange:
        raise ValueError(f"it holds {strange[0]!r}")
    if len(set(names)) != len(names):
        raise ValueError("it holds a name twice")
    if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
        raise ValueError(f"it unpacks to more than {MOST_BYTES // 2**20} MiB")


def _is_array(name: str) -> bool:
    stem, dot, suffix = name.rpartition(".")
    return bool(dot) and suffix == "npy" and stem.isdigit()


def _allowed(loader: str, trusted: frozenset[str]) -> frozenset[str]:
    return trusted if loader == "ObjectNode" else _PLAIN.get(loader, frozenset())


def _types(node: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 -- any JSON
    """Yield how and as what each node below would be built."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if "__loader__" in one or "__class__" in one:
                yield str(one.get("__loader__")), f"{one.get('__module__')}.{one.get('__class__')}"
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
