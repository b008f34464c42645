"""What the arguments of a container say about the model that it serves, and the cards that this takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from capacity.catalogue import MODELS, ModelSpec
from capacity.prior import MEMORY_UTILISATION, RUNTIME_GIB, fits
from fleet.boards import H100_80GB
from fleet.shape import Shape
from foreslice.discovery.models import known_as

CARDS_OF = H100_80GB
"""The card that a model is fitted on where a claim leaves it open: the one with 80 GB is the most common."""

LEAST_MEMORY = "75Gi"
"""What selects such cards: drivers publish between 79.2 and 80 GiB of them."""

_COUNTS = (1, 2, 4, 8)
_MODEL = ("--model", "--model-path", "--model-id")
_PARALLEL = ("--tensor-parallel-size", "-tp", "--tp-size", "--tp", "--num-shard")
_LONGEST = ("--max-model-len", "--context-length", "--max-total-tokens")
_FORMAT = ("--quantization", "-q")


@dataclass(frozen=True, slots=True)
class Served:
    """A model as an engine is started with it.

    Attributes:
        name: As the arguments name it.
        spec: What it is made of.
        parallel: Over how many cards the engine spreads it.
    """

    name: str
    spec: ModelSpec
    parallel: int

    @property
    def cards(self) -> int | None:
        """The fewest cards of 80 GB that hold it with one longest sequence, `None` if eight do not."""
        enough = (n for n in _COUNTS if fits(self.spec, CARDS_OF, Shape(CARDS_OF.id, cards=n)))
        return next(enough, None)

    def has_room(self, cards: int, least_bytes: int) -> bool:
        """Return whether it also fits on so many of the smallest cards that a claim admits."""
        held = cards * (MEMORY_UTILISATION * least_bytes - RUNTIME_GIB * 2**30)
        return self.spec.weight_bytes + self.spec.max_model_len * self.spec.kv_bytes_per_token <= held


def served_by(arguments: Sequence[str]) -> Served | None:
    """Return what an engine with these arguments serves, `None` where no known model is named."""
    name = _value(arguments, _MODEL) or _positional(arguments)
    form = _value(arguments, _FORMAT)
    known = known_as(f"{name}-{form}" if form else name, MODELS) if name else None
    if known is None:
        return None
    spec, longest = MODELS[known], _number(_value(arguments, _LONGEST))
    if longest:
        spec = replace(spec, max_model_len=min(longest, spec.max_model_len))
    return Served(name, spec, _number(_value(arguments, _PARALLEL)) or 1)


def spread_over(arguments: Sequence[str], cards: int) -> list[str]:
    """Return the arguments with the model spread over so many cards."""
    spread = list(arguments)
    for index, argument in enumerate(spread):
        option, is_joined, _ = argument.partition("=")
        if option in _PARALLEL and is_joined:
            spread[index] = f"{option}={cards}"
            return spread
        if option in _PARALLEL and index + 1 < len(spread):
            spread[index + 1] = str(cards)
            return spread
    return [*spread, _PARALLEL[0], str(cards)]


def _value(arguments: Sequence[str], options: tuple[str, ...]) -> str:
    for argument, following in pairwise([*arguments, ""]):
        option, is_joined, value = argument.partition("=")
        if option in options:
            return value if is_joined else following
    return ""


def _positional(arguments: Sequence[str]) -> str:
    """Return what follows `serve`, as in `vllm serve MODEL`."""
    after = (following for word, following in pairwise(arguments) if word == "serve")
    return next(after, "")


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
