"""The model that a workload serves, as settings name or describe it, and the board it is reckoned on."""

import json

import pytest

from capacity.catalogue import MODELS
from capacity.formats import FORMATS
from fleet.boards import BOARDS
from foreslice.settings.load import load, models_of, workloads_of
from foreslice.settings.yaml_file import InvalidSettings
from tests.builders.configs import LLAMA_8B
from tests.unit.foreslice.test_settings import GOOD, HEAD, RECORDED, one

WRONG = {
    "unknown model": (
        HEAD + one(model="llama-3.1-8b"),
        [
            "5: workloads[0].model: no model in the catalogue; use one of "
            + ", ".join(f"llama-3.1-8b-{each}" for each in FORMATS)
            + " (is 'llama-3.1-8b')"
        ],
    ),
    "model that is neither": (
        HEAD + one(model=7),
        ["5: workloads[0].model: must be a name or a group of keys (is 7)"],
    ),
    "model of two sources": (
        HEAD + one(model={"name": "llama-3.1-8b-bf16", "config": "config.json"}),
        ["5: workloads[0].model: give either name or config"],
    ),
    "format of a named model": (
        HEAD + one(model={"name": "llama-3.1-8b-bf16", "format": "fp8"}),
        ["5: workloads[0].model: format belongs to config: a name ends with its number format"],
    ),
    "unknown format": (
        HEAD + one(model={"config": "config.json", "format": "int3"}),
        ["5: workloads[0].model.format: must be one of bf16, fp16, fp8, awq, gptq (is 'int3')"],
    ),
    "model without a file": (
        HEAD + one(model={"config": "nowhere.json"}),
        [
            (
                "5: workloads[0].model.config: no such file; "
                "give the config.json of a model on Hugging Face (is 'nowhere.json')"
            )
        ],
    ),
    "unknown board": (
        RECORDED + "cluster: {kind: none, board: tpu}\nworkloads:\n" + GOOD,
        [f"3: cluster.board: must be one of {', '.join(BOARDS)} (is 'tpu')"],
    ),
}


@pytest.mark.parametrize(("text", "lines"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_model_or_a_board_is_one_line(write, text, lines):
    path = write(text)
    with pytest.raises(InvalidSettings) as refusal:
        load(path)

    assert tuple(f"{path}:{line}" for line in lines) == refusal.value.lines


def test_a_model_may_be_described_by_its_config_beside_the_settings(write, tmp_path):
    (tmp_path / "llama").mkdir()
    (tmp_path / "llama" / "config.json").write_text(json.dumps(LLAMA_8B))
    described = {"config": "llama/config.json", "format": "awq", "kv_format": "fp8", "max_model_len": 8192}
    settings = load(write(HEAD + one(model=described)))

    (workload,) = workloads_of(settings)
    model = models_of(settings, tmp_path)[workload.model]
    assert "llama/config.json-awq-8192-kv-fp8" == workload.model == model.name
    assert (8_030_261_248, 8192, 1.0) == (model.parameters, model.max_model_len, model.bytes_per_kv)


def test_a_folder_with_a_config_stands_for_it(write, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B))
    settings = load(write(HEAD + one(model={"config": "."})))

    assert 8_030_261_248 == models_of(settings, tmp_path)["."].parameters


def test_a_named_model_may_be_served_with_a_shorter_longest_sequence(write, tmp_path):
    settings = load(write(HEAD + one(model={"name": "llama-3.1-8b-bf16", "max_model_len": 8192})))

    (workload,) = workloads_of(settings)
    model = models_of(settings, tmp_path)[workload.model]
    assert ("llama-3.1-8b-bf16-8192", 8192, 2.0) == (model.name, model.max_model_len, model.bytes_per_kv)


def test_a_name_alone_is_the_model_of_the_catalogue(write, tmp_path):
    settings = load(write(HEAD + GOOD))

    (workload,) = workloads_of(settings)
    assert "qwen2.5-7b-bf16" == workload.model
    assert dict(MODELS) == models_of(settings, tmp_path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("not json", "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"architectures": ["GPT"]}', "architecture GPT is not known"),
    ],
)
def test_a_config_that_cannot_be_used_is_one_line_with_its_key(write, tmp_path, text, what):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InvalidSettings) as refusal:
        load(write(HEAD + one(model={"config": "config.json"})))

    (line,) = refusal.value.lines
    assert f":5: workloads[0].model.config: {what}; " in line


@pytest.mark.parametrize("board", BOARDS)
def test_every_board_can_be_reckoned_in(write, board):
    text = RECORDED + f"cluster: {{kind: none, board: {board}}}\nworkloads:\n" + GOOD
    (write(text).parent / "metrics.csv").touch()

    assert board == load(write(text)).cluster.board
