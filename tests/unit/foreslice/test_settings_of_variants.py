"""Deployments that settings name beside a workload's own: which can be meant, and whose each is."""

import pytest

from actuator.objects.beside import Beside
from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice.settings.load import beside_of, load
from tests.unit.foreslice.test_settings import HEAD, one

SOMEWHERE = HEAD.replace("embedded", "kubernetes").replace(
    "source: kubernetes", "source: prometheus, url: 'http://p'"
)


def two(first, second):
    return one(**first) + one(**{"match": {"app": "other"}, **second})


def test_they_are_those_of_their_workload_in_their_order(write):
    text = SOMEWHERE + one(variants=["b", "a"]) + one(name="c", namespace="x", variants="d") + one(name="e")
    expected = {WorkloadKey("default", "chat"): ("b", "a"), WorkloadKey("x", "c"): ("d",)}
    assert Beside(expected) == beside_of(load(write(text)))


def test_another_namespace_has_deployments_of_the_same_name(write):
    text = SOMEWHERE + two({"variants": ["b"]}, {"namespace": "x", "variants": ["b"]})
    assert 2 == len(beside_of(load(write(text))).names)


WRONG = {
    "nothing that they are in": (
        HEAD + one(variants=["a"]),
        "5: workloads[0].variants: are Deployments of a cluster, and cluster.kind is embedded",
    ),
    "of another namespace": (
        SOMEWHERE + one(variants=["a", "other/b"]),
        "5: workloads[0].variants[1]: must be of the workload's own namespace, and is named without it",
    ),
    "no name of a Deployment": (
        SOMEWHERE + one(variants=["A"]),
        "5: workloads[0].variants[0]: must be lower-case letters, digits, '-' and '.', as in Kubernetes",
    ),
    "the workload's own": (
        SOMEWHERE + one(variants="chat"),
        "5: workloads[0].variants[0]: is the workload's own Deployment",
    ),
    "the same twice": (
        SOMEWHERE + one(variants=["a", "b", "a"]),
        "5: workloads[0].variants[2]: a is there twice",
    ),
    "where a floor is written": (
        SOMEWHERE + one(variants=["a"], way="floor"),
        "5: workloads[0].variants: need way: own: floor writes what scales one Deployment, or nothing",
    ),
    "a workload": (
        SOMEWHERE + two({"name": "b"}, {"variants": ["a", "b"]}),
        "6: workloads[1].variants[1]: b is a workload of its own",
    ),
    "named before, and then a workload": (
        SOMEWHERE + two({"variants": ["b"]}, {"name": "b"}),
        "6: workloads[1].name: b is among the variants of chat",
    ),
    "of two workloads": (
        SOMEWHERE + two({"variants": ["c"]}, {"name": "b", "variants": ["d", "c"]}),
        "6: workloads[1].variants[1]: c is among the variants of chat, too",
    ),
}


@pytest.mark.parametrize(("text", "line"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_meant_is_one_line_with_file_and_key(write, text, line):
    path = write(text)
    with pytest.raises(InputError) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}:{line}")
    assert "\n" not in str(refused.value)
