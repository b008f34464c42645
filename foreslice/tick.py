"""The loop: observe, check the need, decide, diff, step.

Three jobs. `forecast` runs when a bucket closes and `plan` after it or every few minutes, both off
the tick's thread; `tick` uses their newest results with their age and never waits for them. Nothing
in memory is needed to go on: a new process reads it from the cluster and the metrics source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from actuator.crowd import Crowd
from actuator.diff import diff
from actuator.execute import Executor
from actuator.guards import halt
from actuator.outcome import StepResult
from actuator.ports import Cluster
from actuator.publish import Publisher
from actuator.standby.keeper import Done
from actuator.ways import as_described
from allocator.decide import Decision, Question, additions, cards_if_packed, plan
from allocator.lead import lead_times_s
from allocator.need import Evidence, Need, Timing, need_of, reactive_rate_per_s
from allocator.renewal import renewed
from allocator.room import Rooms
from allocator.target import Target, target
from fleet.cluster import Fleet
from fleet.demand import NowReading, Unserved
from fleet.errors import UnavailableError
from fleet.shape import Configuration
from fleet.workload import Tier, Workload, WorkloadKey
from foreslice.advice import advices
from foreslice.boosts import announced
from foreslice.clock import Clock
from foreslice.holding import holding_of
from foreslice.lookout import Lookout, Sight
from foreslice.moves import with_plans
from foreslice.newest import SAME_MOMENT_S
from foreslice.notches import Learnt
from foreslice.outlook import Observatory, Outlook
from foreslice.quiet import Quiet
from foreslice.rules import Rules
from foreslice.standby.terms import PoolView
from foreslice.terms import given_up, ready_shapes, terms_of, unknowns, within_reach_of
from foreslice.trials import Trials
from foreslice.under_way import Ahead
from foreslice.unknown import UnknownDemand
from predictor.ports import MetricsSource
from predictor.shared import Beside

FORECAST_ADDS_FOR_S = 1800.0
"""A forecast older than this adds nothing any more: blind for so long, what runs stays as it is."""

PLAN_HOLDS_FOR_S = 600.0
"""A plan older than this is not followed; a newer one is due every few minutes."""


@dataclass(frozen=True, slots=True)
class Tick:
    """What one tick saw, decided and did.

    Attributes:
        at_s: When, seconds since the epoch.
        fleet: The cluster as it stood, `None` without a cluster.
        outlooks: What was known and expected, by workload.
        needs: Work needed, by workload.
        timing: Times that were looked across, by workload.
        decisions: What was decided, in the order in which room was given out.
        results: What became of each step.
        conditions: Why something is not done, one line each; empty when all is well.
        readings: What the newest readings of demand said, by workload; none where they were not read.
        target: Where the whole fleet should be as of the last plan, `None` where that is not worked out.
        shadow: How a challenger of the model that workloads share does beside the champion, `None` = there is
            none.
        leads: Whether this process is the one that may write, `None` where none may.
        pool: How the standby pool stood when it was last turned, `None` = there is none.
    """

    at_s: float
    fleet: Fleet | None = None
    outlooks: Mapping[WorkloadKey, Outlook] = field(default_factory=dict)
    needs: Mapping[WorkloadKey, Need] = field(default_factory=dict)
    timing: Mapping[WorkloadKey, Timing] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    results: tuple[StepResult, ...] = ()
    conditions: tuple[str, ...] = ()
    readings: Mapping[WorkloadKey, NowReading] = field(default_factory=dict)
    target: Target | None = None
    shadow: Beside | None = None
    leads: bool | None = None
    pool: PoolView | None = None

    @property
    def cards_if_packed(self) -> int:
        """Cards that the allocated devices would take under free layouts."""
        return cards_if_packed(self.fleet) if self.fleet is not None else 0


class Loop:
    """Turns the three jobs over one cluster, one metrics source and one clock.

    Args:
        workloads: Workloads to look after.
        timing: Times to look across; how long changes take is what is reckoned with until it was seen.
        clock: Time.
        metrics: Where demand is read from.
        observatory: Keeps the forecasts.
        cluster: What is acted on, `None` = observe, forecast and report.
        rules: What may be done, and when.
        learnt: What forecasts of the workloads share.

    Attributes:
        layouts: Keeps layouts of nodes ahead of need, `None` = they are taken as they are.
        forecast_trouble: Why the newest forecasts are not as new as they should be, empty = they are.
    """

    def __init__(
        self,
        workloads: tuple[Workload, ...],
        timing: Timing,
        clock: Clock,
        metrics: MetricsSource,
        observatory: Observatory,
        cluster: Cluster | None,
        rules: Rules,
        learnt: Learnt,
    ) -> None:
        self._workloads = workloads
        self._learnt = learnt
        self._standby = rules.standby
        self._timing = timing
        self._clock = clock
        self._observatory = observatory
        self._cluster = as_described(cluster, workloads) if cluster is not None else None
        self._lookout = Lookout(workloads, metrics, self._cluster)
        self._rules = rules
        self._executor = (
            Executor(
                self._cluster,
                dry_run=not rules.acting,
                moves_in_flight=rules.at_once,
                limits=rules.limits,
                starts_per_node=rules.starts_per_node,
            )
            if self._cluster is not None
            else None
        )
        self._holding = holding_of(self._cluster, workloads, rules)
        self.layouts: Ahead | None = None
        self._trials, self._quiet, self._rooms = Trials(), Quiet(), Rooms()
        self._publisher = Publisher(self._cluster) if self._cluster is not None else None
        self._outlooks = observatory.blind()
        self.forecast_trouble = "no forecast has been made yet"
        self._unknown = UnknownDemand(FORECAST_ADDS_FOR_S)
        self._planned: Mapping[WorkloadKey, Decision] = {}
        self._planned_at_s = float("-inf")
        self._asked: Question | None = None
        self._target: Target | None = None

    def forecast(self) -> None:
        """Read the buckets that closed and forecast anew; on trouble the last forecasts stay and age."""
        self._learnt.shelf.look(self._clock.now_s())
        try:
            fleet, _ = self._lookout.fleet()
            if fleet is not None:
                times = self._timings(fleet, self._clock.now_s())
                self._learnt.leads_s.update({key: one.regrow_s for key, one in times.items()})
            self._outlooks = self._observatory.refresh(self._clock.now_s(), ready_shapes(fleet))
            self.forecast_trouble = ""
            self._learnt.notches.turn(self._clock.now_s(), self._unserved())
        except UnavailableError as error:
            self.forecast_trouble = f"forecasts are not renewed: {error}"

    def _unserved(self) -> Mapping[Tier, Sequence[Unserved]]:
        """Return what forecasts left unserved of the workloads that they decide for, by tier."""
        found: dict[Tier, list[Unserved]] = {}
        for workload in self._workloads:
            forecast = self._outlooks[workload.key].forecast
            worth = forecast.worth if forecast is not None else None
            if worth is not None and worth.is_used and worth.unserved is not None:
                found.setdefault(workload.tier, []).append(worth.unserved)
        return found

    def plan(self) -> None:
        """Work out what may be moved or removed; the next ticks follow it where it still fits."""
        sight = self._look(SAME_MOMENT_S)
        seen, question = self._weighed(sight)
        self._asked = question
        if question is not None:
            self._planned = {decision.workload: decision for decision in plan(question, self._aims(question))}
            self._planned_at_s = seen.at_s
        if self._standby is not None and seen.fleet is not None:
            if self._leads():
                self._standby.learn(seen.at_s)
            self._standby.plan(seen.needs, seen.outlooks, seen.timing, seen.fleet, seen.at_s)
        if self.layouts is not None:
            self.layouts.plan(lambda more_s: self._weighed(sight, more_s)[1], seen.at_s)

    def standby(self) -> tuple[Done, ...]:
        """Turn the standby pool: wake who was last seen to lack capacity, and put back who does not."""
        if self._standby is None or self._cluster is None:
            return ()
        return self._standby.turn(self._clock.now_s(), may_act=self._leads())

    def _leads(self) -> bool:
        return self._rules.acting and self._cluster is not None and self._cluster.is_leader()

    def aim(self) -> None:
        """Work out where the whole fleet should be for what was planned for, and how few cards would do."""
        self._target = target(self._asked) if self._asked is not None else None

    def _aims(self, question: Question) -> Mapping[WorkloadKey, Configuration]:
        """Return the newest target's configurations, for what is needed now; additions never wait for it."""
        return renewed(self._target, question) if self._target is not None else {}

    def question(self) -> Question | None:
        """Return what would be decided on now, `None` without a cluster to look at."""
        return self._weighed(self._look())[1]

    def tick(self) -> Tick:
        """Observe, check the need, decide, diff and step once."""
        seen, question = self._weighed(self._look())
        if question is None or self._executor is None or self._cluster is None:
            return seen
        if self._standby is not None and seen.fleet is not None:
            self._standby.asks.note(seen.needs, seen.outlooks, seen.fleet, seen.at_s)
        self._quiet.note(seen.needs, seen.timing, seen.at_s)
        read_at_s = self._lookout.read_at_s
        is_leader = self._cluster.is_leader()
        stops = halt(
            view_age_s=self._cluster.age_s(),
            metrics_age_s=None if read_at_s is None else seen.at_s - read_at_s,
            is_leader=is_leader,
        )
        stops = replace(stops, moves=(*stops.moves, *self._rules.frozen(seen.at_s)))
        self._trials.turn(question.fleet, seen.readings, seen.timing, seen.at_s)
        if self._rules.acting and not stops.everything:
            self._trials.keep(self._cluster)
        due = tuple(self._unknown.made_safe(additions(question), question.fleet, seen.at_s))
        is_followed = seen.at_s - self._planned_at_s <= PLAN_HOLDS_FOR_S
        planned = self._planned if is_followed and not (stops.everything or stops.moves) else {}
        decisions = with_plans(due, planned, question.fleet, seen.at_s)
        changes = diff(question.fleet, decisions, seen.at_s)
        of = partial(
            terms_of,
            self._workloads,
            question.fleet,
            seen.outlooks,
            readings=seen.readings,
            timing=seen.timing,
        )
        needs = {key: need for (key, _), need in question.needs.items()}
        results = self._executor.run(changes, of(needs), seen.at_s, stops, self._rules.budgets_at(seen.at_s))
        conditions = (*seen.conditions, *stops.everything, *stops.moves)
        if self._holding is not None and not stops.everything:
            conditions += self._holding.turn(question.fleet, due, self._planned, seen.at_s)
        if self.layouts is not None:
            conditions += self.layouts.turn(question, of(seen.needs), stops, seen.at_s)
        if self._publisher is not None and self._rules.acting and not stops.everything:
            conditions += self._publisher.turn(advices(decisions, self._workloads, seen.at_s))
        return replace(
            seen,
            decisions=decisions,
            results=results,
            conditions=conditions,
            target=self._target,
            leads=is_leader if self._rules.acting else None,
        )

    def _look(self, within_s: float = 0.0) -> Sight:
        """Read cluster and metrics source, each once; metrics that were read within so long are not again."""
        sight = self._lookout.look(self._clock.now_s(), self._outlooks, within_s)
        trouble = (*filter(None, [self.forecast_trouble]), *self._learnt.shelf.trouble)
        return replace(sight, conditions=(*trouble, *sight.conditions))

    def _weighed(self, sight: Sight, more_s: float = 0.0) -> tuple[Tick, Question | None]:
        """Return what was seen, and the question to decide on, `None` without a cluster to look at.

        `more_s` is how much longer additions are taken to need than they do.
        """
        at_s, fleet, outlooks, readings = sight.at_s, sight.fleet, sight.outlooks, sight.readings
        timing = self._timings(fleet, at_s, more_s)
        needs = {
            workload.key: self._need(
                workload, outlooks[workload.key], readings.get(workload.key), timing[workload.key], at_s
            )
            for workload in self._workloads
        }
        conditions = [*sight.conditions, *unknowns(needs, readings, outlooks, fleet), *given_up(fleet, at_s)]
        if self._standby is not None and fleet is not None:
            needs = self._standby.insured(needs, outlooks, fleet, at_s)
            conditions += self._standby.view.trouble
        needs = self._quiet.kept(needs, timing, at_s)
        seen = Tick(
            at_s,
            fleet,
            outlooks,
            needs,
            timing,
            conditions=tuple(conditions),
            readings=readings,
            shadow=self._learnt.shelf.tally.beside(),
            pool=self._standby.view if self._standby is not None else None,
        )
        if fleet is None:
            return seen, None
        reached = within_reach_of(self._workloads, fleet, outlooks, at_s)
        question = Question(
            fleet=fleet,
            workloads=tuple(workload for workload, _ in reached),
            needs={(key, 0): need for key, need in needs.items()},
            offers={workload.key: offers for workload, offers in reached},
            timing=timing,
            at_s=at_s,
            market=self._rules.market,
            rooms=self._rooms,
        )
        if self.layouts is not None:
            question = replace(question, needs=self.layouts.raised(question))
        return seen, question

    def _timings(self, fleet: Fleet | None, at_s: float, more_s: float = 0.0) -> dict[WorkloadKey, Timing]:
        """Return the times of each workload: how long its changes were seen to take, and wait for a place."""
        tiers = {workload.key: workload.tier for workload in self._workloads}
        standings = fleet.standings if fleet is not None else ()
        leads_s = lead_times_s(standings, tiers, self._timing.lead_s)
        waves = Crowd(fleet, self._rules.starts_per_node, at_s).waves if fleet is not None else 1
        return {
            key: replace(self._timing, lead_s=lead_s * waves + more_s, regrow_s=lead_s)
            for key, lead_s in leads_s.items()
        }

    def _need(
        self, workload: Workload, outlook: Outlook, reading: NowReading | None, timing: Timing, at_s: float
    ) -> Need:
        age_s = at_s - outlook.end_s
        reactive: float | None = None
        distrust: tuple[str, ...] = ("demand now was not read",)
        quiet_peak = outlook.quiet_peak(at_s, timing.quiet_s)
        if reading is not None and not outlook.is_blind:
            rate_per_s = reactive_rate_per_s(reading, timing)
            if rate_per_s is not None:
                work = self._observatory.work_per_request_rate(workload, reading.mix or outlook.mix)
                reactive = rate_per_s * work
                if quiet_peak is not None:
                    quiet_peak = max(quiet_peak, reactive + reading.unseen_per_s * work)
            distrust = reading.distrust
        up, keep = announced(self._rules.boosts, workload.key, outlook, at_s, timing)
        evidence = Evidence(
            reactive=reactive,
            quiet_peak=quiet_peak,
            distrust=distrust,
            forecast=outlook.forecast if age_s <= FORECAST_ADDS_FOR_S else None,
            forecast_age_s=age_s,
            announced=up,
            announced_keep=keep,
            quantile=self._learnt.notches.of(workload.tier),
        )
        return need_of(workload.key, workload.scheduler, workload.tier, evidence, timing)
