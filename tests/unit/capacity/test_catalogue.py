"""Models are sized by what their published architecture implies."""

import pytest

from capacity.catalogue import MODELS, model_spec
from fleet.errors import InputError

GIB = 2**30

# config.json of the instruct models: hidden size, width of the MLP, vocabulary, tied embeddings.
ARCHITECTURES = {
    "qwen2.5-3b-bf16": (2048, 11_008, 151_936, True),
    "qwen2.5-7b-bf16": (3584, 18_944, 152_064, False),
    "qwen2.5-14b-bf16": (5120, 13_824, 152_064, False),
}


def parameters(layers, kv_width, hidden, mlp, vocabulary, is_tied):
    """Sum the tensors: attention with biases on q, k, v, a gated MLP, two norms a layer, one at the end."""
    query_and_output = 2 * hidden * hidden + hidden
    key_and_value = 2 * (hidden * kv_width + kv_width)
    layer = query_and_output + key_and_value + 3 * hidden * mlp + 2 * hidden
    return layers * layer + hidden + (1 if is_tied else 2) * vocabulary * hidden


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_parameters_are_the_sum_of_the_tensors(name):
    model = MODELS[name]

    assert parameters(model.layers, model.kv_heads * model.head_dim, *ARCHITECTURES[name]) == model.parameters


def test_every_model_of_the_catalogue_was_checked_against_its_architecture():
    assert set(ARCHITECTURES) == set(MODELS)


@pytest.mark.parametrize(
    ("name", "weights_gib", "kv_kib"),
    [("qwen2.5-3b-bf16", 5.8, 36), ("qwen2.5-7b-bf16", 14.2, 56), ("qwen2.5-14b-bf16", 27.5, 192)],
)
def test_weights_and_context_take_the_published_memory(name, weights_gib, kv_kib):
    model = model_spec(name)

    assert weights_gib == pytest.approx(model.weight_bytes / GIB, abs=0.06)
    assert kv_kib * 1024 == model.kv_bytes_per_token


def test_names_say_the_number_format_and_are_the_keys():
    for name, model in MODELS.items():
        assert name == model.name
        assert name.endswith("-bf16")
        assert (2.0, 2.0) == (model.bytes_per_weight, model.bytes_per_kv)


def test_an_unknown_model_is_refused_with_the_names_that_exist():
    with pytest.raises(InputError) as refusal:
        model_spec("qwen2.5-7b")

    assert "no model qwen2.5-7b" == refusal.value.what
    assert "use one of qwen2.5-14b-bf16, qwen2.5-3b-bf16, qwen2.5-7b-bf16" == refusal.value.fix


def test_the_catalogue_cannot_be_changed_by_its_users():
    with pytest.raises(TypeError):
        MODELS["other"] = MODELS["qwen2.5-3b-bf16"]
