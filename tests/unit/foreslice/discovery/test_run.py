"""`foreslice discover` and `config check --live` against an API server and a Prometheus on loopback."""

import json

import pytest
import yaml

from fleet.errors import InputError, UnavailableError
from fleet.workload import WorkloadKey
from foreslice.discovery.prove import prove
from foreslice.discovery.run import run_discover
from foreslice.settings.load import load
from predictor.sources.access import Access
from tests.fakes.doors import doors
from tests.fakes.manifests import deployment, h100_slices, template

APPS, CORE, DRA = "/apis/apps/v1", "/api/v1", "/apis/resource.k8s.io/v1"
QWEN = "Qwen/Qwen2.5-7B-Instruct"
DONE = "vllm:request_success_total"


def pod(name, app, *, is_ready=True):
    conditions = [{"type": "Ready", "status": "True"}] if is_ready else []
    return {
        "metadata": {"name": name, "namespace": "llm", "labels": {"app": app, "team": "search"}},
        "status": {"phase": "Running", "conditions": conditions},
    }


def series(pod, name=DONE, **labels):
    return {"__name__": name, "namespace": "llm", "pod": pod, "model_name": QWEN, **labels}


@pytest.fixture
def there():
    """Deployments `chat` and `rerank` with two pods and one, vLLM in all, behind an autoscaler."""
    with doors() as made:
        made.lists = {
            f"{APPS}/deployments": [deployment("chat"), deployment("rerank")],
            f"{APPS}/statefulsets": [],
            f"{CORE}/pods": [pod("chat-0", "chat"), pod("chat-1", "chat"), pod("rerank-0", "rerank")],
            f"{DRA}/resourceclaimtemplates": [template("mig-3g")],
            f"{DRA}/resourceslices": h100_slices(gpus=2),
            "/apis/autoscaling/v2/horizontalpodautoscalers": [
                {
                    "metadata": {"name": "chat", "namespace": "llm"},
                    "spec": {
                        "scaleTargetRef": {"kind": "Deployment", "name": "chat"},
                        "minReplicas": 2,
                        "maxReplicas": 9,
                    },
                }
            ],
        }
        for path in (*made.lists,):
            group, _, plural = path.rpartition("/")
            made.lists[f"{group}/namespaces/llm/{plural}"] = made.lists[path]
        made.series = [series("chat-0"), series("chat-1"), series("rerank-0", model_name="in-house")]
        yield made


@pytest.fixture
def kubeconfig(there, tmp_path):
    return there.kubeconfig(tmp_path / "kubeconfig")


def discover(there, kubeconfig, out=None, namespaces=(), *, as_json=True):
    run_discover(there.url, Access(), kubeconfig, "", namespaces, out, as_json=as_json)


def test_scripts_get_all_that_was_found(there, kubeconfig, capsys):
    discover(there, kubeconfig)
    told = json.loads(capsys.readouterr().out)
    chat, rerank = told["workloads"]
    assert (True, None, 2, []) == (told["usable"], told["file"], told["cards"]["published"], told["notes"])
    assert ("llm/chat", "vLLM", QWEN, ["chat-0", "chat-1"], []) == (
        chat["workload"],
        chat["engine"],
        chat["served"],
        chat["ready"],
        chat["unsure"],
    )
    assert [
        {"name": "HorizontalPodAutoscaler chat", "does": "sets 2 to 9 replicas", "of_replicas": True}
    ] == (chat["writers"])
    assert rerank["unsure"]
    assert "acting: false" in told["settings"]


def test_nothing_is_written_to_either(there, kubeconfig, capsys):
    discover(there, kubeconfig)
    assert {("POST", "/api/v1/query")} == {one for one in there.asked if one[0] != "GET"}


def test_the_file_is_left_and_a_table_is_printed(there, kubeconfig, tmp_path, capsys):
    out = tmp_path / "settings.yaml"
    discover(there, kubeconfig, out, as_json=False)
    told = capsys.readouterr().out
    assert "llm/chat (Deployment)" in told
    assert "HorizontalPodAutoscaler chat" in told
    assert f"foreslice config check {out} --live" in told.replace("\n", "")
    [workload] = load(out).workloads
    assert ("chat", {"namespace": "llm", "model_name": QWEN}) == (workload.name, workload.match)


def test_without_a_file_the_proposal_is_all_of_standard_output(there, kubeconfig, capsys):
    discover(there, kubeconfig, as_json=False)
    printed = capsys.readouterr()
    assert "v1" == yaml.safe_load(printed.out)["version"]
    assert "llm/chat (Deployment)" in printed.err


def test_only_the_named_namespaces_are_listed(there, kubeconfig, capsys):
    discover(there, kubeconfig, namespaces=["llm"])
    assert f"{APPS}/deployments" not in {path for _, path in there.asked}
    assert 2 == len(json.loads(capsys.readouterr().out)["workloads"])


def test_what_may_not_be_read_is_a_note_or_the_end(there, kubeconfig, capsys):
    there.refused.add("/apis/autoscaling/v2/horizontalpodautoscalers")
    discover(there, kubeconfig)
    [note] = json.loads(capsys.readouterr().out)["notes"]
    assert note.startswith("may not list horizontalpodautoscalers in the whole cluster: grant {")

    there.refused.add(f"{CORE}/pods")
    with pytest.raises(InputError, match="may not list pods in the whole cluster"):
        discover(there, kubeconfig)


def test_a_file_that_cannot_be_written_is_one_line(there, kubeconfig, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        discover(there, kubeconfig, tmp_path / "gone" / "settings.yaml")


def test_a_prometheus_that_is_gone(there, kubeconfig):
    with pytest.raises(UnavailableError, match="cannot be reached"):
        run_discover("http://127.0.0.1:9", Access(), kubeconfig, "", (), None, as_json=True)


@pytest.fixture
def proof_of(there, kubeconfig, tmp_path):
    """A function that proves settings of workload `chat` with more keys."""

    def run(cluster="kubernetes", **more):
        chat = {
            "name": "chat",
            "namespace": "llm",
            "model": "qwen2.5-7b-bf16",
            "slo": {"ttft": {"p95": "1s"}},
        }
        kind = {"kind": cluster} | ({"kubeconfig": str(kubeconfig)} if cluster == "kubernetes" else {})
        document = {
            "version": "v1",
            "metrics": {"source": "prometheus", "url": there.url},
            "cluster": kind,
            "workloads": [chat | {"match": {"model_name": QWEN}} | more],
        }
        path = tmp_path / "settings.yaml"
        path.write_text(json.dumps(document))
        return prove(load(path), tmp_path)[WorkloadKey("llm", more.get("name", "chat"))]

    return run


def test_a_good_match_is_proved(proof_of):
    proof = proof_of()
    assert ((f"{DONE} of vLLM",), ("chat-0", "chat-1"), ()) == (proof.series, proof.pods, proof.faults)


def test_without_a_cluster_pods_are_not_looked_at(proof_of, there):
    there.series = there.series[:1]
    assert () == proof_of(cluster="none").faults
    assert ("1 of 2 ready pods have no demand series: chat-1",) == proof_of().faults


def test_series_of_others_are_a_fault(proof_of, there):
    there.series.append(series("rerank-0"))
    assert (f"model_name={QWEN} has series of pods that are others': llm/rerank-0",) == proof_of().faults


def test_an_engine_that_is_named_is_the_only_one_that_is_looked_for(proof_of):
    assert (f"no live series of a known engine carries model_name={QWEN}",) == proof_of(
        engine="sglang"
    ).faults


def test_a_router_is_proved_beside_the_engines(proof_of, there):
    missing = proof_of(router_match={"model": "qwen"})
    assert ("no live series of a known engine carries model=qwen",) == missing.faults
    there.series.append(
        {"__name__": "dynamo_frontend_requests_started_total", "model": "qwen", "pod": "front-0"}
    )
    proof = proof_of(router_match={"model": "qwen"})
    assert () == proof.faults
    assert (
        "dynamo_frontend_requests_started_total of NVIDIA Dynamo frontend",
        f"{DONE} of vLLM",
    ) == proof.series
    assert ("chat-0", "chat-1") == proof.pods


def test_a_name_that_holds_no_gpu_is_a_fault(proof_of):
    assert ("nothing of this name holds GPUs in its namespace",) == proof_of(name="web").faults


def test_pods_of_variants_are_the_workloads(proof_of, there):
    there.lists[f"{APPS}/namespaces/llm/statefulsets"] = [{**deployment("set"), "kind": "StatefulSet"}]
    there.series[-1] = series("rerank-0")
    assert (f"model_name={QWEN} has series of pods that are others': llm/rerank-0",) == proof_of().faults
    proof = proof_of(variants=["rerank"])
    assert (("chat-0", "chat-1", "rerank-0"), ()) == (proof.pods, proof.faults)
    there.series.pop()
    assert ("1 of 3 ready pods have no demand series: rerank-0",) == proof_of(variants="rerank").faults
    assert (
        "variants: StatefulSet set is no Deployment",
        "variants: nothing named gone holds GPUs in its namespace",
    ) == proof_of(variants=["set", "gone"]).faults


def test_who_may_not_read_the_namespace_is_told(proof_of, there):
    there.refused.add(f"{CORE}/namespaces/llm/pods")
    with pytest.raises(InputError, match=r"may not list pods .*; bind the role of observe.yaml"):
        proof_of()
