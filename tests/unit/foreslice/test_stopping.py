"""Signals that tell a process to stop."""

import os
import signal
import time
from threading import Event, Thread

import pytest

from foreslice.stopping import StoppedError, obey_signals, put_off


@pytest.fixture
def _obeyed():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    obey_signals()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def start(started, number):
    """Start something, and be told to stop halfway."""
    with put_off():
        started.append("first half")
        os.kill(os.getpid(), number)
        time.sleep(0.02)  # for another thread to take it, which is what would have it handled here
        started.append("second half")


@pytest.mark.usefixtures("_obeyed")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_being_started_is_started_before_it_is_stopped(number):
    started = []
    with pytest.raises(StoppedError):
        start(started, number)
    assert ["first half", "second half"] == started


@pytest.mark.usefixtures("_obeyed")
def test_a_signal_is_put_off_whichever_thread_takes_it():
    started, done = [], Event()
    beside = Thread(target=done.wait)
    beside.start()
    try:
        with pytest.raises(StoppedError):
            start(started, signal.SIGTERM)
    finally:
        done.set()
        beside.join()
    assert ["first half", "second half"] == started


@pytest.mark.usefixtures("_obeyed")
def test_the_second_signal_does_not_disturb_the_end():
    with pytest.raises(StoppedError):
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
