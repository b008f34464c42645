"""What a view of a large fleet does again when it is taken again; how long that takes, `bench` tells."""

from contextlib import closing

import pytest

from actuator.kube.cluster import KubeCluster
from actuator.kube.connect import connect
from tests.cluster.conftest import NEWEST
from tests.cluster.faults import kubeconfig, proxy_of
from tests.cluster.lab import until
from tests.cluster.large import CARDS, DEVICES_OF_A_CARD, devices_of, large_fleet, touch_cards
from tests.cluster.shop import always

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
NODES = 3


@pytest.fixture
def admin(plane):
    with closing(connect(plane.kubeconfig)) as opened, large_fleet(opened, NODES):
        yield opened


@pytest.fixture
def proxy(plane):
    with proxy_of(plane) as started:
        yield started


@pytest.fixture
def cluster(proxy, admin, tmp_path):
    """The adapter on slices that are there already, behind a proxy that notes what it asks for."""
    with (
        closing(connect(kubeconfig(tmp_path / "kubeconfig", proxy.url, "admin"))) as server,
        closing(KubeCluster(server, ["default"], always)) as opened,
    ):
        yield opened


def reads(proxy):
    """All that was asked for but watches, which go on by themselves."""
    return [path for _, path in proxy.asked if "watch=true" not in path]


def test_a_view_shows_every_device(cluster):
    assert NODES * CARDS * DEVICES_OF_A_CARD == len(devices_of(cluster.view([])))


def test_an_unchanged_fleet_is_neither_asked_for_nor_put_together_again(cluster, proxy):
    first = cluster.view([])
    asked = reads(proxy)
    assert first is cluster.view([])
    assert asked == reads(proxy)


def test_of_a_fleet_in_which_one_slice_changed_the_other_slices_are_not_read_again(cluster, proxy, admin):
    first = cluster.view([])
    asked = reads_of_slices(proxy)
    known = {id(device) for device in devices_of(first)}
    touch_cards(admin)
    # Other news may come in between: the version alone does not tell that the slice was seen.
    second = until(lambda: (view := cluster.view([])) and _fresh(view, known) and view)
    assert devices_of(first) == devices_of(second)
    assert DEVICES_OF_A_CARD == _fresh(second, known)
    assert asked == reads_of_slices(proxy)


def reads_of_slices(proxy):
    """What was read of slices; a kind that other tests define meanwhile is read too."""
    return [path for path in reads(proxy) if "/resourceslices" in path]


def _fresh(view, known):
    """Return how many devices of a view were read again."""
    return sum(id(device) not in known for device in devices_of(view))
