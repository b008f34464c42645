"""Models that capacity can be estimated for, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fleet.errors import InputError


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What the cost of serving a model depends on; one entry per model *and* number format.

    Attributes:
        name: Key used in config; ends with the number format of the weights.
        parameters: Weights in all.
        layers: Transformer layers.
        kv_heads: Key-value heads of a layer.
        head_dim: Width of a head.
        bytes_per_weight: 2 for bf16.
        bytes_per_kv: Bytes of one element of the KV cache, 2 for bf16.
        max_model_len: Longest sequence that the engine accepts, prompt and output, tokens.
    """

    name: str
    parameters: int
    layers: int
    kv_heads: int
    head_dim: int
    bytes_per_weight: float
    bytes_per_kv: float
    max_model_len: int

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights: what memory holds, and what each iteration reads."""
        return self.parameters * self.bytes_per_weight

    @property
    def kv_bytes_per_token(self) -> float:
        """Bytes that one token of context holds in the KV cache: a key and a value per layer and head."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.bytes_per_kv


# Layers, heads and lengths: config.json of Qwen/Qwen2.5-{3B,7B,14B}-Instruct. Parameters: summed over the
# tensors that those configs imply (the 3B ties its embeddings, the others do not); model cards round them
# to 3.09, 7.61 and 14.7 billion.
MODELS: Mapping[str, ModelSpec] = MappingProxyType(
    {
        model.name: model
        for model in (
            ModelSpec("qwen2.5-3b-bf16", 3_085_938_688, 36, 2, 128, 2.0, 2.0, 32_768),
            ModelSpec("qwen2.5-7b-bf16", 7_615_616_512, 28, 4, 128, 2.0, 2.0, 32_768),
            ModelSpec("qwen2.5-14b-bf16", 14_770_033_664, 48, 8, 128, 2.0, 2.0, 32_768),
        )
    }
)


def model_spec(name: str) -> ModelSpec:
    """Return the model called `name`; `InputError` naming those that exist if there is none."""
    if name not in MODELS:
        raise InputError(
            f"no model {name}", where="capacity catalogue", fix=f"use one of {', '.join(sorted(MODELS))}"
        )
    return MODELS[name]
