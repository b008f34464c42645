"""How long pods may still serve once they are told to end."""

import pytest

from actuator.objects.pods import grace_s


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
