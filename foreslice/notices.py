"""What of a tick is news to the owner of a workload."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from actuator.notice import Notice
from actuator.outcome import Outcome, StepResult
from fleet.workload import WorkloadKey
from foreslice.tick import Tick

AGAIN_AFTER_S = 3600.0
"""What still holds is said again after this long: Kubernetes forgets Events after an hour."""

_NUMBERS = re.compile(r"\d+(\.\d+)?")


class Notices:
    """Finds the news in ticks: steps that were done or failed, and once what keeps others from being done."""

    def __init__(self) -> None:
        # When something was last said, by what it is without its figures, which change all the time.
        self._said_s: dict[tuple[WorkloadKey | None, str, str], float] = {}

    def of(self, tick: Tick, workloads: Collection[WorkloadKey]) -> Iterator[Notice]:
        """Yield what is new in a tick that looks after these workloads."""
        lately_s = tick.at_s - AGAIN_AFTER_S
        self._said_s = {said: at_s for said, at_s in self._said_s.items() if at_s > lately_s}
        for result in tick.results:
            notice = _of_step(result, tick.at_s)
            if result.is_write or not self._was_said(notice):
                yield notice
        named = {f"{key}: ": key for key in workloads}
        for condition in tick.conditions:
            prefix = next((prefix for prefix in named if condition.startswith(prefix)), "")
            note = condition.removeprefix(prefix)
            notice = Notice(named.get(prefix), "NotDone", note, is_warning=True, at_s=tick.at_s)
            if not self._was_said(notice):
                yield notice

    def _was_said(self, notice: Notice) -> bool:
        """Return whether this was said lately; if not, it is now."""
        said = notice.about, notice.reason, _NUMBERS.sub("#", notice.note)
        return self._said_s.setdefault(said, notice.at_s) != notice.at_s


def _of_step(result: StepResult, at_s: float) -> Notice:
    """Return what became of a step, and why."""
    step, kind = result.step, "".join(word.title() for word in result.step.verb.split("-"))
    what = f"{step.variant} to {step.replicas} x {step.shape}"
    match result.outcome:
        case Outcome.DONE | Outcome.UNCONFIRMED | Outcome.UNDER_WAY:
            reason = kind
        case Outcome.FAILED:
            reason = f"{kind}Failed"
        case Outcome.HELD | Outcome.PROPOSED:
            reason = f"{kind}Held"
    note = f"{what}: {result.reason}"
    return Notice(result.target, reason, note, is_warning=result.outcome is Outcome.FAILED, at_s=at_s)
