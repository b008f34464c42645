"""Files below a URL: the same answers of a folder and of what is no folder."""

from concurrent.futures import ThreadPoolExecutor

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import register_implementation

from fleet.errors import InputError, UnavailableError
from predictor.registry.files import Files

MOST = 100


@pytest.fixture(params=["folder", "file", "memory"])
def files(request, tmp_path):
    url = {
        "folder": str(tmp_path / "s"),
        "file": f"file://{tmp_path}/s",
        "memory": "memory://" + tmp_path.name,
    }
    yield Files(url[request.param])
    fsspec.filesystem("memory").store.clear()


def test_nothing_is_there_at_first(files):
    assert [] == files.names()
    assert [] == files.names("a/b")
    assert files.read("a/b", MOST) is None


def test_what_is_written_is_read(files):
    files.write("a/b", b"one")
    files.write("a/b", b"two")
    files.write("a/c/d", b"three")
    assert b"two" == files.read("a/b", MOST)
    assert ["a"] == files.names()
    assert ["b", "c"] == files.names("a")


def test_a_file_is_read_no_further_than_one_byte_too_many(files):
    files.write("a", bytes(1000))
    assert MOST + 1 == len(files.read("a", MOST))


def test_a_folder_is_no_file_and_a_file_no_folder(files):
    files.write("a/b", b"one")
    assert files.read("a", MOST) is None
    assert files.read("a/b/c", MOST) is None
    assert files.names("a/b/c") == []


def test_only_the_first_creates(files):
    assert files.create("a/1", b"first")
    assert not files.create("a/1", b"second")
    assert b"first" == files.read("a/1", MOST)
    assert ["1"] == files.names("a")


def test_of_many_at_once_one_creates(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda i: Files(str(tmp_path)).create("1", b"%d" % i), range(40)))
    assert 1 == sum(made)
    assert b"%d" % made.index(True) == Files(str(tmp_path)).read("1", MOST)


class LastWins(MemoryFileSystem):
    """A store that cannot refuse, with somebody who writes right after us."""

    protocol = "lastwins"
    store = {}  # noqa: RUF012 -- as its base has it

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        super().pipe_file(path, value)
        if mode == "create":
            super().pipe_file(path, b"theirs")


def test_who_is_overwritten_is_told():
    register_implementation("lastwins", LastWins, clobber=True)
    assert not Files("lastwins://s").create("a/1", b"ours")


@pytest.mark.parametrize("url", ["nonsense://a", "s3://bucket/of/models"])
def test_a_url_that_cannot_be_used_is_one_line(url):
    with pytest.raises(InputError, match=f"store {url}: cannot be used"):
        Files(url)


def test_a_folder_that_cannot_be_written_is_unavailable(tmp_path):
    (tmp_path / "s").write_text("a file where a folder should be")
    with pytest.raises(UnavailableError, match="does not answer"):
        Files(str(tmp_path / "s")).write("a/b", b"one")
