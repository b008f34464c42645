"""JSON that refuses to be changed, so that everyone can be handed the same object.

A store that copied on every read would spend its time on copying large ResourceSlices. Frozen JSON is
copied once, on the way in, and only where it is not frozen yet: `{**pod, "status": status}` shares
the rest with what is stored. `copy.deepcopy` gives a plain copy to edit, as it does for the plain
JSON that a real API client returns, so callers need not know the difference.
"""

from __future__ import annotations

from typing import Any, NoReturn


def freeze(value: Any) -> Any:  # noqa: ANN401  JSON is any value, and stays the kind that it was
    """Return the same JSON, read-only; parts that are frozen already are shared, not copied."""
    if isinstance(value, FrozenDict | FrozenList):
        return value
    if isinstance(value, dict):
        return FrozenDict((key, freeze(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return FrozenList(freeze(item) for item in value)
    return value


def _thaw(value: Any) -> Any:  # noqa: ANN401  see freeze
    if isinstance(value, dict):
        return {key: _thaw(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_thaw(item) for item in value]
    return value


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("this object belongs to the store: change a copy.deepcopy of it")


class FrozenDict(dict[str, Any]):
    """A JSON object that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, _: dict[int, Any]) -> dict[str, Any]:
        return {key: _thaw(item) for key, item in self.items()}


class FrozenList(list[Any]):
    """A JSON array that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __deepcopy__(self, _: dict[int, Any]) -> list[Any]:
        return [_thaw(item) for item in self]
