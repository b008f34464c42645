"""Frozen dataclasses and named tuples to plain JSON values and back, exactly."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

Json = Any
"""What `json.dumps` takes."""

DERIVED = types.MappingProxyType({"is_derived": True})
"""Metadata of a field that follows from the others: it is not written, and read as its default."""


def encode(value: object) -> Json:
    """Return a value as JSON; mappings become lists of pairs, sets sorted lists, enums their values."""
    if is_dataclass(value) or _is_named(type(value)):
        return {name: encode(getattr(value, name)) for name in _written(type(value))}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return [[encode(key), encode(one)] for key, one in value.items()]
    if isinstance(value, frozenset | set):
        return sorted(encode(one) for one in value)
    if isinstance(value, tuple | list):
        return [encode(one) for one in value]
    return value


def decode(kind: Any, data: Json) -> Any:  # noqa: ANN401 -- the value is of the type that is asked for
    """Return the value of a type that `encode` made `data` of.

    Raises:
        ValueError: The data is not of this type.
    """
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if data is None else decode(next(one for one in args if one is not types.NoneType), data)
    if is_dataclass(kind) or _is_named(kind):
        return _instance(kind, data)
    if origin is not None:
        return _collection(origin, args, data)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if kind is float and isinstance(data, int | float):
        return float(data)
    if not isinstance(data, kind):
        raise ValueError(f"{data!r} is no {kind.__name__}")  # noqa: TRY004 -- wrong data, not a wrong program
    return data


def _collection(origin: Any, args: tuple[Any, ...], data: Json) -> Any:  # noqa: ANN401 -- as `decode`
    listed = _listed(data)
    if issubclass(origin, Mapping):
        return {decode(args[0], key): decode(args[1], value) for key, value in listed}
    if origin is frozenset:
        return frozenset(decode(args[0], one) for one in listed)
    each = [args[0]] * len(listed) if args[-1] is Ellipsis else args
    return tuple(decode(one, value) for one, value in zip(each, listed, strict=True))


def _instance(kind: Any, data: Json) -> Any:  # noqa: ANN401 -- as `decode`
    hints = _hints(kind)
    names = set(_written(kind))
    if not isinstance(data, dict) or set(data) != names:
        raise ValueError(f"{kind.__name__} has {', '.join(sorted(names))}")
    return kind(**{name: decode(hints[name], value) for name, value in data.items()})


def _is_named(kind: Any) -> bool:  # noqa: ANN401 -- whatever is written or read
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _written(kind: Any) -> list[str]:  # noqa: ANN401 -- a dataclass or a named tuple
    if _is_named(kind):
        return list(kind._fields)
    return [field.name for field in fields(kind) if field.metadata != DERIVED]


@lru_cache(maxsize=128)
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _listed(data: Json) -> list[Json]:
    if not isinstance(data, list):
        raise ValueError(f"{data!r} is no list")  # noqa: TRY004 -- wrong data, not a wrong program
    return data
