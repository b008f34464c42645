"""The work that one replica of a shape carries, and the work that recorded demand amounts to.

Both are measured against the same yardstick, the reference shape of the workload: the whole card of the
largest board that its model fits on, or as few cards as hold it where no single one does. Rates are looked up
at token mixes rounded *up* to two significant digits: few are solved, all others are found, and what is found
is never more than what is sustained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capacity.belief import Belief, Source, prior_belief, scaled
from capacity.bounds import expected_and_low
from capacity.catalogue import MODELS, ModelSpec, model_spec
from capacity.contention import expected_law
from capacity.fit import Fit
from capacity.hardware import speed_of
from capacity.law import Floats, Integers, Law, stacked
from capacity.prior import fits, kv_tokens, prior
from capacity.rounding import RoundMix, distinct_rounded_up, rounded_up
from capacity.sustained import Binding, MeanTargets, Sustained, mean_targets, sustained
from fleet.boards import Board
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.shape import Shape
from fleet.workload import Slo, Workload, WorkloadKey

_CARDS = (1, 2, 4, 8)
"""Sizes of groups of cards over which engines spread a model."""

_LEAST_COMPANY = 1.25
"""Smallest ratio of a target to the latency of a request alone on the reference shape (judgement).

More replicas only take away company; a target that a lone request misses cannot be bought with them. At
such a mix, that of a few minutes of long prompts, say, the target gives way, and no shape is asked to meet
what the reference cannot. Without that, work would grow beyond all bounds.
"""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The work that one replica of a shape carries inside the SLO.

    Attributes:
        work: In full reference replicas.
        work_low: What the true work exceeds with 90 % confidence; 0 if it may well miss the SLO.
        binding: What stops it from carrying more.
        source: What the estimate rests on.
    """

    work: float
    work_low: float
    binding: Binding
    source: Source


@dataclass(frozen=True, slots=True)
class _Question:
    """What a rate depends on besides the mix and what is known of the law."""

    model: str
    mechanism: str
    slo: Slo
    shape: Shape


_Bounds = tuple[Sustained, Sustained]
"""What is sustained, expected and at least."""

Ask = tuple[Workload, Sequence[Shape], Sequence[Mix]]
"""Whose capacities are asked for, of which shapes, at which mixes."""

_Row = tuple[Workload, Shape, RoundMix]

_TOGETHER = 64
"""Rows that are solved at once: numpy begins as slowly for one row as for dozens, and with many more what
it works on leaves the processor's cache."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """Mixes at which rates are asked for, and the means that the SLOs of those who ask allow.

    The engine accepts no longer sequence than it is made for: a mean beyond it comes from rounding up or a
    wrong record, and is cut.
    """

    prompts: Floats
    outputs: Floats
    wanted: MeanTargets

    @classmethod
    def of(cls, models: Sequence[ModelSpec], slos: Sequence[Slo], mixes: Sequence[RoundMix]) -> _Asked:
        prompts, outputs = np.array(mixes, dtype=np.float64).T
        longest = np.array([model.max_model_len for model in models])
        prompts = np.minimum(prompts, longest - 1)
        return cls(prompts, np.minimum(outputs, longest - prompts), mean_targets(slos))

    def at(self, these: Integers) -> _Asked:
        """Return the mixes with these indices."""
        return _Asked(self.prompts[these], self.outputs[these], self.wanted.at(these))

    def targets(self, yardstick: Law) -> MeanTargets:
        """Return the means that the SLOs allow; they give way to what the reference does for one request."""
        return self.wanted.at_least(yardstick, self.prompts, self.outputs, _LEAST_COMPANY)

    def relaxed(self, yardstick: Law) -> tuple[str, ...]:
        """Return the terms of an SLO that give way at any of the mixes."""
        wanted, given = self.wanted, self.targets(yardstick)
        terms = (
            ("TTFT", wanted.ttft_ms, given.ttft_ms),
            ("ITL", wanted.itl_ms, given.itl_ms),
            ("e2e", wanted.e2e_ms, given.e2e_ms),
        )
        return tuple(name for name, asked, allowed in terms if (asked < allowed).any())


class CapacityModel:
    """Capacities and work for the boards of a fleet.

    Work is counted in what the *prior* says of the reference shape, whatever is learnt later: a yardstick
    does not move under what was measured with it. What is learnt moves the capacities.

    It remembers every rate that it solved; threads may share it, at worst they solve one twice. Complexity:
    one solve (0.15 ms among many, 3 ms alone) per model, SLO, shape and rounded mix, a few hundred mixes for
    a week of one workload, and five for each capacity; apart from that `work` sorts the minutes.
    """

    def __init__(self, boards: Iterable[Board], models: Mapping[str, ModelSpec] = MODELS) -> None:
        """Take the kinds of board in the fleet, and the models by what workloads call them.

        Largest = most tensor throughput, then most memory. `InputError` if the speed of one is not known.
        """
        largest_first = sorted(boards, key=lambda board: (-speed_of(board).bf16_tflops, -board.memory_gib))
        self._boards = {board.id: board for board in largest_first}
        self._models = models
        self._references: dict[str, Shape] = {}
        # Boards and models do not change, so neither do these.
        self._priors: dict[tuple[str, str, Shape], tuple[Law, float]] = {}
        self._solved: dict[_Question, dict[RoundMix, Sustained]] = {}
        # By whose laws were fitted, `None` = nobody's: a new fit makes those of one workload void.
        self._bounded: dict[WorkloadKey | None, dict[_Question, dict[RoundMix, _Bounds]]] = {}
        self._fits: dict[WorkloadKey, Fit] = {}

    def fitted(self, workload: WorkloadKey) -> Fit | None:
        """Return what was learnt last of the laws of a workload's engines."""
        return self._fits.get(workload)

    def learn(self, workload: WorkloadKey, fit: Fit) -> None:
        """Take a fit for what is known of the laws of a workload's engines from now on."""
        self._fits[workload] = fit
        self._bounded.pop(workload, None)

    def reference(self, workload: Workload) -> Shape:
        """Return the fewest cards that hold the model, of the largest board that does; else `InputError`."""
        if workload.model not in self._references:
            self._references[workload.model] = self._largest(workload)
        return self._references[workload.model]

    def _largest(self, workload: Workload) -> Shape:
        model = self.model(workload)
        for cards in _CARDS:
            for board in self._boards.values():
                if fits(model, board, Shape(board.id, cards=cards)):
                    return Shape(board.id, cards=cards)
        raise InputError(
            f"model {model.name} fits on none of the boards {', '.join(self._boards) or '(there are none)'}",
            where=f"workload {workload.key}",
            fix="add a board with more memory, name a smaller model or a shorter max_model_len",
        )

    def knows(self, shape: Shape) -> bool:
        """Return whether it is of a kind of board that the fleet was said to have."""
        return shape.board in self._boards

    def model(self, workload: Workload) -> ModelSpec:
        """Return what serving a workload's model costs; `InputError` if it is not known."""
        return model_spec(workload.model, self._models)

    def unmeasured(self, workload: Workload, shape: Shape) -> tuple[Law, float]:
        """Return the prior law of a workload's engine on a shape, and the tokens that its KV cache holds."""
        asked = workload.model, workload.mechanism, shape
        held = self._priors.get(asked)
        if held is None:
            model, board = self.model(workload), self._board(shape)
            held = expected_law(model, board, shape, workload.mechanism), kv_tokens(model, board, shape)
            self._priors[asked] = held
        return held

    def belief(self, workload: Workload, shape: Shape) -> Belief:
        """Return what is held of the law of a workload's engine on a shape."""
        expected, _ = self.unmeasured(workload, shape)
        fit = self._fits.get(workload.key)
        return prior_belief(expected, shape) if fit is None else fit.belief(expected, shape)

    def sustained(self, workload: Workload, shape: Shape, mix: Mix) -> float:
        """Return the requests/s that one replica of `shape` sustains by its prior; 0 if it cannot serve."""
        return self._rates(workload, shape, [rounded_up(mix)])[0].requests_per_s

    def relaxed(self, workload: Workload, mixes: Sequence[Mix]) -> tuple[str, ...]:
        """Return the terms of the SLO that no number of replicas keeps at some of the mixes: they give way.

        One request alone takes too long on the reference shape, or so nearly that no company is left to it.
        """
        of_each = [self.model(workload)] * len(mixes), [workload.slo] * len(mixes)
        asked = _Asked.of(*of_each, [rounded_up(mix) for mix in mixes])
        yardstick, _ = self.unmeasured(workload, self.reference(workload))
        return asked.relaxed(yardstick)

    def capacity(self, workload: Workload, shape: Shape, mixes: Sequence[Mix]) -> Capacity | None:
        """Return the capacity of `shape`, the lowest over the mixes; `None` if it cannot serve one of them.

        At least one mix must be given.
        """
        return self.capacities(workload, [shape], mixes).get(shape)

    def capacities(
        self, workload: Workload, shapes: Sequence[Shape], mixes: Sequence[Mix]
    ) -> dict[Shape, Capacity]:
        """Return the capacity of each shape, the lowest over the mixes; without those that cannot serve one.

        At least one mix must be given. All shapes are solved together.
        """
        rounded = [rounded_up(mix) for mix in mixes]
        full = [one.requests_per_s for one in self._rates(workload, self.reference(workload), rounded)]
        fit = self._fits.get(workload.key)
        source = Source.PRIOR if fit is None else fit.source
        found = {}
        for shape, bounded in self._bounds(workload, shapes, rounded).items():
            shares = [expected.requests_per_s / one for (expected, _), one in zip(bounded, full, strict=True)]
            low_shares = [low.requests_per_s / one for (_, low), one in zip(bounded, full, strict=True)]
            tightest = shares.index(min(shares))
            if shares[tightest] > 0:
                binding = bounded[tightest][0].binding
                found[shape] = Capacity(shares[tightest], min(low_shares), binding, source)
        return found

    def solve(self, asks: Iterable[Ask]) -> None:
        """Solve all together what `capacities` would solve of each alone: it finds the same, sooner."""
        self._solve_missing(
            (workload, shapes, [rounded_up(mix) for mix in mixes]) for workload, shapes, mixes in asks
        )

    def work(
        self, workload: Workload, requests_per_s: Floats, prompt_tokens: Floats, output_tokens: Floats
    ) -> Floats:
        """Return the work of recorded demand, bucket by bucket, in full reference replicas.

        All arrays have one shape. Without requests there is no work; where the requests or, with requests,
        the tokens are unknown (NaN), the work is.
        """
        work = np.where(requests_per_s == 0, 0.0, np.nan)
        has_work = (requests_per_s > 0) & np.isfinite(prompt_tokens) & np.isfinite(output_tokens)
        mixes, where = distinct_rounded_up(prompt_tokens[has_work], output_tokens[has_work])
        rates = self._rates(workload, self.reference(workload), mixes)
        per_s = np.array([rate.requests_per_s for rate in rates])
        work[has_work] = requests_per_s[has_work] / per_s[where]
        return work

    def _rates(self, workload: Workload, shape: Shape, mixes: Sequence[RoundMix]) -> list[Sustained]:
        """Return what `shape` sustains at each mix by its prior; solve what is not yet known."""
        solved = self._solved.setdefault(
            _Question(workload.model, workload.mechanism, workload.slo, shape), {}
        )
        missing = [mix for mix in dict.fromkeys(mixes) if mix not in solved]
        if missing:
            model, reference = self.model(workload), self.reference(workload)
            asked = _Asked.of([model] * len(missing), [workload.slo] * len(missing), missing)
            law = expected_law(model, self._board(shape), shape, workload.mechanism)
            targets = asked.targets(prior(model, self._board(reference), reference))
            answers = sustained(law, self._room(model, shape), asked.prompts, asked.outputs, targets)
            solved.update(zip(missing, answers, strict=True))
        return [solved[mix] for mix in mixes]

    def _bounds(
        self, workload: Workload, shapes: Sequence[Shape], mixes: Sequence[RoundMix]
    ) -> dict[Shape, list[_Bounds]]:
        """Return what each shape sustains at each mix, expected and at least, by what is held of its law."""
        self._solve_missing([(workload, shapes, mixes)])
        known = {shape: self._known(workload, shape) for shape in shapes}
        return {shape: [known[shape][mix] for mix in mixes] for shape in shapes}

    def _known(self, workload: Workload, shape: Shape) -> dict[RoundMix, _Bounds]:
        """Return what has been solved of a shape by what is held of its law now, to be added to."""
        fitted = workload.key if workload.key in self._fits else None
        asked = _Question(workload.model, workload.mechanism, workload.slo, shape)
        return self._bounded.setdefault(fitted, {}).setdefault(asked, {})

    def _solve_missing(self, asks: Iterable[tuple[Workload, Sequence[Shape], Sequence[RoundMix]]]) -> None:
        """Solve what is asked for and not known, whoever asks, all together."""
        missing: dict[tuple[int, RoundMix], tuple[dict[RoundMix, _Bounds], _Row]] = {}
        for workload, shapes, mixes in asks:
            for shape in shapes:
                known = self._known(workload, shape)
                for mix in mixes:
                    if mix not in known:  # two that nothing was learnt of may ask the same
                        missing[id(known), mix] = known, (workload, shape, mix)
        found = [*missing.values()]
        for part in (found[at : at + _TOGETHER] for at in range(0, len(found), _TOGETHER)):
            for (known, (_, _, mix)), answer in zip(part, self._solve([row for _, row in part]), strict=True):
                known[mix] = answer

    def _solve(self, rows: Sequence[_Row]) -> list[_Bounds]:
        models = [self.model(workload) for workload, _, _ in rows]
        asked = _Asked.of(models, [workload.slo for workload, _, _ in rows], [mix for _, _, mix in rows])
        beliefs = [self.belief(workload, shape) for workload, shape, _ in rows]
        laws = stacked([belief.law for belief in beliefs])
        rooms = np.array([self._room(model, row[1]) for model, row in zip(models, rows, strict=True)])
        yardsticks = stacked([self.belief(each, self.reference(each)).law for each, _, _ in rows])

        def solve(these: Integers, slower: Floats) -> list[Sustained]:
            mixes = asked.at(these)
            targets = mixes.targets(scaled(yardsticks.at(these), slower))
            held = scaled(laws.at(these), slower)
            return sustained(held, rooms[these], mixes.prompts, mixes.outputs, targets)

        covariances = np.array([belief.covariance for belief in beliefs])
        return list(zip(*expected_and_low(solve, covariances), strict=True))

    def _room(self, model: ModelSpec, shape: Shape) -> float:
        board = self._board(shape)
        return kv_tokens(model, board, shape) if fits(model, board, shape) else 0.0

    def _board(self, shape: Shape) -> Board:
        if shape.board not in self._boards:
            raise InputError(
                f"board {shape.board} is not in the fleet",
                where=f"shape {shape}",
                fix=f"use one of {', '.join(self._boards)}",
            )
        return self._boards[shape.board]
