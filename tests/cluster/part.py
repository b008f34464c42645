"""One process of a control plane, with its log and a way to ask whether it is ready."""

import ssl
import subprocess
import time
import urllib.request
from http import HTTPStatus

from tests.leash import leashed

READY_WITHIN_S = 120
POLL_S = 0.05
TAIL_LINES = 15


class NotStartedError(Exception):
    """A part of the control plane ended, or was not ready in time."""


class Part:
    """A program that can be started, killed and started again; it never outlives this process.

    Args:
        program: Its path.
        arguments: Its flags.
        health: Address that answers 200 once it is ready.
        log: File for what it says; each start adds to it.
    """

    def __init__(self, program, arguments, health, log):
        self._command = [program, *arguments]
        self._health = health
        self._log = log
        self._process = None

    @property
    def pid(self):
        """Process id of the newest start."""
        return self._process.pid

    def start(self):
        """Start it, without waiting."""
        with self._log.open("ab") as log:
            # Ctrl-C is for us: what it is to end, and in which order, is our business.
            self._process = subprocess.Popen(
                leashed(*self._command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
            )

    def kill(self):
        """End it at once; an API server takes ten seconds for an orderly end, for nothing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def wait(self):
        """Return when it is ready; an answer by anyone else on its port does not count."""
        deadline_s = time.monotonic() + READY_WITHIN_S
        while not (_is_ok(self._health) and self._process.poll() is None):
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                tail = "\n".join(self._log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
                raise NotStartedError(f"nothing is ready at {self._health}; {self._log} ends with\n{tail}")
            time.sleep(POLL_S)


def _is_ok(url):
    # The certificate is made by the process that is waited for, so there is nothing to hold it against yet.
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusting)
    )
    try:
        with direct.open(url, timeout=5) as answer:
            return answer.status == HTTPStatus.OK
    except OSError:
        return False
