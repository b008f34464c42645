"""Values of Helm charts: keys that a chart does not have are ignored without a word."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from actuator.manifest import Json
from foreslice.doctor.driver import clashes, lacking
from foreslice.doctor.sheet import Sheet, nearest

_RENAMED = {
    "scheduler.kubeScheduler.imageTag": "scheduler.kubeScheduler.image.tag",
    "scheduler.extender.imageTag": "scheduler.extender.image.tag",
    "devicePlugin.imageTag": "devicePlugin.image.tag",
}
_PER_POD = ("defaultMemory", "defaultMem")
"""Values of older charts and articles: today a default for containers that name no memory is not a value."""


def is_values(body: Json) -> bool:
    """Return whether a document is values of a chart that is known here."""
    return "kind" not in body and bool({"featureGates", *_tree()} & set(body))


def correct_values(sheet: Sheet) -> None:
    """Take away or rename what a chart would ignore; faults go to the sheet."""
    if isinstance(gates := sheet.body.get("featureGates"), dict):
        _gates(gates, sheet)
    if set(_tree()) & set(sheet.body):
        _walk(sheet.body, _tree(), "", sheet)


def _walk(values: Json, known: Any, path: str, sheet: Sheet) -> None:  # noqa: ANN401 -- a tree of names
    for name in list(values):
        at = f"{path}.{name}".removeprefix(".")
        if at == "featureGates":
            continue
        if name in known:
            if isinstance(known[name], dict) and isinstance(values[name], dict):
                _walk(values[name], known[name], at, sheet)
            continue
        value = values.pop(name)
        if isinstance(value, dict) and value and at not in _RENAMED and nearest(name, list(known)) is None:
            _walk(value, {}, at, sheet)
        elif at in _RENAMED:
            what = "HAMi's chart ignores this key without a word"
            sheet.fault("hami-value", at, what, f"it is {_RENAMED[at]}")
            _put(sheet.body, _RENAMED[at].split("."), value)
        elif name in _PER_POD:
            what = "HAMi's chart has no such value: a container that names no memory gets the whole card"
            sheet.fault("hami-value", at, what, f"have each container ask for nvidia.com/gpumem: {value}")
        else:
            like = nearest(name, list(known))
            fix = f"write {like}" if like else "take it away"
            sheet.fault("hami-value", at, "HAMi's chart ignores this key without a word", fix)
            if like and like not in values:
                values[like] = value
    for name in [name for name, value in values.items() if value == {} and name in known and known[name]]:
        del values[name]


def _put(values: Json, path: list[str], value: object) -> None:
    for name in path[:-1]:
        values = values.setdefault(name, {})
    values[path[-1]] = value


def _gates(gates: Json, sheet: Sheet) -> None:
    for one, other in clashes(gates):
        what = f"{one} and {other} shut each other out: the driver does not start with both"
        sheet.fault("gates", f"featureGates.{other}", what, f"set {other} to false, or {one}")
        gates[other] = False
    for gate, need in lacking(gates):
        sheet.fault("gates", f"featureGates.{gate}", f"{gate} needs {need}", f"set {need} to true")
        gates[need] = True


@cache
def _tree() -> Json:
    text = files("foreslice.doctor").joinpath("data/hami-values.yaml").read_text(encoding="utf-8")
    tree: Json = yaml.safe_load(text)
    return tree
