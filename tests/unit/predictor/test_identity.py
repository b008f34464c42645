"""A match is proposed only where it tells a workload's series from all others; each fault is one line."""

import pytest

from fleet.workload import WorkloadKey
from predictor.engines import Role, shipped
from predictor.identity import all_said_by, faults, proposed, routed, seen

VOCABULARY = all_said_by(engine for engine in shipped().values() if engine.role in {Role.ENGINE, Role.ROUTER})
VLLM_DONE, VLLM_WAITING = "vllm:request_success_total", "vllm:num_requests_waiting"
TGI_DONE, SGLANG_DONE = "tgi_request_count", "sglang:num_requests_total"
DYNAMO = "dynamo_frontend_requests_started_total"


def series(pod, name=VLLM_DONE, namespace="prod", **labels):
    return {"__name__": name, "namespace": namespace, "pod": pod, "instance": f"{pod}:8000", **labels}


def vllm(pod, model="qwen", **labels):
    """The two series of a pod of vLLM that matter here."""
    return [
        series(pod, VLLM_DONE, model_name=model, finished_reason="stop", **labels),
        series(pod, VLLM_WAITING, model_name=model, **labels),
    ]


def live(*scraped):
    return seen([one for pods in scraped for one in pods], VOCABULARY)


def keys(*pods, namespace="prod"):
    return frozenset(WorkloadKey(namespace, pod) for pod in pods)


class TestProposed:
    def test_namespace_and_model_are_enough_where_nobody_shares_both(self):
        scraped = live(vllm("a-0"), vllm("a-1"), vllm("b-0", model="llama"), vllm("c-0", namespace="test"))
        told = proposed(keys("a-0", "a-1"), keys("b-0") | keys("c-0", namespace="test"), scraped)
        assert {"namespace": "prod", "model_name": "qwen"} == told.labels
        assert ("vllm", "qwen", "") == (told.engine.name, told.model, told.unsure)

    def test_a_label_of_the_service_tells_two_workloads_with_one_model_apart(self):
        scraped = live(
            vllm("a-0", service="a", job="x"),
            vllm("a-1", service="a", job="x"),
            vllm("b-0", service="b", job="x"),
        )
        told = proposed(keys("a-0", "a-1"), keys("b-0"), scraped)
        assert {"namespace": "prod", "model_name": "qwen", "service": "a"} == told.labels

    def test_where_nothing_tells_them_apart_nothing_is_proposed(self):
        scraped = live(vllm("a-0", job="x"), vllm("b-0", job="x"))
        told = proposed(keys("a-0"), keys("b-0"), scraped)
        assert ({}, "no label tells its series from those of prod/b-0") == (told.labels, told.unsure)

    def test_a_label_that_differs_between_its_own_pods_is_not_used(self):
        scraped = live(vllm("a-0", service="x"), vllm("a-1", service="y"), vllm("b-0", service="z"))
        assert {} == proposed(keys("a-0", "a-1"), keys("b-0"), scraped).labels

    def test_pods_that_are_gone_are_nobody_s(self):
        scraped = live(vllm("a-0"), vllm("a-gone"))
        assert {"namespace": "prod", "model_name": "qwen"} == proposed(keys("a-0"), keys(), scraped).labels

    def test_an_engine_that_names_no_model_is_known_by_its_service(self):
        scraped = live([series("a-0", TGI_DONE, service="chat")], vllm("b-0"))
        assert {"namespace": "prod", "service": "chat"} == proposed(keys("a-0"), keys("b-0"), scraped).labels
        nameless = proposed(keys("a-0"), keys(), live([series("a-0", TGI_DONE)]))
        assert ({}, "no label says which model it is, nor which service") == (
            nameless.labels,
            nameless.unsure,
        )

    def test_a_pod_that_nothing_is_scraped_from_leaves_it_unsure(self):
        told = proposed(keys("a-0", "a-1"), keys(), live(vllm("a-0")))
        assert {"namespace": "prod", "model_name": "qwen"} == told.labels
        assert "nothing is scraped from a-1" == told.unsure

    @pytest.mark.parametrize(
        ("unsure", "scraped"),
        [
            ("no series of a known engine comes from its pods", live([series("a-0", "http_requests_total")])),
            (
                "its pods serve llama, qwen; add those of them that are meant to match",
                live(vllm("a-0"), vllm("a-0", model="llama")),
            ),
            (
                "its pods export series of SGLang, vLLM",
                live(vllm("a-0"), [series("a-0", SGLANG_DONE, model_name="qwen")]),
            ),
        ],
    )
    def test_what_is_not_sure_is_said_and_not_proposed(self, unsure, scraped):
        told = proposed(keys("a-0"), keys(), scraped)
        assert ({}, unsure) == (told.labels, told.unsure)


MATCH = {"namespace": "prod", "model_name": "qwen"}
WANTED = "namespace=prod, model_name=qwen"


class TestRouted:
    def test_a_router_s_labels_of_a_model_whatever_its_case(self):
        scraped = live(
            [series("front-0", DYNAMO, model="org/qwen", service="front")], vllm("a-0", "Org/Qwen")
        )
        assert {"namespace": "prod", "model": "org/qwen"} == routed("Org/Qwen", scraped)

    def test_of_another_model_or_of_two_routers_nothing_is_said(self):
        gateway = series("epp-0", "inference_objective_request_total", target_model_name="qwen")
        both = live([series("front-0", DYNAMO, model="qwen"), gateway])
        assert {} == routed("llama", both)
        assert {} == routed("qwen", both)


class TestFaults:
    def test_one_demand_series_and_all_its_pods_is_no_fault(self):
        assert [] == faults(MATCH, live(vllm("a-0"), vllm("a-1")), keys("a-0", "a-1"), keys("b-0"))

    def test_parts_of_a_series_are_one_series(self):
        """Counted by how requests ended, and by each engine of the pod."""
        parts = [series("a-0", model_name="qwen", finished_reason=reason) for reason in ("stop", "length")]
        assert [] == faults(MATCH, live(parts), keys("a-0"), keys())

    def test_a_pod_that_ends_is_not_someone_else_s(self):
        assert [] == faults(MATCH, live(vllm("a-0"), vllm("a-gone")), keys("a-0"), keys("b-0"))

    def test_a_model_that_goes_by_several_names_is_one(self):
        scraped = live(vllm("a-0"), vllm("a-0", model="llama"))
        assert [] == faults({"model_name": ("qwen", "llama")}, scraped, keys("a-0"), keys())
        assert ["namespace=prod has the demand of 2 models, not of one: llama, qwen"] == faults(
            {"namespace": "prod"}, scraped, keys("a-0"), keys()
        )

    def test_without_a_cluster_series_alone_are_proved(self):
        assert [] == faults(MATCH, live(vllm("a-0")), None, frozenset())

    def test_a_router_counts_for_all_pods_behind_it(self):
        scraped = live([series("front-0", DYNAMO, model="qwen")])
        assert [] == faults({"model": "qwen"}, scraped, keys("a-0", "a-1"), keys("b-0"))

    def test_the_router_counts_and_not_the_engines_behind_it(self):
        scraped = live([series("front-0", DYNAMO, model="qwen")], vllm("a-0"))
        assert [] == faults({"namespace": "prod"}, scraped, keys("a-0"), keys())

    @pytest.mark.parametrize(
        ("fault", "scraped", "ready"),
        [
            (f"no live series of a known engine carries {WANTED}", live(), keys("a-0")),
            (
                f"{WANTED} has series of vLLM, but none of demand",
                live([series("a-0", VLLM_WAITING, model_name="qwen")]),
                keys("a-0"),
            ),
            (
                f"{WANTED} has series of SGLang, but none of demand: it has none before the first request",
                live([series("a-0", "sglang:num_running_reqs", model_name="qwen")]),
                keys("a-0"),
            ),
            (
                f"{WANTED} has 2 demand series, not one: {SGLANG_DONE} of SGLang, {VLLM_DONE} of vLLM",
                live(vllm("a-0"), [series("a-1", SGLANG_DONE, model_name="qwen")]),
                keys("a-0", "a-1"),
            ),
            (
                "1 of 2 ready pods have no demand series: a-1",
                live(vllm("a-0")),
                keys("a-0", "a-1"),
            ),
            (
                f"{WANTED} has series of pods that are others': prod/b-0",
                live(vllm("a-0"), vllm("b-0")),
                keys("a-0"),
            ),
            (
                "no pod of it is ready, so that nothing proves whose series these are",
                live(vllm("a-0")),
                keys(),
            ),
        ],
    )
    def test_one_line_for_each(self, fault, scraped, ready):
        assert [fault] == faults(MATCH, scraped, ready, keys("b-0"))
