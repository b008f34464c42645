"""Whatever is said of cards, no reading has two owners, and none is added up with another level of it."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fleet.sharing import Extent, Hold, Use, shared

GIB = 2**30
CARDS = st.sampled_from(["GPU-a", "GPU-b"])
TENANTS = st.sampled_from(["t/a", "t/b", "t/c"])
BYTES = st.none() | st.integers(1, 80).map(lambda gib: float(gib * GIB))
HOLDS = st.lists(
    st.builds(Hold, TENANTS, CARDS, st.just("hami"), BYTES, extent=st.sampled_from(Extent)), max_size=6
)
USES = st.lists(
    st.builds(
        Use,
        CARDS,
        st.sampled_from(["", "7", "8"]),
        st.lists(TENANTS, max_size=2, unique=True).map(tuple),
        st.just(False),
        BYTES,
        st.none() | st.floats(0, 1),
        st.just("x"),
    )
    | st.builds(
        Use,
        CARDS,
        st.just(""),
        TENANTS.map(lambda one: (one,)),
        st.just(True),
        BYTES,
        st.none(),
        st.just("y"),
    ),
    max_size=8,
)


@given(holds=HOLDS, uses=USES)
def test_whatever_is_told_no_reading_has_two_owners(holds, uses):
    for view in shared([], [holds], uses):
        credited = [tenant.use for tenant in view.tenants if tenant.use is not None]
        assert len({id(use) for use in credited}) == len(credited)
        for tenant in view.tenants:
            if tenant.use is not None and not (tenant.use.is_share or tenant.use.instance):
                assert () == tenant.neighbours
                assert Extent.CARD is tenant.hold.extent


@given(holds=HOLDS, uses=USES)
def test_no_card_uses_more_than_one_level_of_readings_says(holds, uses):
    for view in shared([], [holds], uses):
        if view.memory_used_bytes is not None:
            mine = [use for use in uses if use.card == view.card.uuid]
            levels = Counter()
            for use in mine:
                levels[use.is_share, bool(use.instance)] += use.memory_bytes or 0.0
            assert view.memory_used_bytes <= max(levels.values(), default=0.0)
