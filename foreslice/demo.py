"""`foreslice demo`: one day, four policies, two at a time, with a page at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import Manager
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING

from rich.table import Table

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.errors import InputError
from foreslice import show
from foreslice.demo_view import View
from foreslice.replay import Day, Policy, Progress, Replayed, replay
from foreslice.report.page import page
from foreslice.report.table import DISCLOSURE, HEAD, readings, rows, summary
from simulator.tenants import shipped_tenants

if TYPE_CHECKING:
    from rich.console import Console

WORKERS = 2
LOOK_EVERY_S = 0.2


def run_demo(*, seed: int, out: Path, as_json: bool, length_s: int = 86400) -> None:
    """Replay a day under every policy, print the table, and leave summary.json and report.html in `out`.

    Raises `InputError` if `out` cannot be written.
    """
    _make(out)
    day = Day(seed=seed, length_s=length_s)
    console = show.console(to_stderr=as_json)
    days = _replayed(day, console)
    tenants = {t.workload.key: t for t in shipped_tenants(CapacityModel([H100_80GB]), seed)}
    figures = json.dumps(summary(days, tenants, seed), indent=2) + "\n"
    (out / "summary.json").write_text(figures, encoding="utf-8")
    (out / "report.html").write_text(page(days, tenants, seed, day.timing.lead_s), encoding="utf-8")
    if as_json:
        print(figures, end="")  # noqa: T201 -- the command's output
        return
    console.print(_table(days))
    for line in (*readings(days), DISCLOSURE):
        console.print(line)
    console.print(f"\n{out / 'report.html'}  {out / 'summary.json'}")


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in ("summary.json", "report.html"):
            (out / name).touch()
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})", where=str(out), fix="name a writable folder with --out"
        ) from error


def _replayed(day: Day, console: Console) -> list[Replayed]:
    with Manager() as manager, ProcessPoolExecutor(WORKERS) as pool, View(console, list(Policy)) as view:
        turns: Queue[Progress] = manager.Queue()
        # The long runs first, so that both workers finish at about the same time.
        order = sorted(Policy, key=lambda policy: policy is Policy.STATIC)
        futures = {policy: pool.submit(_one, policy, day, turns) for policy in order}
        for turn in _turns(turns, list(futures.values())):
            view.show(turn)
        return [futures[policy].result() for policy in Policy]


def _one(policy: Policy, day: Day, turns: Queue[Progress]) -> Replayed:
    return replay(policy, day, turns.put)


def _turns(turns: Queue[Progress], futures: list[Future[Replayed]]) -> Iterator[Progress]:
    while True:
        over = all(future.done() for future in futures)
        try:
            yield turns.get(timeout=LOOK_EVERY_S)
        except Empty:
            if over:
                return


def _table(days: list[Replayed]) -> Table:
    table = Table(box=None, pad_edge=False, title="one simulated day", title_justify="left")
    for name in HEAD:
        table.add_column(name, justify="left" if name == "policy" else "right")
    for row in rows(days):
        table.add_row(*row)
    return table
