"""Speed of the world alone: engines, scrapes and agents of eight tenants."""

import pytest

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from simulator.tenants import shipped_tenants
from simulator.world import World, WorldSpec

DAY_S = 86_400
DAY_LIMIT_S = 12.0


@pytest.fixture(scope="module")
def spec():
    return WorldSpec(shipped_tenants(CapacityModel([H100_80GB]), seed=1), start_day=10)


def test_one_day_of_the_world_alone(benchmark, spec):
    def fresh():
        return (World(spec, seed=1),), {}

    def live(world):
        world.advance_to(world.start_s + DAY_S)

    benchmark.pedantic(live, setup=fresh, rounds=2)
    assert DAY_LIMIT_S > benchmark.stats.stats.min


def test_building_a_world_with_ten_days_of_past(benchmark, spec):
    benchmark.pedantic(World, args=(spec, 1), rounds=3)
