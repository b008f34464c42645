"""The command line: ``foreslice``.

Exit codes: 0 done; 1 a bug in foreslice; 2 what was given cannot be used; 3 a source did not
answer; 4 what was asked about is not so; 130 stopped by the keyboard; 141 nobody reads what it prints.
"""

import errno
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from fleet.errors import ConflictError, InputError, UnavailableError
from foreslice import output as standard_output
from foreslice.commands import insight, leave, loop
from foreslice.commands.backtest import backtest
from foreslice.commands.bench import bench
from foreslice.commands.capacity import capacity
from foreslice.commands.config import config
from foreslice.commands.discover import discover
from foreslice.commands.doctor import doctor
from foreslice.commands.history import history
from foreslice.commands.inventory import inventory
from foreslice.commands.layout import layout
from foreslice.commands.metrics import metrics
from foreslice.commands.models import models
from foreslice.commands.options import (
    EXIT_BUG,
    EXIT_INPUT,
    EXIT_STOPPED,
    EXIT_UNAVAILABLE,
    EXIT_UNREAD,
)
from foreslice.commands.plan import plan, snapshot
from foreslice.commands.pool import pool
from foreslice.commands.recipe import recipe
from foreslice.commands.replay import replay
from foreslice.commands.savings import savings
from foreslice.commands.sharing import sharing
from foreslice.commands.train import train
from foreslice.commands.what_if import what_if

app = typer.Typer(
    name="foreslice", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
_COMMANDS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "The loop": {"run": loop.run, "demo": loop.demo},
    "Start from what is there": {"discover": discover, "doctor": doctor, "config": config},
    "See what is and why": {
        "status": insight.status,
        "explain": insight.explain,
        "graduation": insight.graduation,
        "history": history,
        "sharing": sharing,
        "inventory": inventory,
        "layout": layout,
        "metrics": metrics,
    },
    "Tell it what to do, or not to": {
        "pause": leave.pause,
        "resume": leave.resume,
        "boost": leave.boost,
        "hold": leave.hold,
        "approve": leave.approve,
        "restore": leave.restore,
        "release": leave.release,
        "watchdog": leave.watchdog,
    },
    "Sizes and plans": {
        "capacity": capacity,
        "what-if": what_if,
        "plan": plan,
        "snapshot": snapshot,
    },
    "What it is worth": {"replay": replay, "savings": savings, "pool": pool, "bench": bench},
    "Models of demand": {"backtest": backtest, "train": train, "models": models, "recipe": recipe},
}
for _panel, _commands in _COMMANDS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_panel)
        else:
            app.command(_name, rich_help_panel=_panel)(_command)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"foreslice {version('foreslice')}")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Size the GPU slices of an inference fleet ahead of its traffic."""


def main() -> None:
    """Run the command that the arguments name; every error is one clear line and an exit code."""
    try:
        _run_app()
    except BrokenPipeError:  # as in `foreslice config schema | head -1`: no trouble, so nothing to say
        _leave("", EXIT_UNREAD)
    except (InputError, ConflictError) as error:
        _leave(str(error), EXIT_INPUT)
    except UnavailableError as error:
        _leave(str(error), EXIT_UNAVAILABLE)
    except KeyboardInterrupt:
        _leave("stopped", EXIT_STOPPED)
    except Exception as error:  # noqa: BLE001 -- the last edge: a user never meets a traceback
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _leave(f"output cannot be written ({error.strerror}); make room for it", EXIT_INPUT)
        _leave(f"bug in foreslice: {_where(error)}: {type(error).__name__}: {error}", EXIT_BUG)


def _run_app() -> None:
    """Run the command, and bring out all that it printed; typer's own end for a broken pipe is undone."""
    try:
        app()
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):
            raise left.__context__ from None
        raise
    finally:
        if sys.stdout is not None:  # as it is where it was closed before we were started
            _flush()


def _flush() -> None:
    """Bring out what was printed; what nobody takes is let go."""
    try:
        sys.stdout.flush()
    except OSError:
        standard_output.let_go()
        raise


def _where(error: Exception) -> str:
    """Return the innermost file and line of an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else "?"


def _leave(message: str, code: int) -> None:
    for line in message.splitlines():
        typer.echo(f"foreslice: {line}", err=True)
    sys.exit(code)
