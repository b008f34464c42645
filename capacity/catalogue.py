"""Models that capacity can be estimated for, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from capacity.architecture import Architecture, Experts, Latent
from capacity.formats import FORMATS, KV_BYTES, TABLE_BYTES, Format
from fleet.errors import InputError

_TOUCHING = 64
"""Tokens of the iteration whose experts count as read: a busy engine computes at least as many."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What the cost of serving a model depends on; one entry per model *and* number format.

    Attributes:
        name: Key used in config.
        architecture: What it is made of.
        format: Number format of its weights.
        bytes_per_kv: Bytes of one element of the KV cache.
        max_model_len: Longest sequence that the engine accepts, prompt and output, tokens.
    """

    name: str
    architecture: Architecture
    format: Format
    bytes_per_kv: float
    max_model_len: int

    @property
    def parameters(self) -> int:
        """Weights in all."""
        return self.architecture.parameters

    @property
    def active_parameters(self) -> int:
        """Weights that compute one token."""
        return self.architecture.active_parameters

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights: what memory holds."""
        tables = self.architecture.table_parameters
        return tables * TABLE_BYTES + (self.parameters - tables) * self.format.bytes_per_weight

    @property
    def streamed_bytes(self) -> float:
        """Bytes of the weights that an iteration of a busy engine reads: all but the experts not touched."""
        untouched = self.architecture.expert_parameters * (1 - self.architecture.touched(_TOUCHING))
        return self.weight_bytes - untouched * self.format.bytes_per_weight

    @property
    def kv_bytes_per_token(self) -> float:
        """Bytes that one token of context holds in the KV cache."""
        return self.architecture.kv_elements * self.bytes_per_kv


# Fields of config.json of Qwen/Qwen2.5-*-Instruct, Qwen/Qwen3-*, meta-llama/Llama-*-Instruct,
# mistralai/M*-Instruct-v0.*, deepseek-ai/DeepSeek-*. Columns: layers, hidden, heads, kv heads, head width,
# MLP width, vocabulary, longest sequence.
ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        "qwen2.5-3b": Architecture(
            36, 2048, 16, 2, 128, 11_008, 151_936, 32_768, is_tied=True, has_qkv_bias=True
        ),
        "qwen2.5-7b": Architecture(28, 3584, 28, 4, 128, 18_944, 152_064, 32_768, has_qkv_bias=True),
        "qwen2.5-14b": Architecture(48, 5120, 40, 8, 128, 13_824, 152_064, 32_768, has_qkv_bias=True),
        "qwen2.5-32b": Architecture(64, 5120, 40, 8, 128, 27_648, 152_064, 32_768, has_qkv_bias=True),
        "qwen2.5-72b": Architecture(80, 8192, 64, 8, 128, 29_568, 152_064, 32_768, has_qkv_bias=True),
        "qwen3-4b": Architecture(36, 2560, 32, 8, 128, 9728, 151_936, 40_960, is_tied=True, has_qk_norm=True),
        "qwen3-8b": Architecture(36, 4096, 32, 8, 128, 12_288, 151_936, 40_960, has_qk_norm=True),
        "qwen3-32b": Architecture(64, 5120, 64, 8, 128, 25_600, 151_936, 40_960, has_qk_norm=True),
        "qwen3-30b-a3b": Architecture(
            48, 2048, 32, 4, 128, 6144, 151_936, 40_960, has_qk_norm=True, experts=Experts(128, 8, 768)
        ),
        "llama-3.1-8b": Architecture(32, 4096, 32, 8, 128, 14_336, 128_256, 131_072),
        "llama-3.3-70b": Architecture(80, 8192, 64, 8, 128, 28_672, 128_256, 131_072),
        "mistral-7b-v0.3": Architecture(32, 4096, 32, 8, 128, 14_336, 32_768, 32_768),
        "mixtral-8x7b": Architecture(
            32, 4096, 32, 8, 128, 14_336, 32_000, 32_768, experts=Experts(8, 2, 14_336)
        ),
        "deepseek-v2-lite": Architecture(
            *(27, 2048, 16, 16, 192, 10_944, 102_400, 163_840),
            experts=Experts(64, 6, 1408, shared_width=2816, dense_layers=1),
            latent=Latent(0, 512, 128, 64, 128),
        ),
        "deepseek-v3": Architecture(
            *(61, 7168, 128, 128, 192, 18_432, 129_280, 163_840),
            experts=Experts(256, 8, 2048, shared_width=2048, dense_layers=3, has_bias=True),
            latent=Latent(1536, 512, 128, 64, 128),
        ),
    }
)

MODELS: Mapping[str, ModelSpec] = MappingProxyType(
    {
        f"{name}-{each.name}": ModelSpec(
            f"{name}-{each.name}", architecture, each, KV_BYTES["bf16"], architecture.max_len
        )
        for name, architecture in ARCHITECTURES.items()
        for each in FORMATS.values()
    }
)


def model_spec(name: str, models: Mapping[str, ModelSpec] = MODELS) -> ModelSpec:
    """Return the model called `name`; `InputError` naming those like it if there is none."""
    if name not in models:
        raise InputError(f"no model {name}", where="capacity catalogue", fix=instead_of(name))
    return models[name]


def instead_of(name: str) -> str:
    """Return what to write in place of a name that no model has, in one clause."""
    near = [known for known in MODELS if known.startswith(f"{name}-")] or get_close_matches(name, MODELS, n=3)
    if near:
        return f"use one of {', '.join(near)}"
    known = f"{', '.join(ARCHITECTURES)} with a number format: {', '.join(FORMATS)}"
    return f"use e.g. llama-3.1-8b-bf16 (known are {known}) or give the model's config.json"
