"""What `foreslice config check` says of a file."""

import json

from foreslice.settings.check import report
from tests.unit.foreslice.test_settings import GOOD, HEAD, one


def test_the_report_is_for_people_or_for_programs(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text(HEAD + one(tier="gold") + one(name="b", mode="ful"))
    text, is_good = report(path, as_json=False)
    found = json.loads(report(path, as_json=True)[0])

    assert not is_good
    assert 2 == len(text.split("\n"))
    assert {"file": str(path), "usable": False, "findings": text.split("\n")} == found


def test_the_report_on_a_good_file_says_how_much_it_describes(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text(HEAD + GOOD)

    assert (f"{path}: can be used: 1 workload(s)", True) == report(path, as_json=False)
    assert {"file": str(path), "usable": True, "findings": []} == json.loads(report(path, as_json=True)[0])
