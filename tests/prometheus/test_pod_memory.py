"""Memory of sleeping pods out of what a kubelet and NVIDIA's exporter have told a real Prometheus."""

import pytest

from predictor.ports import MEMORY_S, PodMemory
from predictor.sources.access import Access
from predictor.sources.pod_memory import PrometheusMemory
from tests.prometheus.server import back_fill, prometheus, series_text

END_S = 1_700_000_000
GIB, MIB = 1 << 30, 1 << 20
ANT, BEE = ("shop", "ant-s"), ("shop", "bee-s")


def told(name, gib, age_s=10, **labels):
    return series_text(name, labels), END_S - age_s, gib


def working_set(pod, container, gib, **more):
    about = {"namespace": "shop", "pod": pod, "container": container} | more
    age_s = about.pop("age_s", 10)
    return told("container_memory_working_set_bytes", gib * GIB, age_s, **about)


def framebuffer(pod, mib, **more):
    about = {"namespace": "shop", "pod": pod, "UUID": "GPU-0", "Hostname": "n0"} | more
    return told("DCGM_FI_DEV_FB_USED", mib, **about)


PAST = [
    working_set("ant-s", "engine", 17.0),
    working_set("ant-s", "engine", 16.5, age_s=70),
    working_set("ant-s", "engine", 16.9, job="kubelet-resource"),  # the same, scraped at another endpoint
    working_set("ant-s", "proxy", 0.5),
    working_set("ant-s", "", 17.6),
    working_set("ant-s", "POD", 0.1),
    working_set("bee-s", "engine", 90.0, age_s=MEMORY_S + 30),  # too long ago
    working_set("ant-s", "engine", 60.0, namespace="other"),
    # The exporter shows the card once for each pod that shares it.
    framebuffer("ant-s", 2400),
    framebuffer("bee-s", 2400),
    framebuffer(
        "dcgm-exporter-x", 9000, exported_namespace="shop", exported_pod="bee-s", namespace="gpu-operator"
    ),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    directory = tmp_path_factory.mktemp("memory")
    back_fill(directory, PAST)
    with prometheus(directory) as url:
        yield PrometheusMemory(url, Access()).memory([ANT, BEE, ("shop", "cat-s")], END_S)


def test_containers_of_a_pod_add_up_and_copies_of_a_series_do_not(answers):
    assert pytest.approx(17.5 * GIB) == answers[ANT].host


def test_a_shared_device_is_told_by_every_pod_that_has_it_whichever_labels_name_the_pod(answers):
    assert (2400 * MIB, 9000 * MIB) == (answers[ANT].device, answers[BEE].device)


def test_what_is_old_or_was_never_told_is_unknown(answers):
    assert None is answers[BEE].host
    assert PodMemory(None, None) == answers["shop", "cat-s"]
