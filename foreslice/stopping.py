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
    """Have signals wait until a block of the main thread is through, for what cannot be ended half started.

    The handlers are put by, not the signals blocked: a mask is one thread's, and any other thread of the
    process would take the signal and have the main thread handle it at once.
    """
    told: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        told.append(number)

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if told:
            signal.raise_signal(told[0])


def _stop(_number: int, _frame: FrameType | None) -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise StoppedError
