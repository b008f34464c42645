"""`foreslice run` on cards that were cut beforehand: what is there is used, and no more is asked for.

The control plane, its scheduler, Prometheus and the service are real. The ResourceSlice is as NVIDIA's driver
was seen to publish it (type `mig`, no counters), KWOK is the kubelet, and what engines were asked is
written into Prometheus: the hours until now, and some minutes more.
"""

import json
import signal
from contextlib import contextmanager

import numpy as np
import pytest

from actuator.kube.resources import CLAIMS, PODS
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.mig import Placement
from fleet.shape import Shape
from foreslice.clock import WallClock
from simulator.pods import is_ready
from simulator.static_driver import Card, static_slices
from tests.builders.engines import MIX, workload
from tests.cluster.conftest import NEWEST
from tests.cluster.days import STEP_S, scraped
from tests.cluster.lab import WITHIN_S, until
from tests.cluster.service import folder_of, service
from tests.cluster.shop import SHOP, shop_of
from tests.cluster.test_kube_service import once
from tests.contract.test_cluster_contract import deployment
from tests.fakes.manifests import request
from tests.prometheus.server import absent, back_fill, prometheus

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

CHAT = workload("chat", model="qwen2.5-3b-bf16")
SMALL, LARGE = Shape(H100_80GB.id, "1g.10gb"), Shape(H100_80GB.id, "3g.40gb")
CUT = Card(H100_80GB, (Placement("3g.40gb", 0), Placement("1g.10gb", 6)))
SMALL_DEVICE, LARGE_DEVICE = "gpu-0-mig-1g10gb-19-6", "gpu-0-mig-3g40gb-9-0"
QUIET, RISEN = 0.3, 9.0
"""Work in small instances; both of the card's together carry less than the higher."""

HISTORY_S, RISEN_S, AHEAD_S = 3 * 3_600, 240, 300
SETTINGS = """\
version: v1
metrics: {{source: prometheus, url: "{url}"}}
cluster: {{kind: kubernetes, kubeconfig: kubeconfig}}
acting: {acting}
loop: {{tick: 1s, plan: 5s, lead: 10s, quiet: 5s, dwell: 5s, trial: 5s, shape_dwell: 5s, history: 3h}}
shrink: {{share: 1.0}}
http: {{port: 0}}
workloads:
  - name: chat
    namespace: shop
    model: qwen2.5-3b-bf16
    slo: {{ttft: {{p95: 1s}}, itl: {{p95: 50ms}}}}
    router: least-loaded
    mode: full
"""


@pytest.fixture(scope="module")
def mall(plane):
    """Namespace `shop` with a node whose only card is cut, and Deployment `chat` on its small instance."""
    assert not absent(), "apt-get install prometheus"
    with shop_of(plane, lambda node: static_slices(node, [CUT])) as made:
        yield made


@contextmanager
def chatting(shop):
    """Open the adapter on a shop with Deployment `chat`: one replica on the small instance, that serves."""
    template, body = deployment("chat", 1)
    template["spec"]["spec"]["devices"]["requests"] = [
        {"name": "gpu", **request("mig.nvidia.com", SMALL.profile)}
    ]
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 600
    try:
        with shop.cluster() as cluster:
            for each in (template, body):
                shop.create(cluster, each)
            shop.settle(cluster)
            yield cluster
    finally:
        shop.clear()


def rates(times, now_s, risen):
    """Requests/s at these times, which rose lately or did not."""
    model = CapacityModel([H100_80GB])
    is_risen = (times > now_s - RISEN_S) if risen else np.zeros(len(times), dtype=bool)
    return np.where(is_risen, RISEN, QUIET) * model.sustained(CHAT, SMALL, MIX)


@contextmanager
def metrics(directory, shop, *, risen):
    """A Prometheus that has scraped the pods which are there for hours, and what is asked until later."""
    pods, now_s = [pod["metadata"]["name"] for pod in shop.list(PODS)], int(WallClock().now_s())
    times = np.arange(now_s - HISTORY_S, now_s + AHEAD_S, STEP_S)
    asked = rates(times, now_s, risen) / len(pods)
    back_fill(directory, (row for pod in pods for row in scraped(SHOP, "chat", times, asked, MIX, pod)))
    with prometheus(directory) as url:
        yield url


def settings(folder, url, acting):
    path = folder / "foreslice.yaml"
    path.write_text(SETTINGS.format(url=url, acting=acting))
    return path


def held(shop):
    """Devices that claims have been given."""
    allocated = (claim.get("status", {}).get("allocation") for claim in shop.list(CLAIMS))
    return sorted(r["device"] for each in allocated if each for r in each["devices"]["results"])


def serving(shop):
    return sum(map(is_ready, shop.list(PODS)))


class Watch:
    """How many pods served at least, while something else was waited for."""

    def __init__(self, shop):
        self._shop = shop
        self.fewest = serving(shop)

    def until(self, is_so):
        def looked():
            self.fewest = min(self.fewest, serving(self._shop))
            return is_so()

        until(looked)


def test_a_rise_is_met_by_what_was_cut_and_given_back_at_night(mall, plane, tmp_path):
    """What no free instance can carry is said and not asked for: no pod waits in vain."""
    with folder_of(plane, mall, tmp_path, chatting(mall)) as folder:
        watch = Watch(mall)
        with metrics(folder / "day", mall, risen=True) as url:
            with service(settings(folder, url, "true")) as process:
                watch.until(lambda: serving(mall) == 2)
                process.send_signal(signal.SIGTERM)
                assert 0 == process.wait(WITHIN_S)
            ran = once(settings(folder, url, "false"))
        assert ([SMALL_DEVICE, LARGE_DEVICE], 2) == (held(mall), len(mall.list(PODS)))
        assert (0, "") == (ran.returncode, ran.stderr)
        [said] = json.loads(ran.stdout)["workloads"]
        both = f"1 x {SMALL.profile} + 1 x {LARGE.profile}"
        assert (both, both) == (said["stands"], said["goal"])
        assert 0.5 < said["short"]
        assert any(why.startswith("no card has room for ") for why in said["because"])

        with (
            metrics(folder / "night", mall, risen=False) as url,
            service(settings(folder, url, "true")),
        ):
            watch.until(lambda: held(mall) == [SMALL_DEVICE])
        assert 1 == watch.fewest
