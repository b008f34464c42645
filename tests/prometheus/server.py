"""The real Prometheus on loopback, with what it is to scrape or what it is to have scraped long ago.

Nothing here outlives the process that started it (`tests.leash`).
"""

import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.leash import leashed
from tests.ports import free_port

READY_WITHIN_S = 120
POLL_S = 0.02
PROGRAMS = ("prometheus", "promtool")


class NotStartedError(Exception):
    """Prometheus ended, or was not ready in time."""


def absent():
    """Return the programs that are not installed."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


@contextmanager
def prometheus(directory, config="", web_config=""):
    """Start a Prometheus on the data in `directory / "data"`, give its address, and end it with the block."""
    port = free_port()
    directory.mkdir(exist_ok=True)
    log_path = directory / "log"
    (directory / "prometheus.yml").write_text(config)
    (directory / "web.yml").write_text(web_config)
    arguments = [
        shutil.which("prometheus"),
        f"--config.file={directory}/prometheus.yml",
        f"--web.config.file={directory}/web.yml",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--storage.tsdb.path={directory}/data",
        "--storage.tsdb.retention.time=100y",
    ]
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            leashed(*arguments), stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
        )
        try:
            url = f"{'https' if web_config else 'http'}://127.0.0.1:{port}"
            _wait(url, process, log_path)
            yield url
        finally:
            process.kill()
            process.wait()


@contextmanager
def serving(answer):
    """Serve HTTP on loopback; `answer(request)` writes to the handler that it is given."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answer(self)

        do_POST = do_GET  # noqa: N815  as the base class calls it

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(POLL_S,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def back_fill(directory, scraped):
    """Write readings, (series text, time in s, value) each, as blocks that a Prometheus can start on."""
    directory.mkdir(exist_ok=True)
    text = directory / "past.txt"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(f"{series} {float(value)!r} {t_s:.3f}\n" for series, t_s, value in scraped)
        file.write("# EOF\n")
    # It reads the text once for each block: thirty days in blocks of two hours, as by default, take hours.
    promtool = [shutil.which("promtool"), "tsdb", "create-blocks-from", "--max-block-duration=768h"]
    arguments = ["openmetrics", "--quiet", text, directory / "data"]
    subprocess.run([*promtool, *arguments], check=True, capture_output=True)


def series_text(name, labels):
    """Return a series as the text formats write it."""
    escaped = {
        label: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        for label, value in labels.items()
    }
    return name + "{" + ",".join(f'{label}="{value}"' for label, value in escaped.items()) + "}"


def _wait(url, process, log):
    deadline_s = time.monotonic() + READY_WITHIN_S
    while not _is_ready(url):
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise NotStartedError(f"no Prometheus at {url}; its log:\n{log.read_text(errors='replace')}")
        time.sleep(POLL_S)


def _is_ready(url):
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=5, context=_anybody(url)):  # noqa: S310
            return True
    except urllib.error.HTTPError as error:
        with error:
            return error.code == HTTPStatus.UNAUTHORIZED
    except OSError:
        return False


def _anybody(url):
    """Return a context that trusts any certificate: here only whether somebody is there matters."""
    if not url.startswith("https"):
        return None
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
