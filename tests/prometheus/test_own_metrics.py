"""What foreslice says about itself is as Prometheus' own tool wants it."""

import shutil
import subprocess

from prometheus_client import generate_latest

from foreslice.telemetry import Telemetry


def test_promtool_finds_nothing_wrong_with_our_metrics():
    text = generate_latest(Telemetry().registry)
    checked = subprocess.run(
        [shutil.which("promtool"), "check", "metrics"], input=text, capture_output=True, check=False
    )
    assert (0, b"", b"") == (checked.returncode, checked.stdout, checked.stderr)
    assert b"foreslice_tick_seconds" in text
