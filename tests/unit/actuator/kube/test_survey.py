"""A survey reads once, page by page; what the cluster does not know is not there, what is refused is said."""

import pytest

from actuator.kube.errors import NotFoundError
from actuator.kube.survey import survey
from fleet.errors import RefusedError, UnavailableError
from fleet.workload import WorkloadKey
from tests.fakes.manifests import deployment, h100_slices, template

APPS, CORE, DRA = "/apis/apps/v1", "/api/v1", "/apis/resource.k8s.io/v1"
KEDA, LWS = "/apis/keda.sh/v1alpha1/scaledobjects", "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets"


class Server:
    """Lists by path, two objects a page, as a server that knows neither KEDA nor LeaderWorkerSets."""

    def __init__(self, lists=None):
        self.lists = lists or {}
        self.single = {}
        self.trouble = {KEDA: NotFoundError("no such kind"), LWS: NotFoundError("no such kind")}
        self.asked = []

    def request(self, method, path, query=None):
        self.asked.append((method, path))
        if path in self.trouble:
            raise self.trouble[path]
        if path in self.single:
            return self.single[path]
        begin = int(query.get("continue", 0))
        items = self.lists.get(path, [])
        more = str(begin + 2) if begin + 2 < len(items) else ""
        # A list leaves the kinds of its items out.
        page = [{key: body[key] for key in body if key != "kind"} for body in items[begin : begin + 2]]
        return {"items": page, "metadata": {"continue": more, "resourceVersion": "1"}}


@pytest.fixture
def server():
    return Server(
        {
            f"{APPS}/deployments": [deployment(name) for name in ("a", "b", "c")],
            f"{DRA}/resourceclaimtemplates": [template("mig-3g")],
            f"{DRA}/resourceslices": h100_slices(gpus=2),
        }
    )


def test_every_page_is_read_and_nothing_but_lists_is_asked(server):
    found = survey(server)
    assert ["llm/a", "llm/b", "llm/c"] == [str(serving.key) for serving in found.servings]
    assert {"Deployment"} == {serving.kind for serving in found.servings}
    assert (2, ()) == (len(found.gpus), found.notes)
    assert {"GET"} == {method for method, _ in server.asked}


def test_every_pod_that_has_not_ended_is_listed(server):
    phases = {"a": "Running", "b": "Succeeded", "c": "Pending"}
    server.lists[f"{CORE}/pods"] = [
        {"metadata": {"name": name, "namespace": "web"}, "status": {"phase": phase}}
        for name, phase in phases.items()
    ]
    assert {WorkloadKey("web", "a"), WorkloadKey("web", "c")} == survey(server).pods


def test_what_may_not_be_read_is_noted_with_the_rule(server):
    server.trouble[f"{DRA}/resourceslices"] = RefusedError("may not list resourceslices: grant this")
    found = survey(server)
    assert ((), ("may not list resourceslices: grant this",)) == (found.gpus, found.notes)
    assert 3 == len(found.servings)


@pytest.mark.parametrize("path", [f"{APPS}/deployments", f"{CORE}/pods"])
def test_without_deployments_or_pods_there_is_no_survey(server, path):
    server.trouble[path] = RefusedError("may not list: grant this")
    with pytest.raises(RefusedError, match="grant this"):
        survey(server)


def test_a_server_that_does_not_answer_is_no_empty_cluster(server):
    server.trouble[f"{APPS}/statefulsets"] = UnavailableError("no answer")
    with pytest.raises(UnavailableError):
        survey(server)


def test_only_the_namespaces_that_are_named_are_looked_at(server):
    server.lists[f"{APPS}/namespaces/llm/deployments"] = [deployment("a")]
    server.lists[f"{DRA}/namespaces/llm/resourceclaimtemplates"] = [template("mig-3g")]
    server.trouble[KEDA.replace("scaledobjects", "namespaces/llm/scaledobjects")] = NotFoundError("none")
    found = survey(server, ["llm"])
    assert ["llm/a"] == [str(serving.key) for serving in found.servings]
    assert 2 == len(found.gpus), "cards have no namespace"
