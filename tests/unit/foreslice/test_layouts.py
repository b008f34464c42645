"""`foreslice layout` as people and scripts call it."""

import json
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from actuator.layouts.named import entries_of
from fleet.boards import H100_80GB
from fleet.errors import InputError, UnavailableError
from fleet.mig import realise
from foreslice.cli import app, main
from foreslice.relayout import Order, apply_layout, cuts_in
from foreslice.reslice import apply_slices
from simulator.static_driver import Card, static_slices
from tests.ports import free_port

CASES = Path(__file__).parents[2] / "data" / "cases"
(N01,) = CASES.glob("N01-*")
(N02,) = CASES.glob("N02-*")
NODE, CONFIG = N01 / "node.yaml", N01 / "mig-config.yaml"


def call(command, *paths, **options):
    arguments = [part for path in paths for part in ("--objects", str(path))]
    arguments += [part for name, value in options.items() for part in (f"--{name.rstrip('_')}", value)]
    return CliRunner().invoke(app, ["layout", command, *arguments], catch_exceptions=False)


@pytest.fixture
def cluster(tmp_path):
    """A function that writes the node of eight H100 with layouts by name, the first of which it shows."""

    def write(cuts, pods=(), offered=None, **labels):
        configs = {name: entries_of(cut) for name, cut in cuts.items()}
        first = next(iter(cuts))
        whole = sum(cut is None for cut in cuts[first])
        instances = {}
        for cut in cuts[first]:
            for profile, count in (cut or {}).items():
                instances[f"nvidia.com/mig-{profile}"] = instances.get(f"nvidia.com/mig-{profile}", 0) + count
        amounts = {"nvidia.com/gpu": str(whole), **{name: str(n) for name, n in instances.items()}}
        marks = {
            "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
            "nvidia.com/mig.config": first,
            "nvidia.com/mig.config.state": "success",
        }
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {**marks, **labels}}}
        node["status"] = {"capacity": amounts, "allocatable": amounts}
        documents = [node, {"version": "v1", "mig-configs": configs}, *pods]
        if offered is not None:
            documents.append(generated(offered))
        path = tmp_path / "dump.yaml"
        path.write_text(yaml.safe_dump_all(documents))
        return path

    return write


def generated(profiles):
    """What the MIG manager says that node `n` offers."""
    configs = {f"all-{p}": [{"devices": "all", "mig-enabled": True, "mig-devices": {p: 1}}] for p in profiles}
    text = yaml.safe_dump({"version": "v1", "mig-configs": configs})
    meta = {"name": "n-mig-config", "namespace": "gpu", "labels": {"nvidia.com/node-name": "n"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"config.yaml": text}}


def pod(name, resource, node="n"):
    container = {"name": "c", "resources": {"limits": {resource: "1"}}}
    meta = {"name": name, "namespace": "llm", "uid": name}
    spec = {"nodeName": node, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def test_a_layout_is_shown_card_by_card():
    (node,) = json.loads(call("show", NODE, CONFIG, output="json").stdout)["nodes"]

    assert ("as-planned", "two-split-six-whole") == (node["state"], node["configuration"])
    assert ["2g.20gb@0", "2g.20gb@2", "2g.20gb@4", "1g.10gb@6"] == node["cards"][0]["placements"]
    assert node["cards"][7]["cut"] is None


def test_without_the_configuration_it_says_what_to_give():
    assert "give the ConfigMap" in call("show", N02 / "node.yaml").stdout


@pytest.mark.parametrize(
    ("wanted", "code", "said"),
    [
        ({}, 0, "node-a shows two-split-six-whole"),
        ({"is": "all-disabled"}, 4, "node-a does not show all-disabled"),
    ],
)
def test_an_assertion_is_told_by_its_exit_code(wanted, code, said):
    left = call("assert", NODE, CONFIG, node="node-a", **wanted)

    assert (code, True) == (left.exit_code, said in left.stdout)


def test_a_label_is_no_evidence(cluster):
    path = cluster({"night": [{"1g.10gb": 7}], "day": [{"7g.80gb": 1}]}, **{"nvidia.com/mig.config": "day"})

    assert 4 == call("assert", path, node="n").exit_code


def test_a_change_names_cards_and_pods_that_must_go(cluster):
    pods = [
        pod("small", "nvidia.com/mig-1g.10gb"),
        pod("large", "nvidia.com/mig-7g.80gb"),
        pod("else", "nvidia.com/mig-1g.10gb", node="m"),
    ]
    path = cluster({"night": [{"1g.10gb": 7}, {"7g.80gb": 1}], "day": [{"3g.40gb": 2}, {"7g.80gb": 1}]}, pods)
    left = call("diff", path, node="n", to="day", output="json")
    told = json.loads(left.stdout)

    assert ([0], ["llm/small"], []) == (told["cleared"], told["must_go"], told["objections"])
    assert [{"index": 0, "from": {"1g.10gb": 7}, "to": {"3g.40gb": 2}}] == told["cards"]
    assert 0 == left.exit_code


@pytest.mark.parametrize(
    ("labels", "offered", "said"),
    [
        ({"nvidia.com/mig.config.state": "pending"}, None, "the last change of its layout is changing"),
        ({}, ["1g.10gb"], "the node does not offer 7g.80gb"),
    ],
)
def test_what_speaks_against_a_change_is_told_by_the_exit_code(cluster, labels, offered, said):
    path = cluster(
        {"night": [{"1g.10gb": 7}], "day": [{"7g.80gb": 1}]}, offered=offered and list(offered), **labels
    )
    left = call("diff", path, node="n", to="day")

    assert (4, True) == (left.exit_code, said in left.stdout)


def test_a_configuration_of_ours_that_was_edited_by_hand_speaks_against_a_change(cluster):
    path = cluster({"night": [{"1g.10gb": 7}], "foreslice-0123456789-a": [{"7g.80gb": 1}]})
    left = call("diff", path, node="n", to="foreslice-0123456789-a")

    assert (4, True) == (left.exit_code, "edited by hand" in left.stdout)


def test_no_change_is_said(cluster):
    path = cluster({"night": [{"1g.10gb": 7}], "same": [{"1g.10gb": 7}]})

    assert "no card changes\n" == call("diff", path, node="n", to="same").stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"node": "m", "to": "day"}, "there are: n"),
        ({"node": "n", "to": "dusk"}, "no configuration 'dusk'"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(cluster, options, said):
    path = cluster({"night": [{"1g.10gb": 7}], "day": [{"7g.80gb": 1}]})

    with pytest.raises(InputError, match=said):
        call("diff", path, **options)


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (0, ("show",)),
        (0, ("assert", "--node", "n")),
        (4, ("assert", "--node", "n", "--is", "day")),
        (0, ("diff", "--node", "n", "--to", "day")),
        (4, ("diff", "--node", "n", "--to", "nowhere")),
        (2, ("assert", "--node", "m")),
        (2, ("assert", "--node", "n", "--is", "dusk")),
        (2, ("diff", "--node", "n", "--to", "dusk")),
        (2, ("diff", "--node", "n")),
        (2, ("show", "--objects", "/nowhere.yaml")),
    ],
)
def test_scripts_are_told_by_exit_codes(cluster, monkeypatch, code, command):
    """0 = it is so, or may be done; 4 = it is not, or may not; 2 = it was asked wrongly."""
    path = cluster({"night": [{"1g.10gb": 7}], "day": [{"7g.80gb": 1}], "nowhere": [{"4g.40gb": 2}]})
    monkeypatch.setattr(sys, "argv", ["foreslice", "layout", *command, "--objects", str(path)])

    with pytest.raises(SystemExit) as left:
        main()

    assert code == left.value.code


@pytest.mark.parametrize(
    ("text", "cuts"),
    [
        ("0: whole", [None]),
        ("0: 3g.40gb + 4g.40gb; 1-2: 7 x 1g.10gb", [{"3g.40gb": 1, "4g.40gb": 1}, *[{"1g.10gb": 7}] * 2]),
        ("0:1g.10gb+me + 2x1g.10gb;1:", [{"1g.10gb+me": 1, "1g.10gb": 2}, {}]),
        ("1: whole; 0: 7g.80gb", [{"7g.80gb": 1}, None]),
    ],
)
def test_cuts_are_written_card_by_card(text, cuts):
    assert cuts == cuts_in(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("all: whole", "names no cards"),
        ("0: whole; 2: whole", "nothing is said of card 1"),
        ("0: 7 x large", "no instance"),
        ("", "names no cards"),
        ("3-1: whole", "'3-1: whole' names no cards"),
        ("0-99999999999: whole", "names no cards"),
    ],
)
def test_what_is_no_cut_is_said(text, said):
    with pytest.raises(InputError, match=said):
        cuts_in(text)


@pytest.fixture
def config(tmp_path):
    """Settings whose API server does not answer."""
    at = {"cluster": {"server": f"http://127.0.0.1:{free_port()}"}, "name": "a"}
    context = {"context": {"cluster": "a", "user": "a"}, "name": "a"}
    kubeconfig = {"kind": "Config", "clusters": [at], "contexts": [context], "current-context": "a"}
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig | {"users": [{"name": "a", "user": {}}]}))
    path = tmp_path / "settings.yaml"
    path.write_text(
        "version: v1\nmetrics: {source: prometheus, url: 'http://p'}\n"
        "cluster: {kind: kubernetes, kubeconfig: kubeconfig}\n"
        "workloads:\n  - {name: a, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}\n"
    )
    return path


def test_the_manager_is_named_with_its_namespace(config):
    with pytest.raises(InputError, match=r"^--manager: mig is no namespace/name; name the"):
        apply_layout(config, Order("n", "day", "", "mig"), is_dry=True, as_json=False)


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_server_that_never_answered_is_not_waited_for(config, is_dry):
    with pytest.raises(UnavailableError, match=r"^GET /api/v1/"):
        apply_slices(config, "n", "gpu-operator/plugin", 4, is_dry=is_dry, as_json=False)


def claimed(cuts, holder, device):
    """The ResourceSlice of node `n` whose cards are cut so, and a claim of a pod with a device of it."""
    cards = [Card(H100_80GB, tuple(sorted(realise(H100_80GB, cut), key=lambda p: p.start))) for cut in cuts]
    result = {"driver": "gpu.nvidia.com", "pool": "n", "device": device, "request": "gpu"}
    user = {"resource": "pods", "name": holder, "uid": holder}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": holder, "namespace": "llm"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]},
    }
    (published,) = static_slices("n", cards)
    published["metadata"] |= {"name": "n", "resourceVersion": "1"}
    return published, claim


def test_where_cards_are_claimed_slices_say_what_is_there_and_claims_who_has_to_go(cluster):
    """Whatever kubelets still show of a device plugin that is gone."""
    small, halves = {"1g.10gb": 7}, {"3g.40gb": 2}
    there = claimed([small, halves], "holder", "gpu-1-mig-3g40gb-9-0")
    path = cluster({"night": [small, small], "now": [small, halves]}, [*there, pod("holder", "cpu")])

    assert (4, "drifted") == (
        call("assert", path, node="n").exit_code,
        json.loads(call("show", path, output="json").stdout)["nodes"][0]["state"],
    )
    assert 0 == call("assert", path, node="n", is_="now").exit_code
    change = json.loads(call("diff", path, node="n", to="night", output="json").stdout)
    assert ("now", [1], ["llm/holder"]) == (change["from"], change["cleared"], change["must_go"])
