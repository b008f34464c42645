"""A proposal can be used as it stands; what is not sure stands as a comment, with the reason."""

from dataclasses import replace

import pytest
import yaml

from actuator.kube.survey import Survey
from actuator.objects.granted import Grant
from actuator.objects.servings import Serving
from fleet.boards import H100_80GB
from fleet.cluster import Gpu
from fleet.workload import WorkloadKey
from fleet.writers import Writer
from foreslice.discovery.file import settings_text
from foreslice.discovery.gather import Discovery, Found
from foreslice.settings.load import load
from predictor.engines import shipped
from predictor.identity import Proposal

QWEN = "Qwen/Qwen2.5-7B-Instruct"
MATCH = {"namespace": "llm", "model_name": QWEN}
HPA = Writer("HorizontalPodAutoscaler chat", "sets 0 to 6 replicas", is_of_replicas=True, bounds=(0, 6))


def found(name="chat", model="qwen2.5-7b-bf16", unsure=(), match=MATCH, engine="vllm", router=None, **more):
    given = {
        "kind": "Deployment",
        "grant": Grant("dra", "ResourceClaimTemplate: third"),
        "scheduler": "default-scheduler",
        "writers": (),
    } | more
    pods = frozenset({f"{name}-0", f"{name}-1"})
    serving = Serving(WorkloadKey("llm", name), replicas=2, pods=pods, ready=pods, **given)
    proposal = Proposal(match, shipped()[engine], QWEN if match else "")
    return Found(serving, proposal, model, router or {}, tuple(unsure))


def text(*workloads, published=1, access=None, cluster=None, **more):
    gpus = tuple(Gpu(f"GPU-{number}", "node", H100_80GB) for number in range(published))
    survey = Survey(tuple(one.serving for one in workloads), gpus, ())
    given = {"cards": {"DCGM exporter": 2}, "unclaimed": (), "notes": ()} | more
    return settings_text(
        Discovery("https://prometheus:9090", workloads, survey, **given),
        access=access or {},
        cluster=cluster or {},
    )


@pytest.fixture
def loaded(tmp_path):
    """A function that reads a proposal as settings."""

    def read(proposal):
        path = tmp_path / "settings.yaml"
        path.write_text(proposal)
        return load(path)

    return read


def test_what_is_sure_can_be_used_as_it_stands(loaded):
    settings = loaded(text(found()))
    [workload] = settings.workloads
    assert ("llm", "chat", MATCH) == (workload.namespace, workload.name, workload.match)
    assert ("forecast-only", "dra", "default-scheduler") == (
        workload.mode,
        workload.mechanism,
        workload.scheduler,
    )
    assert ("kubernetes", "https://prometheus:9090", False) == (
        settings.cluster.kind,
        settings.metrics.url,
        settings.acting,
    )


@pytest.mark.parametrize(("published", "variants"), [(1, ("chat-half",)), (0, ())])
def test_a_variant_is_named_by_its_workload_and_is_none_of_its_own(loaded, published, variants):
    base = replace(found(), variants=("chat-half",))
    proposal = text(base, replace(found("chat-half"), variant_of="chat"), published=published)
    [workload] = loaded(proposal).workloads
    assert ("chat", variants) == (workload.name, tuple(workload.variants))
    assert "# It serves what chat serves, behind one Service, and is in its `variants`.\n" in proposal
    assert 'variants: ["chat-half"]' in proposal


def test_what_is_not_sure_is_a_comment_with_the_reason(loaded):
    proposal = text(found(), found("rerank", model="", unsure=["serves x; name the model"]))
    assert ["chat"] == [workload.name for workload in loaded(proposal).workloads]
    assert '  # not sure: serves x; name the model\n  # - name: "rerank"\n' in proposal


def test_a_comment_whose_marks_are_taken_away_is_a_workload(loaded):
    proposal = text(found(), found("rerank", unsure=["who knows"], match={**MATCH, "service": "rerank"}))
    head, _, commented = proposal.partition("  # - name")
    settled = head + ("  # - name" + commented).replace("  # ", "  ")
    assert ["chat", "rerank"] == [workload.name for workload in loaded(settled).workloads]


def test_where_nothing_is_sure_the_file_says_so(loaded):
    proposal = text(found(unsure=["no pod of it is ready"], match={}, model=""))
    assert "# Nothing is sure enough to be set" in proposal
    assert yaml.safe_load(proposal)["workloads"] is None


def test_bounds_of_an_autoscaler_are_taken_over_but_never_none(loaded):
    proposal = text(found(writers=(HPA,)))
    assert (1, 6) == (loaded(proposal).workloads[0].replicas.min, loaded(proposal).workloads[0].replicas.max)
    assert "  # HorizontalPodAutoscaler chat sets 0 to 6 replicas\n" in proposal


def test_what_cannot_be_acted_on_is_said(loaded):
    proposal = text(
        found(kind="StatefulSet", grant=Grant("hami", "nvidia.com/gpumem: 8000"), scheduler="hami-scheduler")
    )
    [workload] = loaded(proposal).workloads
    assert ("dra", "hami-scheduler") == (workload.mechanism, workload.scheduler)
    assert "  # Only Deployments are acted on: of this one demand is forecast.\n" in proposal
    assert "  # Nothing is done through hami yet: demand is forecast.\n" in proposal


def test_an_engine_whose_names_are_anybody_s_is_named(loaded):
    settings = loaded(text(found(), found("nim", engine="nim", match={**MATCH, "service": "nim"})))
    assert ["auto", "nim"] == [workload.engine for workload in settings.workloads]


def test_a_router_that_tells_of_the_model_is_a_comment(loaded):
    proposal = text(found(router={"model": "qwen"}))
    assert 'if its requests come that way: router_match: {model: "qwen"}' in proposal
    assert {} == loaded(proposal).workloads[0].router_match


def test_without_a_published_card_demand_is_forecast(loaded):
    proposal = text(found(), published=0)
    assert ("none", "h100-80gb") == (loaded(proposal).cluster.kind, loaded(proposal).cluster.board)


def test_the_way_to_both_is_written_down(loaded):
    settings = loaded(
        text(found(), access={"token_file": "/token"}, cluster={"kubeconfig": "/kube", "context": "prod"})
    )
    assert "/token" == str(settings.metrics.token_file)
    assert ("/kube", "prod") == (str(settings.cluster.kubeconfig), settings.cluster.context)


def test_odd_values_stay_what_they_are(loaded):
    odd = {"namespace": "llm", "model_name": 'a: "b" # c\n{}'}
    assert odd == loaded(text(found(match=odd))).workloads[0].match


def test_what_belongs_to_nobody_and_what_was_not_read_is_told():
    proposal = text(found(), unclaimed=("vLLM in dev serves x",), notes=("may not list scaledobjects",))
    assert "#   vLLM in dev serves x\n" in proposal
    assert "# may not list scaledobjects\n" in proposal
    assert "# DCGM exporter tells of 2 card(s).\n" in proposal
