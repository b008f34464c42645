"""Runs a program that dies with the process that started it, however that one ends.

`python leash.py PARENT PROGRAM ARGUMENTS...` becomes the program, under the same process id; `leashed` writes
that for us as the parent. Start it from a thread that lives as long as the process: Linux sends the signal
when the starting thread ends (prctl(2)).
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def leashed(program, *arguments):
    """Return the command that starts a program so that it does not outlive this process."""
    return [sys.executable, __file__, str(os.getpid()), program, *arguments]


def main(parent, *command):
    """Ask the kernel for SIGKILL on the parent's death, unless it is dead already, and become the program."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == int(parent):
        os.execv(command[0], command)  # noqa: S606  the arguments are a list already


if __name__ == "__main__":
    main(*sys.argv[1:])
