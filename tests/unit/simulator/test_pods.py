import pytest

from simulator.pods import claim_names, condition, container_statuses, is_leaving, is_ready, with_condition

T0_S, T1_S = 1_750_000_000.0, 1_750_000_060.0


def test_a_condition_is_added_beside_the_others():
    status = with_condition({"phase": "Running"}, "Ready", is_true=True, at_s=T0_S)
    status = with_condition(
        status, "PodScheduled", is_true=False, at_s=T0_S, reason="Full", message="no room"
    )
    assert {
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2025-06-15T15:06:40Z"},
            {
                "type": "PodScheduled",
                "status": "False",
                "lastTransitionTime": "2025-06-15T15:06:40Z",
                "reason": "Full",
                "message": "no room",
            },
        ],
    } == status


@pytest.mark.parametrize(
    ("is_true", "since"),
    [(True, "2025-06-15T15:06:40Z"), (False, "2025-06-15T15:07:40Z")],
    ids=["same", "changed"],
)
def test_its_transition_time_moves_only_with_its_value(is_true, since):
    status = with_condition({}, "Ready", is_true=True, at_s=T0_S)
    status = with_condition(status, "Ready", is_true=is_true, at_s=T1_S)
    assert [(str(is_true), since)] == [(c["status"], c["lastTransitionTime"]) for c in status["conditions"]]


def test_ready_is_what_the_condition_says():
    def pod(**kwargs):
        return {"status": with_condition({}, "Ready", at_s=T0_S, **kwargs)}

    assert is_ready(pod(is_true=True))
    assert not is_ready(pod(is_true=False))
    assert not is_ready({"status": {"phase": "Running"}})
    assert not is_ready({})


def test_a_condition_that_nobody_wrote_is_none():
    assert condition({"status": {}}, "Ready") is None


def test_a_pod_with_a_deletion_time_is_leaving():
    assert is_leaving({"metadata": {"deletionTimestamp": "2025-06-15T15:06:40Z"}})
    assert not is_leaving({"metadata": {}})


def test_claims_are_named_in_spec_or_in_status_or_still_to_be_made():
    pod = {
        "spec": {
            "resourceClaims": [
                {"name": "a", "resourceClaimName": "shared"},
                {"name": "b", "resourceClaimTemplateName": "t"},
                {"name": "c", "resourceClaimTemplateName": "t"},
            ]
        },
        "status": {"resourceClaimStatuses": [{"name": "b", "resourceClaimName": "p-b-x"}]},
    }
    assert {"a": "shared", "b": "p-b-x", "c": None} == claim_names(pod)
    assert {} == claim_names({"spec": {}})


def test_a_container_that_becomes_ready_has_started_when_it_did():
    pod = {"spec": {"containers": [{"name": "engine", "image": "vllm"}]}, "status": {}}
    loading = container_statuses(pod, is_ready=False, at_s=T0_S)
    serving = container_statuses({**pod, "status": {"containerStatuses": loading}}, is_ready=True, at_s=T1_S)
    since = {"running": {"startedAt": "2025-06-15T15:06:40Z"}}
    assert [[("engine", "vllm", is_ready, is_ready, 0, since)] for is_ready in (False, True)] == [
        [
            (each["name"], each["image"], each["ready"], each["started"], each["restartCount"], each["state"])
            for each in said
        ]
        for said in (loading, serving)
    ]
