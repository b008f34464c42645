"""`foreslice inventory` as a person calls it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.errors import InputError
from foreslice.cli import app
from foreslice.inventory import show_inventory

CASES = Path(__file__).parents[2] / "data" / "cases"


def case(name):
    folder, file = name.split("/")
    return str(next(CASES.glob(f"{folder}-*")) / file)


def call(*objects, more=()):
    named = [part for name in objects for part in ("--objects", case(name))]
    return CliRunner().invoke(app, ["inventory", *named, *more])


def test_tables_show_nodes_queues_tenants_and_findings():
    shown = call("N02/node.yaml", "K03/pods.yaml", "K09/queues.yaml", "D01/resourceslice.yaml").stdout

    assert "node-b  a100-80gb  8" in shown
    assert "llm/ok  kai        asks for 2000 MiB of 1 card(s)" in shown
    assert "default-parent-queue  0          0                no bound       0" in shown
    assert "Pod llm/gib" in shown
    assert "DRA devices: 1 whole, 2 x 3g.40gb; free:" in shown
    assert "findings" in shown.splitlines()[-1]


def test_what_is_not_there_has_no_table():
    assert "node    board" in call("N01/node.yaml").stdout
    assert "tenant" not in call("N01/node.yaml").stdout
    assert "0 findings" in call("N01/node.yaml").stdout


def test_json_has_every_part():
    result = json.loads(call("D04/claims.yaml", "D04/resourceslice.yaml", more=["--output", "json"]).stdout)

    assert [
        "nodes",
        "cards",
        "boards",
        "unhealthy",
        "devices",
        "groups",
        "shares",
        "queues",
        "tenants",
        "findings",
    ] == list(result)
    assert ["batch/gang-a-gpu-7k2xq"] == result["devices"]["stuck"]


def test_ages_are_counted_to_the_time_that_is_given():
    at = ["--at", "2026-01-01T13:00:00Z", "--output", "json"]
    result = json.loads(call("D04/claims.yaml", "D04/resourceslice.yaml", more=at).stdout)

    assert "is deleted for 11.0 h" in result["findings"][0]["what"]


def test_logs_name_cards_that_are_unhealthy():
    more = ["--logs", case("N05/plugin.log"), "--output", "json"]

    assert {"GPU-00000000-0000-4000-8000-0000000000e3": 94} == json.loads(
        call("N05/node.yaml", more=more).stdout
    )["unhealthy"]


def test_a_time_without_quotes_is_text_as_kubernetes_has_it(tmp_path):
    path = tmp_path / "claim.yaml"
    path.write_text(
        "kind: ResourceClaim\nmetadata: {name: c, deletionTimestamp: 2026-01-01T02:00:00Z}\nspec: {}\n"
        "status: {allocation: {devices: {results: [{driver: gpu.nvidia.com, pool: p, device: d}]}}}\n"
    )
    result = CliRunner().invoke(app, ["inventory", "--objects", str(path), "--output", "json"])

    assert ["/c"] == json.loads(result.stdout)["devices"]["stuck"]


def test_files_may_follow_one_option_as_a_pattern_leaves_them():
    result = call("N01/node.yaml", more=[case("N01/mig-config.yaml"), "--output", "json"])

    assert "as-planned" == json.loads(result.stdout)["nodes"][0]["layout_state"]


def test_json_files_are_read_as_json(tmp_path):
    path = tmp_path / "pods.json"
    path.write_text(json.dumps({"kind": "List", "items": []}))

    assert "0 findings" in CliRunner().invoke(app, ["inventory", "--objects", str(path)]).stdout


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.yaml", b"{", "a.yaml: is no YAML or JSON"),
        ("a.json", b"{", "a.json: is no YAML or JSON"),
        ("a.yaml", b"\xff\xfe", "a.yaml: cannot be read"),
        ("a.yaml", b"just text", "a.yaml: holds something that is no Kubernetes object"),
        (
            "a.yaml",
            b"kind: ResourceSlice\nmetadata: {name: s}\n",
            "a.yaml: an object is not as the API has it",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_with_its_name(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(InputError, match=said):
        show_inventory([path], [], "", as_json=True)


def test_a_file_that_is_not_there_and_a_time_that_is_none_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        show_inventory([tmp_path / "nothing.yaml"], [], "", as_json=True)
    with pytest.raises(InputError, match="--at: 'yesterday' is no time"):
        show_inventory([], [], "yesterday", as_json=True)
