"""Agents while the API server is away, and after it has come back with an empty memory."""

import json
from contextlib import closing

import pytest

from actuator.kube.connect import connect
from actuator.kube.errors import ExpiredError, error_of
from fleet.boards import H100_80GB
from fleet.errors import UnavailableError
from simulator.api import DEPLOYMENT, POD
from simulator.rest import address
from tests.builders.delays import AT_ONCE
from tests.cluster.conftest import NEWEST, Agents, make_classes
from tests.cluster.controlplane import control_plane
from tests.cluster.lab import Lab, until
from tests.cluster.test_node_agents import Notes, ready_replicas
from tests.fakes.manifests import request


@pytest.fixture
def own_plane(tmp_path):
    """A control plane that the test may break."""
    with control_plane(NEWEST, tmp_path) as plane:
        make_classes(plane)
        yield plane


def test_agents_go_on_where_they_were_after_the_api_server_was_away(own_plane):
    apiserver = own_plane.parts["kube-apiserver"]
    with closing(connect(own_plane.kubeconfig)) as server, closing(Agents(server)) as agents:
        before = server.request("GET", address(POD))["metadata"]["resourceVersion"]
        lab = Lab(server, "lab")
        containers = Notes()
        lab.agents_node(agents, [H100_80GB] * 2, containers, AT_ONCE, name="n0")
        lab.deployment("web", lab.template("half", request(profile="3g.40gb")), 2)
        until(lambda: ready_replicas(lab, "web") == 2)

        apiserver.kill()
        with pytest.raises(UnavailableError):
            server.request("GET", address(POD))
        apiserver.start()
        apiserver.wait()

        lab.patch(DEPLOYMENT, "web", {"spec": {"replicas": 3}})
        until(lambda: ready_replicas(lab, "web") == 3)
        lab.patch(DEPLOYMENT, "web", {"spec": {"replicas": 1}})
        until(lambda: len(lab.list(POD)) == 1)
        assert (3, 2) == (len(containers.started), len(containers.stopped))

        query = {"watch": "true", "resourceVersion": before}
        with server.stream(address(POD), query) as lines:
            event = json.loads(next(iter(lines)))
        assert ("ERROR", 410) == (event["type"], event["object"]["code"])
        assert isinstance(error_of(event["object"], "watch"), ExpiredError)
