"""Ports on loopback for servers of tests: nobody listens on them, and no other test run takes them."""

import fcntl
import os
import secrets
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

PORTS = range(20_000, 32_768)
"""Below those that the kernel gives to clients: Linux, net.ipv4.ip_local_port_range begins at 32768."""

# A port is chosen seconds before its server listens. Until it ends, a process holds the byte of that number.
_CLAIMS = (Path(tempfile.gettempdir()) / f"foreslice-test-ports-{os.getuid()}").open("wb")
_claimed = set()


def free_port():
    """Return a port, another one with every call."""
    while True:
        port = secrets.choice(PORTS)
        if port in _claimed:
            continue
        with suppress(OSError), socket.socket() as held:
            fcntl.lockf(_CLAIMS, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            _claimed.add(port)
            held.bind(("127.0.0.1", port))
            return port
