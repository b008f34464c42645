"""Which policies a replay shows."""

import pytest

from fleet.errors import InputError
from foreslice.proof.replay import ALWAYS, policies_of
from foreslice.proof.sweep import RIVALS


def test_ours_is_always_shown_and_comes_first():
    assert ("foreslice", "oracle", "hpa") == policies_of("hpa, oracle")
    assert (*ALWAYS, *RIVALS) == policies_of("")


def test_a_policy_that_is_none_is_named_with_those_that_are():
    with pytest.raises(InputError, match=r"'best' is no policy.*choose from foreslice"):
        policies_of("off,best")
