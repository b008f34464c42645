"""Where the binaries of the control plane come from; building them is left to `make controlplane`."""

import subprocess
import sys

import pytest

from tests.controlplane.build import CONTROL_PLANE, HERE, KITS


def run(root, **environ):
    command = [sys.executable, "-m", "tests.controlplane.build", CONTROL_PLANE.name]
    return subprocess.run(command, cwd=root, env=environ, check=False, capture_output=True, text=True)


@pytest.fixture
def assets(tmp_path):
    """A folder with everything that a control plane needs."""
    for name in CONTROL_PLANE.binaries:
        (tmp_path / name).touch(mode=0o755)
    return tmp_path


def test_the_cache_is_outside_the_tree_and_keyed_by_what_is_built(root):
    cached = CONTROL_PLANE.folder({"XDG_CACHE_HOME": "/cache"})
    assert ("/cache/foreslice/controlplane", 16) == (str(cached.parent), len(cached.name))
    assert not CONTROL_PLANE.folder({}).is_relative_to(root)


def test_a_folder_that_is_given_overrides_the_cache(assets):
    assert assets == CONTROL_PLANE.folder({"KUBEBUILDER_ASSETS": str(assets), "XDG_CACHE_HOME": "/cache"})


def test_what_is_there_is_not_built_again(root, assets):
    """Not even Go is looked for."""
    done = run(root, KUBEBUILDER_ASSETS=str(assets))
    assert (0, f"{assets}\n", "") == (done.returncode, done.stdout, done.stderr)


def test_a_folder_that_is_given_must_have_everything(root, assets):
    (assets / "kube-scheduler").unlink()
    assert ["kube-scheduler"] == CONTROL_PLANE.missing({"KUBEBUILDER_ASSETS": str(assets)})
    done = run(root, KUBEBUILDER_ASSETS=str(assets))
    said = f"controlplane: KUBEBUILDER_ASSETS is {assets}, which lacks kube-scheduler; unset it to build\n"
    assert (1, said) == (done.returncode, done.stderr)


def test_without_go_one_line_says_what_to_do(root, tmp_path):
    done = run(root, XDG_CACHE_HOME=str(tmp_path), PATH=str(tmp_path))
    (said,) = done.stderr.splitlines()
    assert said.startswith("controlplane: go is not on the PATH; install Go 1.26 or newer, or name in")
    assert 1 == done.returncode


MODULES = [module for kit in KITS.values() for module in kit.modules]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_every_tool_has_its_version_pinned_with_its_hash(module):
    mod, sums = ((HERE / module.name / file).read_text() for file in ("go.mod", "go.sum"))
    assert [] == [main for main in module.mains.values() if f"{main}\n" not in mod]
    assert sums


def test_the_binaries_are_told_their_version():
    (kubernetes,) = [module for module in MODULES if module.versioned]
    assert "gitVersion=v1.37.2" in kubernetes.flags()[-1]
