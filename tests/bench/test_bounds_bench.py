"""How often the 90 % lower bound holds, over a thousand engines with hidden truth, and what a fit costs."""

import numpy as np
import pytest

from capacity.belief import Source
from capacity.fit import fit
from fleet.demand import Mix
from fleet.shape import Shape
from tests.builders.hidden import PRIORS, engine, held, point

ENGINES = 1500


@pytest.mark.parametrize(
    "points_each", [(0, 0), (1, 1), (1, 8), (8, 16)], ids=["prior", "one point", "some points", "many points"]
)
def test_the_bound_holds_for_nine_engines_in_ten(benchmark, points_each):
    """Counted over all, and over shapes that were measured and that were not."""
    chance = np.random.default_rng(11)
    engines = [engine(chance, points_each) for _ in range(ENGINES)]

    holds, ratio = benchmark.pedantic(held, args=(engines,), rounds=1)

    is_measured = np.array([one.is_measured for one in engines]) & (points_each != (0, 0))
    benchmark.extra_info |= {
        "held": round(float(holds.mean()), 3),
        "held where measured": round(float(holds[is_measured].mean()), 3) if is_measured.any() else None,
        "held elsewhere": round(float(holds[~is_measured].mean()), 3),
        "bound over expected": round(float(np.median(ratio)), 3),
    }
    assert 0.87 <= holds.mean() <= 0.93


def test_one_fit_to_thirty_points(benchmark):
    chance, mix, priors = np.random.default_rng(1), Mix(900.0, 200.0), PRIORS["qwen2.5-7b-bf16"]
    shapes = [Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")]
    points = [
        point(chance, shape, priors[shape], mix, 1.0 + batch) for shape in shapes for batch in range(15)
    ]

    found = benchmark(fit, points, priors)

    assert Source.FITTED is found.source
