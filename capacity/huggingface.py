"""Models as their config.json on Hugging Face describes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from capacity.architecture import Architecture, Experts, Latent
from capacity.catalogue import ModelSpec
from capacity.formats import FORMATS, KV_BYTES, Format, grouped
from fleet.errors import InputError

Config = Mapping[str, Any]

_WHERE = "config.json of the model"
_AS_PUBLISHED = "give the config.json as it is published"


@dataclass(frozen=True, slots=True)
class _Family:
    """What the architectures of one kind have in common and their config does not say.

    Attributes:
        of: Makes the architecture of a config; the dense fields are filled in.
        traits: Fields of `Architecture` that all of them share.
    """

    traits: Mapping[str, Any]
    of: Callable[[Architecture, Config], Architecture] = lambda dense, _: dense


def _mixtral(dense: Architecture, config: Config) -> Architecture:
    count, active = _whole(config, "num_local_experts"), _whole(config, "num_experts_per_tok")
    return replace(dense, experts=Experts(count, active, dense.width))


def _qwen_experts(dense: Architecture, config: Config) -> Architecture:
    shared = _whole(config, "shared_expert_intermediate_size", 0)
    if _whole(config, "decoder_sparse_step", 1) != 1 or config.get("mlp_only_layers"):
        raise _unusable("experts in some of its layers only", "use a model with experts in every layer")
    experts = Experts(
        _whole(config, "num_experts"),
        _whole(config, "num_experts_per_tok"),
        _whole(config, "moe_intermediate_size"),
        shared_width=shared,
        has_shared_gate=shared > 0,
    )
    return replace(dense, experts=experts)


def _routed(dense: Architecture, config: Config) -> Architecture:
    """Return experts under the names that DeepSeek gave them."""
    width = _whole(config, "moe_intermediate_size")
    experts = Experts(
        _whole(config, "n_routed_experts"),
        _whole(config, "num_experts_per_tok"),
        width,
        shared_width=width * _whole(config, "n_shared_experts", 0),
        dense_layers=_whole(config, "first_k_dense_replace", 0),
        has_bias=config.get("topk_method") == "noaux_tc" or config.get("model_type") == "glm4_moe",
    )
    return replace(dense, experts=experts)


def _latent(dense: Architecture, config: Config) -> Architecture:
    latent = Latent(
        query_rank=_whole(config, "q_lora_rank", 0),
        kv_rank=_whole(config, "kv_lora_rank"),
        nope_dim=_whole(config, "qk_nope_head_dim"),
        rope_dim=_whole(config, "qk_rope_head_dim"),
        value_dim=_whole(config, "v_head_dim"),
    )
    return replace(_routed(dense, config), latent=latent)


_BIASED = {"has_qkv_bias": True}
_NORMED = {"has_qk_norm": True}
_FAMILIES: Mapping[str, _Family] = {
    "LlamaForCausalLM": _Family({}),
    "MistralForCausalLM": _Family({}),
    "GraniteForCausalLM": _Family({}),
    "Phi3ForCausalLM": _Family({}),
    "Qwen2ForCausalLM": _Family(_BIASED),
    "Qwen3ForCausalLM": _Family(_NORMED),
    "GemmaForCausalLM": _Family({"is_tied": True}),
    "Gemma2ForCausalLM": _Family({"is_tied": True, "norms": 4}),
    "Gemma3ForCausalLM": _Family({"is_tied": True, "norms": 4, "has_qk_norm": True}),
    "MixtralForCausalLM": _Family({}, _mixtral),
    "Qwen2MoeForCausalLM": _Family(_BIASED, _qwen_experts),
    "Qwen3MoeForCausalLM": _Family(_NORMED, _qwen_experts),
    "Glm4MoeForCausalLM": _Family({}, _routed),
    "DeepseekV2ForCausalLM": _Family({}, _latent),
    "DeepseekV3ForCausalLM": _Family({}, _latent),
}


def model_of(
    config: Config,
    name: str,
    *,
    number_format: str | None = None,
    kv_format: str = "bf16",
    max_model_len: int | None = None,
) -> ModelSpec:
    """Return the model that a config.json describes.

    Context of sliding-window layers counts in full, which is on the safe side.

    Args:
        config: The parsed file.
        name: What to call the model.
        number_format: Key of `FORMATS`; `None` = what the config says.
        kv_format: Key of `KV_BYTES`.
        max_model_len: Longest sequence that the engine accepts; `None` = what positions are made for.

    Raises:
        InputError: The architecture or its number format is unknown, or a field is missing or impossible.
    """
    architecture = architecture_of(config)
    return ModelSpec(
        name,
        architecture,
        format_of(config) if number_format is None else FORMATS[number_format],
        KV_BYTES[kv_format],
        max_model_len or architecture.max_len,
    )


def architecture_of(config: Config) -> Architecture:
    """Return what the described model is made of; errors as for `model_of`."""
    named = config.get("architectures")
    kind = named[0] if isinstance(named, list) and named else None
    family = _FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        known = ", ".join(sorted(_FAMILIES))
        raise _unusable(f"architecture {kind or '(none given)'} is not known", f"known are {known}")
    hidden, heads = _whole(config, "hidden_size"), _whole(config, "num_attention_heads")
    dense = Architecture(
        layers=_whole(config, "num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=_whole(config, "num_key_value_heads", heads),
        head_dim=_whole(config, "head_dim", hidden // heads),
        width=_whole(config, "intermediate_size"),
        vocabulary=_whole(config, "vocab_size"),
        max_len=_whole(config, "max_position_embeddings"),
    )
    flags = {
        "is_tied": bool(config.get("tie_word_embeddings")),
        "has_qkv_bias": bool(config.get("attention_bias")),
        "has_output_bias": bool(config.get("attention_bias"))
        and kind in {"LlamaForCausalLM", "Qwen3ForCausalLM"},
        "has_qk_norm": bool(config.get("use_qk_norm")),
    }
    return family.of(replace(dense, **{**flags, **family.traits}), config)


def format_of(config: Config) -> Format:
    """Return the number format that the weights of the described model are in; errors as for `model_of`."""
    quantised = config.get("quantization_config")
    if quantised is None:
        dtype = config.get("dtype", config.get("torch_dtype"))
        return FORMATS["fp16" if dtype == "float16" else "bf16"]
    if not isinstance(quantised, dict):
        raise _unusable(f"quantization_config is {quantised!r}, not a group of fields", _AS_PUBLISHED)
    method = quantised.get("quant_method")
    bits, group = quantised.get("bits", quantised.get("w_bit")), quantised.get("group_size")
    if method == "compressed-tensors":
        groups = quantised.get("config_groups") or {"": {}}
        weights = next(iter(groups.values())).get("weights") or {}
        method = "fp8" if (weights.get("type"), weights.get("num_bits")) == ("float", 8) else "packed"
        bits, group = weights.get("num_bits"), weights.get("group_size")
    if method in {"fp8", "fbgemm_fp8"}:
        return FORMATS["fp8"]
    if method in {"awq", "gptq", "packed"} and bits in {4, 8}:
        return grouped(method, bits, group if isinstance(group, int) and group > 0 else 128)
    raise _unusable(
        f"number format {quantised.get('quant_method')} of {bits or 'unknown'} bits is not known",
        f"name the format: {', '.join(FORMATS)}",
    )


def _whole(config: Config, field: str, default: int | None = None) -> int:
    """Return a field that must be a whole number of 1 or more; absent or null, the default."""
    value = config.get(field)
    if value is None and default is not None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < (1 if default is None else 0):
        problem = f"{field} is missing" if value is None else f"{field} is {value!r}, not a whole number"
        raise _unusable(problem, _AS_PUBLISHED)
    return value


def _unusable(what: str, fix: str) -> InputError:
    return InputError(what, where=_WHERE, fix=fix)
