"""Of each workload that holds GPUs it is said whose series are its own, and what is not sure."""

from dataclasses import replace

import numpy as np
import pytest

from actuator.kube.survey import Survey
from actuator.objects.granted import Grant
from actuator.objects.servings import Serving
from fleet.workload import WorkloadKey
from fleet.writers import Writer
from foreslice.discovery.gather import discover
from predictor.sources.query import Answer

QWEN = "Qwen/Qwen2.5-7B-Instruct"
PLAIN = WorkloadKey("llm", "plain-0")
"""A pod that runs an engine without a GPU."""


class Api:
    """A Prometheus with one reading of each series, that answers whatever is asked."""

    def __init__(self, *series, is_partial=False):
        self.series = series
        self.is_partial = is_partial
        self.asked = []

    def readings(self, selector, span_s, at_s):
        self.asked.append((selector, span_s, at_s))
        one = np.array([1.0])
        named = (labels for labels in self.series if labels["__name__"] in selector)
        return Answer(tuple((labels, one, one) for labels in named), self.is_partial)


def serving(name, pods=("0",), ready=None, asks="x", services=(), replicas=1, **more):
    names = frozenset(f"{name}-{pod}" for pod in pods)
    is_ready = names if ready is None else frozenset(f"{name}-{pod}" for pod in ready)
    given = {"kind": "Deployment", "scheduler": "default-scheduler", "writers": (), "namespace": "llm"} | more
    key = WorkloadKey(given.pop("namespace"), name)
    grant = Grant(given.pop("mechanism", "dra"), asks)
    of = frozenset(services)
    return Serving(key, grant=grant, replicas=replicas, pods=names, ready=is_ready, services=of, **given)


def vllm(pod, model=QWEN, **labels):
    about = {"namespace": "llm", "pod": pod, "model_name": model, **labels}
    return {"__name__": "vllm:request_success_total", **about}


def dcgm(uuid, pod=""):
    return {"__name__": "DCGM_FI_DEV_FB_USED", "UUID": uuid, "pod": pod, "namespace": "llm"}


def found(api, *servings, notes=()):
    pods = frozenset(WorkloadKey("llm", pod) for one in servings for pod in one.pods) | {PLAIN}
    return discover(Survey(servings, (), notes, pods), api, "http://prometheus", 1000.0)


def test_a_workload_has_its_model_and_its_series():
    [chat] = found(Api(vllm("chat-0")), serving("chat")).workloads
    assert ("qwen2.5-7b-bf16", {"namespace": "llm", "model_name": QWEN}, ()) == (
        chat.model,
        chat.proposal.labels,
        chat.unsure,
    )


@pytest.mark.parametrize(
    ("unsure", "series", "given"),
    [
        ("no pod of it is ready", [], {"ready": ()}),
        ("no series of a known engine comes from its pods", [vllm("other-0")], {}),
        ("serves in-house; name the one of the", [vllm("chat-0", "in-house")], {}),
        (
            "does not say which model it serves; name the one of the",
            [
                {
                    "__name__": "tgi_request_count",
                    "namespace": "llm",
                    "pod": "chat-0",
                    "service": "chat",
                }
            ],
            {},
        ),
    ],
)
def test_what_is_not_sure_is_said(unsure, series, given):
    [chat] = found(Api(*series), serving("chat", **given)).workloads
    assert [True] == [line.startswith(unsure) for line in chat.unsure]


def test_a_pod_that_is_still_starting_is_not_missed():
    [chat] = found(Api(vllm("chat-0")), serving("chat", pods=("0", "1"), ready=("0",))).workloads
    assert () == chat.unsure


def test_workloads_that_share_a_model_are_not_mixed_up():
    told = found(
        Api(vllm("a-0", service="a"), vllm("b-0", service="b")), serving("a"), serving("b")
    ).workloads
    assert ["a", "b"] == [one.proposal.labels["service"] for one in told]


def test_the_same_model_without_a_gpu_is_another_s():
    series = [vllm("chat-0", service="chat"), vllm(PLAIN.name, service="plain")]
    [chat] = found(Api(*series), serving("chat")).workloads
    assert {"namespace": "llm", "model_name": QWEN, "service": "chat"} == chat.proposal.labels


def test_cards_are_counted_by_who_tells_of_them():
    told = found(Api(dcgm("GPU-0", "chat-0"), dcgm("GPU-0"), dcgm("GPU-1")), serving("chat"))
    assert {"DCGM exporter": 2} == told.cards


def test_series_of_nobody_are_listed():
    told = found(Api(vllm("chat-0"), vllm("lost-0", "llama")), serving("chat"))
    assert ("vLLM in llm serves llama",) == told.unclaimed


def test_a_partial_answer_is_noted_beside_what_the_cluster_refused():
    told = found(Api(is_partial=True), notes=("may not list x",))
    assert (
        "may not list x",
        "http://prometheus: says that its answer is partial; some series may be missing",
    ) == (told.notes)


def test_two_queries_whatever_there_is():
    api = Api(vllm("chat-0"))
    found(api, *(serving(f"w{number}") for number in range(20)))
    assert [(150, 1000.0)] * 2 == [(span_s, at_s) for _, span_s, at_s in api.asked]


WHOLE = {"asks": "whole", "services": ["chat"], "replicas": 2}
HALF = {"asks": "half", "services": ["chat", "all"]}
SCALER = Writer("HorizontalPodAutoscaler half", "sets 1 to 6 replicas", is_of_replicas=True, bounds=(1, 6))
MARK = Writer("Argo CD", "leaves replicas alone", is_of_replicas=False)
EMPTY = {"pods": (), "replicas": 0}


@pytest.mark.parametrize(
    ("half", "model", "variants"),
    [
        (HALF, QWEN, ("half",)),
        ({**HALF, **EMPTY}, QWEN, ("half",)),
        ({**HALF, "writers": (MARK,)}, QWEN, ("half",)),
        ({**HALF, "ready": ()}, QWEN, ()),
        (HALF, "llama", ()),
        ({**HALF, "services": ["half"]}, QWEN, ()),
        ({**HALF, "services": []}, QWEN, ()),
        ({**HALF, "asks": "whole"}, QWEN, ()),
        ({**HALF, "kind": "StatefulSet"}, QWEN, ()),
        ({**HALF, "mechanism": "device-plugin"}, QWEN, ()),
        ({**HALF, "writers": (SCALER,)}, QWEN, ()),
    ],
    ids=[
        *("same Service and model", "stands empty", "marked by GitOps", "not ready", "another model"),
        *("another Service", "no Service", "same shape", "a StatefulSet", "another mechanism", "scaled"),
    ],
)
def test_a_deployment_that_serves_the_same_on_another_shape_is_a_variant(half, model, variants):
    api = Api(vllm("whole-0"), vllm("half-0", model))
    told = {
        one.serving.key.name: one
        for one in found(api, serving("half", **half), serving("whole", **WHOLE)).workloads
    }
    assert variants == told["whole"].variants
    assert ("whole" if variants else "") == told["half"].variant_of
    assert () == told["half"].variants


def test_a_workload_s_match_takes_the_series_of_its_variants_too():
    api = Api(vllm("whole-0", job="a"), vllm("half-0", job="b"))
    told = found(api, serving("half", **HALF), serving("whole", **WHOLE)).workloads
    assert {"namespace": "llm", "model_name": QWEN} == told[1].proposal.labels
    assert ((), ()) == (told[0].unsure, told[1].unsure)


def test_of_several_on_one_shape_none_but_the_first_is_a_variant():
    api = Api(vllm("whole-0"), vllm("half-0"), vllm("new-0"))
    servings = (serving("half", **HALF), serving("new", **HALF), serving("whole", **WHOLE))
    told = found(api, *servings).workloads
    assert ["whole", "", ""] == [one.variant_of for one in told]


def test_another_namespace_has_services_of_the_same_names():
    far = serving("half", **HALF, namespace="dev")
    told = found(Api(vllm("whole-0"), vllm("half-0", namespace="dev")), far, serving("whole", **WHOLE))
    assert {""} == {one.variant_of for one in told.workloads}


def test_a_variant_has_none_of_its_own():
    api = Api(vllm("whole-0"), vllm("half-0"), vllm("third-0"))
    third = serving("third", asks="third", services=["all"])
    told = found(api, serving("half", **HALF), third, serving("whole", **WHOLE)).workloads
    assert ["whole", "", ""] == [one.variant_of for one in told]


def test_what_nobody_can_tell_apart_or_name_the_model_of_is_no_variant():
    mixed = serving("half", **{**HALF, "replicas": 1})
    mixed = replace(mixed, pods=frozenset({"half-0", "whole-0"}))
    told = found(Api(vllm("whole-0"), vllm("half-0")), mixed, serving("whole", **WHOLE)).workloads
    assert {""} == {one.variant_of for one in told}
    nameless = Api(vllm("whole-0", ""), vllm("half-0", ""))
    told = found(nameless, serving("half", **HALF), serving("whole", **WHOLE)).workloads
    assert {""} == {one.variant_of for one in told}
