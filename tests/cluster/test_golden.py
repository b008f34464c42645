"""What foreslice writes is judged by the API server itself: golden objects are taken, mutations refused."""

import pytest

from fleet.errors import ForesliceError
from simulator.api import CLAIM_TEMPLATE, TAINT_RULE
from simulator.rest import address
from tests.builders.golden import mutations_of, objects_of
from tests.cluster.conftest import NEWEST

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

KINDS = {"claim-templates": CLAIM_TEMPLATE, "device-taint-rule": TAINT_RULE}


@pytest.fixture(params=KINDS)
def golden(request):
    return request.param


@pytest.fixture
def judged(lab, server, golden):
    """A function that says what the server has against an object of the kind, nothing = empty."""
    kind = KINDS[golden]
    path = address(kind, lab.name if kind.is_namespaced else None)

    def objection(body):
        if kind.is_namespaced:
            body = {**body, "metadata": {**body["metadata"], "namespace": lab.name}}
        try:
            server.request("POST", path, body, {"dryRun": "All", "fieldValidation": "Strict"})
        except ForesliceError as error:
            return str(error)
        return ""

    return objection


def test_golden_objects_are_taken(golden, judged):
    assert [""] == sorted({judged(body) for body in objects_of(golden)})


def test_mutations_are_refused(golden, judged):
    refused = [one for one in mutations_of(golden) if one.is_refused_by_server]
    assert len(refused) >= 10
    assert [] == [one.why for one in refused if not judged(one.body)]
