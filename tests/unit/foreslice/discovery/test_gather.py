"""Of each workload that holds GPUs it is said whose series are its own, and what is not sure."""

import numpy as np
import pytest

from actuator.kube.survey import Survey
from actuator.objects.granted import Grant
from actuator.objects.servings import Serving
from fleet.workload import WorkloadKey
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


def serving(name, pods=("0",), ready=None):
    names = frozenset(f"{name}-{pod}" for pod in pods)
    is_ready = names if ready is None else frozenset(f"{name}-{pod}" for pod in ready)
    return Serving(
        WorkloadKey("llm", name), "Deployment", Grant("dra", "x"), "default-scheduler", 1, names, is_ready, ()
    )


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
