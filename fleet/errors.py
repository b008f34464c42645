"""What can go wrong, sorted by what the caller can do about it."""

from __future__ import annotations


class ForesliceError(Exception):
    """Base of every error that foreslice raises on purpose."""


class InputError(ForesliceError):
    """A person gave something that cannot be used: say what, where, and what to do.

    Attributes:
        what: What is wrong, in one clause.
        where: File, key path or object that holds it.
        fix: What to do about it.
    """

    def __init__(self, what: str, *, where: str, fix: str) -> None:
        super().__init__(f"{where}: {what}; {fix}")
        self.what = what
        self.where = where
        self.fix = fix


class UnavailableError(ForesliceError):
    """A source (metrics, cluster, model store) did not answer: retry later, hold until then."""


class ConflictError(ForesliceError):
    """The object was changed by someone else since it was read: read again, decide again."""


class RefusedError(ForesliceError):
    """The change is impossible or unsafe as asked: do not retry it unchanged, say why."""
