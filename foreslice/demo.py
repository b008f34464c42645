"""`foreslice demo`: one day, four policies side by side, with a page at the end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import Manager
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING

from rich.table import Table

from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice import show
from foreslice.demo_view import View
from foreslice.replay import Day, replay, shipped_day
from foreslice.replayed import Policy, Progress, Replayed
from foreslice.report.advice import advice
from foreslice.report.page import page
from foreslice.report.table import disclosure, head, readings, rows, summary
from simulator.traffic import Tenant

if TYPE_CHECKING:
    from rich.console import Console

LOOK_EVERY_S = 0.2


def run_demo(*, seed: int, out: Path, as_json: bool, length_s: int = 86400) -> None:
    """Replay a day under every policy, print the table, and leave summary.json and report.html in `out`.

    Raises `InputError` if `out` cannot be written.
    """
    _make(out)
    day = shipped_day(seed, length_s)
    console = show.console(to_stderr=as_json)
    days = played(day, day.policies, console)
    tenants = tenants_of(day)
    figures = json.dumps(summary(days, tenants, day), indent=2) + "\n"
    (out / "summary.json").write_text(figures, encoding="utf-8")
    (out / "report.html").write_text(page(days, tenants, day), encoding="utf-8")
    if as_json:
        print(figures, end="")  # noqa: T201 -- the command's output
        return
    tell(days, day, "one simulated day", console)
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


def tenants_of(day: Day) -> dict[WorkloadKey, Tenant]:
    """Return who takes part."""
    return {tenant.workload.key: tenant for tenant in day.spec().tenants}


def tell(days: list[Replayed], day: Day, title: str, console: Console) -> None:
    """Print what came of each policy, and what that says."""
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name in head(days):
        table.add_column(name, justify="left" if name == "policy" else "right")
    for row in rows(days):
        table.add_row(*row)
    console.print(table)
    for line in (*readings(days, day), disclosure(day)):
        console.print(line)
    for line in advice(days):
        console.print(f"- {line}")


def played(day: Day, policies: Sequence[Policy], console: Console) -> list[Replayed]:
    """Return what comes of each policy, as many at a time as there are cores, and show how far they are."""
    workers = min(len(policies), len(os.sched_getaffinity(0)))
    with Manager() as manager, ProcessPoolExecutor(workers) as pool, View(console, policies) as view:
        turns: Queue[Progress] = manager.Queue()
        # The long runs first, so that all workers finish at about the same time.
        order = sorted(policies, key=lambda policy: policy is Policy.STATIC)
        futures = {policy: pool.submit(_one, policy, day, turns) for policy in order}
        for turn in _turns(turns, list(futures.values())):
            view.show(turn)
        return [futures[policy].result() for policy in policies]


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
