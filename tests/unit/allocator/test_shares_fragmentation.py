"""Expected fragments by hand, and against the definition written out."""

import numpy as np
import pytest

from allocator.shares.fragmentation import Fragmentation, Stranding
from allocator.shares.mix import Ask, Mix


def expected(mix, idle, cpu=100_000, product=0, products=("T4",)):
    return Fragmentation(Mix(mix), products).expected(np.array([idle]), np.array([cpu]), np.array([product]))[
        0
    ]


def by_definition(mix, idle, cpu, product):
    """F_n of the paper, one ask after the other."""
    total = 0.0
    for ask, weight in Mix(mix).weights.items():
        fitting = [card for card in idle if card >= ask.milli]
        runs = (
            ask.gpus
            and cpu >= ask.cpu_milli
            and len(fitting) >= ask.gpus
            and (not ask.products or product in ask.products)
        )
        total += weight * (sum(idle) - (sum(fitting) if runs else 0))
    return total


def test_idle_that_a_share_does_not_fit_into_is_a_fragment():
    assert 200 == expected({Ask(1, 500, 0, 0): 1}, [200, 900])


def test_where_an_ask_cannot_run_at_all_everything_idle_is_a_fragment():
    assert 1100 == expected({Ask(1, 500, 5000, 0): 1}, [200, 900], cpu=4999)
    assert 1100 == expected({Ask(2, 1000, 0, 0): 1}, [100, 1000])
    assert 1100 == expected({Ask(1, 500, 0, 0, frozenset({"A10"})): 1}, [200, 900])
    assert 1100 == expected({Ask(0, 0, 1, 0): 1}, [200, 900])


def test_cpu_that_is_just_enough_is_enough():
    assert 200 == expected({Ask(1, 500, 5000, 0): 1}, [200, 900], cpu=5000)


def test_fragments_are_expected_over_the_mix():
    mix = {Ask(1, 500, 0, 0): 5, Ask(1, 300, 0, 0): 3, Ask(1, 1000, 0, 0): 2}

    assert [220, 310, 320] == pytest.approx(
        [expected(mix, idle) for idle in ([600, 500], [300, 500], [600, 200])]
    )


def test_it_is_the_papers_definition_on_any_hosts():
    rng = np.random.default_rng(1)
    products = ("A10", "G2", "T4")
    for _ in range(60):
        mix = {
            Ask(
                gpus=int(rng.choice([0, 1, 1, 1, 2])),
                milli=int(rng.choice([200, 470, 810, 1000])),
                cpu_milli=int(rng.integers(0, 8)) * 1000,
                memory_mib=0,
                products=frozenset(rng.choice(products, rng.integers(0, 3))),
            ): int(rng.integers(1, 9))
            for _ in range(6)
        }
        idle, cpu = rng.choice([0, 190, 530, 1000], 4).tolist(), int(rng.integers(0, 8)) * 1000
        product = int(rng.integers(3))

        assert by_definition(mix, idle, cpu, products[product]) == pytest.approx(
            expected(mix, idle, cpu, product, products)
        )


def stranded(mix, idle, cpu=10**9, memory=10**9):
    return Stranding(Mix(mix)).expected(np.array([idle]), np.array([cpu]), np.array([memory]))[0]


def test_gpu_that_the_hosts_cpu_cannot_serve_at_the_mixs_rate_is_stranded():
    assert 1500 == stranded({Ask(1, 500, 6000, 0): 1}, [1000, 1000], cpu=6000)


def test_the_scarcer_of_cpu_and_memory_counts():
    assert 1750 == stranded({Ask(1, 500, 6000, 800): 1}, [1000, 1000], cpu=6000, memory=400)


def test_where_there_is_plenty_or_nothing_is_used_nothing_is_stranded():
    assert 0 == stranded({Ask(1, 500, 6000, 0): 1}, [1000], cpu=12_000)
    assert 0 == stranded({Ask(1, 500, 0, 0): 1}, [1000], cpu=0, memory=0)
