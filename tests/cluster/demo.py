"""`make demo-cluster`: a control plane, Prometheus, simulated engines and foreslice, to look at."""

import signal
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.conftest import NEWEST, make_classes
from tests.cluster.controlplane import control_plane
from tests.cluster.scene import scene
from tests.cluster.town import chat
from tests.controlplane.build import CONTROL_PLANE
from tests.prometheus.server import absent

NAME = "shop"
RISE_IN_S = 420
TOLD_EVERY_S = 10
HEADINGS = "time      requests rise in   cards   ready"


def main():
    """Bring everything up, tell what the cluster says of it, and end it on Ctrl-C or SIGTERM."""
    if programs := absent():
        sys.exit(f"{', '.join(programs)} not found: apt-get install prometheus")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="foreslice-demo-") as directory, _interruptible():
        _show(Path(directory))


@contextmanager
def _interruptible():
    """End in order when interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        _say("stopped")


def _show(directory):
    _say(
        "starting a control plane and Prometheus, which are real, and nodes, cards and engines, which are "
        "simulated, as are the requests and the three days of history before them ..."
    )
    logs = directory / "control-plane"
    logs.mkdir()
    with control_plane(NEWEST, logs) as plane:
        make_classes(plane)
        with scene(plane, directory / "prometheus", {NAME: chat("73h")}, RISE_IN_S) as made:
            town = made.towns[NAME]
            with town.service(plane, made.url, directory / NAME) as process:
                _tell_how_to_look(plane, made.url, directory / NAME / "log")
                while process.poll() is None:
                    town.look(made.clock.now_s)
                    at_s, cards, ready = town.seen[-1]
                    told = time.strftime("%H:%M:%S", time.gmtime(at_s))
                    _say(f"{told}  {made.rise_s - at_s:14.0f} s  {cards:6.2f}  {ready:6}")
                    time.sleep(TOLD_EVERY_S)


def _tell_how_to_look(plane, url, log):
    kubectl = f"KUBECONFIG={plane.kubeconfig} {CONTROL_PLANE.folder() / 'kubectl'}"
    _say(
        f"""
Look at it from another terminal:

  {kubectl} get deployments,pods -n {NAME} --watch
  {kubectl} get resourceclaims -n {NAME}
  {kubectl} get fractionplans -n {NAME} -o yaml
  {kubectl} get lease foreslice -n {NAME} -o yaml
  tail -f {log}
  Prometheus: {url}

Ctrl-C ends it. Times are UTC.

{HEADINGS}"""
    )


def _say(text):
    print(text, flush=True)  # noqa: T201  the command's output


if __name__ == "__main__":
    main()
