"""What the kept plans of a workload say of its past, and of where it is going."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from actuator.evidence import news, starts, unanswered
from actuator.manifest import Json, key_of, version_of
from actuator.objects.changes import Changes
from actuator.objects.plans import (
    fall_of,
    first,
    is_open,
    newest_first,
    proven_by,
    record_of,
    target_of,
    trials_of,
    was_made,
)
from actuator.ports import PlanRecord
from fleet.change import StepState, Verb
from fleet.cluster import Standing
from fleet.past import Fall, Start
from fleet.shape import Configuration, Shape
from fleet.trial import Trial
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class History:
    """What plans say; what is not said here is as in `fleet.cluster.Standing`.

    Attributes:
        records: The plans, newest first.
        proven: Shapes of which they say that they are proven.
        trials: How far shapes have come in proving themselves, as the newest plan has it.
        added: Shapes to which they brought replicas.
    """

    records: tuple[PlanRecord, ...] = ()
    changed_at_s: float | None = None
    reshaped_at_s: float | None = None
    moving_to: Configuration | None = None
    moving_from: Configuration | None = None
    before: Configuration | None = None
    falls: tuple[Fall, ...] = ()
    starts: tuple[Start, ...] = ()
    proven: frozenset[Shape] = frozenset()
    trials: Mapping[Shape, Trial] = field(default_factory=dict)
    added: frozenset[Shape] = frozenset()


NONE = History()
"""Of a workload without plans."""


_Stamp = tuple[WorkloadKey, str]


class PlanReader:
    """Reads plans again and again; of a workload of which no plan came, changed or went nothing is read.

    Plans as read back are told apart by name and resourceVersion. What is no longer there is forgotten.
    """

    def __init__(self) -> None:
        self._changes = Changes()
        self._plans: defaultdict[WorkloadKey, dict[int, Json]] = defaultdict(dict)
        self._histories: dict[WorkloadKey, History] = {}
        self._records: dict[_Stamp, PlanRecord] = {}

    def read(self, plans: Sequence[Json]) -> Mapping[WorkloadKey, History]:
        """Return the history of every workload that has plans."""
        gone, came = self._changes.since(plans)
        for plan in gone:
            del self._plans[target_of(plan)][id(plan)]
        for plan in came:
            self._plans[target_of(plan)][id(plan)] = plan
        for target in {target_of(plan) for plan in (*gone, *came)}:
            if self._plans[target]:
                self._histories[target] = history_of(map(self.record, self._plans[target].values()))
            else:
                del self._plans[target], self._histories[target]
        for stamp in map(_stamp, gone):
            self._records.pop(stamp, None)
        if len(self._records) > len(plans):
            # Some were asked for between two readings only.
            there = set(map(_stamp, plans))
            self._records = {stamp: held for stamp, held in self._records.items() if stamp in there}
        return dict(self._histories)

    def record(self, plan: Json) -> PlanRecord:
        """Return a plan as read back; what it said the last time if it did not change."""
        stamp = _stamp(plan)
        record = self._records.get(stamp) or record_of(plan)
        self._records[stamp] = record
        return record


def history_of(plans: Iterable[PlanRecord]) -> History:
    """Return what the plans of one workload say."""
    records = newest_first(plans)
    if not records:
        return NONE
    trials = {shape: trial for record in reversed(records) for shape, trial in trials_of(record).items()}
    open_plan = next((record for record in records if is_open(record)), None)
    return History(
        records=records,
        changed_at_s=_last_made_at_s(records),
        reshaped_at_s=_last_made_at_s(record for record in records if record.change.is_reshape),
        moving_to=open_plan.change.goal if open_plan is not None else None,
        moving_from=open_plan.change.start if open_plan is not None else None,
        before=first(records).change.start,
        falls=tuple(fall for record in records if (fall := fall_of(record)) is not None),
        starts=tuple(starts(records)),
        # What was proven once and failed since is not.
        proven=frozenset(shape for record in records for shape in proven_by(record))
        - {shape for shape, trial in trials.items() if trial.failures and trial.proven_at_s is None},
        trials=trials,
        added=frozenset(
            step.shape
            for record in records
            for step in record.change.steps
            if step.verb in {Verb.SCALE_UP, Verb.SWITCH}
        ),
    )


def with_history(standing: Standing, history: History) -> Standing:
    """Return the standing with when it changed, where it is going, and whether there is news of that.

    Replicas of a shape of which no kept plan added any stand longer than the plans reach back: it is proven.
    So is what its owner ran before foreslice came.
    """
    old = {variant.shape for variant in standing.variants if variant.replicas} - history.added
    old.update(history.before or ())
    return replace(
        standing,
        changed_at_s=history.changed_at_s,
        reshaped_at_s=history.reshaped_at_s,
        moving_to=history.moving_to,
        moving_from=history.moving_from,
        before=history.before,
        falls=(*history.falls, *_under_way(history, standing)),
        starts=history.starts,
        proven=tuple(sorted(history.proven | old)),
        trials=history.trials,
        has_news=any(True for record in history.records for _ in news(record, standing)),
        unanswered=frozenset[str]().union(*(unanswered(record, standing) for record in history.records)),
    )


def _stamp(plan: Json) -> _Stamp:
    return key_of(plan), version_of(plan)


def _under_way(history: History, standing: Standing) -> Iterator[Fall]:
    """Yield a switch that is written and not done yet: what is limited counts it from then on."""
    for record in history.records:
        for step, kept in zip(record.change.steps, record.steps, strict=True):
            is_claimed = step.verb is Verb.SWITCH and kept.state is StepState.CLAIMED
            if is_claimed and standing.own.shape == step.shape:
                yield Fall(kept.at_s, record.change.start, Configuration({step.shape: step.replicas}))


def _last_made_at_s(plans: Iterable[PlanRecord]) -> float | None:
    made = (
        kept.at_s
        for record in plans
        for step, kept in zip(record.change.steps, record.steps, strict=True)
        if was_made(step, kept)
    )
    return max(made, default=None)
