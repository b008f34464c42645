"""Ledgers of shared cards, and placement on them, whatever is asked in whatever order."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from allocator.shares.hosts import Host, Hosts
from allocator.shares.mix import Ask, Mix
from allocator.shares.rule import LeastLoss
from fleet.ledgers.consumable import Capacity, Policy, SharedDevice
from fleet.ledgers.footprint import effective_hundredths, usable_mib
from fleet.ledgers.hami import VgpuAsk, VgpuCard, place
from fleet.ledgers.kai import Card, Share, asked_gpus, binding_order, bound_gpus, card_mib, hundredths_for
from fleet.ledgers.queues import SLACK_GPUS, Queue, queues_of
from fleet.ledgers.tenancy import Tenancy, clash

LABELS = st.sampled_from([15360, 24576, 40960, 46068, 81559, 143771])
HUNDREDTHS = st.integers(1, 99)
SHARES = HUNDREDTHS.map(lambda h: Share(h / 100)) | st.integers(1, 90_000).map(
    lambda mib: Share(memory_mib=mib)
)


@given(LABELS, st.lists(SHARES, max_size=30))
def test_kai_never_puts_more_on_a_card_than_it_has(label, shares):
    card = Card(card_mib(label))
    for share in shares:
        if card.fits(share):
            card = card.take(share)

    assert sum(card.held) <= card.mib <= label


@given(LABELS, st.lists(HUNDREDTHS, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_what_a_card_holds_in_hundredths_kai_puts_on_it_in_mib_and_no_hundredth_more(label, sizes, chance):
    """Its card is the label down to full 100 MiB, of which each share is cut to whole MiB."""
    held = [size for n, size in enumerate(sizes) if sum(sizes[: n + 1]) <= 100]
    chance.shuffle(held)
    card = Card(card_mib(label))
    for size in held:
        assert card.fits(Share(size / 100))
        card = card.take(Share(size / 100))

    left = 100 - sum(held)
    assert left >= 99 or not card.fits(Share((left + 1) / 100))
    assert 0 == card.mib % 100


@given(LABELS, SHARES)
def test_kai_asks_for_at_least_what_a_share_holds_and_counts_within_a_hundredth_of_it(label, share):
    size = card_mib(label)
    exact = Fraction(share.mib_of(size), size)

    assert exact - Fraction(1, 10**12) <= Fraction(asked_gpus(share, size))
    assert abs(bound_gpus(share, size) - asked_gpus(share, size)) <= 0.0100001


def bind(queues, shares, size, *, slack=0.0):
    ran = 0
    for share in shares:
        if queues.refusal("q", asked_gpus(share, size), fixed=True, slack=slack) is None:
            queues, ran = queues.bind("q", bound_gpus(share, size), fixed=True), ran + 1
    return ran, queues


@given(LABELS, st.lists(HUNDREDTHS, min_size=1, max_size=12), st.integers(1, 4))
def test_no_order_of_binding_takes_a_queue_beyond_its_limit(label, sizes, limit):
    size = card_mib(label)
    _, queues = bind(queues_of([Queue("q", quota=limit, limit=limit)]), [Share(h / 100) for h in sizes], size)

    assert queues.by_name["q"].allocated <= limit
    assert queues.by_name["q"].allocated == queues.by_name["q"].allocated_fixed


@given(LABELS, st.lists(HUNDREDTHS, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_with_a_hundredth_of_slack_what_adds_up_on_the_grid_is_bound_in_every_order(label, sizes, chance):
    size = card_mib(label)
    # What is free beyond the sum: the slack that a plan keeps, and what doubles are off by.
    limit = sum(sizes) / 100 + SLACK_GPUS + 1e-9
    chance.shuffle(sizes)

    ran, _ = bind(queues_of([Queue("q", quota=limit, limit=limit)]), [Share(h / 100) for h in sizes], size)
    assert len(sizes) == ran


@given(LABELS, HUNDREDTHS)
def test_in_binding_order_a_pair_that_fills_a_limit_fits_if_it_fits_at_all(label, first):
    size, pair = card_mib(label), (Share(first / 100), Share((100 - first) / 100))
    empty = queues_of([Queue("q", quota=1, limit=1)])

    best = max(bind(empty, order, size)[0] for order in (pair, pair[::-1]))
    assert best == bind(empty, binding_order(pair, size), size)[0]


@given(LABELS, st.integers(1, 140_000))
def test_the_share_that_is_written_has_room_for_what_is_needed_and_the_next_smaller_has_not(label, need):
    hundredths = hundredths_for(need, label)

    if hundredths is None:
        assert 99 * usable_mib(label) < 100 * need
    else:
        assert hundredths * usable_mib(label) >= 100 * need
        assert hundredths == 1 or (hundredths - 1) * usable_mib(label) < 100 * need


@given(HUNDREDTHS, st.integers(0, 81559), st.integers(0, 81559))
def test_a_tenant_is_never_planned_with_less_than_it_was_given_and_more_use_never_means_less(declared, a, b):
    less, more = (effective_hundredths(declared, observed, 81559) for observed in sorted((a, b)))

    assert declared <= less <= more
    assert 100 * max(a, b) <= more * 81559


ASKS = st.builds(
    VgpuAsk,
    gpus=st.integers(1, 3),
    memory_mib=st.none() | st.integers(0, 1200),
    memory_pct=st.none() | st.integers(0, 100),
    cores=st.none() | st.integers(0, 120),
)


@given(st.lists(ASKS, max_size=25), st.integers(1, 5))
def test_hami_never_goes_beyond_memory_cores_or_splits(asks, splits):
    cards = tuple(VgpuCard(f"GPU-{index}", 1000, splits=splits) for index in range(3))
    for ask in asks:
        placed = place(cards, ask)
        cards = cards if isinstance(placed, str) else placed

    for card in cards:
        assert card.used_mib <= card.total_mib
        assert card.used_cores <= card.total_cores
        assert card.tenants <= card.splits


@st.composite
def capacities(draw):
    value = draw(st.integers(1, 100))
    policy = draw(st.sampled_from(["none", "range", "values"]))
    if policy == "none":
        return Capacity(value)
    if policy == "values":
        values = tuple(sorted(draw(st.sets(st.integers(0, value), min_size=1, max_size=4))))
        return Capacity(value, Policy(default=values[0], values=values))
    minimum = draw(st.integers(0, 5))
    step = draw(st.none() | st.integers(1, 7))
    return Capacity(value, Policy(draw(st.none() | st.just(minimum)), minimum, value, step))


@given(
    st.dictionaries(st.sampled_from("abc"), capacities(), min_size=1),
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 40)), max_size=15),
)
def test_claims_never_consume_more_of_a_device_than_it_has(offered, claims):
    device = SharedDevice(offered)
    for claim in claims:
        if device.refusal(claim) is None:
            device = device.take(claim)

    for name, consumed in device.consumed.items():
        assert consumed <= offered[name].value


@given(capacities(), st.integers(0, 120))
def test_what_is_consumed_is_at_least_what_is_asked_and_on_offer(capacity, asked):
    consumed = capacity.consumed(asked)

    if consumed is not None:
        assert consumed >= asked
        assert capacity.consumed(consumed) == consumed


TENANCIES = st.builds(
    Tenancy,
    st.sampled_from(["kai", "hami", "dra", "mps"]),
    st.sampled_from(["", "time-slicing", "sm-sharing", "mps"]),
)


@given(st.lists(TENANCIES, max_size=8), st.booleans())
def test_one_card_never_has_two_mechanisms_or_two_modes(asked, is_mig):
    held = []
    for tenancy in asked:
        if clash(held, tenancy, is_mig=is_mig) is None:
            held.append(tenancy)

    assert len({(tenancy.mechanism, tenancy.mode) for tenancy in held}) <= 1
    assert not (is_mig and any(tenancy.needs_mps for tenancy in held))


HOSTS = st.lists(
    st.builds(
        Host,
        gpus=st.integers(0, 4),
        product=st.sampled_from(["A10", "T4"]),
        cpu_milli=st.integers(0, 40).map(lambda n: 1000 * n),
        memory_mib=st.integers(0, 100),
    ),
    min_size=1,
    max_size=5,
)


@st.composite
def asks(draw):
    gpus = draw(st.integers(0, 3))
    milli = {0: 0, 1: draw(st.sampled_from([100, 190, 470, 810, 1000]))}.get(gpus, 1000)
    products = draw(st.frozensets(st.sampled_from(["A10", "T4"]), max_size=2)) if gpus else frozenset()
    return Ask(gpus, milli, 1000 * draw(st.integers(0, 12)), draw(st.integers(0, 30)), products)


@given(HOSTS, st.lists(asks(), min_size=1, max_size=20), st.lists(st.integers(0, 19), max_size=6))
def test_placement_stays_within_hosts_uses_what_fits_and_is_the_same_each_time(hosts, asked, leaving):
    mix = Mix(dict.fromkeys(asked, 1.0))
    left, again = Hosts(hosts), Hosts(hosts)
    rule, other = LeastLoss(mix, left), LeastLoss(mix, again)
    placed = []
    for nth, ask in enumerate(asked):
        spot = rule.spot(left, ask)
        assert spot == other.spot(again, ask)
        assert (spot is not None) is bool(left.fits(ask).any())
        if spot is not None:
            left.take(spot, ask)
            again.take(spot, ask)
            placed.append((spot, ask))
        if nth in leaving and placed:
            gone = placed.pop(0)
            left.give_back(*gone)
            again.give_back(*gone)

    assert (left.idle >= 0).all()
    assert (left.cpu_milli >= 0).all()
    assert (left.memory_mib >= 0).all()
    for spot, ask in placed:
        left.give_back(spot, ask)
    assert (left.idle == Hosts(hosts).idle).all()
    assert np.array_equal(left.cpu_milli, Hosts(hosts).cpu_milli)
