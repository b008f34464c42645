"""How much of a card's memory an engine takes, as its arguments say, and whether a shape goes with it.

Nothing keeps a tenant of a time-sliced card to its memory (NVIDIA/k8s-device-plugin README, "Shared access to
GPUs"), nor one that consumes a part of a DRA device (kubernetes-sigs/dra-driver-nvidia-gpu,
consumable_shares.go): what co-tenants may take together is only what they were told to take.
"""

from __future__ import annotations

import re
from typing import Any

from actuator.manifest import Json
from fleet.errors import RefusedError
from fleet.mechanism import ENGINE_BUFFER
from fleet.shape import SHARE_UNITS, Shape

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


def most_of(shape: Shape) -> float:
    """Return the largest part of the memory that an engine on a shape may take, as it sees the card."""
    return (shape.hundredths or SHARE_UNITS) * (1 - ENGINE_BUFFER) / SHARE_UNITS


def is_kept(container: Json, shape: Shape) -> bool:
    """Return whether an engine leaves the memory of others alone; only a share has others."""
    taken = memory_taken(container)
    return not shape.hundredths or (taken is not None and taken <= most_of(shape))


def refuse_unkept(container: Json, shape: Shape) -> None:
    """Raise `RefusedError` for an engine that may take memory of others."""
    if not is_kept(container, shape):
        taken = memory_taken(container) or "an unknown part"
        raise RefusedError(
            f"its engine takes {taken} of the memory of a card that it shares, where nothing keeps it to "
            f"{most_of(shape):.3g}: write --gpu-memory-utilization with a value up to that, or with {_HOW}"
        )


def fitted(container: Json, shape: Shape) -> Json:
    """Return a container whose engine takes what a shape gives it.

    `RefusedError` where it may take memory of others, or takes less than capacity is reckoned with.
    """
    if f"$({UTILISATION})" in _words(container):
        return told(container, most_of(shape))
    refuse_unkept(container, shape)
    taken = memory_taken(container)
    if taken is not None and taken < _LEAST * most_of(shape):
        raise RefusedError(
            f"its engine takes {taken} of the memory whatever it runs on, and on {shape} "
            f"{most_of(shape):.3g} is reckoned with: write --gpu-memory-utilization with {_HOW}"
        )
    return container


_HOW = f"$({UTILISATION}) and its value in env, for which copies are given theirs"

_LEAST = 0.8
"""What an engine that cannot be told takes at least, as a part of the memory reckoned with (judgement)."""


def told(container: Json, utilisation: float) -> Json:
    """Return a container whose environment tells the engine what part of the memory it may take."""
    others: list[dict[str, Any]] = [e for e in container.get("env") or () if e["name"] != UTILISATION]
    return {**container, "env": [{"name": UTILISATION, "value": f"{utilisation:.3f}"}, *others]}


def _words(container: Json) -> str:
    return " ".join(map(str, (*(container.get("command") or ()), *(container.get("args") or ()))))
