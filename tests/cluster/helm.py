"""Helm on the chart in `deploy/chart`, and what the chart renders."""

import os
import subprocess

import yaml

from tests.cluster.shop import DEPLOY
from tests.controlplane.build import HELM

CHART = DEPLOY / "chart"
NAMESPACE = RELEASE = "foreslice"
EVERYTHING = ("serviceMonitor.enabled=true", "rules.enabled=true", "dashboard.enabled=true")


class HelmError(Exception):
    """Helm said no."""


def helm(*arguments, home, kubeconfig="/dev/null"):
    """Run Helm and return what it printed; whatever it keeps goes to `home`."""
    homes = {f"HELM_{kind}_HOME": str(home / kind) for kind in ("CACHE", "CONFIG", "DATA")}
    done = subprocess.run(
        [HELM.folder() / "helm", *arguments],
        env={**os.environ, **homes, "KUBECONFIG": str(kubeconfig)},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise HelmError(done.stderr)
    return done.stdout


def given(settings, *more):
    """Return the arguments that give the chart a settings file, and values `key=value`."""
    values = [part for value in more for part in ("--set", value)]
    return ["--namespace", NAMESPACE, "--set-file", f"settings={settings}", *values]


def rendered(settings, *more, home):
    """Return the objects of the chart, its CRDs first."""
    text = helm("template", RELEASE, CHART, "--include-crds", *given(settings, *more), home=home)
    return [body for body in yaml.safe_load_all(text) if body is not None]


def by_kind(bodies, kind):
    """Return the objects of a kind by name."""
    return {body["metadata"]["name"]: body for body in bodies if body["kind"] == kind}
