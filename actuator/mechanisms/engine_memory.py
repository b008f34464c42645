"""How much of a card's memory an engine takes, as its arguments say.

Nothing keeps a tenant of a time-sliced card to its memory (NVIDIA/k8s-device-plugin README, "Shared access to
GPUs"): what co-tenants may take together is only what they were told to take.
"""

from __future__ import annotations

import re
from typing import Any

from actuator.manifest import Json

UTILISATION = "FORESLICE_GPU_MEMORY_UTILIZATION"
"""Environment by which an engine is told how much it may take, where its arguments name it."""

# Part of all memory of the card. vLLM: all that it takes; SGLang: weights and cache, activations are beside.
_FLAG = re.compile(r"--(?:gpu-memory-utilization|mem-fraction-static)[=\s]+(\S+)")
_VARIABLE = re.compile(r"\$\((\w+)\)")


def memory_taken(container: Json) -> float | None:
    """Return the part of a card's memory that an engine takes, 0..1; `None` where that is not said."""
    said = {each["name"]: str(each.get("value", "")) for each in container.get("env") or ()}
    words = _VARIABLE.sub(lambda name: said.get(name[1], name[0]), _words(container))
    found = _FLAG.findall(words)
    try:
        return float(found[-1]) if found else None
    except ValueError:
        return None


def memory_words(container: Json) -> list[str]:
    """Return arguments that say what a container says of its engine's memory, and nothing else of it."""
    taken = memory_taken(container)
    return [] if taken is None else [f"--gpu-memory-utilization={taken}"]


def is_told(container: Json) -> bool:
    """Return whether an engine takes what its environment tells it."""
    return f"$({UTILISATION})" in _words(container)


def told(container: Json, utilisation: float) -> Json:
    """Return a container whose environment tells the engine what part of the memory it may take."""
    others: list[dict[str, Any]] = [e for e in container.get("env") or () if e["name"] != UTILISATION]
    return {**container, "env": [{"name": UTILISATION, "value": f"{utilisation:.3f}"}, *others]}


def _words(container: Json) -> str:
    return " ".join(map(str, (*(container.get("command") or ()), *(container.get("args") or ()))))
