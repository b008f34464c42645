"""Who holds what is read once; of ConfigMaps only those that a pod of KAI names."""

import pytest

from actuator.kube.errors import NotFoundError
from actuator.kube.tenancy import read_tenancy
from fleet.errors import RefusedError
from tests.unit.actuator.kube.test_survey import Server

CORE = "/api/v1"
GIVEN = f"{CORE}/namespaces/t/configmaps/shared-0"


def pod(name, **annotations):
    return {"metadata": {"name": name, "namespace": "t", "annotations": annotations}}


@pytest.fixture
def server():
    made = Server({f"{CORE}/pods": [pod("a"), pod("b", **{"runai/shared-gpu-configmap": "shared"})]})
    made.single[GIVEN] = {"metadata": {"name": "shared-0", "namespace": "t"}, "data": {"GPU_PORTION": "0.5"}}
    return made


def test_what_kai_gave_is_read_and_no_other_config_map(server):
    dump, notes = read_tenancy(server)
    assert (["a", "b"], ["shared-0"], ()) == (
        [body["metadata"]["name"] for body in dump.of("Pod")],
        [body["metadata"]["name"] for body in dump.of("ConfigMap")],
        notes,
    )
    assert [GIVEN] == [path for _, path in server.asked if "configmaps" in path]


def test_one_that_is_gone_is_nothing(server):
    server.trouble[GIVEN] = NotFoundError("gone")
    dump, notes = read_tenancy(server)
    assert ([], ()) == (list(dump.of("ConfigMap")), notes)


def test_what_is_refused_is_noted_once(server):
    server.lists[f"{CORE}/pods"] *= 3
    server.trouble |= {
        GIVEN: RefusedError("may not get configmaps"),
        f"{CORE}/nodes": RefusedError("nor nodes"),
    }
    _, notes = read_tenancy(server)
    assert ("nor nodes", "may not get configmaps") == notes


def test_without_pods_there_is_nothing_to_tell(server):
    server.trouble[f"{CORE}/pods"] = RefusedError("may not list pods")
    with pytest.raises(RefusedError):
        read_tenancy(server)
