"""Which model of the capacity catalogue a served name means."""

from __future__ import annotations

import re
from collections.abc import Iterable

_FORMATS = {
    "awq": "awq",
    "gptq": "gptq",
    "int4": "gptq",
    "w4a16": "gptq",
    "int8": "int8",
    "w8a8": "int8",
    "fp8": "fp8",
    "fp16": "fp16",
    "bf16": "bf16",
}
"""How number formats are spelled in names of models, and how the catalogue ends its names; it has no int8."""


def known_as(served: str, catalogue: Iterable[str]) -> str | None:
    """Return the catalogue's name of a model that is served under this name, `None` where none is sure.

    `Qwen/Qwen2.5-7B-Instruct` is `qwen2.5-7b-bf16`: case and organisation are left out, other words may stand
    before and after, such as `Instruct`; a number format that is named has to be the same.
    """
    name = served.lower().rpartition("/")[2]
    stated = {form for word, form in _FORMATS.items() if word in re.split(r"[^a-z0-9]", name)}
    wanted = stated or {"bf16"}
    fitting = [
        known
        for known in catalogue
        if (parts := known.rpartition("-"))[2] in wanted
        and re.search(rf"(^|-){re.escape(parts[0])}(?![\w.])", name)
    ]
    return fitting[0] if len(fitting) == 1 else None
