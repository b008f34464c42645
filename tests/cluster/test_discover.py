"""`foreslice discover` and `config check --live` on a real control plane and a real Prometheus.

Three engines serve: vLLM on slices under an autoscaler, SGLang on a card under GitOps, TGI on a fraction.
"""

import json
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import yaml
from kubernetes.client import ApiClient, Configuration

from actuator.kube.survey import survey
from fleet.boards import H100_80GB
from fleet.errors import ConflictError
from foreslice.clock import WallClock
from simulator.api import DEPLOYMENT, POD, Kind
from simulator.pods import condition
from simulator.rest import address
from tests.cluster.conftest import NEWEST, connect
from tests.cluster.lab import LABEL, Lab, until
from tests.cluster.permissions import Recorder, documents, granted
from tests.fakes.manifests import request
from tests.prometheus.server import back_fill, prometheus, series_text

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

FORESLICE = Path(sys.executable).with_name("foreslice")
AUTOSCALER = Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
SCALED_OBJECT = Kind("keda.sh/v1alpha1", "ScaledObject", "scaledobjects")
DEFINITION = Kind(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", is_namespaced=False
)
QWEN = "Qwen/Qwen2.5-7B-Instruct"
MINUTES = 5
SERIES = {
    "chat": {"vllm:request_success_total": {"finished_reason": "stop"}, "vllm:num_requests_running": {}},
    "rerank": {"sglang:num_requests_total": {}, "sglang:num_running_reqs": {}},
    "embed": {"tgi_request_count": {}, "tgi_queue_size": {}},
}
LABELS = {
    "chat": {"model_name": QWEN, "service": "chat"},
    "rerank": {"model_name": "in-house-reranker"},
    "embed": {"service": "embed"},
}


@pytest.fixture(scope="module")
def street(plane):
    """The three workloads, a web server without a GPU, and the autoscaler; all pods are ready."""
    with closing(connect(plane.kubeconfig)) as server, closing(Lab(server, "street")) as lab:
        _settle(lab)
        yield lab


def _settle(lab):
    lab.node(H100_80GB, H100_80GB)
    lab.template("third", request(profile="3g.40gb"))
    lab.template("whole", request("gpu.nvidia.com", None))
    _apply(lab, "chat", "kubectl", "third", replicas=2)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"}
    lab.create(
        AUTOSCALER, "chat", spec={"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 6, "metrics": []}
    )
    _apply(lab, "rerank", "argocd-controller", "whole")
    _apply(lab, "embed", "kubectl", None, {"gpu-fraction": "0.5"})
    _apply(lab, "web", "kubectl", None)
    _scale_by_keda(lab, "embed")
    until(lambda: len(_ready(lab)) == 5)


def _scale_by_keda(lab, name):
    """Make ScaledObject known, whatever is in it, and let one scale a Deployment."""
    group, _, version = SCALED_OBJECT.api_version.partition("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": SCALED_OBJECT.name, "plural": SCALED_OBJECT.plural}
    lab.create(
        DEFINITION,
        f"{SCALED_OBJECT.plural}.{group}",
        spec={"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    )
    spec = {"scaleTargetRef": {"name": name}, "minReplicaCount": 1, "maxReplicaCount": 3}
    until(lambda: _is_created(lab, spec))


def _is_created(lab, spec):
    """Whether a kind that was just made known is served already."""
    try:
        return lab.create(SCALED_OBJECT, "by-queue", spec=spec)
    except ConflictError:
        return False


def _apply(lab, name, manager, template, annotations=None, replicas=1):
    """Apply a Deployment as somebody else's tool does."""
    claims = [{"name": "r", "resourceClaimTemplateName": template}] if template else []
    engine = {"name": "engine", "image": "engine"}
    if template:
        engine["resources"] = {"claims": [{"name": "r"}]}
    labels = {"app": name}
    spec = {"nodeSelector": {LABEL: lab.name}, "containers": [engine], "resourceClaims": claims}
    meta = {"labels": labels, "annotations": annotations or {}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "annotations": {"argocd.argoproj.io/tracking-id": name}}
        if manager.startswith("argocd")
        else {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": meta, "spec": spec},
        },
    }
    query = {"fieldManager": manager, "force": "true"}
    path = f"{address(DEPLOYMENT, lab.name)}/{name}"
    lab.server.request("PATCH", path, body, query, "application/apply-patch+yaml")


def _ready(lab):
    pods = [pod for pod in lab.list(POD) if (condition(pod, "Ready") or {}).get("status") == "True"]
    return {pod["metadata"]["name"]: pod["metadata"]["labels"]["app"] for pod in pods}


def _readings(lab, without=(), more=()):
    """What a Prometheus has scraped of these pods in the last minutes."""
    end_s = WallClock().now_s()
    for pod, app in _ready(lab).items():
        for name, labels in SERIES.get(app, {}).items():
            if pod not in without:
                about = {"namespace": lab.name, "pod": pod, **LABELS[app], **labels}
                for minute in range(MINUTES * 4):
                    yield series_text(name, about), end_s - 15 * (MINUTES * 4 - minute), float(minute)
    for name, labels in more:
        yield series_text(name, {"namespace": lab.name, **labels}), end_s - 10, 1.0


@contextmanager
def scraped(lab, directory, **given):
    """A Prometheus that has scraped them, by its address."""
    back_fill(directory, sorted(_readings(lab, **given)))
    with prometheus(directory) as url:
        yield url


def foreslice(*arguments):
    command = [FORESLICE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def discover(plane, lab, url, *more):
    ran = foreslice(
        *("discover", "--kubeconfig", plane.kubeconfig, "--prometheus", url, "--namespace", lab.name), *more
    )
    assert (0, "") == (ran.returncode, ran.stderr), ran.stderr
    return ran.stdout


@pytest.fixture
def found(plane, street, tmp_path):
    """What was found, the file that was proposed, and the Prometheus, which goes on."""
    with scraped(street, tmp_path / "prometheus") as url:
        out = tmp_path / "settings.yaml"
        told = json.loads(discover(plane, street, url, "--out", out, "--output", "json"))
        yield told, out, url


def test_three_engines_are_found_with_their_series_cards_and_writers(street, found):
    told, out, _ = found
    workloads = {one["workload"].partition("/")[2]: one for one in told["workloads"]}
    assert {"chat", "rerank", "embed"} == set(workloads), "the web server holds no GPU"
    assert 2 == told["cards"]["published"]
    assert [] == told["notes"]

    chat, rerank, embed = (workloads[name] for name in ("chat", "rerank", "embed"))
    assert ("dra", "ResourceClaimTemplate: third", "vLLM", QWEN) == (
        chat["mechanism"],
        chat["asks"],
        chat["engine"],
        chat["served"],
    )
    assert ("qwen2.5-7b-bf16", {"namespace": street.name, "model_name": QWEN}) == (
        chat["model"],
        chat["match"],
    )
    assert ["HorizontalPodAutoscaler chat sets 2 to 6 replicas"] == _written(chat)
    assert [] == chat["unsure"]

    assert ("SGLang", {"namespace": street.name, "model_name": "in-house-reranker"}) == (
        rerank["engine"],
        rerank["match"],
    )
    assert ["argocd-controller applies spec.replicas"] == _written(rerank)
    [unsure] = rerank["unsure"]
    assert unsure.startswith("serves in-house-reranker; name the one of")

    assert ("kai", "gpu-fraction: 0.5", "Text Generation Inference") == (
        embed["mechanism"],
        embed["asks"],
        embed["engine"],
    )
    assert {"namespace": street.name, "service": "embed"} == embed["match"]
    assert ["ScaledObject by-queue sets 1 to 3 replicas"] == _written(embed)
    assert out.read_text() == told["settings"]


def _written(workload):
    return [f"{writer['name']} {writer['does']}" for writer in workload["writers"]]


def test_the_proposal_can_be_used_and_is_proved_live(street, found):
    _, out, _ = found
    checked = foreslice("config", "check", out, "--live", "--output", "json")
    assert 0 == checked.returncode, checked.stdout
    told = json.loads(checked.stdout)
    pods = sorted(pod for pod, app in _ready(street).items() if app == "chat")
    assert {f"{street.name}/chat": {"series": ["vllm:request_success_total of vLLM"], "pods": pods}} == told[
        "live"
    ]
    [workload] = yaml.safe_load(out.read_text())["workloads"]
    assert ("forecast-only", {"min": 2, "max": 6}) == (workload["mode"], workload["replicas"])


def test_the_proposal_is_enough_for_status_explain_and_graduation(street, found):
    """From install to insight: nothing was written by hand, and the cluster does not know FractionPlan."""
    _, out, _ = found
    name = f"{street.name}/chat"
    told = {
        command: foreslice(command, *more, "--config", out, "--output", "json")
        for command, more in (("status", []), ("explain", [name]), ("graduation", []))
    }
    assert {0} == {ran.returncode for ran in told.values()}, [ran.stderr for ran in told.values()]
    status, explained, graduation = (json.loads(ran.stdout) for ran in told.values())
    [seen] = status["workloads"]
    assert (name, "forecast-only") == (seen["workload"], seen["mode"])
    assert "foreslice does not act" in status["line"]
    assert "2 x 3g.40gb" == explained["stands"].replace("h100-80gb:", "")
    assert explained["need"]["because"]
    [answer] = graduation["workloads"]
    assert ("advise", False) == (answer["next"], answer["is_ready"]), "minutes are no three days"


def test_each_fault_is_one_line_and_the_exit_code_says_so(plane, street, tmp_path):
    pods = _ready(street)
    silent = next(pod for pod, app in pods.items() if app == "chat")
    foreign = next(pod for pod, app in pods.items() if app == "rerank")
    stray = ("vllm:request_success_total", {"pod": foreign, **LABELS["chat"], "finished_reason": "stop"})
    with scraped(street, tmp_path / "prometheus", without=[silent], more=[stray]) as url:
        path = tmp_path / "settings.yaml"
        path.write_text(
            f"""\
version: v1
metrics: {{source: prometheus, url: "{url}"}}
cluster: {{kind: kubernetes, kubeconfig: "{plane.kubeconfig}"}}
workloads:
  - {{name: chat, namespace: {street.name}, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}},
     match: {{model_name: "{QWEN}"}}}}
  - {{name: rerank, namespace: {street.name}, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}},
     match: {{model_name: nobody}}}}
  - {{name: gone, namespace: {street.name}, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}},
     match: {{service: embed}}}}
"""
        )
        checked = foreslice("config", "check", path, "--live")
    assert (2, "") == (checked.returncode, checked.stdout)
    where = f"foreslice: {path}" if checked.stderr.startswith("foreslice: ") else f"{path}"
    lines = [line.removeprefix(f"{where}: ") for line in checked.stderr.splitlines()]
    name = street.name
    assert [
        f"{name}/chat: 1 of 2 ready pods have no demand series: {silent}",
        f"{name}/chat: model_name={QWEN} has series of pods that are others': {name}/{foreign}",
        f"{name}/rerank: no live series of a known engine carries model_name=nobody",
        f"{name}/gone: nothing of this name holds GPUs in its namespace",
    ] == lines


def test_people_get_a_table_and_the_file_on_standard_output(plane, street, found):
    _, _, url = found
    ran = foreslice(*("discover", "--kubeconfig", plane.kubeconfig, "--prometheus", url, "-n", street.name))
    assert 0 == ran.returncode
    assert "forecast-only" == yaml.safe_load(ran.stdout)["workloads"][0]["mode"]
    assert "HorizontalPodAutoscaler chat" in ran.stderr
    assert "# argocd-controller applies spec.replicas" in ran.stdout


def test_discover_asks_for_all_that_its_role_grants_and_nothing_else(plane, street):
    rules = [rule for body in documents("discover") for rule in body["rules"]]
    token = street.account("discoverer", *rules)
    (cluster,) = json.loads(plane.kubeconfig.read_text())["clusters"]
    configuration = Configuration(host=plane.url, api_key={"BearerToken": f"Bearer {token}"})
    configuration.ssl_ca_cert = cluster["cluster"]["certificate-authority"]
    with closing(Recorder(ApiClient(configuration))) as server:
        told = survey(server)
    assert {"chat", "rerank", "embed"} <= {serving.key.name for serving in told.servings}
    assert () == told.notes
    assert granted("discover") == server.asked


def test_without_any_right_one_line_says_which(plane, street, tmp_path):
    token = street.account("nobody")
    path = tmp_path / "kubeconfig"
    path.write_text(plane.kubeconfig_of("nobody", token).read_text())
    ran = foreslice("discover", "--kubeconfig", path, "--prometheus", "http://127.0.0.1:1")
    assert (2, "") == (ran.returncode, ran.stdout)
    assert 'may not list deployments in the whole cluster: grant {apiGroups: ["apps"]' in ran.stderr


def test_who_shares_which_card_is_read_from_claims_and_exporters(plane, street, tmp_path):
    chat = sorted(pod for pod, app in _ready(street).items() if app == "chat")
    instance = {"UUID": "GPU-of-nobody", "GPU_I_ID": "1", "GPU_I_PROFILE": "3g.40gb", "pod": chat[0]}
    used = [("DCGM_FI_DEV_FB_USED", instance), ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", instance)]
    with scraped(street, tmp_path / "prometheus", more=used) as url:
        ran = foreslice(
            *("sharing", "--kubeconfig", plane.kubeconfig, "--prometheus", url, "--output", "json")
        )
    assert (0, "") == (ran.returncode, ran.stderr)
    told = json.loads(ran.stdout)
    held = {
        tenant["tenant"]: (tenant["mechanism"], tenant["has_alone"], view["memory_granted"])
        for view in told["cards"]
        for tenant in view["tenants"]
        if tenant["tenant"].startswith(f"{street.name}/") and tenant["mechanism"]
    }
    [rerank] = [pod for pod, app in _ready(street).items() if app == "rerank"]
    assert 0 < held[f"{street.name}/{chat[0]}"][2] <= 1
    assert {
        **{f"{street.name}/{pod}": ("dra", "instance") for pod in chat},
        f"{street.name}/{rerank}": ("dra", "card"),
    } == {tenant: known[:2] for tenant, known in held.items()}
