"""Whatever goes wrong on the way of a node to a layout, and whoever goes on with it."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from actuator.layouts.node import CONFIG_LABEL
from fleet.errors import ConflictError, UnavailableError
from simulator.mig_manager import Fault
from tests.fakes.layouts import Site, legal, wish

CARD = st.sampled_from([{"1g.10gb": 7}, {"7g.80gb": 1}, {"3g.40gb": 1, "4g.40gb": 1}, {"2g.20gb": 3}, {}])
TROUBLE = st.sampled_from([None, None, None, ConflictError("changed meanwhile"), UnavailableError("down")])


def offered(cuts):
    """What the device plugin offers of cut cards; of which card an instance is, it does not say."""
    counts = Counter()
    for cut in cuts:
        counts.update({f"mig-{profile}": n for profile, n in cut.items()})
    return counts


class Shaky(Site):
    """A site whose writes fail before or after they took place, as drawn."""

    def __init__(self, draw, **more):
        super().__init__(**more)
        self.draw = draw

    def mark(self, *arguments, **more):
        self.shaken(super().mark, *arguments, **more)

    def write_file(self, *arguments):
        self.shaken(super().write_file, *arguments)

    def evict(self, pod):
        self.shaken(super().evict, pod)

    def shaken(self, write, *arguments, **more):
        before, after = self.draw(TROUBLE), self.draw(TROUBLE)
        if before is not None:
            raise before
        write(*arguments, **more)
        if isinstance(after, UnavailableError):  # it was written, and the answer was lost
            raise after


@settings(max_examples=20)
@given(
    data=st.data(),
    cuts=st.lists(CARD, min_size=4, max_size=4),
    faults=st.lists(st.sampled_from(Fault), max_size=3),
)
def test_it_ends_as_wished_or_as_it_was_or_held_for_a_person(data, cuts, faults):
    site = Shaky(data.draw, faults=faults, sync_s=data.draw(st.sampled_from([0.0, 45.0])))
    if data.draw(st.booleans()):
        site.add_pod("serving", "mig-1g.10gb")
    to, first = wish(cuts), site.offer
    for _ in range(500):
        try:
            step = site.turn(to)
        except (ConflictError, UnavailableError):
            site.clock.run_until(site.clock.now_s + 10)
            continue
        assert all(map(legal, (cut or {} for cut in site.manager.cuts)))
        if step.act in {"nothing", "refuse"}:
            break
    else:
        raise AssertionError("it does not end")
    if step.act == "nothing":
        assert (offered(cuts), False, None) == (site.offer, site.is_held, site.progress)
    elif "person is needed" not in step.because:
        assert (first, "night", False) == (site.offer, site.labels[CONFIG_LABEL], site.is_held)


@settings(max_examples=10)
@given(data=st.data(), kept=st.booleans())
def test_no_pod_is_cut_off_that_was_not_evicted(data, kept):
    """The simulated manager fails on a card in use, so the label must never come before its pods went."""
    site = Shaky(data.draw, sync_s=0.0)
    site.add_pod("serving", "mig-1g.10gb")
    site.kept_by_budget = {"llm/serving"} if kept else set()
    for _ in range(60):
        try:
            site.turn()
        except (ConflictError, UnavailableError):
            site.clock.run_until(site.clock.now_s + 10)
        assert site.labels[CONFIG_LABEL] == "night" or not site.pods_on("gpu-1")
