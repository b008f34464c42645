"""``foreslice bench openb``: every rule on every seed, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.progress import Progress
from rich.table import Table

from foreslice import output, show
from simulator.openb.lists import read_hosts, read_pods
from simulator.openb.protocol import RULES, Outcome, churn, fill

FIRST_SEED = 42
"""The authors' first seed; their draws are Go's, so that only distributions are the same."""

Json = dict[str, Any]


def run_openb(nodes: Path, pods: Path, *, seeds: int, leave: bool, as_json: bool) -> None:
    """Replay the lists and print what each rule allocated; progress on stderr."""
    hosts, asks = read_hosts(nodes), read_pods(pods)
    replay = churn if leave else fill
    chosen = range(FIRST_SEED, FIRST_SEED + seeds)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in RULES}
    with Progress(console=show.console(to_stderr=True), transient=True) as progress:
        task = progress.add_task("placing", total=len(RULES) * seeds)
        for name, make in RULES.items():
            for seed in chosen:
                outcomes[name].append(replay(hosts, asks, make, seed))
                progress.advance(task)
    result = {
        "variant": "churn" if leave else "fill",
        "gpus": sum(host.gpus for host in hosts),
        "pods": len(asks),
        "seeds": list(chosen),
        "rules": {name: summary(found) for name, found in outcomes.items()},
    }
    if as_json:
        output.print_json(result)
    else:
        show.console().print(_table(result))


def summary(outcomes: Sequence[Outcome]) -> Json:
    """Return mean and range over seeds, in per cent, rounded to hundredths."""
    allocated = [outcome.allocated_pct for outcome in outcomes]
    at_100 = [
        outcome.allocated_at_100_pct for outcome in outcomes if outcome.allocated_at_100_pct is not None
    ]
    return {
        "allocated_pct": round(fmean(allocated), 2),
        "allocated_pct_min": round(min(allocated), 2),
        "allocated_pct_max": round(max(allocated), 2),
        "allocated_at_100_pct": round(fmean(at_100), 2) if at_100 else None,
        "refused_pct": round(fmean(outcome.refused_pct for outcome in outcomes), 2),
    }


def _table(result: Json) -> Table:
    size = f"{result['gpus']} GPUs, {result['pods']} pods in the list, {len(result['seeds'])} seeds"
    table = Table(title=f"replay: {size}")
    table.add_column("rule")
    for heading in ("GPU allocated", "min", "max", "at 100 % asked", "refused"):
        table.add_column(heading, justify="right")
    for name, row in result["rules"].items():
        at_100 = row["allocated_at_100_pct"]
        table.add_row(
            name,
            f"{row['allocated_pct']:.2f} %",
            f"{row['allocated_pct_min']:.2f}",
            f"{row['allocated_pct_max']:.2f}",
            "-" if at_100 is None else f"{at_100:.2f}",
            f"{row['refused_pct']:.2f} %",
        )
    return table
