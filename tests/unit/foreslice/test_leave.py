"""What the commands that hold foreslice off refuse, each in one line."""

import re

import pytest

from actuator.kube.resources import CLAIMS
from fleet.errors import InputError, RefusedError
from fleet.workload import WorkloadKey
from foreslice.leave import leave_pool, run_restore, run_watchdog
from foreslice.owners import run_hold, run_pause, time_of
from foreslice.settings.load import load
from tests.fakes.apiserver import FakeServer

HEAD = "version: v1\nmetrics: {source: prometheus, url: 'http://127.0.0.1:9'}\n"
WEB = "workloads: [{name: web, namespace: shop, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}]\n"
STANDBY = "standby: {slices: 4, host_memory_gib: 500}\n"
KUBERNETES = HEAD + "cluster: {kind: kubernetes, kubeconfig: nowhere}\n" + WEB


@pytest.fixture
def settings(tmp_path):
    def written(text=KUBERNETES):
        path = tmp_path / "foreslice.yaml"
        path.write_text(text)
        return path

    return written


def pause(path, *names, every=False):
    run_pause(path, list(names), every=every, is_paused=True, as_json=False)


def restore(path, *names, every=False, wait="1m"):
    run_restore(path, list(names), every=every, wait=wait, as_json=False)


@pytest.mark.parametrize("command", [pause, restore])
@pytest.mark.parametrize(
    ("names", "every", "line"),
    [
        ([], False, "WORKLOAD: name workloads, or all of them; give namespace/name, or --all"),
        (["shop/web"], True, "WORKLOAD: name workloads, or all of them; give namespace/name, or --all"),
        (["web"], False, "web: no such workload in the settings; one of shop/web"),
    ],
    ids=["none", "both", "unknown"],
)
def test_who_is_meant_has_to_be_said(command, names, every, line, settings):
    with pytest.raises(InputError) as refused:
        command(settings(), *names, every=every)
    assert line == str(refused.value)


@pytest.mark.parametrize("command", [pause, restore])
def test_without_a_cluster_there_is_nothing_to_hold_off(command, settings):
    with pytest.raises(InputError, match=r"^cluster.kind: there is no Kubernetes cluster in the settings"):
        command(settings(HEAD + WEB), "shop/web")


def test_a_kubeconfig_that_is_not_there_is_named(settings):
    with pytest.raises(InputError, match="nowhere: no API server can be read from it"):
        pause(settings(), "shop/web")


def test_a_time_needs_a_unit(settings):
    with pytest.raises(InputError, match="--wait: a duration needs a number and a unit"):
        restore(settings(), "shop/web", wait="30")
    with pytest.raises(InputError, match="--after: a duration needs a number and a unit"):
        run_watchdog(settings(), after="soon", as_json=False)


def test_a_time_has_an_offset_or_is_from_now(settings):
    assert "2026-12-01T11:00:00Z" == time_of("2026-12-01T12:00+01:00", "--until")
    assert time_of("1h", "--until") < time_of("2h", "--until")
    with pytest.raises(InputError, match=r"^--until: 2026-12-01 has no offset; write e.g. "):
        run_hold(settings(), ["shop/web"], every=False, until="2026-12-01", as_json=False)
    with pytest.raises(InputError, match=r"^--until: 2020-12-01T00:00Z is over; name a time that is still"):
        run_hold(settings(), ["shop/web"], every=False, until="2020-12-01T00:00Z", as_json=False)


@pytest.mark.parametrize("text", ["99999999d", "0001-01-01T00:00+14:00", "9" * 400 + "d"])
def test_a_time_that_no_calendar_has_is_refused(text):
    with pytest.raises(InputError, match=rf"^--from: {re.escape(text)} is in no calendar; write e.g. "):
        time_of(text, "--from")


def test_rights_that_do_not_reach_to_the_standby_pool_are_told(settings):
    server, keys = FakeServer(), [WorkloadKey("shop", "web")]
    server.trouble[CLAIMS.path("shop")] = RefusedError("resourceclaims is forbidden")
    assert [] == leave_pool(server, load(settings()), keys, 0.0, are_all=True)
    with pytest.raises(
        InputError, match=r"^standby: resourceclaims is forbidden; .*deploy/rbac/standby.yaml"
    ):
        leave_pool(server, load(settings(KUBERNETES + STANDBY)), keys, 0.0, are_all=True)
