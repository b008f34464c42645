"""How fast engines really are: what no estimate is told."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np

from capacity.catalogue import MODELS, ModelSpec
from capacity.law import Law
from capacity.prior import kv_tokens, prior
from fleet.boards import Board
from fleet.shape import Shape
from fleet.workload import Workload

PARAMETER_SIGMA = 0.15
"""Spread of each parameter of a workload's law around its prior, lognormal: kernels and versions differ."""

SLICE_SIGMA = 0.10
"""Spread of the slice law's error, lognormal, by workload and profile: half of its sizing error of 20 %."""


class HiddenTruth:
    """The true laws, drawn once per seed, workload and profile."""

    def __init__(
        self, seed: int, boards: Mapping[str, Board], models: Mapping[str, ModelSpec] = MODELS
    ) -> None:
        self._seed = seed
        self._boards = boards
        self._models = models

    def law(self, workload: Workload, shape: Shape) -> Law:
        """Return the law that the engines of a workload follow on a shape."""
        expected = prior(self._models[workload.model], self._boards[shape.board], shape)
        alpha, beta, gamma = np.exp(self._normal(f"{workload.key}", PARAMETER_SIGMA, 3))
        law = Law(
            alpha_ms=float(expected.alpha_ms * alpha),
            beta_ms_per_token=float(expected.beta_ms_per_token * beta),
            gamma_ms_per_kv_token=float(expected.gamma_ms_per_kv_token * gamma),
        )
        if shape.is_whole:
            return law
        return law.slower(float(np.exp(self._normal(f"{workload.key} {shape}", SLICE_SIGMA, 1)[0])))

    def kv_tokens(self, workload: Workload, shape: Shape) -> float:
        """Return the tokens that the KV cache holds: what memory leaves is known exactly."""
        return kv_tokens(self._models[workload.model], self._boards[shape.board], shape)

    def _normal(self, name: str, sigma: float, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.random.default_rng([self._seed, zlib.crc32(name.encode())]).normal(0.0, sigma, count)
