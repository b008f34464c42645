"""How a process is told to stop: by SIGTERM or SIGINT, wherever it is."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StoppedError(BaseException):
    """The process was told to stop, wherever it is: a start that waits for its sources is left, too."""


def obey_signals() -> None:
    """Have the main thread raise `StoppedError` at the first signal; later ones change nothing."""
    for number in _SIGNALS:
        signal.signal(number, _stop)


@contextmanager
def put_off() -> Iterator[None]:
    """Have signals wait until a block is through, for what cannot be ended while it is half started."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop(_number: int, _frame: FrameType | None) -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise StoppedError
