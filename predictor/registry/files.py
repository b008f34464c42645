"""Small files below any fsspec URL: a folder, `memory://`, or object storage whose package is installed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident

import fsspec
from fsspec.implementations.local import LocalFileSystem

from fleet.errors import InputError, UnavailableError


class Files:
    """Reads, writes and creates; whatever a store does when it cannot is `UnavailableError`.

    Args:
        url: Of the folder, a plain path too.

    Raises:
        InputError: The URL cannot be used, or what it needs is not installed.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._fs, self._root = fsspec.url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise InputError(
                f"cannot be used ({error})", where=f"store {url}", fix="give a folder or an fsspec URL"
            ) from error
        self._is_local = isinstance(self._fs, LocalFileSystem)

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, sorted; none where there is no such folder."""
        with self._answering():
            self._fs.invalidate_cache()
            try:
                paths = self._fs.ls(self._path(folder), detail=False)
            except (FileNotFoundError, NotADirectoryError):
                return []
            return sorted(str(path).rstrip("/").rpartition("/")[2] for path in paths)

    def read(self, path: str, most: int) -> bytes | None:
        """Return at most so many bytes of a file and one more, `None` where there is none."""
        with self._answering():
            try:
                data: bytes = self._fs.cat_file(self._path(path), start=0, end=most + 1)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None
            return data

    def write(self, path: str, data: bytes) -> None:
        """Write a file whole."""
        with self._answering():
            if self._is_local:
                _write(Path(self._path(path)), data, os.replace)
            else:
                self._fs.pipe_file(self._path(path), data)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that is not there yet, whole; `False`, and nothing is changed, if it is.

        Atomic in a folder (a link) and where the store can refuse (S3, GCS, Azure: fsspec/filesystem_spec
        issue 1693). Elsewhere it is read back, so that of two who write at once the one who was overwritten
        is told.
        """
        with self._answering():
            try:
                if self._is_local:
                    _write(Path(self._path(path)), data, os.link)
                else:
                    self._fs.pipe_file(self._path(path), data, mode="create")
            except FileExistsError:
                return False
        return self.read(path, len(data)) == data

    def _path(self, path: str) -> str:
        return f"{str(self._root).rstrip('/')}/{path}".rstrip("/")

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UnavailableError(f"store {self.url} does not answer: {error.strerror or error}") from error


def _write(path: Path, data: bytes, put: Callable[[Path, Path], None]) -> None:
    """Write beside the file, then put it in place in one call."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        put(beside, path)
    finally:
        beside.unlink(missing_ok=True)
