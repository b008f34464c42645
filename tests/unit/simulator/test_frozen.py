import copy
import json

import pytest

from simulator.frozen import freeze

POD = {"spec": {"containers": [{"name": "vllm", "args": ["--model", "m"]}]}, "n": 1, "none": None}


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: pod.update(n=2),
        lambda pod: pod.pop("n"),
        lambda pod: pod.setdefault("m", 1),
        lambda pod: pod.__setitem__("n", 2),
        lambda pod: pod.__delitem__("n"),
        lambda pod: pod["spec"].clear(),
        lambda pod: pod["spec"]["containers"].append({}),
        lambda pod: pod["spec"]["containers"].sort(),
        lambda pod: pod["spec"]["containers"][0]["args"].__setitem__(0, "x"),
        lambda pod: pod["spec"]["containers"][0]["args"].__iadd__(["x"]),
    ],
)
def test_no_part_can_be_changed(change):
    frozen = freeze(POD)
    with pytest.raises(TypeError, match=r"copy\.deepcopy"):
        change(frozen)
    assert frozen == POD


def test_it_is_the_same_json():
    assert POD == freeze(POD)
    assert json.dumps(POD) == json.dumps(freeze(POD))


def test_it_does_not_follow_the_original():
    original = copy.deepcopy(POD)
    frozen = freeze(original)
    original["spec"]["containers"][0]["args"].append("--more")
    assert POD == frozen


def test_a_deep_copy_is_plain_and_can_be_edited():
    editable = copy.deepcopy(freeze(POD))
    editable["spec"]["containers"][0]["args"].append("--more")
    assert ["--model", "m", "--more"] == editable["spec"]["containers"][0]["args"]
    assert (dict, list) == (type(editable["spec"]), type(editable["spec"]["containers"]))


def test_a_deep_copy_of_a_frozen_array_is_plain_too():
    assert list is type(copy.deepcopy(freeze(POD))["spec"]["containers"])
    assert list is type(copy.deepcopy(freeze(POD)["spec"]["containers"]))


def test_what_is_frozen_already_is_shared():
    old = freeze(POD)
    assert old["spec"] is freeze({**old, "n": 2})["spec"]
