"""Who we say we are to a Prometheus, and whom we believe; secrets stay secret."""

import base64

import pytest
from requests import Request

from fleet.errors import InputError, UnavailableError
from predictor.sources.access import Access, checked_url, session_of, shown

QUERY = "https://prometheus:9090/api/v1/query"


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text("s3cret\n")
    return path


def sent(access, params=None):
    """What would go over the wire."""
    session = session_of(access)
    return session.prepare_request(Request("POST", QUERY, params=params))


def basic(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("url", ["http://p:9090", "https://p/select/0/prometheus", "http://[::1]:9090"])
def test_addresses_may_have_a_path(url):
    assert url == checked_url(url, Access())
    assert url == checked_url(url + "/", Access())


@pytest.mark.parametrize("url", ["", "p:9090", "ftp://p", "https://", "https://p/?a=b", "https://p/#a"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(InputError, match="no address of a Prometheus"):
        checked_url(url, Access())


def test_credentials_in_an_address_are_refused_and_not_repeated():
    with pytest.raises(InputError, match="holds credentials") as refused:
        checked_url("https://me:s3cret@prometheus:9090/x", Access())
    assert "s3cret" not in str(refused.value)
    assert str(refused.value).startswith("https://prometheus:9090/x: ")


@pytest.mark.parametrize(
    ("expected", "url"),
    [
        ("https://p:1/x", "https://a:b@p:1/x"),
        ("https://p", "https://a:b@c@p"),
        ("https://p/a@b", "https://p/a@b"),
        ("p:1", "a:b@p:1"),
    ],
)
def test_an_address_is_shown_without_credentials(expected, url):
    assert expected == shown(url)


@pytest.mark.parametrize("kind", ["token_file", "password_file"])
def test_credentials_do_not_travel_in_the_open_unless_that_is_said(kind, secret):
    with pytest.raises(InputError, match="without TLS"):
        checked_url("http://prometheus:9090", Access(**{kind: secret}))
    checked_url("http://prometheus:9090", Access(**{kind: secret}, is_insecure=True))
    checked_url("https://prometheus:9090", Access(**{kind: secret}))


@pytest.mark.parametrize("kind", ["token_file", "password_file"])
@pytest.mark.parametrize("content", [None, b"", b" \n", b"two\nlines", b"\xff\xfe"])
def test_a_file_without_a_secret_is_refused_and_never_shown(kind, content, tmp_path):
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        checked_url("https://prometheus:9090", Access(**{kind: path}))
    assert str(path) == refused.value.where
    assert "lines" not in refused.value.what


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_without_certificates_is_refused(content, tmp_path):
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match="PEM") as refused:
        checked_url("https://prometheus:9090", Access(ca_file=path))
    assert str(path) == refused.value.where


def test_a_bearer_token_is_read_anew_for_every_request(secret):
    assert "Bearer s3cret" == sent(Access(token_file=secret)).headers["Authorization"]
    access = Access(token_file=secret)
    session = session_of(access)
    secret.write_text("renewed")
    assert "Bearer renewed" == session.prepare_request(Request("POST", QUERY)).headers["Authorization"]


def test_basic_authentication_takes_any_characters(secret):
    secret.write_text("pässword:1")
    headers = sent(Access(username="mé", password_file=secret)).headers
    assert basic("mé:pässword:1") == headers["Authorization"]


def test_nothing_is_said_about_us_that_was_not_given(tmp_path, monkeypatch):
    """Not even what `~/.netrc` would have said: it is meant for somebody else."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine prometheus login me password s3cret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    assert "Authorization" not in sent(Access()).headers


def test_a_secret_that_has_gone_is_no_answer(secret):
    session = session_of(Access(token_file=secret))
    secret.unlink()
    with pytest.raises(UnavailableError, match="cannot be read"):
        session.prepare_request(Request("POST", QUERY))


def test_queries_travel_in_the_body():
    """A query over all workloads is longer than what proxies take as an address."""
    request = sent(Access(), {"query": "up{a=~'b|c'}", "time": "60"})
    assert (QUERY, "query=up%7Ba%3D~%27b%7Cc%27%7D&time=60") == (request.url, request.body)
    assert str(len(request.body)) == request.headers["Content-Length"]
    assert "application/x-www-form-urlencoded" == request.headers["Content-Type"]


def test_certificates_are_checked_unless_somebody_said_not_to(tmp_path):
    assert session_of(Access()).verify is True
    assert str(tmp_path / "ca.pem") == session_of(Access(ca_file=tmp_path / "ca.pem")).verify
    assert session_of(Access(is_insecure=True)).verify is False
