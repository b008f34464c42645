"""From a file to settings, with errors that name file, line, key and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import yaml
from pydantic import ValidationError

from fleet.errors import InputError
from fleet.workload import LatencyTarget, Limits, Mode, Slo, Workload, WorkloadKey
from foreslice.settings.schema import (
    FirstTokenTarget,
    InterTokenTarget,
    Settings,
    WorkloadSettings,
    known_keys,
)

_TAGS = {"file", "embedded", "none"}
"""What pydantic puts into a path to say which of several forms it tried; not keys of the file."""


def load(path: Path) -> Settings:
    """Return the settings in a YAML file; `InputError` with one line for each thing that is wrong."""
    text = _read(path)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or "not YAML"
        raise InputError(f"not valid YAML: {problem}", where=where, fix="mend the syntax") from error
    if not isinstance(document, dict):
        raise InputError("no settings in it", where=str(path), fix="start from config/default.yaml")
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        raise InvalidSettings(path, root, error) from error
    return settings


class InvalidSettings(InputError):  # noqa: N818 -- it is a set of findings, each an error of its own
    """Everything that is wrong with a settings file, one line each in `lines`."""

    def __init__(self, path: Path, root: yaml.Node | None, error: ValidationError) -> None:
        self.lines = tuple(_line(path, root, finding) for finding in error.errors())
        super().__init__(self.lines[0], where=str(path), fix="see config/default.yaml")

    def __str__(self) -> str:
        return "\n".join(self.lines)


def workloads_of(settings: Settings) -> tuple[Workload, ...]:
    """Return the described workloads in the vocabulary of `fleet`."""
    return tuple(_workload(w) for w in settings.workloads)


def matches_of(settings: Settings) -> dict[WorkloadKey, dict[str, str]]:
    """Return the labels by which each workload's series are known."""
    return {
        WorkloadKey(w.namespace, w.name): w.match or {"namespace": w.namespace, "model_name": w.name}
        for w in settings.workloads
    }


def _workload(w: WorkloadSettings) -> Workload:
    return Workload(
        key=WorkloadKey(w.namespace, w.name),
        model=w.model,
        slo=Slo(ttft=_target(w.slo.ttft), itl=_target(w.slo.itl)),
        tier=w.tier,
        mode=Mode[w.mode.replace("-", "_").upper()],
        router=w.router,
        isolation=w.isolation,
        limits=Limits(w.replicas.min, w.replicas.max),
        mechanism=w.mechanism,
        scheduler=w.scheduler,
    )


def _target(target: FirstTokenTarget | InterTokenTarget | None) -> LatencyTarget | None:
    if target is None:
        return None
    [(name, limit_s)] = [(name, getattr(target, name)) for name in target.model_fields_set]
    return LatencyTarget(int(name.removeprefix("p")) / 100, limit_s)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path), fix="name an existing settings file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read ({error})", where=str(path), fix="name a readable YAML file"
        ) from error


def _line(path: Path, root: yaml.Node | None, finding: object) -> str:
    assert isinstance(finding, dict)  # noqa: S101 -- pydantic's ErrorDetails
    keys = [key for key in finding["loc"] if key not in _TAGS]
    message = _message(finding["type"], finding["msg"], keys)
    value = finding["input"]
    said = f" (is {value!r})" if isinstance(value, str | int | float | bool) else ""
    key_path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")
    return f"{path}:{_line_number(root, keys)}: {key_path or 'whole file'}: {message}{said}"


def _message(kind: str, message: str, keys: Sequence[str | int]) -> str:
    """Return pydantic's message in the words of someone who edits a file."""
    if kind == "extra_forbidden":
        near = get_close_matches(str(keys[-1]), known_keys(), n=1)
        return f"unknown key, did you mean {near[0]}?" if near else "unknown key"
    if kind == "missing":
        return "is missing"
    if kind == "too_short":
        return "must not be empty"
    return message.removeprefix("Value error, ")


def _line_number(root: yaml.Node | None, keys: Sequence[str | int]) -> int:
    """Return the line of the deepest key that the file has."""
    node, line = root, 1
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == key), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
            line = node.start_mark.line + 1
    return line
