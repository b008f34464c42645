"""What a person sees while the demo runs: how far it is, what is forecast, decided and held."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from foreslice.replayed import Policy, Progress
from foreslice.report.figures import PALETTE

BAR_WIDTH = 24
CARDS_A_LINE = 8
FREE_STYLE = "grey37"
LINE_EVERY_S = 7200
"""Without a terminal to draw on, a line is printed every so many virtual seconds."""


class View:
    """Draws the newest progress of every policy; use it as a context manager."""

    def __init__(self, console: Console, policies: Sequence[Policy]) -> None:
        self._console = console
        self._turns: dict[Policy, Progress | None] = dict.fromkeys(policies)
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, turn: Progress) -> None:
        """Take in how far one policy is."""
        self._turns[turn.policy] = turn
        if self._console.is_terminal:
            self._live.update(self._picture())
        elif turn.at_s % LINE_EVERY_S == 0:
            self._console.print(_line(turn))

    def _picture(self) -> RenderableType:
        bars = Table(box=None, pad_edge=False, show_header=False)
        for policy, turn in self._turns.items():
            done = turn.done if turn is not None else 0.0
            said = f"{turn.cards_in_use} cards" if turn is not None else "waits"
            bars.add_row(
                policy.value, ProgressBar(total=1.0, completed=done, width=BAR_WIDTH), f"{done:.0%}", said
            )
        ours = self._turns.get(Policy.FORESLICE)
        return Group(bars, *(_ours(ours) if ours is not None else ()))


def _ours(turn: Progress) -> list[RenderableType]:
    table = Table(box=None, pad_edge=False, title=f"{_clock(turn)} simulated", title_justify="left")
    for head in ("", "tenant", "asked", "forecast", "ready", "runs on"):
        table.add_column(head, justify="right" if head in {"asked", "forecast", "ready"} else "left")
    for index, tenant in enumerate(turn.tenants):
        asked = f"{tenant.asked:.2f}" if tenant.asked is not None else "unknown"
        numbers = (asked, f"{tenant.expected:.2f}", f"{tenant.ready:.2f}")
        table.add_row(
            Text("\u2588", style=PALETTE[index % len(PALETTE)]), tenant.name, *numbers, tenant.runs_on
        )
    return [table, *_cards(turn.layout), Text(_step(turn), style="dim")]


def _cards(layout: Sequence[Sequence[int]]) -> list[Text]:
    """Return the cards in lines, each slice in the colour of who holds it."""
    lines = []
    for first in range(0, len(layout), CARDS_A_LINE):
        line = Text()
        for card in layout[first : first + CARDS_A_LINE]:
            for holder in card:
                style = PALETTE[(holder - 1) % len(PALETTE)] if holder else FREE_STYLE
                line.append("\u2588" if holder else "\u00b7", style=style)
            line.append("  ")
        lines.append(line)
    return lines


def _line(turn: Progress) -> str:
    return f"{_clock(turn)} {turn.policy.value:<17} {turn.cards_in_use:>3} cards  {_step(turn)}"


def _step(turn: Progress) -> str:
    if turn.step is None:
        return ""
    return f"{turn.step.workload.name}: {turn.step.variant} at {turn.step.replicas}: {turn.step.because}"


def _clock(turn: Progress) -> str:
    return datetime.fromtimestamp(turn.at_s, UTC).strftime("%H:%M")
