from statistics import quantiles

import pytest

from simulator.delays import Delays, LogNormal, crowding


def pods(count, namespace="shop"):
    return [{"metadata": {"namespace": namespace, "name": f"web-{nth}"}} for nth in range(count)]


@pytest.mark.parametrize(
    ("median_s", "p95_s", "draw"),
    [
        pytest.param(1.0, 5.0, Delays.schedule_s, id="schedule"),
        pytest.param(2.0, 10.0, Delays.prepare_s, id="prepare"),
        pytest.param(2.0, 2.9, Delays.image_s, id="image"),
        pytest.param(60.0, 90.5, Delays.engine_init_s, id="engine"),
    ],
)
def test_durations_have_the_median_and_the_tail_that_they_should(median_s, p95_s, draw):
    drawn = quantiles([draw(Delays(1), pod) for pod in pods(4000)], n=20)
    assert median_s == pytest.approx(drawn[9], rel=0.06)
    assert p95_s == pytest.approx(drawn[18], rel=0.10)


def test_a_duration_depends_on_seed_step_and_pod_alone():
    first, second = pods(2)
    alone = Delays(1).prepare_s(second)
    delays = Delays(1)
    delays.schedule_s(first)
    delays.prepare_s(first)
    assert alone == delays.prepare_s(second)


def test_seeds_steps_pods_and_namespaces_are_told_apart():
    here, there = pods(2)[1], pods(2, "other")[1]
    drawn = [
        Delays(1).prepare_s(here),
        Delays(2).prepare_s(here),
        Delays(1).prepare_s(there),
        Delays(1).prepare_s(pods(1)[0]),
        2 * Delays(1).schedule_s(here),
    ]
    assert len(drawn) == len(set(drawn))


def test_a_distribution_is_given_by_median_and_p95():
    distribution = LogNormal.of_p95(2.0, 10.0)
    assert 2.0 == pytest.approx(distribution.at(0.5))
    assert 10.0 == pytest.approx(distribution.at(0.95))


def test_starts_slow_each_other_down():
    assert 1.0 == crowding(0)
    assert 1.45 == pytest.approx(crowding(3))
