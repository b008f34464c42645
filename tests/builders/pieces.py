"""Work that takes its time; a module of its own, so that a worker that starts anew has little to import."""

import os
import time
from pathlib import Path


def slow_square(item, path):
    """Leaves a mark when it starts, and takes its time."""
    with Path(path).open("a", encoding="utf-8") as marks:
        marks.write(f"{os.getpid()}\n")
    time.sleep(0.3)
    return item**2
