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

# Part of all memory of the card. vLLM: all that it takes; SGLang: weights and cache, activations and CUDA
# graphs are beside.
_FLAG = re.compile(r"--(gpu-memory-utilization|mem-fraction-static)(?:=|\s+)(\S+)")
_BESIDE = {"gpu-memory-utilization": 0.0, "mem-fraction-static": ENGINE_BUFFER}
"""What an engine takes beside what its flag says, as a part of its share (judgement)."""

_LEAST = 0.8
"""What an engine that cannot be told takes at least, as a part of the memory reckoned with (judgement)."""

_HOW = f"$({UTILISATION}) and its value in env, for which copies are given theirs"
_VARIABLE = re.compile(r"\$\((\w+)\)")


def memory_taken(container: Json) -> float | None:
    """Return the part of a card's memory that an engine is told to take, 0..1; `None` if that is not said."""
    return _said(container)[1]


def memory_words(container: Json) -> list[str]:
    """Return arguments that say what a container says of its engine's memory, and nothing else of it."""
    flag, taken = _said(container)
    return [] if taken is None else [f"--{flag}={taken}"]


def _said(container: Json) -> tuple[str, float | None]:
    """Return the flag that says what an engine takes, and what it says."""
    said = {each["name"]: str(each.get("value", "")) for each in container.get("env") or ()}
    words = _VARIABLE.sub(lambda name: said.get(name[1], name[0]), _words(container))
    flag, text = (_FLAG.findall(words) or [("gpu-memory-utilization", "")])[-1]
    try:
        return flag, float(text)
    except ValueError:
        return flag, None


def most_of(shape: Shape, container: Json) -> float:
    """Return the largest part of the memory that an engine may be told to take on a shape.

    As it sees the card: all of it where it has a share, the instance where it has one.
    """
    left = ENGINE_BUFFER + _BESIDE[_said(container)[0]]
    return round((shape.hundredths or SHARE_UNITS) * (1 - left) / SHARE_UNITS, 4)


def is_kept(container: Json, shape: Shape) -> bool:
    """Return whether an engine leaves the memory of others alone; only a share has others."""
    taken = memory_taken(container)
    return not shape.hundredths or (taken is not None and taken <= most_of(shape, container))


def refuse_unkept(container: Json, shape: Shape) -> None:
    """Raise `RefusedError` for an engine that may take memory of others."""
    if not is_kept(container, shape):
        taken = memory_taken(container) or "an unknown part"
        raise RefusedError(
            f"its engine takes {taken} of the memory of a card that it shares, where nothing keeps it to "
            f"{most_of(shape, container):.3g}: write --{_said(container)[0]} with a value up to that, or "
            f"with {_HOW}"
        )


def fitted(container: Json, shape: Shape) -> Json:
    """Return a container whose engine takes what a shape gives it.

    `RefusedError` where it may take memory of others, or takes less than capacity is reckoned with.
    """
    if f"$({UTILISATION})" in _words(container):
        return told(container, most_of(shape, container))
    refuse_unkept(container, shape)
    refuse_other_memory(container, shape)
    return container


def refuse_other_memory(container: Json, shape: Shape) -> None:
    """Raise `RefusedError` for an engine that takes less of a shape than capacity is reckoned with."""
    taken = memory_taken(container)
    if taken is not None and taken < _LEAST * most_of(shape, container):
        raise RefusedError(
            f"its engine takes {taken} of the memory whatever it runs on, and on {shape} "
            f"{most_of(shape, container):.3g} is reckoned with: write --{_said(container)[0]} with {_HOW}"
        )


def told(container: Json, utilisation: float) -> Json:
    """Return a container whose environment tells the engine what part of the memory it may take."""
    others: list[dict[str, Any]] = [e for e in container.get("env") or () if e["name"] != UTILISATION]
    return {**container, "env": [{"name": UTILISATION, "value": f"{utilisation:.3f}"}, *others]}


def _words(container: Json) -> str:
    return " ".join(map(str, (*(container.get("command") or ()), *(container.get("args") or ()))))
