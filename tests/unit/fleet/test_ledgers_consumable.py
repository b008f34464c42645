"""Devices shared by capacity: rounding, defaults, and sequences that the real scheduler allocated."""

import pytest

from fleet.ledgers.consumable import Capacity, Policy, SharedDevice

MI, GI = 1 << 20, 1 << 30
WHOLE = 81559 * MI
BY_MEMORY = {"memory": Capacity(WHOLE, Policy(default=WHOLE, minimum=MI, maximum=WHOLE, step=MI))}
UNLIMITED = {"memory": Capacity(WHOLE, Policy(default=0, minimum=0, maximum=WHOLE, step=MI))}
FOUR = {**UNLIMITED, "shares": Capacity(4, Policy(default=1, minimum=1, maximum=4, step=1))}
INSTANCE = {
    "memory": Capacity(9984 * MI, Policy(default=0, minimum=0, maximum=9984 * MI, step=MI)),
    "shares": Capacity(4, Policy(default=1, minimum=1, maximum=4, step=1)),
    "multiprocessors": Capacity(16),
    "memorySlice0": Capacity(1),
}


def allocate(capacities, *claims):
    """Return for each claim whether it was allocated on one device, one after the other."""
    device, ran = SharedDevice(capacities), []
    for claim in claims:
        ran.append(device.refusal(claim) is None)
        if ran[-1]:
            device = device.take(claim)
    return ran


ZEROS = {"multiprocessors": 0, "memorySlice0": 0}


@pytest.mark.parametrize(
    ("capacities", "claims", "ran"),
    [
        (BY_MEMORY, [{"memory": 20 * GI}] * 4, [True, True, True, False]),
        (BY_MEMORY, [{}, {"memory": MI}], [True, False]),
        (BY_MEMORY, [{"memory": MI}, {}], [True, False]),
        (BY_MEMORY, [{"memory": 100 * GI}], [False]),
        (BY_MEMORY, [{"shares": 1}], [False]),
        (UNLIMITED, [{}] * 4, [True] * 4),
        (UNLIMITED, [{"memory": 60 * GI}] * 2, [True, False]),
        (FOUR, [{}] * 5, [True] * 4 + [False]),
        (FOUR, [{"shares": 3}, {"shares": 2}, {}], [True, False, True]),
        (FOUR, [{"shares": 5}], [False]),
        (INSTANCE, [{}] * 2, [True, False]),
        (INSTANCE, [ZEROS] * 5, [True] * 4 + [False]),
        (INSTANCE, [{"multiprocessors": 8, "memorySlice0": 0}] * 3, [True, True, False]),
        (BY_MEMORY, [{"memory": 20 * GI, **ZEROS}], [False]),
    ],
)
def test_claims_are_allocated_as_the_real_scheduler_did(capacities, claims, ran):
    assert ran == allocate(capacities, *claims)


@pytest.mark.parametrize(
    ("policy", "asked", "granted"),
    [
        (Policy(minimum=MI, maximum=WHOLE, step=MI), 1_500_000, 2 * MI),
        (Policy(minimum=MI, maximum=WHOLE, step=MI), 1, MI),
        (Policy(minimum=MI, maximum=WHOLE, step=MI), 3 * MI, 3 * MI),
        (Policy(minimum=3, step=5), 4, 8),
        (Policy(minimum=3, step=5), 8, 8),
        (Policy(minimum=3), 7, 7),
        (Policy(minimum=3), 2, 3),
        (Policy(minimum=1, maximum=4), 5, None),
        (Policy(minimum=1, maximum=4), 4, 4),
        (Policy(default=6, minimum=1, maximum=4), 6, 6),
        (Policy(default=2, values=(2, 4, 8)), 3, 4),
        (Policy(default=2, values=(2, 4, 8)), 8, 8),
        (Policy(default=2, values=(2, 4, 8)), 9, None),
        (Policy(default=2), 7, 7),
    ],
)
def test_what_is_asked_for_is_rounded_up_to_what_the_policy_offers(policy, asked, granted):
    assert granted == policy.granted(asked)


@pytest.mark.parametrize(
    ("capacity", "asked", "consumed"),
    [
        (Capacity(9), None, 9),
        (Capacity(9), 4, 4),
        (Capacity(9, Policy(minimum=1)), None, 9),
        (Capacity(9, Policy(default=0, minimum=0)), None, 0),
        (Capacity(9, Policy(default=2, minimum=0, maximum=3)), 4, None),
    ],
)
def test_a_capacity_that_is_not_named_takes_the_default_or_all(capacity, asked, consumed):
    assert consumed == capacity.consumed(asked)


def test_every_refusal_says_why():
    device = SharedDevice(BY_MEMORY).take({"memory": 60 * GI})

    assert "the device has no capacity shares" == device.refusal({"shares": 1})
    assert f"memory: {20 * GI} of {WHOLE - 60 * GI} left (asked)" == device.refusal({"memory": 20 * GI})
    assert f"memory: {WHOLE + MI} is beyond what may be asked for" == device.refusal({"memory": WHOLE + MI})
    assert "not named, so that all or the default of it is taken" in device.refusal({})


def test_a_device_that_is_not_shared_takes_one_claim():
    device = SharedDevice({"memory": Capacity(5)}, is_shared=False)

    assert device.refusal({}) is None
    assert "the device takes one claim" == device.take({}).refusal({"memory": 0})


def test_what_is_taken_adds_up():
    device = SharedDevice(INSTANCE).take(ZEROS).take({**ZEROS, "memory": 1, "shares": 2})

    assert {"memory": MI, "shares": 3, "multiprocessors": 0, "memorySlice0": 0} == device.consumed
    assert 2 == device.claims


@pytest.mark.parametrize(
    ("policy", "amount", "granted"),
    [
        (Policy(minimum=MI, maximum=WHOLE, step=MI), 3 * MI + 1, 3 * MI),
        (Policy(minimum=3, step=5), 12, 8),
        (Policy(minimum=3, step=5), 2, None),
        (Policy(minimum=3, maximum=10), 12, 10),
        (Policy(minimum=3), 12, 12),
        (Policy(values=(1, 4)), 3, 1),
        (Policy(values=(2, 4)), 1, None),
        (Policy(), 7, 7),
    ],
)
def test_the_largest_amount_is_found_that_is_granted_as_it_is_asked(policy, amount, granted):
    assert granted == policy.at_most(amount)
    assert granted is None or granted == policy.granted(granted)


@pytest.mark.parametrize("hundredths", range(1, 100))
def test_a_share_names_what_fits_as_often_as_in_a_hundred_and_is_told_by_it(hundredths):
    device = SharedDevice({**BY_MEMORY, "cores": Capacity(1000, Policy(1000, 10, 1000, 10))})
    asked = device.share(hundredths)

    assert [True] * (100 // hundredths) == allocate(device.capacities, *[asked] * (100 // hundredths))
    assert asked == device.consumed_by(asked)
    assert hundredths == device.hundredths(asked)


def test_where_steps_are_too_coarse_there_is_no_such_share():
    coarse = SharedDevice({"memory": Capacity(80 * GI, Policy(80 * GI, 4 * GI, 80 * GI, 4 * GI))})
    few = SharedDevice({**BY_MEMORY, "seats": Capacity(4, Policy(4, 1, 4, 1))})

    assert [5, 10, 25] == [size for size in (5, 10, 12, 25, 33) if coarse.share(size)]
    assert [25, 50] == [size for size in (10, 20, 25, 50) if few.share(size)]
    assert SharedDevice({"seats": Capacity(4)}).share(50) is None


@pytest.mark.parametrize(("capacities", "leaves"), [(BY_MEMORY, False), (UNLIMITED, True), (FOUR, True)])
def test_whether_others_fit_beside_who_names_nothing(capacities, leaves):
    assert leaves == SharedDevice(capacities).leaves_room
    assert not SharedDevice(capacities, is_shared=False).leaves_room
