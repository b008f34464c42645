"""HAMi's rules, row by row as its real extender and webhook showed them."""

from pathlib import Path

import pytest
import yaml

from fleet.errors import InputError
from fleet.ledgers.hami import VgpuAsk, VgpuCard, place

ROWS = yaml.safe_load((Path(__file__).parents[2] / "data" / "hami" / "scheduling-cases.yaml").read_text())
NODE = tuple(VgpuCard(f"GPU-{index}", 81559) for index in range(4))


def ask_of(request):
    return VgpuAsk(
        gpus=request["gpu"],
        memory_mib=request.get("gpumem"),
        memory_pct=request.get("gpumem-percentage"),
        cores=request.get("gpucores"),
    )


@pytest.mark.parametrize("row", ROWS, ids=[str(row["request"]) for row in ROWS])
def test_a_request_ends_as_it_did_with_the_real_extender(row):
    if "refused" in row:
        with pytest.raises(InputError):
            ask_of(row["request"])
        return
    placed = place(NODE, ask_of(row["request"]))
    if "reason" in row:
        assert row["reason"] == placed
    else:
        assert tuple(row["granted"]) == (placed[0].used_mib, placed[0].used_cores)
        assert (1, NODE[1:]) == (placed[0].tenants, placed[1:])


def card(**given):
    return VgpuCard("GPU-0", 1000, **given)


@pytest.mark.parametrize(
    ("given", "ask", "reason"),
    [
        ({"is_healthy": False}, VgpuAsk(memory_mib=1), "CardNotHealth"),
        ({"tenants": 10}, VgpuAsk(memory_mib=1), "CardTimeSlicingExhausted"),
        ({"tenants": 9}, VgpuAsk(memory_mib=1), None),
        ({"tenants": 2, "splits": 2}, VgpuAsk(memory_mib=1), "CardTimeSlicingExhausted"),
        ({"used_mib": 600}, VgpuAsk(memory_mib=400), None),
        ({"used_mib": 600}, VgpuAsk(memory_mib=401), "CardInsufficientMemory"),
        ({"used_cores": 60}, VgpuAsk(memory_mib=1, cores=40), None),
        ({"used_cores": 60}, VgpuAsk(memory_mib=1, cores=41), "CardInsufficientCore"),
        ({"tenants": 1}, VgpuAsk(memory_mib=1, cores=100), "ExclusiveDeviceAllocateConflict"),
        ({"tenants": 1, "total_cores": 200}, VgpuAsk(memory_mib=1, cores=100), None),
        ({"tenants": 1, "used_cores": 100}, VgpuAsk(memory_mib=1), "CardComputeUnitsExhausted"),
        ({"tenants": 1, "used_cores": 100}, VgpuAsk(memory_mib=1, cores=1), "CardInsufficientCore"),
        ({"total_cores": 0}, VgpuAsk(memory_mib=1), None),
    ],
)
def test_the_first_rule_that_applies_is_named(given, ask, reason):
    assert reason == card(**given).refusal(ask)


def test_a_part_of_a_mib_is_cut():
    assert 499 == VgpuAsk(memory_pct=50).memory_of(999)


def test_every_card_of_a_request_is_another_one():
    placed = place(NODE, VgpuAsk(gpus=3, memory_mib=5, cores=10))

    assert [1, 1, 1, 0] == [card.tenants for card in placed]
    assert [5, 5, 5, 0] == [card.used_mib for card in placed]


def test_a_request_for_as_many_cards_as_fit_is_placed():
    placed = place((card(), card(is_healthy=False), card()), VgpuAsk(gpus=2, memory_mib=1))

    assert [1, 0, 1] == [card.tenants for card in placed]


def test_where_too_few_cards_fit_the_reason_of_one_that_does_not_is_named():
    assert "CardNotHealth" == place((card(), card(is_healthy=False)), VgpuAsk(gpus=2, memory_mib=1))


def test_tenants_add_up():
    both = card().take(VgpuAsk(memory_mib=300, cores=20)).take(VgpuAsk(memory_pct=10, cores=5))

    assert (2, 400, 25) == (both.tenants, both.used_mib, both.used_cores)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gpus": 0}, "0 cards: it would run without one"),
        ({"memory_mib": 2**31}, "beyond 32 bits it would run without a card"),
        ({"memory_mib": -1}, "gpumem -1"),
        ({"memory_pct": 101}, "gpumem-percentage 101"),
        ({"cores": -1}, "gpucores -1"),
    ],
)
def test_what_hami_would_bind_without_a_card_or_refuse_is_refused_by_name(given, said):
    with pytest.raises(InputError, match=said):
        VgpuAsk(**given)


@pytest.mark.parametrize("given", [{"memory_mib": 2**31 - 1}, {"memory_pct": 100}, {"cores": 0}])
def test_the_edges_of_what_may_be_asked_are_taken(given):
    assert 1 == VgpuAsk(**given).gpus
