"""A served name means a model of the catalogue only where it is sure."""

import pytest

from capacity.catalogue import MODELS
from foreslice.discovery.models import known_as


@pytest.mark.parametrize(
    ("expected", "served"),
    [
        ("qwen2.5-7b-bf16", "Qwen/Qwen2.5-7B-Instruct"),
        ("qwen2.5-7b-bf16", "qwen2.5-7b"),
        ("qwen2.5-7b-fp8", "neuralmagic/Qwen2.5-7B-Instruct-FP8"),
        ("qwen2.5-7b-awq", "Qwen/Qwen2.5-7B-Instruct-AWQ"),
        ("qwen2.5-7b-gptq", "Qwen2.5-7B-Instruct-GPTQ-Int4"),
        ("llama-3.3-70b-gptq", "RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16"),
        ("llama-3.3-70b-fp8", "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"),
        ("mixtral-8x7b-bf16", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
        ("qwen3-30b-a3b-bf16", "Qwen/Qwen3-30B-A3B"),
        ("deepseek-v3-bf16", "deepseek-ai/DeepSeek-V3"),
        ("llama-3.1-8b-bf16", "meta-llama/Llama-3.1-8B-Instruct"),
        ("llama-3.1-8b-bf16", "Meta-Llama-3.1-8B"),
        (None, "Qwen/Qwen2.5-7B-Instruct-W8A8"),
        (None, "Qwen/Qwen2.5-0.5B-Instruct"),
        (None, "my-chat"),
        (None, "qwen2.5-7bx"),
        (None, "qwen2.5-7b.1"),
        (None, ""),
    ],
)
def test_known_as(expected, served):
    assert expected == known_as(served, MODELS)
