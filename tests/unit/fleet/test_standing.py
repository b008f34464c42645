"""What may be done for a workload as it stands."""

import pytest

from fleet.cluster import Standing
from fleet.workload import Mode
from tests.builders.fleet import key


@pytest.mark.parametrize(
    ("mode", "permits", "forbidden", "may"),
    [
        (Mode.SCALE_UP_ONLY, Mode.FULL, "", True),
        (Mode.FULL, Mode.SCALE_UP_ONLY, "", True),
        (Mode.ADVISE, Mode.FULL, "", False),
        (Mode.FULL, Mode.ADVISE, "", False),
        (Mode.FULL, Mode.FULL, "its namespace is not ours", False),
    ],
)
def test_capacity_is_added_where_settings_and_owner_let_it_be(mode, permits, forbidden, may):
    assert may is Standing(key("chat"), (), permits=permits, forbidden=forbidden).may_gain(mode)
