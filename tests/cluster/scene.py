"""Towns on one control plane, and the Prometheus that scrapes them and remembers the days before."""

import json
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain
from math import ceil

from actuator.kube.connect import connect
from tests.cluster.conftest import Agents
from tests.cluster.permissions import install
from tests.cluster.shop import install_plans
from tests.prometheus.server import back_fill, prometheus, serving

MINUTE_S = 60


class Scene:
    """What goes on.

    Attributes:
        towns: Towns by name.
        clock: The time that all go by.
        url: Address of the Prometheus.
        rise_s: When requests rise today.
    """

    def __init__(self, towns, clock, url, rise_s):
        self.towns = towns
        self.clock = clock
        self.url = url
        self.rise_s = rise_s


@contextmanager
def scene(plane, directory, towns, rise_in_s):
    """Set towns up; they serve, and everything is scraped.

    Args:
        plane: A control plane.
        directory: Folder of the Prometheus.
        towns: What makes a town of a connection, agents, its name and when requests rise today, by name.
        rise_in_s: How far ahead that is; they rise at a full minute.
    """
    with ExitStack() as stack:
        server = stack.enter_context(closing(connect(plane.kubeconfig)))
        install_plans(server)
        for name in ("observe", "act"):
            install(server, name)
        agents = Agents(server)
        made = {}

        def close():
            try:
                agents.close()
            finally:
                for town in made.values():
                    town.lab.close()

        stack.callback(close)
        rise_s = ceil((agents.clock.now_s + rise_in_s) / MINUTE_S) * MINUTE_S
        for name, make in towns.items():
            made[name] = make(server, agents, name, rise_s)
        for town in made.values():
            town.wait()
        end_s = int(agents.clock.now_s)
        back_fill(directory, chain.from_iterable(town.past(end_s) for town in made.values()))
        address = stack.enter_context(serving(lambda request: _answer(request, made)))
        url = stack.enter_context(prometheus(directory, _scraping(address)))
        yield Scene(made, agents.clock, url, rise_s)


def _scraping(address):
    """Configuration of a Prometheus that asks us for the engines to scrape."""
    found = {"url": f"http://{address}/targets", "refresh_interval": "2s"}
    return json.dumps(
        {
            "global": {"scrape_interval": "5s", "scrape_timeout": "4s"},
            "scrape_configs": [{"job_name": "engines", "http_sd_configs": [found]}],
        }
    )


def _answer(request, towns):
    """Answer for all engines, by namespace and pod, and say which there are."""
    if request.path == "/targets":
        paths = [f"/{name}/{pod}" for name, town in towns.items() for pod in town.pages]
        targets = [_target(request.headers["Host"], path) for path in paths]
        kind, text = "application/json", json.dumps(targets)
    else:
        _, name, pod = request.path.split("/")
        kind, text = "text/plain; version=0.0.4", towns[name].pages.get(pod)
    if text is None:
        request.send_error(404)
        return
    content = text.encode()
    request.send_response(200)
    request.send_header("Content-Type", kind)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    with suppress(BrokenPipeError):  # on a busy machine it may not be waited for any more
        request.wfile.write(content)


def _target(address, path):
    _, namespace, pod = path.split("/")
    return {"targets": [address], "labels": {"__metrics_path__": path, "namespace": namespace, "pod": pod}}
