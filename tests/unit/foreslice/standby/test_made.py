"""Doors to engines are made once for each kind, and go where pods say that they listen."""

import pytest

from actuator.standby.engines import sleeping_engines
from fleet.errors import UnavailableError
from fleet.standby import EngineState, Sleeper
from fleet.workload import WorkloadKey
from foreslice.standby.made import HttpDoorsOnce

VLLM = sleeping_engines()["vllm"]


def test_settings_that_are_taken_up_anew_find_the_doors_that_are_open():
    made = HttpDoorsOnce(lambda: None, None)
    assert made(VLLM) is made(VLLM)
    made.close()


def test_a_token_that_cannot_be_read_is_said(tmp_path):
    made = HttpDoorsOnce(lambda: None, tmp_path / "none")
    sleeper = Sleeper(WorkloadKey("shop", "ant"), "ant-s", "127.0.0.1", is_up=True, is_open=False, port=9)
    with pytest.raises(UnavailableError, match="token_file"):
        made(VLLM).state(sleeper)
    made.close()


@pytest.mark.parametrize("address", ["", "::1"])
def test_where_nobody_listens_there_is_silence(address):
    made = HttpDoorsOnce(lambda: None, None)
    sleeper = Sleeper(WorkloadKey("shop", "ant"), "ant-s", address, is_up=True, is_open=False, port=9)
    assert EngineState.SILENT == made(VLLM).state(sleeper)
    made.close()
