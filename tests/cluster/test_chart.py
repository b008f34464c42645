"""The chart: what it renders, that a real API server takes it, and what is left when it goes."""

import shutil
from contextlib import closing, suppress

import pytest
from typer.testing import CliRunner

from actuator.kube.connect import connect
from actuator.kube.resources import DEPLOYMENTS, PODS
from fleet.errors import ConflictError
from foreslice.cli import app
from foreslice.settings.load import load
from simulator.api import TAINT_RULE
from simulator.pods import is_ready
from simulator.rest import address
from tests.cluster.conftest import NEWEST, make_classes
from tests.cluster.controlplane import control_plane
from tests.cluster.helm import (
    CHART,
    EVERYTHING,
    NAMESPACE,
    RELEASE,
    HelmError,
    by_kind,
    given,
    helm,
    rendered,
)
from tests.cluster.lab import until
from tests.cluster.permissions import as_service_account, documents
from tests.cluster.shop import CRDS, SHOP, install_plans, shop_of
from tests.cluster.test_leaving import moved

SETTINGS = """\
version: v1
metrics: {source: prometheus, url: "https://prometheus.monitoring:9090"}
cluster: {kind: kubernetes}
acting: %s # as it may
freezes:
  - {because: the sale, from: 2026-11-27T00:00:00+01:00, to: 2026-12-01T00:00:00+01:00}
workloads:
  - {name: web, namespace: shop, model: qwen2.5-7b-bf16, mode: full, slo: {ttft: {p95: 1s}}}
"""
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
OBSERVE, ACT, HOLD = "false", "true", "true\nholding: {}"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "helm"


@pytest.fixture
def settings(tmp_path):
    """A function that writes a settings file."""

    def write(acting):
        path = tmp_path / "settings.yaml"
        path.write_text(SETTINGS % acting)
        return path

    return write


@pytest.mark.parametrize("acting", [OBSERVE, ACT, HOLD])
def test_lint_finds_nothing(settings, home, acting):
    said = helm("lint", CHART, "--strict", *given(settings(acting), *EVERYTHING), home=home)
    assert "1 chart(s) linted, 0 chart(s) failed" in said


def rules_of(bodies):
    """Return the rules of every role, by kind and name."""
    return {
        (body["kind"], body["metadata"]["name"]): body["rules"]
        for body in bodies
        if body["kind"] in ("ClusterRole", "Role")
    }


@pytest.mark.parametrize(
    ("acting", "files", "roles"),
    [
        (OBSERVE, ["observe"], {"foreslice-observe-workloads"}),
        (
            ACT,
            ["observe", "act", "watchdog"],
            {"foreslice-observe-workloads", "foreslice-act", "foreslice-watchdog"},
        ),
        (
            HOLD,
            ["observe", "act", "watchdog", "hold"],
            {"foreslice-observe-workloads", "foreslice-act", "foreslice-watchdog"},
        ),
    ],
)
def test_rights_are_those_of_deploy_rbac_and_no_more_than_the_settings_take(
    settings, home, acting, files, roles
):
    made = [
        body
        for body in rendered(settings(acting), "namespaces={other}", home=home)
        if body["metadata"]["name"] != "foreslice-uninstall"
    ]

    assert rules_of(made) == rules_of(body for name in files for body in documents(name))
    bound = {(b["metadata"]["namespace"], b["roleRef"]["name"]) for b in made if b["kind"] == "RoleBinding"}
    assert {(SHOP, role) for role in roles} | {("other", role) for role in roles} == {
        (namespace, role) for namespace, role in bound if namespace != NAMESPACE
    }
    assert (acting != OBSERVE) == bool(by_kind(made, "CronJob"))


def test_ways_to_act_take_their_rights_where_such_workloads_are(settings, home):
    path = settings(ACT)
    path.write_text(path.read_text().replace("mode: full", "mode: full, way: floor, reshape: switch"))
    made = rendered(path, "namespaces={other}", home=home)
    bound = {(b["metadata"]["namespace"], b["roleRef"]["name"]) for b in made if b["kind"] == "RoleBinding"}
    assert {(SHOP, "foreslice-act-floor"), (SHOP, "foreslice-act-switch")} == {
        each for each in bound if "act-" in each[1]
    }


def test_a_standby_pool_takes_its_rights_and_a_way_to_engines(settings, home):
    path = settings(ACT)
    assert "standby" not in path.read_text()
    path.write_text(path.read_text() + "standby: {slices: 4, host_memory_gib: 500}\n")
    made = rendered(path, home=home)
    bound = {(b["metadata"]["namespace"], b["roleRef"]["name"]) for b in made if b["kind"] == "RoleBinding"}
    assert (SHOP, "foreslice-act-standby") in bound
    assert {("ClusterRole", "foreslice-act-standby")} <= rules_of(made).keys()
    ports = by_kind(made, "NetworkPolicy")["foreslice"]["spec"]["egress"][0]["ports"]
    assert 8000 in {port["port"] for port in ports}


def test_the_pods_are_told_what_the_file_says_to_the_byte_and_can_use_it(settings, home, tmp_path):
    path = settings(ACT)
    made = rendered(path, home=home)

    text = by_kind(made, "ConfigMap")["foreslice-settings"]["data"]["foreslice.yaml"]
    assert path.read_text() == text
    assert load(path)


def containers(bodies):
    """Return the pod templates of everything that runs."""
    yield by_kind(bodies, "Deployment")["foreslice"]["spec"]["template"]["spec"]
    yield by_kind(bodies, "CronJob")["foreslice-watchdog"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    yield by_kind(bodies, "Job")["foreslice-uninstall"]["spec"]["template"]["spec"]


def test_nothing_runs_as_root_or_writes_to_its_root(settings, home):
    for pod in containers(rendered(settings(HOLD), home=home)):
        [container] = pod["containers"]
        assert (True, 65532) == (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"])
        assert {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        } == container["securityContext"]
        assert {"requests", "limits"} == container["resources"].keys()


def test_image_and_chart_agree_on_who_runs_and_what_is_written_to(settings, home):
    image = (CHART.parents[1] / "Dockerfile").read_text()
    for pod in containers(rendered(settings(HOLD), home=home)):
        [container] = pod["containers"]
        assert f"USER {pod['securityContext']['runAsUser']}:" in image
        written = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
        assert {"/tmp", "/var/lib/foreslice"} == written  # noqa: S108  a folder in the image
        assert 'VOLUME ["/var/lib/foreslice"]' in image
        assert "HOME=/tmp" in image


def test_what_runs_are_commands(settings, home):
    for pod in containers(rendered(settings(HOLD), home=home)):
        [container] = pod["containers"]
        assert 0 == CliRunner().invoke(app, [*container["args"], "--help"]).exit_code


def test_tls_of_the_settings_is_that_of_probes_and_scrapes(settings, home):
    path = settings(OBSERVE)
    path.write_text(f"{path.read_text()}http: {{cert_file: /c/tls.crt, key_file: /c/tls.key}}\n")
    made = rendered(path, *EVERYTHING, "secrets={web-tls}", home=home)

    pod = by_kind(made, "Deployment")["foreslice"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert "HTTPS" == container["readinessProbe"]["httpGet"]["scheme"]
    assert "/etc/foreslice/secrets/web-tls" in {mount["mountPath"] for mount in container["volumeMounts"]}
    assert "https" == by_kind(made, "ServiceMonitor")["foreslice"]["spec"]["endpoints"][0]["scheme"]


POD = ("Deployment", "foreslice", "spec", "template", "spec")
DOG = ("CronJob", "foreslice-watchdog", "spec", "jobTemplate", "spec", "template", "spec")
ROOM = {"name": "scratch", "emptyDir": {"sizeLimit": "5Gi"}}


@pytest.mark.parametrize(
    ("value", "at", "expected"),
    [
        ("replicas=3", ("Deployment", "foreslice", "spec", "replicas"), 3),
        ("image.repository=r/f", (*POD, "containers", 0, "image"), "r/f:0.1.0"),
        ("image.tag=v9", (*DOG, "containers", 0, "image"), "foreslice:v9"),
        ("image.pullPolicy=Never", (*POD, "containers", 0, "imagePullPolicy"), "Never"),
        ("image.pullSecrets={s}", (*DOG, "imagePullSecrets", 0, "name"), "s"),
        ("resources.limits.memory=3Gi", (*POD, "containers", 0, "resources", "limits", "memory"), "3Gi"),
        ("nodeSelector.a=b", (*POD, "nodeSelector", "a"), "b"),
        ("tolerations[0].operator=Exists", (*DOG, "tolerations", 0, "operator"), "Exists"),
        ("priorityClassName=high", (*POD, "priorityClassName"), "high"),
        ("scratch=5Gi", (*POD, "volumes", 2), ROOM),
        ("watchdog.schedule=1 2 3 4 5", ("CronJob", "foreslice-watchdog", "spec", "schedule"), "1 2 3 4 5"),
        ("watchdog.after=20m", (*DOG, "containers", 0, "args", -1), "20m"),
        (
            "networkPolicy.from[0].podSelector.a=b",
            ("NetworkPolicy", "foreslice", "spec", "ingress", 0, "from", 0, "podSelector", "a"),
            "b",
        ),
        (
            "networkPolicy.ports={9091}",
            ("NetworkPolicy", "foreslice", "spec", "egress", 0, "ports", -1, "port"),
            9091,
        ),
        ("files.llama-json=text", ("ConfigMap", "foreslice-settings", "data", "llama-json"), "text"),
        ("networkPolicy.enabled=false", ("NetworkPolicy",), {}),
        ("replicas=1", ("PodDisruptionBudget",), {}),
        (
            "serviceMonitor.labels.release=p",
            ("ServiceMonitor", "foreslice", "metadata", "labels", "release"),
            "p",
        ),
        (
            "serviceMonitor.tokenSecret.name=t",
            ("ServiceMonitor", "foreslice", "spec", "endpoints", 0, "authorization", "credentials", "name"),
            "t",
        ),
        ("rules.labels.release=p", ("PrometheusRule", "foreslice", "metadata", "labels", "release"), "p"),
        (
            "dashboard.labels.grafana=yes",
            ("ConfigMap", "foreslice-dashboard", "metadata", "labels", "grafana"),
            "yes",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "=" in value else "",
)
def test_every_value_is_where_it_belongs(settings, home, value, at, expected):
    made = rendered(settings(ACT), *EVERYTHING, value, home=home)
    found = by_kind(made, at[0])
    for key in at[1:]:
        found = found[key]
    assert expected == found


def test_prometheus_is_let_out_to_by_its_port(settings, home):
    made = rendered(settings(ACT), home=home)
    [egress] = by_kind(made, "NetworkPolicy")["foreslice"]["spec"]["egress"]
    assert {53, 443, 6443, 9090} == {port["port"] for port in egress["ports"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("kind: kubernetes", "kind: none"), "cluster.kind must be kubernetes to run in a cluster"),
        (("kubernetes}", "kubernetes, lease_namespace: x}"), "cluster.lease_namespace is x, and the release"),
        (("version: v1", "version: [v1"), "settings: not valid YAML"),
    ],
)
def test_settings_that_could_never_work_are_refused_before_anything_is_installed(
    settings, home, change, said
):
    path = settings(ACT)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(HelmError, match=said):
        rendered(path, home=home)


def test_without_settings_one_line_says_what_to_give(home):
    with pytest.raises(HelmError, match="settings are missing: give --set-file"):
        helm("template", RELEASE, CHART, "--namespace", NAMESPACE, home=home)


@pytest.mark.parametrize(
    "value", ["replicas=0", "replica=2", "image.tag=1", "watchdog.after=10", "serviceMonitor.enabled=maybe"]
)
def test_values_that_are_none_are_refused_by_the_schema(settings, home, value):
    with pytest.raises(HelmError, match="values don't meet the specifications of the schema"):
        rendered(settings(ACT), value, home=home)


@pytest.fixture(scope="module")
def own_plane(tmp_path_factory):
    """A control plane that nothing of foreslice was installed on."""
    directory = tmp_path_factory.mktemp("chart")
    with control_plane(NEWEST, directory) as plane:
        make_classes(plane)
        with closing(connect(plane.kubeconfig)) as server:
            for group, kind, plural in (
                ("monitoring.coreos.com", "ServiceMonitor", "servicemonitors"),
                ("monitoring.coreos.com", "PrometheusRule", "prometheusrules"),
            ):
                server.request("POST", CRDS, anything(group, kind, plural))
            for name in (NAMESPACE, "other"):
                server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        yield plane
    shutil.rmtree(directory)


def anything(group, kind, plural):
    """Return a definition that takes anything, where the real one is not there."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "singular": plural[:-1]}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


@pytest.fixture(scope="module")
def shop(own_plane):
    with shop_of(own_plane) as made:
        yield made


@pytest.fixture
def server(own_plane):
    with closing(connect(own_plane.kubeconfig)) as connected:
        yield connected


def plurals(server):
    """Return where each kind is served, by API version and kind."""
    paths = ["/api/v1"]
    for group in server.request("GET", "/apis")["groups"]:
        paths += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    return {
        (path.split("/", 2)[-1], each["kind"]): (path, each["name"])
        for path in paths
        for each in server.request("GET", path)["resources"]
        if "/" not in each["name"]
    }


@pytest.mark.parametrize("acting", [OBSERVE, ACT, HOLD])
def test_the_api_server_takes_every_object_and_knows_every_field(shop, server, settings, home, acting):
    served = until(lambda: (p := plurals(server)).get(("monitoring.coreos.com/v1", "PrometheusRule")) and p)
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    until(lambda: _is_made(server))
    kinds = []
    for body in rendered(settings(acting), *EVERYTHING, home=home):
        if body["kind"] == "CustomResourceDefinition":
            continue  # the shop has it: `install_plans` creates it by a real request
        path, plural = served[body["apiVersion"], body["kind"]]
        namespace = body["metadata"].get("namespace")
        place = f"/namespaces/{namespace}" if namespace else ""
        kinds.append(server.request("POST", f"{path}{place}/{plural}", body, query)["kind"])
    wanted = "ConfigMap Deployment NetworkPolicy PodDisruptionBudget PrometheusRule Service ServiceMonitor"
    assert set(wanted.split()) < set(kinds)


def _is_made(server):
    """Whether the namespace is there, which another test of this control plane takes away."""
    with suppress(ConflictError):
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    found = (body["metadata"] for body in server.request("GET", "/api/v1/namespaces")["items"])
    return any(meta["name"] == NAMESPACE and "deletionTimestamp" not in meta for meta in found)


def test_it_is_upgraded_and_what_it_looks_after_outlives_it(shop, own_plane, server, settings, home):
    """Pods run on, and come back, without its namespace, its rights and its definition."""

    def run(*arguments):
        return helm(*arguments, home=home, kubeconfig=own_plane.kubeconfig)

    run("install", RELEASE, CHART, *given(settings(OBSERVE)))
    assert "foreslice-act" not in {body["metadata"]["name"] for body in server.request("GET", ROLES)["items"]}
    run("upgrade", RELEASE, CHART, *given(settings(ACT), *EVERYTHING))
    replicas = lambda: server.request("GET", DEPLOYMENTS.path(NAMESPACE, RELEASE))["status"]  # noqa: E731
    until(lambda: replicas().get("readyReplicas") == 2)
    with shop.open(server=as_service_account(own_plane, server)) as cluster:
        moved(cluster)
        # The pod that was replaced no longer counts once it is told to end, and is listed until it has.
        before = until(lambda: len(pods := serving(shop)) == 2 and pods)

        run("uninstall", RELEASE, "--namespace", NAMESPACE, "--wait")
        assert before == serving(shop)
        server.request("DELETE", f"{CRDS}/fractionplans.foreslice.dev")
        server.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}")

        for name in before:
            server.request("DELETE", PODS.path(SHOP, name))
        until(lambda: len(serving(shop)) == 2 and not before & serving(shop))
        assert {SHOP} == {pod["metadata"]["namespace"] for pod in server.request("GET", PODS.path())["items"]}
        assert [] == server.request("GET", address(TAINT_RULE))["items"]
        install_plans(server)


def serving(shop):
    """Return the names of the shop's pods that serve."""
    return {pod["metadata"]["name"] for pod in shop.list(PODS) if is_ready(pod)}
