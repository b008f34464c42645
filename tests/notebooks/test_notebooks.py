"""Every notebook runs on the shipped sample, stays thin, and is kept without its outputs."""

import ast
import json
import os
import re
from pathlib import Path

import nbformat
import pandas as pd
import papermill
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LONGEST_FUNCTION = 10

FEW = {"workloads": ["office", "steady"]}
QUICK = {
    "01_explore_demand": {"workloads": [], "most": 1, "trees": 15},
    "02_tune_model": {**FEW, "trials": 2},
    "03_backtest_and_promote": {
        **FEW,
        "quantiles": [0.5, 0.9],
        "windows_s": [3600],
        "most": 1,
        "store": "store",
    },
    "04_capacity": {**FEW, "ttft_ms": [500, 1000], "itl_ms": [30, 80], "hours": 0.15},
    "05_what_if": {"ttft": ["1s"]},
}
"""Less of everything, so that they are done in seconds."""

RECIPE = """
version: v1
parameters: {trees: 20, leaves: 7, rows_per_leaf: 20, bins: 32}
windows: [60m]
quantiles: [0.5, 0.9]
calibration: {memory: 5d, share: 0.5, cap: 1.0}
search: {parameters.leaves: [4, 7]}
"""


@pytest.fixture(scope="module", autouse=True)
def here():
    """Kernels import this checkout, and take one thread each."""
    before = dict(os.environ)
    os.environ |= {"PYTHONPATH": str(ROOT), "PYDEVD_DISABLE_FILE_VALIDATION": "1", "OMP_NUM_THREADS": "1"}
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def run(tmp_path):
    """Run a notebook with other parameters, in a folder of its own, and return its outputs."""
    (tmp_path / "quick.yaml").write_text(RECIPE)

    def execute(name, **parameters):
        source = ROOT / "notebooks" / f"{name}.ipynb"
        done = papermill.execute_notebook(
            str(source),
            str(tmp_path / "done.ipynb"),
            parameters=parameters,
            kernel_name="python3",
            cwd=str(tmp_path),
            progress_bar=False,
            log_output=False,
        )
        return [output for cell in done.cells for output in cell.get("outputs", ())]

    return execute


def test_the_five_are_there():
    assert [*QUICK] == [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the runner, in our process
def test_it_runs_on_the_sample_and_draws(run, name):
    with_recipe = {"recipe": "quick.yaml"} if name[:2] in {"02", "03"} else {}
    outputs = run(name, **QUICK[name], **with_recipe)
    assert [] == [output for output in outputs if output.output_type == "error"]
    figures = [output.data["application/vnd.plotly.v1+json"] for output in outputs if "plotly" in str(output)]
    assert figures
    assert all(axis_titles(figure) for figure in figures)


def axis_titles(figure):
    """Titles of the axes of values, which say units."""
    axes = [axis for name, axis in figure["layout"].items() if re.match("[xy]axis", name)]
    return [axis["title"]["text"] for axis in axes if axis.get("title", {}).get("text")]


def test_by_one_parameter_they_run_on_a_file(run, tmp_path):
    times = pd.date_range("2026-03-01", periods=2 * 144, freq="10min", tz="UTC")
    table = pd.DataFrame({"t": times, "rate": [5.0 if 54 <= at % 144 < 102 else 1.0 for at in range(288)]})
    table.to_csv(tmp_path / "mine.csv", index=False)
    columns = {"time": "t", "by": "", "value": "rate"}
    outputs = run("01_explore_demand", source="mine.csv", columns=columns, trees=10)
    assert [] == [output for output in outputs if output.output_type == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path):
    notebook = json.loads(path.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [] == [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"] is not None]
    assert {"kernelspec", "language_info"} == notebook["metadata"].keys()
    assert {"name": "python"} == notebook["metadata"]["language_info"]
    nbformat.validate(nbformat.reads(path.read_text(), as_version=4))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_thin_and_has_its_parameters_in_one_place(path):
    notebook = json.loads(path.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [["parameters"]] == [cell["metadata"]["tags"] for cell in code if cell["metadata"].get("tags")]
    assert '"sample"' in "".join(code[0]["source"])
    trees = [ast.parse("".join(cell["source"])) for cell in code]
    functions = [
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)
    ]
    assert [] == [node for node in functions if node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION]
    assert [] == [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
