"""A YAML file that people edit, with errors that name file, line, key and what is allowed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy, deepcopy
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fleet.errors import InputError

_MERGE = "tag:yaml.org,2002:merge"

_Group = TypeVar("_Group", bound=BaseModel)

_TOLD = (
    ("A-Z", "letters, digits, '-', '_' and '.', as in labels"),
    ("+/", "namespace/name, of lower-case letters, digits, '-' and '.'"),
    (r"\.", "lower-case letters, digits, '-' and '.', as in Kubernetes"),
    ("", "lower-case letters, digits and '-', as in Kubernetes"),
)
"""What a text has to be, by what only its pattern has in it; the first counts."""

Keys = Sequence[str | int]
"""Where in a file something stands: keys, and places in lists."""


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
    """Everything that is wrong with a file, one line each in `lines`; `example` is one that is right."""

    def __init__(self, path: Path, lines: Sequence[str], example: str) -> None:
        super().__init__(lines[0], where=str(path), fix=f"see {example}")
        self.lines = tuple(lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class YamlFile:
    """A file that was read, not yet understood.

    Args:
        path: The file.
        what: What it should be, for errors.
        example: Path in the repository of one that is right.

    Raises:
        InputError: It cannot be read, is no YAML, or no group of keys.
    """

    def __init__(self, path: Path, what: str, example: str) -> None:
        self.path = path
        self._example = example
        self._root, self.document = _parsed(path, what, example)

    def group(self, form: type[_Group], unions: frozenset[str] = frozenset()) -> _Group:
        """Return what it says as a group of keys.

        Args:
            form: The group.
            unions: Keys of groups with several forms: pydantic puts the form's name into a path after them,
                the file does not.

        Raises:
            InvalidSettings: It says something else.
        """
        try:
            return form.model_validate(self.document)
        except ValidationError as error:
            lines = [self._line(finding, keys_of(form), unions) for finding in _causes(error.errors())]
            raise InvalidSettings(self.path, lines, self._example) from error

    def changed(self, values: Mapping[str, Any]) -> YamlFile:
        """Return what the file would be with other values, by dotted key."""
        other = copy(self)
        other.document = deepcopy(self.document)
        for dotted, value in values.items():
            *groups, key = dotted.split(".")
            at = other.document
            for group in groups:
                at = at.setdefault(group, {})
            at[key] = value
        return other

    def refusal(self, keys: Keys, message: str, value: object) -> InvalidSettings:
        """Return the error that says what is wrong with the value of a key."""
        return InvalidSettings(self.path, [self._finding(keys, message, value)], self._example)

    def _line(self, error: ErrorDetails, known: Sequence[str], unions: frozenset[str]) -> str:
        """Return one of pydantic's findings in the words of someone who edits a file."""
        keys = [key for at, key in enumerate(error["loc"]) if at != 1 or error["loc"][0] not in unions]
        message, value, context = error["msg"], error["input"], error.get("ctx", {})
        match error["type"]:
            case "extra_forbidden":
                message = _unknown(str(keys[-1]), known)
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
                message = next(f"must be {told}" for part, told in _TOLD if part in context["pattern"])
            case "value_error" if keys[-2:] == ["model", "name"]:  # which most files give as `model: NAME`
                keys = keys[:-1]
            case "misplaced":
                keys = [*keys, *context["at"]]
        return self._finding(keys, message, value)

    def _finding(self, keys: Keys, message: str, value: object) -> str:
        message = message.removeprefix("Value error, ").replace("Input should", "must")
        said = f" (is {value!r})" if isinstance(value, str | int | float | bool) else ""
        key_path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")
        return f"{self.path}:{_line_number(self._root, keys)}: {key_path or 'whole file'}: {message}{said}"


def _causes(findings: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Return findings without those that a list is too short once what is wrong in it is left out."""
    within = [finding["loc"] for finding in findings]

    def follows(one: ErrorDetails) -> bool:
        here = one["loc"]
        return one["type"] == "too_short" and any(
            len(loc) > len(here) and loc[: len(here)] == here for loc in within
        )

    return [finding for finding in findings if not follows(finding)]


def keys_of(form: type[BaseModel]) -> list[str]:
    """Return every key that a file of this form may have, anywhere."""
    definitions = form.model_json_schema().get("$defs", {}).values()
    return sorted({*form.model_fields, *(key for d in definitions for key in d.get("properties", {}))})


def _parsed(path: Path, what: str, example: str) -> tuple[yaml.Node | None, dict[str, Any]]:
    """Return the nodes of a YAML file, which know their lines, and what they say."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        root, document = yaml.compose(text, _Loader), yaml.load(text, _Loader)  # noqa: S506 -- a safe loader
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path), fix=f"name an existing {what} file") from error
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
        raise InputError(f"no {what} in it", where=str(path), fix=f"start from {example}")
    return root, document


def _unknown(key: str, known: Sequence[str]) -> str:
    if key in known:
        return "does not belong here"
    near = " or ".join(get_close_matches(key, known, n=2, cutoff=0.75))
    return f"unknown key, did you mean {near}?" if near else "unknown key"


def _line_number(root: yaml.Node | None, keys: Keys) -> int:
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
