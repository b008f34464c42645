"""Selectors in Prometheus' query language that say what was meant, whatever a label's value holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from fleet.errors import InputError

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")  # prometheus: docs/concepts/data_model.md


def selector(names: Iterable[str], labels: Mapping[str, Iterable[str]]) -> str:
    """Return the selector of all series with one of these names, and one of the given values of each label.

    Raises:
        InputError: A label that Prometheus cannot have, or a value that is not text.
    """
    matchers = {"__name__": names, **labels}
    return "{" + ",".join(f"{_label(label)}=~{_any_of(values)}" for label, values in matchers.items()) + "}"


def _label(name: str) -> str:
    if _LABEL.fullmatch(name):
        return name
    raise InputError(
        f"{name!r} is no label of Prometheus",
        where="match of a workload",
        fix="use letters, digits and underscores, not starting with a digit",
    )


def _any_of(values: Iterable[str]) -> str:
    """Quote a regular expression for exactly these values; Prometheus anchors it at both ends.

    What `re.escape` puts a backslash before is punctuation or white space, which RE2 takes literally then.
    JSON's escapes of quotes, backslashes and control characters are Go's, which PromQL takes over
    (prometheus: util/strutil/quote.go).
    """
    text = json.dumps("|".join(re.escape(value) for value in values), ensure_ascii=False)
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    raise InputError(
        f"{text!a} is not Unicode text",
        where="match of a workload",
        fix="write the label's value in UTF-8",
    )
