"""`foreslice run` as a process on a real control plane, with the permissions of deploy/rbac and no others."""

import json
import os
import signal
import subprocess
from threading import Event

import pytest

from actuator.kube.resources import PLANS
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import WITHIN_S, until
from tests.cluster.permissions import bind, unbind
from tests.cluster.service import (
    FORESLICE,
    LEASE,
    NOBODY,
    ROLES,
    folder_of,
    holder,
    says,
    service,
    settings,
)
from tests.prometheus.server import serving

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)


@pytest.fixture
def folder(plane, shop, tmp_path):
    with folder_of(plane, shop, tmp_path) as made:
        yield made


def once(path):
    return subprocess.run(
        [*FORESLICE, "-c", str(path), "--once", "-o", "json"],
        check=False,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        env={**os.environ, "HOME": str(path.parent)},
    )


def test_it_sees_the_cluster_and_writes_nothing_unless_it_may_act(shop, folder):
    held_before = holder(shop)  # by nobody any more, if another test has led here
    ran = once(settings(folder, "false"))
    assert (0, "") == (ran.returncode, ran.stderr)
    seen = json.loads(ran.stdout)
    assert "web" in json.dumps(seen)
    assert ([], held_before) == (shop.list(PLANS), holder(shop))


def test_an_api_server_that_does_not_answer_is_one_line_and_code_3(folder):
    path = settings(folder, "false")
    body = json.loads((folder / "kubeconfig").read_text())
    body["clusters"][0]["cluster"] = {"server": "http://127.0.0.1:9"}
    (folder / "kubeconfig").write_text(json.dumps(body))
    ran = once(path)
    assert (3, "", 1) == (ran.returncode, ran.stdout, len(ran.stderr.splitlines()))
    assert "refused" in ran.stderr


def test_a_missing_permission_is_one_line_with_its_rule_and_code_3(shop, folder):
    unbind(shop.server, ROLES[0])
    try:
        ran = once(settings(folder, "false"))
    finally:
        bind(shop.server, ROLES[0])
    assert (3, 1) == (ran.returncode, len(ran.stderr.splitlines()))
    assert "may not list deployments in namespace shop: grant {apiGroups: " in ran.stderr


def test_a_kubeconfig_that_is_not_there_is_one_line_and_code_2(folder):
    (folder / "kubeconfig").unlink()
    ran = once(settings(folder, "false"))
    assert (2, 1) == (ran.returncode, len(ran.stderr.splitlines()))


def test_sigterm_gives_the_lead_up_and_the_next_one_takes_it(shop, folder):
    """How long that takes, `bench` tells; who does not give it up holds it when it has ended."""
    path = settings(folder, "true", NOBODY)
    with service(path) as first:
        until(lambda: holder(shop))
        leader = holder(shop)
        with service(path) as second:
            says(second, "another process leads")
            first.send_signal(signal.SIGTERM)
            assert 0 == first.wait(WITHIN_S)
            assert leader != holder(shop)
            until(lambda: holder(shop))
            assert 2 == shop.server.request("GET", LEASE)["spec"]["leaseTransitions"]


class Silence:
    """A metrics source that answers nothing once it is told to fall silent: a job then waits for it."""

    def __init__(self):
        self.source = ""
        self.begins, self.is_over, self._is_met = Event(), Event(), Event()

    def answer(self, request):
        if self.begins.is_set():
            self._is_met.set()
            self.is_over.wait()
        request.send_error(503)

    def is_met(self):
        """Wait until somebody waits for an answer."""
        assert self._is_met.wait(WITHIN_S)


@pytest.fixture
def silence():
    made = Silence()
    with serving(made.answer) as address:
        made.source = f'prometheus, url: "http://{address}", timeout: 10m'
        yield made
        made.is_over.set()


def test_the_lead_is_given_up_before_jobs_have_ended(shop, folder, silence):
    with service(settings(folder, "true", silence.source)) as process:
        says(process, '"held"')  # of a tick, what could not be done
        silence.begins.set()
        silence.is_met()
        process.send_signal(signal.SIGTERM)
        until(lambda: holder(shop) == "")
        assert process.poll() is None


def test_who_is_told_to_stop_while_it_starts_gives_the_lead_up_and_ends(shop, folder, silence):
    silence.begins.set()
    with service(settings(folder, "true", silence.source)) as process:
        silence.is_met()
        assert holder(shop)
        process.send_signal(signal.SIGTERM)
        assert (0, "") == (process.wait(WITHIN_S), holder(shop))
