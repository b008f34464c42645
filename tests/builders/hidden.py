"""Engines with hidden truth, many at once: what they show at some loads, and what they really sustain.

A fast stand-in for simulated fleets. Truth is drawn as `simulator.truth` draws it: alpha, beta and gamma
lognormal around their priors (sigma 0.15), the slice law's error by shape (sigma 0.10). What is measured is
the law's latency at a batch, off by as much as `capacity.fit` says formulas leave out, and by the noise of a
mean over some requests.
"""

from dataclasses import dataclass

import numpy as np

from capacity.belief import Belief, scaled
from capacity.bounds import expected_and_low
from capacity.catalogue import MODELS
from capacity.fit import ITL_SIGMA, TTFT_SIGMA, Point, fit
from capacity.law import Law, stacked
from capacity.prior import kv_tokens, prior
from capacity.sustained import MeanTargets, sustained
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.shape import shapes_of

NAMES = ("qwen2.5-3b-bf16", "qwen2.5-7b-bf16", "qwen2.5-14b-bf16")
PRIORS = {
    name: {shape: prior(MODELS[name], H100_80GB, shape) for shape in shapes_of(H100_80GB)} for name in NAMES
}
LEAST_ROOM = 4000.0


@dataclass
class Engine:
    """One engine after its measurements: the belief about the shape that is asked for, and the truth."""

    belief: Belief
    truth: Law
    room: float
    mix: Mix
    ttft_ms: float
    itl_ms: float
    is_measured: bool


def engine(chance, points_each):
    """Draw an engine, measure it on one or two shapes at `points_each` (least, most) loads, and fit."""
    name = NAMES[chance.integers(len(NAMES))]
    model, priors = MODELS[name], PRIORS[name]
    rooms = {shape: kv_tokens(model, H100_80GB, shape) for shape in priors}
    shapes = [shape for shape in priors if rooms[shape] > LEAST_ROOM]
    common = chance.normal(0.0, 0.15, 3)
    truths = {
        shape: scaled(priors[shape], common + (0.0 if shape.is_whole else chance.normal(0.0, 0.10)))
        for shape in shapes
    }
    mix = Mix(*np.exp(chance.uniform(np.log([100.0, 20.0]), np.log([2000.0, 500.0]))))
    measured = [shapes[at] for at in chance.permutation(len(shapes))[: chance.integers(1, 3)]]
    points = []
    for shape in measured:
        most = np.clip(0.7 * rooms[shape] / (mix.prompt_tokens + mix.output_tokens), 2.0, 60.0)
        batches = np.exp(chance.uniform(0.0, np.log(most), chance.integers(*points_each, endpoint=True)))
        points += [point(chance, shape, truths[shape], mix, 1 + batch) for batch in batches]
    asked = shapes[chance.integers(len(shapes))]
    alone, (ttft, itl) = (mix.prompt_tokens, mix.output_tokens, 1.0), chance.uniform(1.5, 4.0, 2)
    return Engine(
        belief=fit(points, priors).belief(priors[asked], asked),
        truth=truths[asked],
        room=rooms[asked],
        mix=mix,
        ttft_ms=ttft * priors[asked].ttft_ms(*alone),
        itl_ms=itl * priors[asked].itl_ms(*alone),
        is_measured=asked in measured,
    )


def point(chance, shape, law, mix, batch):
    """Return what an engine with this law shows at a batch."""
    requests = float(chance.integers(30, 600))
    itl_noise, ttft_noise = chance.normal(0.0, [ITL_SIGMA, np.hypot(TTFT_SIGMA, requests**-0.5)])
    return Point(
        shape,
        mix,
        batch,
        itl_ms=law.itl_ms(mix.prompt_tokens, mix.output_tokens, batch) * np.exp(itl_noise),
        ttft_ms=law.ttft_ms(mix.prompt_tokens, mix.output_tokens, batch) * np.exp(ttft_noise),
        requests=requests,
    )


def held(engines):
    """Return for each engine whether its true rate is at least the bound, and bound over expected rate."""
    prompts, outputs, rooms, ttfts, itls = np.array(
        [(e.mix.prompt_tokens, e.mix.output_tokens, e.room, e.ttft_ms, e.itl_ms) for e in engines]
    ).T
    targets = MeanTargets(ttfts, itls, np.full(len(engines), np.inf))

    def rates(answers):
        return np.array([one.requests_per_s for one in answers])

    def solve(these, laws):
        return sustained(laws, rooms[these], prompts[these], outputs[these], targets.at(these))

    laws = stacked([e.belief.law for e in engines])
    expected, low = expected_and_low(
        lambda these, slower: solve(these, scaled(laws.at(these), slower)),
        np.array([e.belief.covariance for e in engines]),
    )
    truth = rates(solve(np.arange(len(engines)), stacked([e.truth for e in engines])))
    return truth >= rates(low), rates(low) / np.maximum(rates(expected), 1e-9)
