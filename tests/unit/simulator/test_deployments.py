import pytest

from fleet.boards import H100_80GB
from fleet.shape import Shape
from simulator.api import CLAIM, DEPLOYMENT, NODE, POD
from simulator.errors import NotModelledError
from simulator.pods import is_leaving, is_ready

MINUTE_S = 60
TEN_MINUTES_S = 600
FIRST = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def status(town, name="web"):
    return town.store.get(DEPLOYMENT, "shop", name)["status"]


def test_as_many_pods_become_ready_as_are_asked_for(town):
    town = town()
    town.serve("web", 3)
    town.wait(TEN_MINUTES_S)
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    assert {"observedGeneration": 1, **dict.fromkeys(counts, 3)} == status(town)


def test_pods_are_owned_labelled_and_named_after_their_deployment(town):
    town = town()
    town.serve("web", 1)
    town.wait(1)
    (pod,) = town.pods()
    metadata = pod["metadata"]
    assert ("Deployment", "web", True) == tuple(
        metadata["ownerReferences"][0][k] for k in ("kind", "name", "controller")
    )
    assert "web" == metadata["labels"]["app"]
    assert metadata["name"].startswith(f"web-{metadata['labels']['pod-template-hash']}-")


def test_no_replicas_leave_nothing(town):
    town = town()
    town.serve("web", 2)
    town.wait(TEN_MINUTES_S)
    town.scale("web", 0)
    town.wait(MINUTE_S)
    assert ([], [], 0) == (list(town.pods()), list(town.store.list(CLAIM)), status(town)["replicas"])


def test_pods_that_serve_are_kept_and_pending_ones_go_first(town):
    town = town()
    town.serve("web", 6)  # two cards carry four
    town.wait(TEN_MINUTES_S)
    serving = {pod["metadata"]["name"] for pod in town.pods() if "nodeName" in pod["spec"]}
    town.scale("web", 4)
    town.wait(MINUTE_S)
    assert serving == {pod["metadata"]["name"] for pod in town.pods()}


def test_of_pods_that_serve_the_newest_goes(town):
    town = town()
    town.serve("web", 2)
    town.wait(TEN_MINUTES_S)
    old = {pod["metadata"]["name"] for pod in town.pods()}
    town.scale("web", 4)
    town.wait(TEN_MINUTES_S)
    town.scale("web", 2)
    town.wait(MINUTE_S)
    assert old == {pod["metadata"]["name"] for pod in town.pods()}


def test_a_pod_that_leaves_does_not_count(town):
    town = town(drain_s=25.0)
    town.serve("web", 1)
    town.wait(TEN_MINUTES_S)
    town.store.delete(POD, "shop", town.pods()[0]["metadata"]["name"])
    town.wait(1)
    assert [False, True] == sorted(map(is_leaving, town.pods()))
    town.wait(TEN_MINUTES_S)
    assert (1, 1) == (len(town.pods()), status(town)["readyReplicas"])


def test_deleting_the_deployment_ends_its_pods_and_frees_their_devices(town):
    town = town()
    town.serve("web", 2)
    town.wait(TEN_MINUTES_S)
    town.store.delete(DEPLOYMENT, "shop", "web")
    town.wait(MINUTE_S)
    assert ([], []) == (list(town.pods()), list(town.store.list(CLAIM)))


def test_a_deployment_that_is_being_deleted_makes_no_more_pods(town):
    town = town()
    town.serve("web", 1)
    held = town.store.get(DEPLOYMENT, "shop", "web")
    town.store.replace({**held, "metadata": {**held["metadata"], "finalizers": ["example.org/hold"]}})
    town.wait(TEN_MINUTES_S)
    town.store.delete(DEPLOYMENT, "shop", "web")
    town.store.delete(POD, "shop", town.pods()[0]["metadata"]["name"])
    town.wait(TEN_MINUTES_S)
    assert [] == list(town.pods())


def test_two_deployments_with_overlapping_selectors_keep_their_own_pods(town):
    town = town()
    town.serve("web", 2)
    base = town.store.get(DEPLOYMENT, "shop", "web")
    mark = {"app": "web", "variant": "small"}
    template = {**base["spec"]["template"], "metadata": {"labels": mark}}
    town.store.create(
        {
            **base,
            "metadata": {"name": "web-small", "namespace": "shop"},
            "spec": {
                **base["spec"],
                "replicas": 1,
                "selector": {"matchLabels": mark},
                "template": template,
            },
        }
    )
    town.wait(TEN_MINUTES_S)
    assert (2, 1) == (status(town)["replicas"], status(town, "web-small")["replicas"])
    assert 3 == len(town.pods())


def test_pods_of_other_owners_are_left_alone(town):
    town = town()
    town.serve("web", 1)
    (node,) = town.store.list(NODE)
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n0", "uid": node["metadata"]["uid"]}
    metadata = {
        "namespace": "shop",
        "name": "static",
        "labels": {"app": "web"},
        "ownerReferences": [owner],
    }
    spec = {"containers": [{"name": "c"}], "schedulerName": "none"}
    town.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    town.wait(TEN_MINUTES_S)
    assert (2, 1) == (len(town.pods()), status(town)["replicas"])


def turned(town, **spec):
    """Change the pod template of `web`, and what else its spec says."""
    held = town.store.get(DEPLOYMENT, "shop", "web")
    template = {**held["spec"]["template"], "spec": {**held["spec"]["template"]["spec"], "priority": 1}}
    town.store.replace({**held, "spec": {**held["spec"], "template": template, **spec}})


def is_new(pod):
    return "priority" in pod["spec"]


def course(town, seconds):
    """Return how pods stood while time passed: old ones, new ones and available ones, each state once."""
    seen = []
    for _ in range(0, seconds, 5):
        town.wait(5)
        staying = [pod for pod in town.pods() if not is_leaving(pod)]
        new = sum(map(is_new, staying))
        state = len(staying) - new, new, status(town)["availableReplicas"]
        seen += [state] if not seen or seen[-1] != state else []
    return seen


@pytest.mark.parametrize(("surge", "most"), [(1, 3), ("50%", 3), ("51%", 4)])
def test_a_changed_template_is_rolled_out_pod_by_pod_and_none_that_serves_is_missed(town, surge, most):
    town = town()
    town.serve("web", 2)
    town.wait(TEN_MINUTES_S)
    turned(town, strategy={"rollingUpdate": {"maxSurge": surge, "maxUnavailable": 0}})
    seen = course(town, TEN_MINUTES_S)
    assert (0, 2, 2) == seen[-1]
    assert 2 == min(available for _, _, available in seen)
    assert most == max(old + new for old, new, _ in seen)
    assert 2 == status(town)["updatedReplicas"]


def test_a_pod_that_is_not_ready_for_long_enough_takes_nothing_over(town):
    town = town()
    town.serve("web", 1)
    town.wait(2 * TEN_MINUTES_S)
    turned(town, minReadySeconds=TEN_MINUTES_S)
    assert [(1, 1, 1)] == course(town, TEN_MINUTES_S)
    assert [2] == [sum(map(is_ready, town.pods()))]
    assert (0, 1, 1) == course(town, TEN_MINUTES_S)[-1]


@pytest.mark.parametrize(
    "spec",
    [
        {"strategy": {"type": "Recreate"}},
        {"strategy": {"rollingUpdate": {"maxUnavailable": 1}}},
        {"strategy": {"rollingUpdate": {"maxUnavailable": "50%"}}},
        {"paused": True},
    ],
    ids=str,
)
def test_rollouts_that_end_pods_first_are_not_modelled(town, spec):
    town = town()
    town.serve("web", 2)
    town.wait(MINUTE_S)
    turned(town, **spec)
    with pytest.raises(NotModelledError, match="a rollout of web"):
        town.wait(1)


SHARED = [(1, 3, (2, 2)), (2, 3, (3, 1)), (2, 5, (4, 2)), (3, 8, (7, 2)), (3, 0, (0, 0))]
"""Replicas, others while the first new pod does not serve yet, and of these the old ones and the new ones."""


@pytest.mark.parametrize(("replicas", "halfway", "parts"), SHARED)
def test_other_replicas_during_a_rollout_are_shared_among_old_and_new_in_proportion(
    town, replicas, halfway, parts
):
    """As a real controller shares them (tests/cluster/test_switch.py)."""
    town = town({"n0": [H100_80GB] * 8})
    town.serve("web", replicas)
    town.wait(TEN_MINUTES_S)
    turned(town, strategy=FIRST)
    town.wait(1)
    town.scale("web", halfway)
    town.wait(1)
    new = sum(map(is_new, town.pods()))
    assert parts == (sum(not is_leaving(pod) for pod in town.pods()) - new, new)
    town.wait(2 * TEN_MINUTES_S)
    assert [True] * halfway == [is_new(pod) for pod in town.pods()]


def test_fewer_replicas_during_a_rollout_end_what_does_not_serve_and_none_that_is_missed(town):
    town = town({"n0": [H100_80GB] * 8})
    town.serve("web", 4)
    town.wait(TEN_MINUTES_S)
    turned(town, strategy=FIRST)
    town.wait(1)
    town.scale("web", 1)
    seen = course(town, TEN_MINUTES_S)
    assert (0, 1, 1) == seen[-1]
    assert 1 == min(available for _, _, available in seen)


def test_replicas_and_template_changed_at_once_scale_what_stands_first(town):
    town = town({"n0": [H100_80GB] * 8})
    town.serve("web", 2)
    town.wait(TEN_MINUTES_S)
    turned(town, strategy=FIRST, replicas=4)
    town.wait(1)
    assert [4, 1] == [sum(is_new(pod) == new for pod in town.pods()) for new in (False, True)]


def test_a_rollout_that_finds_no_room_is_given_up_after_its_deadline_and_says_so(town):
    town = town()
    town.serve("web", 4)  # all that two cards carry
    town.wait(TEN_MINUTES_S)
    turned(town, progressDeadlineSeconds=300, strategy=FIRST)
    town.wait(290)
    [condition] = status(town)["conditions"]
    assert ("Progressing", "True") == (condition["type"], condition["status"])
    town.wait(20)
    [condition] = status(town)["conditions"]
    assert ("False", "ProgressDeadlineExceeded") == (condition["status"], condition["reason"])
    assert (4, 4, 1) == tuple(
        status(town)[n] for n in ("readyReplicas", "availableReplicas", "updatedReplicas")
    )


def test_taken_back_it_ends_what_did_not_come_to_serve_and_progresses_again(town):
    town = town()
    town.serve("web", 4)
    town.wait(TEN_MINUTES_S)
    before = town.store.get(DEPLOYMENT, "shop", "web")["spec"]["template"]
    turned(town, strategy=FIRST)
    town.wait(2 * TEN_MINUTES_S)
    held = town.store.get(DEPLOYMENT, "shop", "web")
    town.store.replace({**held, "spec": {**held["spec"], "template": before}})
    town.wait(MINUTE_S)
    [condition] = status(town)["conditions"]
    assert ("True", "NewReplicaSetAvailable") == (condition["status"], condition["reason"])
    assert (4, [False] * 4) == (status(town)["updatedReplicas"], [is_new(pod) for pod in town.pods()])


def test_selecting_by_expression_is_not_modelled(town):
    town = town()
    town.serve("web", 1)
    held = town.store.get(DEPLOYMENT, "shop", "web")
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    town.store.replace({**held, "spec": {**held["spec"], "selector": selector}})
    with pytest.raises(NotModelledError, match="other than equality"):
        town.wait(1)


def test_the_same_seed_gives_the_same_cluster_and_other_workloads_do_not_change_names(town):
    def names(others):
        built = town({"n0": [H100_80GB] * 8})
        for other in others:
            built.serve(other, 3, Shape("h100-80gb", "1g.10gb"))
        built.serve("web", 3)
        built.wait(TEN_MINUTES_S)
        built.scale("web", 1)
        built.wait(TEN_MINUTES_S)
        return [pod["metadata"]["name"] for pod in built.pods() if pod["metadata"]["labels"]["app"] == "web"]

    assert names([]) == names([]) == names(["other", "more"])
