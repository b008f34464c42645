"""What an API server says, and what callers make of it. Messages are those of a 1.37 server."""

import pytest

from actuator.kube.errors import ExistsError, ExpiredError, NotFoundError, OwnedError, error_of
from fleet.errors import ConflictError, RefusedError, UnavailableError


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", RefusedError),
        (401, "Unauthorized", UnavailableError),
        (403, "Forbidden", RefusedError),
        (404, "NotFound", NotFoundError),
        (405, "MethodNotAllowed", RefusedError),
        (409, "Conflict", ConflictError),
        (409, "AlreadyExists", ExistsError),
        (410, "Expired", ExpiredError),
        (422, "Invalid", RefusedError),
        (429, "TooManyRequests", UnavailableError),
        (500, "InternalError", UnavailableError),
        (503, "ServiceUnavailable", UnavailableError),
        (504, "Timeout", UnavailableError),
        (0, "", UnavailableError),
    ],
)
def test_codes_say_what_a_caller_can_do(code, reason, kind):
    assert kind is type(error_of({"code": code, "reason": reason, "message": "why"}, "GET /x"))


def test_the_message_names_the_request_and_the_servers_reason():
    assert "GET /x: no such thing" == str(error_of({"code": 404, "message": "no such thing"}, "GET /x"))


def forbidden(verb, resource, group, where, user="ann"):
    """What a server says of a missing permission."""
    return f'x is forbidden: User "{user}" cannot {verb} resource "{resource}" in API group "{group}" {where}'


@pytest.mark.parametrize(
    ("said", "may_not", "rule"),
    [
        (
            forbidden("list", "pods", "", 'in the namespace "shop"'),
            "list pods in namespace shop",
            'apiGroups: [""], resources: ["pods"], verbs: ["list"]',
        ),
        (
            forbidden("watch", "resourceslices", "resource.k8s.io", "at the cluster scope"),
            "watch resourceslices in the whole cluster",
            'apiGroups: ["resource.k8s.io"], resources: ["resourceslices"], verbs: ["watch"]',
        ),
        (
            forbidden("patch", "deployments/scale", "apps", 'in the namespace "shop"'),
            "patch deployments/scale in namespace shop",
            'apiGroups: ["apps"], resources: ["deployments/scale"], verbs: ["patch"]',
        ),
    ],
    ids=["namespaced", "cluster-wide", "subresource"],
)
def test_a_missing_permission_is_one_line_with_the_rule_that_grants_it(said, may_not, rule):
    error = error_of({"code": 403, "reason": "Forbidden", "message": said}, "PATCH /x")
    assert f"may not {may_not}: grant {{{rule}}} to ann" == str(error)


def test_what_is_forbidden_for_another_reason_is_told_as_it_is():
    said = 'deployments.apps "web" is forbidden: exceeded quota: small'
    assert f"POST /x: {said}" == str(error_of({"code": 403, "message": said}, "POST /x"))


def conflict(*managers):
    causes = [{"reason": "FieldManagerConflict", "message": f"conflict with {who}"} for who in managers]
    return {"code": 409, "reason": "Conflict", "message": "Apply failed", "details": {"causes": causes}}


@pytest.mark.parametrize(
    ("managers", "once", "lasting"),
    [
        (['"kubectl" using autoscaling/v1'], ("kubectl",), ()),
        (['"argocd-controller"'], (), ("argocd-controller",)),
        (['"argocd-controller"', '"helm" using apps/v1'], ("helm",), ("argocd-controller",)),
        (['"helm" using apps/v1', '"helm" using apps/v1'], ("helm",), ()),
    ],
)
def test_owners_of_a_field_are_told_apart_by_whether_they_apply_it(managers, once, lasting):
    error = error_of(conflict(*managers), "PATCH /x")
    assert (OwnedError, once, lasting) == (type(error), error.once, error.lasting)


def test_causes_of_another_kind_are_no_owners():
    status = {"code": 409, "details": {"causes": [{"reason": "UnexpectedServerResponse", "message": "x"}]}}
    assert ConflictError is type(error_of(status, "PATCH /x"))
