"""Configs of NVIDIA's device plugin, as far as they say how often cards are offered.

One key of a ConfigMap for each config, chosen by a label of the node (NVIDIA/k8s-device-plugin README,
"Updating Per-Node Configuration With a Node Label"). Format: api/config/v1 of that repository, `Sharing` and
`ReplicatedResources`. The plugin reads a config when it starts, and starts anew when the label names another
one, so that a config is named after its content and never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from actuator.mechanisms.device_plugin import GPU
from fleet.errors import InputError, RefusedError

VERSION = "v1"

_FIX = "write it as the device plugin has it"

Config = Mapping[str, Any]


def config_in(text: str, where: str) -> Config:
    """Return a config; `InputError` if the device plugin would not take it."""
    try:
        body = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"is no YAML ({' '.join(str(error).split())})", where=where, fix=_FIX) from error
    if not isinstance(body, dict):
        raise InputError("is no table", where=where, fix=_FIX)
    if body.get("version", VERSION) != VERSION:
        raise InputError(f"version is {body['version']!r}, only {VERSION} is known", where=where, fix=_FIX)
    for resource in _sliced(body):
        _check(resource, where)
    return body


def replicas_in(config: Config) -> int:
    """Return how often a config offers each whole card, 1 = once."""
    return next((each["replicas"] for each in _sliced(config) if _plain(each["name"]) == _plain(GPU)), 1)


def with_replicas(config: Config, replicas: int) -> Config:
    """Return a config that offers each whole card so many times; all else that it says stays.

    `RefusedError` where it shares cards by MPS, or only some of them.
    """
    sharing = dict(config.get("sharing") or {})
    slicing = dict(sharing.pop("timeSlicing", None) or {})
    if sharing.get("mps"):
        raise RefusedError("its cards are shared by MPS: one card, one mechanism")
    mine = [each for each in _sliced(config) if _plain(each["name"]) == _plain(GPU)]
    if any(each.get("devices", "all") != "all" for each in mine):
        raise RefusedError("its config time-slices some of its cards only")
    others = [each for each in _sliced(config) if each not in mine]
    resources = [*others, *([{"name": GPU, "replicas": replicas}] if replicas > 1 else [])]
    if resources:
        sharing["timeSlicing"] = {**slicing, "resources": resources}
    rest = {name: value for name, value in config.items() if name not in {"version", "sharing"}}
    return {"version": VERSION, **rest, **({"sharing": sharing} if sharing else {})}


def text_of(config: Config) -> str:
    """Return a config as the text of its key."""
    return yaml.safe_dump(dict(config), sort_keys=False)


def _sliced(config: Config) -> list[dict[str, Any]]:
    slicing = (config.get("sharing") or {}).get("timeSlicing") or {}
    found: list[dict[str, Any]] = slicing.get("resources") or []
    return found


def _check(resource: object, where: str) -> None:
    if not isinstance(resource, dict) or not isinstance(resource.get("name"), str):
        raise InputError("time-slices a resource without a name", where=where, fix=_FIX)
    replicas = resource.get("replicas")
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 2:  # noqa: PLR2004
        problem = f"{resource['name']} is offered {replicas!r} times: two are the least"
        raise InputError(problem, where=where, fix=_FIX)


def _plain(name: str) -> str:
    """Return a resource's name without the prefix that the plugin adds where there is none."""
    return name.removeprefix("nvidia.com/")
