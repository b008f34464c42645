"""The service where the API server drops counters: whole cards as anywhere, no dynamic MIG, and it says why.

Which minors that are is found by reading back what the driver wrote.
"""

import json
import subprocess

import pytest

from actuator.kube.resources import CLAIM_TEMPLATES
from fleet.errors import RefusedError
from tests.cluster.lab import WITHIN_S
from tests.cluster.service import FORESLICE, folder_of, settings
from tests.contract.test_cluster_contract import HALF, WEB, standing

WHY = "no dynamic MIG, whole cards only: the ResourceSlices of node shop-n"
COUNTERS = "have no counters (sharedCounters, consumesCounters)"


@pytest.fixture
def cluster(shop):
    with shop.open() as opened:
        if not opened.view([]).barred:
            pytest.skip("this API server keeps counters")
        yield opened


def test_a_part_of_a_card_is_refused_before_anything_is_written(shop, cluster):
    templates = shop.list(CLAIM_TEMPLATES)
    with pytest.raises(RefusedError) as said:
        cluster.create_variant(WEB, "web-half", HALF)
    assert f"Deployment shop/web gets no {HALF}: {WHY}" in str(said.value)
    assert COUNTERS in str(said.value)
    assert (templates, 1) == (shop.list(CLAIM_TEMPLATES), len(standing(cluster).variants))


def test_the_service_starts_observes_and_says_it_once(plane, shop, tmp_path):
    with folder_of(plane, shop, tmp_path), shop.cluster() as seen:
        if not seen.view([]).barred:
            pytest.skip("this API server keeps counters")
        command = [*FORESLICE, "-c", settings(tmp_path, "false"), "--once", "-o", "json"]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=WITHIN_S)
    assert (0, "") == (ran.returncode, ran.stderr)
    tick = json.loads(ran.stdout)
    assert 1 == sum(WHY in condition and COUNTERS in condition for condition in tick["conditions"])
    assert "web" in json.dumps(tick["workloads"])
