"""How much of a card's memory an engine says that it takes."""

import pytest

from actuator.mechanisms.engine_memory import UTILISATION, memory_taken, memory_words, told


@pytest.mark.parametrize(
    ("taken", "container"),
    [
        (0.2, {"args": ["--gpu-memory-utilization=0.2"]}),
        (0.2, {"command": ["vllm", "serve", "m", "--gpu-memory-utilization", "0.2"]}),
        (
            0.3,
            {"command": ["sh", "-c"], "args": ["python -m sglang.launch_server --mem-fraction-static 0.3"]},
        ),
        (0.1, {"args": ["--gpu-memory-utilization=0.2", "--gpu-memory-utilization=0.1"]}),
        (0.4, {"args": ["--gpu-memory-utilization=$(PART)"], "env": [{"name": "PART", "value": "0.4"}]}),
        (None, {"args": ["--gpu-memory-utilization=$(PART)"]}),
        (None, {"args": ["--gpu-memory-utilization"]}),
        (None, {"args": ["--swap-space=4"]}),
        (None, {}),
    ],
)
def test_it_is_what_the_arguments_come_to(taken, container):
    assert taken == memory_taken(container)
    assert taken == memory_taken({"args": memory_words(container)})


def test_what_an_engine_is_told_takes_the_place_of_what_it_was_told_before():
    container = {"args": [f"--gpu-memory-utilization=$({UTILISATION})"], "env": [{"name": "A", "value": "b"}]}
    twice = told(told(container, 0.9), 0.225)

    assert 0.225 == memory_taken(twice)
    assert [UTILISATION, "A"] == [each["name"] for each in twice["env"]]
