"""What is held of the law of one model on one shape, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from capacity.law import Floats, Law
from fleet.shape import Shape

PARAMETER_SIGMA = 0.15
"""Lognormal spread of each parameter around its prior; against public fits the priors err by -14 to +17 %."""

SLICE_SIGMA = 0.20 / 1.645
"""Further spread on anything but one whole card, of all three together: an error of the slice law of 20 %
either way is taken as its 90 % range, and the same of several cards."""

PARAMETERS = 3


class Source(StrEnum):
    """What an estimate rests on."""

    PRIOR = "prior"
    IMPORT = "import"
    FITTED = "fitted"
    CORRECTED = "corrected"


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """A law whose parameters are known up to a joint lognormal spread.

    Attributes:
        law: The medians.
        covariance: Of the logarithms of alpha, beta and gamma, shape (3, 3).
        source: What it rests on.
    """

    law: Law
    covariance: Floats
    source: Source


def scaled(law: Law, log_factors: Floats) -> Law:
    """Return a law whose parameters are multiplied by the exponentials of these, last axis of length 3."""
    alpha, beta, gamma = np.moveaxis(np.exp(log_factors), -1, 0)
    return Law(law.alpha_ms * alpha, law.beta_ms_per_token * beta, law.gamma_ms_per_kv_token * gamma)


def prior_belief(law: Law, shape: Shape) -> Belief:
    """Return what is held before any measurement, where `law` is the prior on the shape.

    Parameters err apart from each other; the laws of slices, shares and several cards err in all of them
    together.
    """
    together = 0.0 if shape.is_one_card else SLICE_SIGMA**2
    covariance = PARAMETER_SIGMA**2 * np.eye(PARAMETERS) + together
    return Belief(law, covariance, Source.PRIOR)
