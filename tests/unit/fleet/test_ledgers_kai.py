"""KAI's arithmetic, row by row as the real scheduler showed it."""

import math
from pathlib import Path

import pytest
import yaml

from fleet.errors import InputError
from fleet.ledgers.kai import (
    Card,
    Cards,
    Instances,
    Share,
    asked_gpus,
    binding_order,
    bound_gpus,
    card_mib,
    cards_needed,
    hundredths_for,
)
from fleet.ledgers.queues import SLACK_GPUS, Queue, queues_of

ROWS = yaml.safe_load((Path(__file__).parents[2] / "data" / "kai" / "quota-cases.yaml").read_text())
H100 = card_mib(81559)


def asks_of(row):
    if "resource" in row:
        return [Instances({row["resource"]: 1})]
    if "gpuMemoryMiB" in row:
        return [Share(memory_mib=row["gpuMemoryMiB"])] * row["count"]
    written = row.get("fractions") or [row["fraction"]] * row["count"]
    asks = []
    for text in written:
        portion, _, devices = text.removesuffix(" devices").partition(" x ")
        asks.append(Share(float(portion), devices=int(devices or 1)))
    return asks


def run(row):
    """Bind the pods of a row one after the other; return how many ran, and what the first refusal said."""
    size, is_fixed = card_mib(row.get("nodeLabelMiB", 81559)), row.get("class") == "inference"
    queues = queues_of([Queue("q", quota=row.get("quota", -1.0), limit=row.get("limit", 1.0))])
    cards = [Card(size)] * row["gpus"] if "gpus" in row else None
    ran, said = 0, None
    for ask in asks_of(row):
        refusal = queues.refusal("q", asked_gpus(ask, size), fixed=is_fixed)
        fitting = [] if cards is None else [i for i, card in enumerate(cards) if card.fits(ask)]
        if refusal or (cards is not None and not fitting):
            said = said or refusal
            continue
        if fitting:
            cards[fitting[0]] = cards[fitting[0]].take(ask)
        queues = queues.bind("q", bound_gpus(ask, size), fixed=is_fixed)
        ran += 1
    return ran, said, cards


@pytest.mark.parametrize("row", ROWS, ids=[str(row)[:60] for row in ROWS])
def test_as_many_run_as_ran_with_the_real_scheduler(row):
    ran, said, cards = run(row)

    if "ranPerGpu" in row:
        assert [row["ranPerGpu"]] * row["gpus"] == [len(card.held) for card in cards]
    else:
        assert row["ran"] == ran
    if "message" in row:
        asked = row["message"].split("requested ")[1].split(" ")[0]
        held = row["message"].split("currently ")[-1].split("while ")[-1].split(" ")[0]
        assert f"{asked} GPUs asked, {held} of" in said
    if "portion" in row:
        assert float(row["portion"]) == asks_of(row)[0].portion_of(card_mib(row["nodeLabelMiB"]))


@pytest.mark.parametrize(
    ("label", "mib"),
    [(81559, 81500), (46068, 46000), (15360, 15300), (100, 100), (99, 0), (85520809984, 81500)],
)
def test_a_card_has_its_label_down_to_full_100_mib_whether_in_mib_or_bytes(label, mib):
    assert mib == card_mib(label)


def test_a_label_of_one_tib_and_more_is_in_bytes():
    assert (1_048_500, 0) == (card_mib((1 << 20) - 1), card_mib(1 << 20))


def test_a_portion_is_cut_to_whole_mib_and_memory_is_taken_as_asked():
    assert (27139, 2000) == (Share(0.333).mib_of(H100), Share(memory_mib=2000).mib_of(H100))


def test_memory_is_a_portion_up_to_full_hundredths_and_a_portion_is_as_asked():
    assert (0.27, 0.333) == (Share(memory_mib=4096).portion_of(15300), Share(0.333).portion_of(H100))


@pytest.mark.parametrize("hundredths", [7, 14, 28, 55, 56])
@pytest.mark.parametrize("label", [15360, 40960, 46068, 81559, 81920, 143771])
def test_five_hundredths_are_asked_one_more_than_they_count(hundredths, label):
    share, size = Share(hundredths / 100), card_mib(label)

    assert (hundredths + 1, hundredths) == (
        round(100 * asked_gpus(share, size)),
        round(100 * bound_gpus(share, size)),
    )


@pytest.mark.parametrize(("portion", "bound"), [(0.125, 0.13), (0.0625, 0.06), (0.375, 0.38), (0.005, 0.01)])
def test_a_bound_share_counts_to_the_nearest_hundredth_with_halves_up(portion, bound):
    assert bound == bound_gpus(Share(portion), H100)


def test_in_mode_hamicore_the_limit_is_the_portion_of_the_label_as_it_stands():
    assert (4147, 40779) == (Share(memory_mib=4096).limit_mib(15360), Share(0.5).limit_mib(81559))


def test_shares_of_several_cards_count_once_for_each():
    assert (1.0, 1.0) == (asked_gpus(Share(0.5, devices=2), H100), bound_gpus(Share(0.5, devices=2), H100))


def test_whole_cards_count_as_they_are():
    assert (3.0, 3.0) == (asked_gpus(Cards(3), H100), bound_gpus(Cards(3), H100))


@pytest.mark.parametrize(
    ("counts", "gpus"),
    [
        ({"nvidia.com/mig-1g.10gb": 2}, 2),
        ({"nvidia.com/mig-3g.40gb": 1, "nvidia.com/mig-1g.10gb": 1}, 4),
        ({"nvidia.com/mig-1g.10gb.me": 5}, 0),
        ({"nvidia.com/mig-1g.24gb.gfx": 1}, 0),
    ],
)
def test_an_instance_counts_as_its_compute_slices_and_with_a_suffix_as_nothing(counts, gpus):
    assert (gpus, gpus) == (asked_gpus(Instances(counts), H100), bound_gpus(Instances(counts), H100))


def test_a_card_takes_shares_until_its_mib_are_held():
    card = Card(1000).take(Share(memory_mib=600))

    assert (True, False) == (card.fits(Share(memory_mib=400)), card.fits(Share(memory_mib=401)))
    assert (600, 400) == card.take(Share(memory_mib=400)).held


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "a portion or an amount of memory"),
        ({"portion": 0.5, "memory_mib": 5}, "a portion or an amount of memory"),
        ({"portion": 1.0}, "share 1.0 is out of range"),
        ({"portion": -0.5}, "share -0.5 is out of range"),
        ({"portion": math.nan}, "share nan is out of range"),
        ({"memory_mib": -1}, "share -1 is out of range"),
        ({"portion": 0.5, "devices": 0}, "a share of 0 cards"),
    ],
)
def test_what_is_no_share_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        Share(**given)


@pytest.mark.parametrize(
    ("need_mib", "label", "hundredths"),
    [
        (7449, 15360, 50),
        (7450, 15360, 51),
        (1, 81559, 1),
        (14751, 15360, None),
        (14750, 15360, 99),
        (0, 81559, 1),
    ],
)
def test_the_least_share_with_room_leaves_out_what_the_driver_keeps(need_mib, label, hundredths):
    assert hundredths == hundredths_for(need_mib, label)


@pytest.mark.parametrize("pair", [(0.45, 0.55), (0.44, 0.56), (0.72, 0.28), (0.86, 0.14), (0.93, 0.07)])
def test_in_binding_order_both_of_a_pair_fit_that_fits_one_way_only(pair):
    row = {"fractions": [str(share.portion) for share in binding_order(map(Share, pair), H100)]}

    assert (1, 2) == (run({"fractions": list(map(str, pair))})[0], run(row)[0])


def test_memory_is_asked_as_it_counts_so_that_its_order_does_not_matter():
    shares = [Share(memory_mib=2000), Share(0.55), Share(memory_mib=4096)]

    assert [Share(0.55), Share(memory_mib=2000), Share(memory_mib=4096)] == binding_order(shares, H100)


def test_with_a_hundredth_of_slack_every_order_of_shares_on_the_grid_fits():
    for first in range(1, 99):
        shares = [Share(first / 100), Share((99 - first) / 100)]
        for order in (shares, shares[::-1]):
            queues = queues_of([Queue("q", quota=1.0, limit=1.0)])
            for share in order:
                assert queues.refusal("q", asked_gpus(share, H100), fixed=True) is None
                queues = queues.bind("q", bound_gpus(share, H100), fixed=True)
    assert SLACK_GPUS == 0.01


def test_cards_needed_are_those_of_first_fit_decreasing():
    assert 3 == cards_needed([Share(memory_mib=30 * 1024)] * 5, card_mib(80 * 1024))
    assert 2 == cards_needed([Share(0.2), Share(0.8), Share(0.7), Share(0.3)], H100)
    assert 0 == cards_needed([], H100)


def test_a_share_of_two_cards_needs_two():
    assert 2 == cards_needed([Share(0.5, devices=2), Share(0.5), Share(0.5)], H100)
    assert 3 == cards_needed([Share(0.6, devices=2), Share(0.5)], H100)


def test_a_share_that_is_larger_than_a_card_is_refused():
    with pytest.raises(InputError, match="90000 MiB do not fit on a card of 81500 MiB"):
        cards_needed([Share(memory_mib=90_000)], H100)
