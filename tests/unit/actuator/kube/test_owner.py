"""What is written in the name of a workload's owner, and what is left if it breaks off."""

from itertools import count

import pytest

from actuator.kube.owner import Owner
from actuator.kube.resources import CLAIM_TEMPLATES, DEPLOYMENTS
from actuator.objects.variants import Makings, variant_objects
from fleet.boards import H100_80GB
from fleet.shape import Shape
from tests.contract.test_cluster_contract import HALF, WEB, deployment
from tests.fakes.apiserver import FakeServer
from tests.fakes.cluster import Killed

QUARTER = Shape("h100-80gb", "2g.20gb")


class Dying:
    """A connection whose `number`-th request kills the process, before or after it takes effect."""

    def __init__(self, server, number, *, after):
        self._server = server
        self._left = number
        self._after = after

    def request(self, *args):
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Killed
        answer = self._server.request(*args)
        if self._left == 0:
            raise Killed
        return answer


def served():
    """A namespace in which `web` has two copies, of which one still serves, as another workload does."""
    server = FakeServer()
    template, web = deployment("web", replicas=1)
    web["metadata"]["uid"] = "u-web"
    other_template, other = deployment("other", replicas=1)
    for body in (template, other_template):
        server.put(CLAIM_TEMPLATES.path("shop"), body)
    for body in (web, other):
        server.put(DEPLOYMENTS.path("shop"), body)
    for shape, replicas in ((HALF, 0), (QUARTER, 2)):
        name = f"web-{shape.profile.partition('.')[0]}"
        made, copy = variant_objects(web, Makings({"web-gpu": template}, [H100_80GB]), name, shape)
        copy["metadata"]["uid"] = f"u-{name}"
        server.put(CLAIM_TEMPLATES.path("shop"), made)
        server.put(DEPLOYMENTS.path("shop"), {**copy, "spec": {**copy["spec"], "replicas": replicas}})
    return server


def names(server):
    return [sorted(server.objects[kind.path("shop")]) for kind in (DEPLOYMENTS, CLAIM_TEMPLATES)]


def test_copies_that_serve_nothing_go_and_what_they_claimed_by():
    server = served()
    assert ("web-3g",) == Owner(server).end_copies(WEB)
    deployments, templates = names(server)
    assert ["other", "web", "web-2g"] == deployments
    assert 3 == len(templates)
    assert not [name for name in templates if name.startswith("web-3g")]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_broken_off_at_any_request_and_done_again_it_comes_to_the_same_end(after):
    straight = served()
    Owner(straight).end_copies(WEB)
    for number in count(1):
        server = served()
        try:
            Owner(Dying(server, number, after=after)).end_copies(WEB)
        except Killed:
            Owner(server).end_copies(WEB)
        else:
            break
        assert names(straight) == names(server), number
    assert 5 < number
