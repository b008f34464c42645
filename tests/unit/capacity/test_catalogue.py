"""Models are sized by what their published architecture implies."""

import pytest

from capacity.catalogue import ARCHITECTURES, MODELS, model_spec
from fleet.errors import InputError

GIB = 2**30

# Sizes of the tensors in the published safetensors files (two bytes each), layer by layer.
PARAMETERS = {
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.3-70b": 70_553_706_496,
    "mistral-7b-v0.3": 7_248_023_552,
    "mixtral-8x7b": 46_702_792_704,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v3": 671_026_419_200,
}


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS.items())
def test_parameters_are_those_of_the_published_weights(name, parameters):
    assert parameters == ARCHITECTURES[name].parameters


def test_every_model_of_the_catalogue_was_checked():
    assert set(PARAMETERS) == set(ARCHITECTURES)


@pytest.mark.parametrize(
    ("name", "billions"),
    [("qwen3-30b-a3b", 3.3), ("mixtral-8x7b", 12.9), ("deepseek-v2-lite", 2.6), ("deepseek-v3", 37.5)],
)
def test_few_experts_compute_a_token(name, billions):
    """As their model cards say: 3.3, 12.9, 2.4 (without embedding) and 37 billion."""
    assert billions == pytest.approx(ARCHITECTURES[name].active_parameters / 1e9, abs=0.1)


def test_all_weights_of_a_dense_model_compute_each_token():
    model = MODELS["llama-3.1-8b-bf16"]

    assert model.parameters == model.active_parameters
    assert model.weight_bytes == model.streamed_bytes


@pytest.mark.parametrize(
    ("name", "weights_gib", "kv_kib"),
    [
        ("qwen2.5-3b-bf16", 5.8, 36),
        ("qwen2.5-7b-bf16", 14.2, 56),
        ("qwen2.5-14b-bf16", 27.5, 192),
        ("mistral-7b-v0.3-bf16", 13.5, 128),
        ("llama-3.1-8b-bf16", 15.0, 128),
        ("qwen3-8b-bf16", 15.3, 144),
        ("qwen3-30b-a3b-bf16", 56.8, 96),
        ("qwen3-32b-bf16", 61.1, 256),
        ("llama-3.3-70b-bf16", 131.4, 320),
    ],
)
def test_weights_and_context_take_the_published_memory(name, weights_gib, kv_kib):
    model = model_spec(name)

    assert weights_gib == pytest.approx(model.weight_bytes / GIB, abs=0.08)
    assert kv_kib * 1024 == model.kv_bytes_per_token


def test_latent_attention_keeps_one_short_vector_a_token():
    """61 layers x (512 + 64) elements x 2 bytes; with heads of its own each token would take 4.9 MB."""
    assert 61 * 576 * 2 == MODELS["deepseek-v3-fp8"].kv_bytes_per_token


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("llama-3.3-70b-fp8", 72.7),
        ("llama-3.1-8b-fp8", 9.08),
        ("qwen2.5-7b-awq", 5.57),
        ("llama-3.1-8b-awq", 5.73),
    ],
)
def test_token_tables_stay_in_16_bits_where_the_rest_is_quantised(name, gigabytes):
    """The sizes of published checkpoints of these formats."""
    assert gigabytes == pytest.approx(MODELS[name].weight_bytes / 1e9, rel=0.005)


def test_a_busy_engine_reads_nearly_all_experts():
    """1 - (1 - 8/128)^64 = 98 % of 128 experts, 1 - (1 - 8/256)^64 = 87 % of 256."""
    small, large = MODELS["qwen3-30b-a3b-bf16"], MODELS["deepseek-v3-fp8"]

    assert 0.98 == pytest.approx(small.architecture.touched(64), abs=0.01)
    assert 0.87 == pytest.approx(large.architecture.touched(64), abs=0.01)
    assert 0.98 < small.streamed_bytes / small.weight_bytes < 1
    assert 0.86 < large.streamed_bytes / large.weight_bytes < 0.88


@pytest.mark.parametrize(
    ("name", "cards", "copies"),
    [
        ("llama-3.3-70b", 8, 1),
        ("qwen2.5-7b", 4, 1),
        ("qwen2.5-7b", 8, 2),
        ("qwen2.5-3b", 8, 4),
        ("deepseek-v3", 8, 8),
        ("deepseek-v3", 1, 1),
    ],
)
def test_what_cannot_be_dealt_out_is_kept_several_times(name, cards, copies):
    assert copies == ARCHITECTURES[name].kv_copies(cards)


def test_names_say_the_number_format_and_are_the_keys():
    for name, model in MODELS.items():
        assert name == model.name
        assert name.endswith(f"-{model.format.name}")


def test_names_of_before_stand():
    assert {"qwen2.5-3b-bf16", "qwen2.5-7b-bf16", "qwen2.5-14b-bf16"} <= set(MODELS)


def test_a_model_without_a_format_is_answered_with_its_formats():
    with pytest.raises(InputError) as refusal:
        model_spec("qwen3-8b")

    assert "no model qwen3-8b" == refusal.value.what
    expected = "use one of qwen3-8b-bf16, qwen3-8b-fp16, qwen3-8b-fp8, qwen3-8b-awq, qwen3-8b-gptq"
    assert expected == refusal.value.fix


def test_a_name_that_is_nearly_one_is_answered_with_that_one():
    with pytest.raises(InputError, match=r"use one of llama-3\.3-70b-bf16, "):
        model_spec("lama-3.3-70b-bf16")


def test_a_model_like_no_other_is_refused_with_all_that_are_known():
    with pytest.raises(
        InputError, match=r"use e\.g\. llama-3\.1-8b-bf16 \(known are .*mixtral-8x7b.*gptq\) or give"
    ):
        model_spec("gpt-5")


def test_the_catalogue_cannot_be_changed_by_its_users():
    with pytest.raises(TypeError):
        MODELS["other"] = MODELS["qwen2.5-3b-bf16"]
