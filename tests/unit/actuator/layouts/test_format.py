"""The MIG manager's format: every file is judged as its own command judges it."""

from pathlib import Path

import pytest
import yaml

from actuator.layouts.format import configs_in
from fleet.errors import InputError

DATA = Path(__file__).parents[3] / "data" / "mig-parted" / "config-cases.yaml"
CASES = {case["case"]: case for case in yaml.safe_load(DATA.read_text())}


def is_taken(text):
    try:
        return "x" in configs_in(text, "config.yaml")
    except InputError:
        return False


@pytest.mark.parametrize("name", CASES)
def test_it_is_judged_as_by_the_tool_itself(name):
    assert CASES[name]["valid"] is is_taken(CASES[name]["config"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("unknown-entry", r"mig-configs.x\[0\].placement is no field"),
        ("enabled-missing-map", r"mig-configs.x\[0\].mig-devices is missing"),
        ("bad-profile", r"mig-configs.x\[0\].mig-devices.foo is no profile"),
        ("wrong-version", "version is 'v2'"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(name, said):
    with pytest.raises(InputError, match=said):
        configs_in(CASES[name]["config"], "config.yaml")
