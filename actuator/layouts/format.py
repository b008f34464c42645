"""Whether the MIG manager would take a file of configurations: version v1 of mig-parted's format.

Source: NVIDIA/mig-parted, api/spec/v1/spec.go and helpers.go; the tests hold what its CLI says of each case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from fleet.errors import InputError

VERSION = "v1"
_TOP = {"version", "mig-configs"}
_ENTRY = {"device-filter", "devices", "mig-enabled", "mig-devices"}
_PROFILE = re.compile(r"(\d+c\.)?\d+g\.\d+gb([+-][a-z.]+)?")

Configs = Mapping[str, list[dict[str, Any]]]
"""Named configurations: a list of entries each, of which later ones win."""


@lru_cache(maxsize=8)
def configs_in(text: str, where: str) -> Configs:
    """Return the named configurations of a file, which is looked at far more often than it changes.

    Raises:
        InputError: The MIG manager would not take the file; it names the key.
    """
    try:
        body = next(iter(yaml.safe_load_all(text)), None)
    except yaml.YAMLError as error:
        raise _wrong("", f"is no YAML ({' '.join(str(error).split())})", where) from error
    if not isinstance(body, dict):
        raise _wrong("", "is no table", where)
    _only(body, _TOP, "", where)
    if body.get("version") != VERSION:
        raise _wrong("version", f"is {body.get('version')!r}, only {VERSION} is known", where)
    configs = body.get("mig-configs")
    if not isinstance(configs, dict) or not configs:
        raise _wrong("mig-configs", "has no configuration", where)
    for name, entries in configs.items():
        if not isinstance(entries, list) or not entries:
            raise _wrong(f"mig-configs.{name}", "has no entry", where)
        for index, entry in enumerate(entries):
            _check(entry, f"mig-configs.{name}[{index}]", where)
    return configs


def _check(entry: object, path: str, where: str) -> None:
    if not isinstance(entry, dict):
        raise _wrong(path, "is no table", where)
    _only(entry, _ENTRY, path, where)
    for field in ("devices", "mig-enabled"):
        if entry.get(field) is None:
            raise _wrong(f"{path}.{field}", "is missing", where)
    devices, is_on, wanted = entry["devices"], entry["mig-enabled"], entry.get("mig-devices")
    if devices != "all" and not (isinstance(devices, list) and all(map(_is_number, devices))):
        raise _wrong(f"{path}.devices", 'is neither "all" nor a list of indices', where)
    if not isinstance(is_on, bool):
        raise _wrong(f"{path}.mig-enabled", "is neither true nor false", where)
    _check_filter(entry.get("device-filter"), f"{path}.device-filter", where)
    if wanted is not None and not isinstance(wanted, dict):
        raise _wrong(f"{path}.mig-devices", "is no table", where)
    if is_on and wanted is None:
        raise _wrong(f"{path}.mig-devices", "is missing where mig-enabled is true", where)
    if not is_on and wanted:
        raise _wrong(f"{path}.mig-devices", "is there where mig-enabled is false", where)
    _check_counts(wanted or {}, f"{path}.mig-devices", where)


def _check_filter(given: object, path: str, where: str) -> None:
    names = given if isinstance(given, list) else [given]
    if given is not None and not all(isinstance(name, str) for name in names):
        raise _wrong(path, "is neither text nor a list of texts", where)


def _check_counts(counts: Mapping[object, object], path: str, where: str) -> None:
    for profile, count in counts.items():
        if not isinstance(profile, str) or _PROFILE.fullmatch(profile) is None:
            raise _wrong(f"{path}.{profile}", "is no profile as in 1g.10gb or 1g.10gb+me", where)
        if not _is_number(count) or int(str(count)) < 0:
            raise _wrong(f"{path}.{profile}", f"is {count!r} and no count", where)
    if counts and not any(counts.values()):
        raise _wrong(path, "has counts of 0 only", where)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _only(body: Mapping[str, Any], known: set[str], path: str, where: str) -> None:
    for name in body:
        if name not in known:
            raise _wrong(f"{path}.{name}".removeprefix("."), "is no field of the format", where)


def _wrong(path: str, what: str, where: str) -> InputError:
    fix = "write it as the MIG manager has it, or its change ends in state failed"
    return InputError(f"{path} {what}".strip(), where=where, fix=fix)
