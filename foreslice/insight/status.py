"""``foreslice status``: whether it is safe right now, in the first line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foreslice import output, show
from foreslice.insight.look import Look, look
from foreslice.insight.standby import pool_as_json, pool_table
from foreslice.insight.verdict import Safety, State, Verdict, safety_of, verdicts_of

_STYLES = {
    State.CARRIED: "green",
    State.RISING: "cyan",
    State.UNKNOWN: "yellow",
    State.SHORT: "red",
    State.ABSENT: "red",
}


def print_status(config: Path, *, as_json: bool) -> None:
    """Print whether every workload carries what is asked of it, and what keeps foreslice from acting.

    Raises:
        InputError: Settings cannot be used.
        UnavailableError: Metrics or cluster did not answer.
    """
    seen = look(config)
    verdicts = verdicts_of(seen.tick, seen.looked_after)
    safety = safety_of(verdicts, seen.led_s_ago, is_acting=seen.settings.acting and not seen.is_simulated)
    if as_json:
        output.print_json(_as_json(seen, safety))
        return
    console = show.console()
    console.print(safety.line[0].upper() + safety.line[1:] + ".")
    if seen.is_simulated:
        console.print("Simulated: cards, nodes, the cluster's API, its delays and the engines.")
    table = show.table("workload", "is", "mode", "ready", "asked", "needed", "requests/s", "because")
    for each in verdicts:
        asked_per_s = _requests_per_s(seen, each)
        amounts = (_amount(amount) for amount in (each.ready, each.asked, each.need, asked_per_s))
        style = _STYLES[each.state]
        table.add_row(str(each.workload), each.state, each.mode, *amounts, each.why, style=style)
    console.print(table)
    if seen.tick.pool is not None and seen.tick.pool.slices:
        console.print(pool_table(seen.tick.pool))
    elif seen.tick.pool is not None:
        console.print("The standby pool has no slices yet.")
    for condition in seen.tick.conditions:
        console.print(condition, style="yellow")


def _amount(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:.2f}"


def _requests_per_s(seen: Look, of: Verdict) -> float | None:
    """Return the requests/s that are asked for now, `None` where that is unknown."""
    outlook = seen.tick.outlooks.get(of.workload)
    if of.asked is None or outlook is None or outlook.sustained_per_s is None:
        return None
    return of.asked * outlook.sustained_per_s


def _as_json(seen: Look, safety: Safety) -> dict[str, Any]:
    return {
        "is_safe": safety.is_safe,
        "line": safety.line,
        "is_simulated": seen.is_simulated,
        "led_s_ago": seen.led_s_ago,
        "gpus_in_use": seen.tick.fleet.gpus_in_use if seen.tick.fleet is not None else None,
        "conditions": list(seen.tick.conditions),
        "standby": pool_as_json(seen.tick.pool),
        "workloads": [
            {
                "workload": str(each.workload),
                "state": each.state,
                "mode": each.mode,
                "ready": each.ready,
                "asked": each.asked,
                "need": each.need,
                "requests_per_s": _requests_per_s(seen, each),
                "why": each.why,
            }
            for each in safety.verdicts
        ],
    }
