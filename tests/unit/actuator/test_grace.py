"""How long pods may still serve once they are told to end."""

import pytest

from actuator.objects.pods import grace_s
from tests.fakes.manifests import deployment
from tests.unit.actuator.test_snapshot import LLAMA, fleet


def engine(**hook):
    return {"name": "engine", "lifecycle": {"preStop": hook}} if hook else {"name": "engine"}


@pytest.mark.parametrize(
    ("expected", "containers", "more"),
    [
        (30.0, [engine()], {}),
        (120.0, [engine()], {"terminationGracePeriodSeconds": 120}),
        (105.0, [engine(sleep={"seconds": 15}), engine()], {"terminationGracePeriodSeconds": 120}),
        (100.0, [engine(exec={"command": ["sleep", "20"]})], {"terminationGracePeriodSeconds": 120}),
        (25.0, [engine(exec={"command": ["sh", "-c", "sleep 5; nginx -s quit"]})], {}),
        (30.0, [engine(httpGet={"path": "/drain"})], {}),
        (0.0, [engine(sleep={"seconds": 40})], {}),
    ],
)
def test_what_pre_stop_takes_of_the_grace_period_is_not_served_in(expected, containers, more):
    assert expected == grace_s({"containers": containers, **more})


def test_replicas_have_what_the_template_of_their_deployment_says():
    body = deployment()
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 90
    assert 90.0 == fleet(deployments=[body]).standing(LLAMA).own.grace_s
    assert 30.0 == fleet().standing(LLAMA).own.grace_s
