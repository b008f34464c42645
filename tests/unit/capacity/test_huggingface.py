"""A config.json becomes the model whose weights are published beside it."""

import pytest

from capacity.catalogue import ARCHITECTURES, MODELS
from capacity.formats import FORMATS
from capacity.huggingface import architecture_of, format_of, model_of
from fleet.errors import InputError
from tests.builders.configs import config

LLAMA_70B = config("LlamaForCausalLM", 80, 8192, 64, 8, 28_672, 128_256, 131_072, attention_bias=False)
QWEN_7B = config("Qwen2ForCausalLM", 28, 3584, 28, 4, 18_944, 152_064, 32_768)
MIXTRAL = config(
    "MixtralForCausalLM", 32, 4096, 32, 8, 14_336, 32_000, 32_768, num_local_experts=8, num_experts_per_tok=2
)
QWEN3_MOE = config(
    *("Qwen3MoeForCausalLM", 48, 2048, 32, 4, 6144, 151_936, 40_960),
    head_dim=128,
    num_experts=128,
    num_experts_per_tok=8,
    moe_intermediate_size=768,
    decoder_sparse_step=1,
    mlp_only_layers=[],
)
LATENT = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
DEEPSEEK_V2_LITE = config(
    *("DeepseekV2ForCausalLM", 27, 2048, 16, 16, 10_944, 102_400, 163_840),
    **LATENT,
    q_lora_rank=None,
    n_routed_experts=64,
    n_shared_experts=2,
    num_experts_per_tok=6,
    moe_intermediate_size=1408,
    first_k_dense_replace=1,
    topk_method="greedy",
)
DEEPSEEK_V3 = config(
    *("DeepseekV3ForCausalLM", 61, 7168, 128, 128, 18_432, 129_280, 163_840),
    **LATENT,
    q_lora_rank=1536,
    n_routed_experts=256,
    n_shared_experts=1,
    num_experts_per_tok=8,
    moe_intermediate_size=2048,
    first_k_dense_replace=3,
    topk_method="noaux_tc",
    quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
)


@pytest.mark.parametrize(
    ("described", "parameters"),
    [
        (config("LlamaForCausalLM", 32, 4096, 32, 32, 11_008, 32_000), 6_738_415_616),
        (config("Phi3ForCausalLM", 32, 3072, 32, 32, 8192, 32_064), 3_821_079_552),
        (config("GemmaForCausalLM", 18, 2048, 8, 1, 16_384, 256_000, head_dim=256), 2_506_172_416),
        (config("Gemma2ForCausalLM", 42, 3584, 16, 8, 14_336, 256_000, head_dim=256), 9_241_705_984),
        (config("Gemma3ForCausalLM", 26, 1152, 4, 1, 6912, 262_144, head_dim=256), 999_885_952),
        (
            config(
                *("Qwen2MoeForCausalLM", 24, 2048, 16, 16, 5632, 151_936),
                num_experts=60,
                num_experts_per_tok=4,
                moe_intermediate_size=1408,
                shared_expert_intermediate_size=5632,
            ),
            14_315_784_192,
        ),
    ],
    ids=["multi-head", "phi", "multi-query", "gemma-2", "gemma-3", "shared expert"],
)
def test_parameters_are_those_of_the_published_weights(described, parameters):
    assert parameters == architecture_of(described).parameters


@pytest.mark.parametrize(
    ("described", "name"),
    [
        (LLAMA_70B, "llama-3.3-70b"),
        (QWEN_7B, "qwen2.5-7b"),
        (MIXTRAL, "mixtral-8x7b"),
        (QWEN3_MOE, "qwen3-30b-a3b"),
        (DEEPSEEK_V2_LITE, "deepseek-v2-lite"),
        (DEEPSEEK_V3, "deepseek-v3"),
    ],
)
def test_a_model_of_the_catalogue_is_found_again_in_its_config(described, name):
    found, known = architecture_of(described), ARCHITECTURES[name]

    assert known.parameters == found.parameters
    assert known.active_parameters == found.active_parameters
    assert known.kv_elements == found.kv_elements
    assert known.max_len == found.max_len


def test_heads_of_a_multi_query_model_share_one_key_and_value():
    one = architecture_of(config("GemmaForCausalLM", 18, 2048, 8, 1, 16_384, 256_000, head_dim=256))

    assert 2 * 18 * 256 == one.kv_elements


def test_without_key_value_heads_every_head_has_its_own():
    plain = {k: v for k, v in QWEN_7B.items() if k != "num_key_value_heads"}

    assert 28 == architecture_of(plain).kv_heads


@pytest.mark.parametrize(
    ("quantised", "bytes_per_weight", "is_fp8"),
    [
        (None, 2.0, False),
        ({"quant_method": "fp8"}, 1.0, True),
        ({"quant_method": "fbgemm_fp8"}, 1.0, True),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 0.5195, False),
        ({"quant_method": "awq", "w_bit": 4, "group_size": 64}, 0.5391, False),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 0.5195, False),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 1.0234, False),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            1.0,
            True,
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}},
            },
            0.5195,
            False,
        ),
    ],
)
def test_the_number_format_is_read_from_the_config(quantised, bytes_per_weight, is_fp8):
    found = format_of({**LLAMA_70B, "quantization_config": quantised})

    assert bytes_per_weight == pytest.approx(found.bytes_per_weight, abs=1e-4)
    assert is_fp8 == found.is_fp8


@pytest.mark.parametrize(("dtype", "name"), [("float16", "fp16"), ("bfloat16", "bf16"), ("float32", "bf16")])
def test_weights_that_are_not_quantised_are_served_in_16_bits(dtype, name):
    """Of 32-bit weights engines make 16-bit ones."""
    assert FORMATS[name] == format_of({"torch_dtype": dtype}) == format_of({"dtype": dtype})


def test_what_the_caller_names_goes_before_what_the_config_says():
    model = model_of(DEEPSEEK_V3, "mine", number_format="awq", kv_format="fp8", max_model_len=8192)

    assert ("mine", FORMATS["awq"], 1.0, 8192) == (
        model.name,
        model.format,
        model.bytes_per_kv,
        model.max_model_len,
    )


def test_a_config_without_more_is_the_model_of_the_catalogue():
    model, known = model_of(LLAMA_70B, "mine"), MODELS["llama-3.3-70b-bf16"]

    assert known.weight_bytes == model.weight_bytes
    assert known.kv_bytes_per_token == model.kv_bytes_per_token
    assert known.max_model_len == model.max_model_len


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"architectures": ["MambaForCausalLM"]}, "architecture MambaForCausalLM is not known"),
        ({"architectures": []}, "architecture (none given) is not known"),
        ({"architectures": None}, "architecture (none given) is not known"),
        ({"architectures": [["LlamaForCausalLM"]]}, "architecture ['LlamaForCausalLM'] is not known"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"hidden_size": "8192"}, "hidden_size is '8192', not a whole number"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0, not a whole number"),
        ({"vocab_size": True}, "vocab_size is True, not a whole number"),
        ({"architectures": ["MixtralForCausalLM"]}, "num_local_experts is missing"),
        (
            {"quantization_config": {"quant_method": "gguf"}},
            "number format gguf of unknown bits is not known",
        ),
        (
            {"quantization_config": {"quant_method": "awq", "bits": 3}},
            "number format awq of 3 bits is not known",
        ),
        ({"quantization_config": "fp8"}, "quantization_config is 'fp8', not a group of fields"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(changed, what):
    with pytest.raises(InputError) as refusal:
        model_of({**LLAMA_70B, **changed}, "mine")

    assert what == refusal.value.what
    assert "config.json of the model" == refusal.value.where


def test_an_unknown_architecture_is_answered_with_those_that_are_known():
    with pytest.raises(InputError, match=r"known are DeepseekV2ForCausalLM, .*, Qwen3MoeForCausalLM$"):
        model_of({"architectures": ["GPT"]}, "mine")


def test_experts_in_some_layers_only_are_refused():
    with pytest.raises(InputError, match="experts in some of its layers only"):
        architecture_of({**QWEN3_MOE, "decoder_sparse_step": 2})
