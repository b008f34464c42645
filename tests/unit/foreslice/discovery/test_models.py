"""A served name means a model of the catalogue only where it is sure."""

import pytest

from foreslice.discovery.models import known_as

CATALOGUE = ["qwen2.5-3b-bf16", "qwen2.5-7b-bf16", "qwen2.5-7b-fp8", "qwen2.5-7b-int4", "llama-3.1-8b-bf16"]


@pytest.mark.parametrize(
    ("expected", "served"),
    [
        ("qwen2.5-7b-bf16", "Qwen/Qwen2.5-7B-Instruct"),
        ("qwen2.5-7b-bf16", "qwen2.5-7b"),
        ("qwen2.5-7b-fp8", "neuralmagic/Qwen2.5-7B-Instruct-FP8"),
        ("qwen2.5-7b-int4", "Qwen/Qwen2.5-7B-Instruct-AWQ"),
        ("qwen2.5-7b-int4", "Qwen2.5-7B-Instruct-GPTQ-Int4"),
        ("llama-3.1-8b-bf16", "meta-llama/Llama-3.1-8B-Instruct"),
        ("llama-3.1-8b-bf16", "Meta-Llama-3.1-8B"),
        (None, "Qwen/Qwen2.5-3B-Instruct-FP8"),
        (None, "Qwen/Qwen2.5-72B-Instruct"),
        (None, "my-chat"),
        (None, "qwen2.5-7bx"),
        (None, "qwen2.5-7b.1"),
        (None, ""),
    ],
)
def test_known_as(expected, served):
    assert expected == known_as(served, CATALOGUE)
