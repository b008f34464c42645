"""How many requests/s one replica sustains inside its SLO, and what stops it from sustaining more.

The largest arrival rate at which the mean latencies stay within what the SLO allows, and at most 0.70 of
the rate that a full batch reaches. Above that the queue model is too kind: at 0.85 the simulated TTFT is
1.8 times the predicted one. Up to there, simulated replicas keep 91 % and more within a p95 target that
binds; where prompts average more than the token budget and wait for one another, 89 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from capacity.law import Bools, Floats, Integers, Law
from capacity.replica import Latencies, Replica
from capacity.tails import e2e_tail, itl_tail, ttft_tail
from fleet.demand import Mix
from fleet.workload import Slo

UTILISATION_CAP = 0.70
"""Largest share of the full-batch rate; queueing is paid for here and nowhere else."""

_HALVINGS = 30
"""Steps of the bisection: the rate is exact to 1e-9 of the cap."""

_GUESSES, _ASIDE, _NEARLY_NONE = 12, 2.0**-36, 1e-6
"""Steps of false position at most before the bisection, how near they come to an end, and the lowest rate
that is looked at, both as shares of the rate that is beyond: they move no answer, only how long it takes."""

_FELT_WAIT = 0.01
"""Share of a target above which waiting for room in the KV cache is what uses it up."""


class Binding(StrEnum):
    """What stops a replica from sustaining more."""

    COMPUTE = "compute"
    COMPUTE_TTFT = "compute (TTFT)"
    COMPUTE_ITL = "compute (ITL)"
    COMPUTE_E2E = "compute (e2e)"
    KV = "KV room"


@dataclass(frozen=True, slots=True)
class Sustained:
    """What one replica carries at one token mix.

    Attributes:
        requests_per_s: Largest rate inside the SLO, 0 if there is none.
        batch: Requests in service at that rate, on average.
        binding: What stops it from carrying more.
    """

    requests_per_s: float
    batch: float
    binding: Binding


@dataclass(frozen=True, slots=True)
class MeanTargets:
    """Largest mean latencies that the SLO allows, ms, one element per mix; infinite without the term."""

    ttft_ms: Floats
    itl_ms: Floats
    e2e_ms: Floats

    def met_by(self, latencies: Latencies) -> Bools:
        """Return where all are kept."""
        return (
            (latencies.ttft_ms <= self.ttft_ms)
            & (latencies.itl_ms <= self.itl_ms)
            & (latencies.e2e_ms <= self.e2e_ms)
        )

    def room(self, latencies: Latencies) -> Floats:
        """Return how far these are from the nearest target, over how long they are; below 0 beyond it."""
        asked = (latencies.ttft_ms / self.ttft_ms, latencies.itl_ms / self.itl_ms)
        return 1 / np.maximum(np.maximum(*asked), latencies.e2e_ms / self.e2e_ms) - 1

    def at(self, mixes: Integers) -> MeanTargets:
        """Return the targets of the mixes with these indices."""
        return MeanTargets(self.ttft_ms[mixes], self.itl_ms[mixes], self.e2e_ms[mixes])

    def at_least(self, law: Law, prompts: Floats, outputs: Floats, company: float) -> MeanTargets:
        """Return targets that give way to `company` times what a request takes alone under `law`."""
        alone = np.ones_like(prompts)
        return MeanTargets(
            np.maximum(self.ttft_ms, company * law.ttft_ms(prompts, outputs, alone)),
            np.maximum(self.itl_ms, company * law.itl_ms(prompts, outputs, alone)),
            np.maximum(self.e2e_ms, company * law.residence_ms(prompts, outputs, alone)),
        )


def mean_targets(slos: Sequence[Slo]) -> MeanTargets:
    """Return the means that keep the quantiles of each of these SLOs."""
    means = {slo: _means_ms(slo) for slo in slos}
    return MeanTargets(*np.array([means[slo] for slo in slos], dtype=np.float64).reshape(-1, 3).T)


def _means_ms(slo: Slo) -> tuple[float, float, float]:
    ttft, itl, e2e = (
        1000 * term.limit_s / tail(term.quantile) if term else np.inf
        for term, tail in ((slo.ttft, ttft_tail), (slo.itl, itl_tail), (slo.e2e, e2e_tail))
    )
    return ttft, itl, e2e


def sustained_per_s(law: Law, kv_tokens: float, mix: Mix, slo: Slo) -> Sustained:
    """Return what one replica with this law and KV room (tokens) sustains at `mix` inside `slo`."""
    prompts, outputs = np.array([mix.prompt_tokens]), np.array([mix.output_tokens])
    return sustained(law, kv_tokens, prompts, outputs, mean_targets([slo]))[0]


def sustained(
    law: Law, kv_tokens: Floats | float, prompts: Floats, outputs: Floats, targets: MeanTargets
) -> list[Sustained]:
    """Return what one replica sustains at each mix; fewer than one prompt or output token counts as one.

    Law and KV room are those of all mixes, or arrays with one for each: shapes are solved together.
    Complexity: mixes x `MAX_BATCH` x some ten steps, one where the cap is kept, as it mostly is.
    """
    prompts, outputs = np.maximum(prompts, 1.0), np.maximum(outputs, 1.0)
    law, kv_tokens = law.for_each(prompts), np.broadcast_to(kv_tokens, prompts.shape)
    alone = np.ones_like(prompts)
    without = {
        Binding.KV: prompts + outputs > kv_tokens,
        Binding.COMPUTE_TTFT: law.ttft_ms(prompts, outputs, alone) >= targets.ttft_ms,
        Binding.COMPUTE_ITL: law.itl_ms(prompts, outputs, alone) >= targets.itl_ms,
        Binding.COMPUTE_E2E: law.residence_ms(prompts, outputs, alone) >= targets.e2e_ms,
    }
    refusals = np.select(list(without.values()), list(without), Binding.COMPUTE)
    answers = [Sustained(0.0, 0.0, Binding(refusal)) for refusal in refusals]
    served = np.flatnonzero(~np.any(list(without.values()), axis=0))
    replica = Replica(law.at(served), kv_tokens[served], prompts[served], outputs[served])
    for index, answer in zip(served, _largest(replica, targets.at(served)), strict=True):
        answers[index] = answer
    return answers


def _halved(replica: Replica, targets: MeanTargets, beyond: Floats) -> tuple[Floats, Floats]:
    """Return rates within targets and rates beyond, closer than anybody asks, from rates that are beyond.

    A guess of the answer saves the steps that it leaves no doubt about: it changes none of them.
    """
    met, missed = _guessed(replica, targets, beyond)
    low, high = np.zeros_like(beyond), beyond
    for _ in range(_HALVINGS - 1):
        trial = (low + high) / 2
        is_met = trial <= met
        if (~is_met & (trial < missed)).any():
            is_met = targets.met_by(replica.at(trial))
        low, high = np.where(is_met, trial, low), np.where(is_met, high, trial)
    return low, high


def _guessed(replica: Replica, targets: MeanTargets, beyond: Floats) -> tuple[Floats, Floats]:
    """Return a rate that was seen to be within targets and one that was seen beyond, mostly very close.

    By false position (Illinois) on how far latencies are from targets over how long they are: of a queue
    that is nearly a straight line in the rate.
    """
    first, aside = replica.at(_NEARLY_NONE * beyond), _ASIDE * beyond
    met, missed = np.where(targets.met_by(first), _NEARLY_NONE * beyond, 0.0), beyond
    room, lack = np.maximum(targets.room(first), 0.0), targets.room(replica.at(beyond))
    was_met = np.zeros(len(beyond), dtype=np.bool_)
    for step in range(_GUESSES):
        trial = met + (missed - met) * room / (room - lack)
        # Never nearer than that to an end: what is beside an end that is all but right is on the other side.
        middle = (met + missed) / 2
        trial = np.clip(trial, np.minimum(met + aside, middle), np.maximum(missed - aside, middle))
        seen = replica.at(trial)
        is_met, here = targets.met_by(seen), targets.room(seen)
        # An end that stays twice counts half, so that it moves, too.
        stays = np.where(step and (is_met == was_met), 0.5, 1.0)
        room, lack = np.where(is_met, here, room * stays), np.where(is_met, lack * stays, here)
        met, missed, was_met = np.where(is_met, trial, met), np.where(is_met, missed, trial), is_met
        if (missed - met <= 2 * aside).all():
            break
    return met, missed


def _largest(replica: Replica, targets: MeanTargets) -> list[Sustained]:
    """Return the largest rates within targets that a request alone meets, by bisection."""
    cap = UTILISATION_CAP * replica.full_rate_per_s
    beyond = replica.at(cap)
    is_kept = targets.met_by(beyond)
    low, high = np.where(is_kept, cap, 0.0), cap.copy()
    rest = np.flatnonzero(~is_kept)
    if rest.size:
        low[rest], high[rest] = _halved(replica.of(rest), targets.at(rest), cap[rest])
        beyond = replica.at(high)
    is_at_cap = low == cap
    is_itl = ~is_at_cap & (beyond.itl_ms > targets.itl_ms)
    is_e2e = ~is_at_cap & (beyond.ttft_ms <= targets.ttft_ms)
    is_waiting = ~is_itl & (beyond.wait_ms > _FELT_WAIT * np.minimum(targets.ttft_ms, targets.e2e_ms))
    bindings = np.select(
        [replica.is_short_of_kv & (is_at_cap | is_waiting), is_at_cap, is_itl, is_e2e],
        [Binding.KV, Binding.COMPUTE, Binding.COMPUTE_ITL, Binding.COMPUTE_E2E],
        Binding.COMPUTE_TTFT,
    )
    return [
        Sustained(float(rate), float(batch), Binding(binding))
        for rate, batch, binding in zip(low, beyond.batch, bindings, strict=True)
    ]
