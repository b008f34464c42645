"""Certificates, passwords and tokens as Prometheus and its proxies want them; one line when refused."""

from urllib.request import Request, urlopen

import pytest

from fleet.errors import UnavailableError
from fleet.signal import Signal
from predictor.sources.access import Access
from predictor.sources.prometheus import PrometheusSource
from tests.builders.scrapes import LLAMA, Scraped, minutes
from tests.prometheus.conftest import MATCHES, past
from tests.prometheus.server import serving

DONE = "vllm:request_success_total"
PASSWORD = "open sesame"  # noqa: S105
HASH = "$2b$04$RaQs39aZ6Xf8mZlpn4FJwOn4tuA0IY.pjBP7tCPz0gy05LYGDZfSS"  # bcrypt of it


@pytest.fixture
def secret(tmp_path):
    """A function that writes a file with a secret."""

    def write(text):
        path = tmp_path / "secret"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def tls(certificates):
    """Web configuration for TLS."""
    return f"tls_server_config: {{cert_file: {certificates}/cert.pem, key_file: {certificates}/key.pem}}\n"


HISTORY = past(Scraped("a", DONE, minutes([0, 7])))


def read(url, **access):
    told = PrometheusSource(url, MATCHES, access=Access(**access)).samples(
        [Signal.COMPLETIONS], [LLAMA], 0, 60
    )
    return told[LLAMA].values[Signal.COMPLETIONS].tolist()


def refusal(url, **access):
    with pytest.raises(UnavailableError) as error:
        read(url, **access)
    where, said = str(error.value).split(": ", maxsplit=1)
    assert (url, False) == (where, "\n" in said)
    return said


def test_tls_with_a_private_ca(server_of, tls, certificates):
    url = server_of(HISTORY, web_config=tls)
    assert [7] == read(url, ca_file=certificates / "cert.pem")


def test_a_certificate_that_is_not_trusted(server_of, tls):
    said = refusal(server_of(web_config=tls))
    assert said.startswith("has a certificate that is not trusted (self-signed certificate")
    assert said.endswith("; give the CA that signed it as ca_file")


def test_a_certificate_of_somebody_else(server_of, tls, certificates):
    url = server_of(web_config=tls).replace("127.0.0.1", "localhost")
    said = refusal(url, ca_file=certificates / "cert.pem")
    assert said.startswith("has a certificate that is not trusted (Hostname mismatch")


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")  # rightly
def test_any_certificate_is_taken_if_somebody_said_so(server_of, tls):
    assert [7] == read(server_of(HISTORY, web_config=tls), is_insecure=True)


def test_plain_text_to_a_port_that_speaks_tls(server_of, tls):
    url = server_of(web_config=tls).replace("https:", "http:")
    assert "Client sent an HTTP request to an HTTPS server" in refusal(url)


def test_tls_to_a_port_that_speaks_plain_text(server_of):
    said = refusal(server_of().replace("http:", "https:"))
    assert said.startswith("does not speak TLS as we do (")


def test_basic_authentication(server_of, tls, certificates, secret):
    url = server_of(HISTORY, web_config=f"{tls}basic_auth_users: {{foreslice: {HASH}}}\n")
    ca_file = certificates / "cert.pem"
    assert [7] == read(url, username="foreslice", password_file=secret(PASSWORD), ca_file=ca_file)
    wrong = refusal(url, username="foreslice", password_file=secret("wrong"), ca_file=ca_file)
    assert "refuses who we are (HTTP 401); check token_file, or username and password_file" == wrong
    assert wrong == refusal(url, ca_file=ca_file)


def test_a_bearer_token_that_is_replaced(server_of, secret):
    """As Kubernetes does it: the file changes, and a proxy in front of Prometheus asks for the newest."""
    behind = server_of(HISTORY)
    wanted = ["first"]

    def guard(request):
        if f"Bearer {wanted[0]}" != request.headers["Authorization"]:
            request.send_error(403)
            return
        body = request.rfile.read(int(request.headers["Content-Length"]))
        onward = Request(behind + request.path, body, {"Content-Type": request.headers["Content-Type"]})  # noqa: S310
        with urlopen(onward) as answer:  # noqa: S310
            request.send_response(200)
            request.send_header("Content-Type", answer.headers["Content-Type"])
            request.end_headers()
            request.wfile.write(answer.read())

    with serving(guard) as address:
        access = Access(token_file=secret("first"), is_insecure=True)
        source = PrometheusSource(f"http://{address}", MATCHES, access=access)
        ask = lambda: source.samples([Signal.COMPLETIONS], [LLAMA], 0, 60)[LLAMA].values  # noqa: E731
        assert [7] == ask()[Signal.COMPLETIONS]
        wanted[0] = "second"
        with pytest.raises(UnavailableError, match="HTTP 403"):
            ask()
        secret("second")
        assert [7] == ask()[Signal.COMPLETIONS]


def test_a_web_page_of_prometheus_is_not_its_api(server_of):
    assert refusal(f"{server_of()}/graph").startswith("is no Prometheus (HTTP 404)")
