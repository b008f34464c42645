"""Which workloads may come to other shapes by their own Deployment."""

import pytest

from fleet.errors import InputError
from fleet.workload import Reshaping
from foreslice.settings.load import load, workloads_of
from tests.unit.foreslice.test_settings import HEAD, one

WRONG = {
    "what the device plugin gives": (
        {"mechanism": "device-plugin"},
        "switch takes mechanism dra, not device-plugin",
    ),
    "what is only published": (
        {"way": "publish"},
        "switch writes the Deployment, and way: publish writes nothing",
    ),
    "what has Deployments beside its own": (
        {"variants": ["b"]},
        "switch changes the workload's own Deployment, and uses no variants",
    ),
}


@pytest.mark.parametrize(("more", "why"), WRONG.values(), ids=WRONG)
def test_it_is_refused_in_one_line(write, more, why):
    with pytest.raises(InputError) as said:
        load(write(HEAD + one(reshape="switch", **more)))
    [line] = said.value.lines
    assert line.endswith(f":5: workloads[0].reshape: {why}")


@pytest.mark.parametrize(("way", "reshape"), [("own", "switch"), ("floor", "switch"), ("own", None)])
def test_it_is_asked_for_by_name_and_copies_are_made_else(write, way, reshape):
    more = {} if reshape is None else {"reshape": reshape}
    [workload] = workloads_of(load(write(HEAD + one(way=way, **more))))
    assert Reshaping(reshape or "copies") == workload.reshape
