"""What every source of signals promises, on the real Prometheus."""

import pytest

from tests.contract.test_metrics_source_contract import *  # noqa: F403  every test of the contract


@pytest.fixture
def builder(source_of):
    """In place of the contract's own: a Prometheus that has collected the scripted series."""
    return source_of
