"""From a file to settings, with errors that name file, line, key and what is allowed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from capacity.catalogue import MODELS, ModelSpec
from fleet.errors import InputError
from fleet.workload import LatencyTarget, Limits, Mode, Slo, Workload, WorkloadKey
from foreslice.rules import Rules
from foreslice.settings.engines import AUTO
from foreslice.settings.schema import (
    EndToEndTarget,
    FileMetrics,
    FirstTokenTarget,
    InterTokenTarget,
    Settings,
    WorkloadSettings,
    known_keys,
)
from predictor.engines import Role, shipped
from predictor.sources.matching import Match
from predictor.vocabulary import Vocabulary, any_engine, any_router

_MERGE = "tag:yaml.org,2002:merge"

_UNIONS = {"metrics", "cluster"}
"""Groups with several forms: pydantic puts the form's name into a path after them, the file does not."""


class _Loader(yaml.SafeLoader):
    """Refuses what the plain loader lets pass: the same key twice, of which the first would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 -- the base class has it so
        """Return the mapping; raise where a key is there twice."""
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE]
        for at, key in enumerate(keys):
            if key.value in {before.value for before in keys[:at]}:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value!r} is there twice", key.start_mark
                )
        return super().construct_mapping(node, deep)


class InvalidSettings(InputError):  # noqa: N818 -- it is a set of findings, each an error of its own
    """Everything that is wrong with a settings file, one line each in `lines`."""

    def __init__(self, path: Path, lines: Sequence[str]) -> None:
        super().__init__(lines[0], where=str(path), fix="see config/default.yaml")
        self.lines = tuple(lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def load(path: Path) -> Settings:
    """Return the settings in a YAML file; `InputError` with one line for each thing that is wrong.

    Beyond the format, a metrics file that it names must be there.
    """
    root, document = _parsed(path)
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        raise InvalidSettings(path, [_line(path, root, finding) for finding in error.errors()]) from error
    for index, workload in enumerate(settings.workloads):
        try:
            workload.model.spec(path.parent)
        except InputError as error:
            keys = ("workloads", index, "model", "config")
            problem = f"{error.what}; {error.fix}"
            raise InvalidSettings(
                path, [_finding(path, root, keys, problem, str(workload.model.config))]
            ) from error
    metrics = settings.metrics
    if isinstance(metrics, FileMetrics) and (problem := _problem(path.parent / metrics.path)):
        raise InvalidSettings(path, [_finding(path, root, ("metrics", "path"), problem, str(metrics.path))])
    return settings


def rules_of(settings: Settings) -> Rules:
    """Return what the settings let the loop do, and when."""
    freezes = tuple(freeze.freeze() for freeze in settings.freezes)
    return Rules(settings.acting, settings.shrink.limits(), freezes)


def workloads_of(settings: Settings) -> tuple[Workload, ...]:
    """Return the described workloads in the vocabulary of `fleet`."""
    return tuple(_workload(w) for w in settings.workloads)


def models_of(settings: Settings, folder: Path) -> Mapping[str, ModelSpec]:
    """Return the models of the catalogue and those that the workloads serve, by what workloads call them.

    Relative paths are relative to `folder`; `InputError` if a config.json cannot be used.
    """
    described = {w.model.key: w.model.spec(folder) for w in settings.workloads}
    return {**MODELS, **described}


def matches_of(settings: Settings) -> dict[WorkloadKey, Match]:
    """Return how each workload's series are known: their labels, and the engines that may export them."""
    own = [described.engine(name) for name, described in settings.engines.items()]
    engines = [*any_engine().engines, *(one for one in own if one.role is Role.ENGINE)]
    routers = Vocabulary([*any_router().engines, *(one for one in own if one.role is Role.ROUTER)])
    named = {engine.name: engine for engine in (*shipped().values(), *own)}
    return {
        WorkloadKey(w.namespace, w.name): Match(
            w.labels,
            router=w.router_match,
            engines=Vocabulary(engines if w.engine == AUTO else [named[w.engine]]),
            routers=routers,
        )
        for w in settings.workloads
    }


def _problem(recording: Path) -> str:
    try:
        return "" if recording.is_file() else "no such file"
    except OSError as error:  # a name that is too long, a folder that may not be entered
        return f"cannot be read ({error.strerror})"


def _workload(w: WorkloadSettings) -> Workload:
    return Workload(
        key=WorkloadKey(w.namespace, w.name),
        model=w.model.key,
        slo=Slo(ttft=_target(w.slo.ttft), itl=_target(w.slo.itl), e2e=_target(w.slo.e2e)),
        tier=w.tier,
        mode=Mode[w.mode.replace("-", "_").upper()],
        router=w.router,
        isolation=w.isolation,
        limits=Limits(w.replicas.min, w.replicas.max),
        mechanism=w.mechanism,
        scheduler=w.scheduler,
    )


def _target(target: FirstTokenTarget | InterTokenTarget | EndToEndTarget | None) -> LatencyTarget | None:
    if target is None:
        return None
    [(name, limit_s)] = [(name, limit_s) for name, limit_s in target if limit_s is not None]
    return LatencyTarget(int(name.removeprefix("p")) / 100, limit_s)


def _parsed(path: Path) -> tuple[yaml.Node | None, dict[str, Any]]:
    """Return the nodes of a YAML file, which know their lines, and what they say."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        root, document = yaml.compose(text, _Loader), yaml.load(text, _Loader)  # noqa: S506 -- a safe loader
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path), fix="name an existing settings file") from error
    except OSError as error:
        fix = "name a readable YAML file"
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), fix=fix) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", where=str(path), fix="name a readable YAML file") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or getattr(error, "reason", "")
        raise InputError(f"not valid YAML: {problem}", where=where, fix="mend the syntax") from error
    except RecursionError as error:
        raise InputError("is nested too deeply", where=str(path), fix="mend the syntax") from error
    except ValueError as error:  # a date that is none
        raise InputError(f"not valid YAML: {error}", where=str(path), fix="mend the value") from error
    if not isinstance(document, dict):
        raise InputError("no settings in it", where=str(path), fix="start from config/default.yaml")
    return root, document


def _line(path: Path, root: yaml.Node | None, error: ErrorDetails) -> str:
    """Return one of pydantic's findings in the words of someone who edits a file."""
    keys = [key for at, key in enumerate(error["loc"]) if at != 1 or error["loc"][0] not in _UNIONS]
    message, value, context = error["msg"], error["input"], error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            message = _unknown(str(keys[-1]))
        case "missing":
            message = "is missing"
        case "union_tag_not_found":
            keys, message = [*keys, context["discriminator"].strip("'")], "is missing"
        case "union_tag_invalid":
            keys, value = [*keys, context["discriminator"].strip("'")], context["tag"]
            message = f"must be {' or '.join(context['expected_tags'].rsplit(', ', 1))}"
        case "model_type" | "model_attributes_type" | "dict_type":
            message = (
                "must be a name or a group of keys" if keys[-1] == "model" else "must be a group of keys"
            )
        case "tuple_type":
            message = "must be a list"
        case "string_pattern_mismatch":
            more = ", '-' and '.'" if keys[-1] == "name" else " and '-'"
            message = f"must be lower-case letters, digits{more}, as in Kubernetes"
        case "value_error" if keys[-2:] == ["model", "name"]:  # which most files give as `model: NAME`
            keys = keys[:-1]
        case "misplaced":
            keys = [*keys, *context["at"]]
    return _finding(path, root, keys, message, value)


def _unknown(key: str) -> str:
    known = known_keys()
    if key in known:
        return "does not belong here"
    near = " or ".join(get_close_matches(key, known, n=2, cutoff=0.75))
    return f"unknown key, did you mean {near}?" if near else "unknown key"


def _finding(
    path: Path, root: yaml.Node | None, keys: Sequence[str | int], message: str, value: object
) -> str:
    message = message.removeprefix("Value error, ").replace("Input should", "must")
    said = f" (is {value!r})" if isinstance(value, str | int | float | bool) else ""
    key_path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")
    return f"{path}:{_line_number(root, keys)}: {key_path or 'whole file'}: {message}{said}"


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
