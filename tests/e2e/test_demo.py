"""`foreslice demo` on the first ten minutes of the day."""

import json
import re
from html.parser import HTMLParser

import pytest

from fleet.errors import InputError
from foreslice.demo import run_demo
from foreslice.replay import replay, shipped_day
from foreslice.replayed import Policy

LENGTH_S = 600
POLICIES = shipped_day(1, LENGTH_S).policies


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run a demo once for each name; return the folder that it left."""
    made = {}

    def demo(name="first"):
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            run_demo(seed=1, out=made[name], as_json=True, length_s=LENGTH_S)
        return made[name]

    return demo


def static_requests(seed):
    return round(replay(Policy.STATIC, shipped_day(seed, LENGTH_S)).summary.requests_offered)


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class Assets(HTMLParser):
    """Everything that a browser would fetch, and the text that people read."""

    def __init__(self):
        super().__init__()
        self.fetched, self.rows, self.cells = [], [], None

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.fetched += [
            attributes[name] for name in ("src", "srcset", "data", "poster") if name in attributes
        ]
        if tag in {"link", "base", "iframe", "object", "embed"}:
            self.fetched.append(self.get_starttag_text())
        if tag == "tr":
            self.cells = []
            self.rows.append(self.cells)

    def handle_data(self, data):
        if self.cells is not None and data.strip():
            self.cells.append(data.strip())


def parsed(folder):
    page = Assets()
    page.feed((folder / "report.html").read_text(encoding="utf-8", errors="strict"))
    page.close()
    return page


def test_the_same_seed_gives_the_same_bytes(demo):
    assert content(demo()) == content(demo("second"))


def test_another_seed_is_another_day(demo):
    """By the policy without a loop, which is soon replayed; the demo's own day is that of its seed."""
    told = json.loads((demo() / "summary.json").read_text())
    own, other = (static_requests(seed) for seed in (1, 2))

    assert own == told["policies"][Policy.STATIC.value]["requests_offered"]
    assert own != other


def test_the_summary_has_every_policy_with_its_figures(demo):
    def no_constants(name):
        raise AssertionError(f"{name} is not JSON")

    summary = json.loads((demo() / "summary.json").read_text(), parse_constant=no_constants)

    assert {"summary.json", "report.html"} == set(content(demo()))
    text = json.dumps(summary)
    assert all(f'"{policy.value}"' in text for policy in POLICIES)


def test_the_page_is_whole_by_itself(demo):
    """plotly's own text names addresses in its source; nothing of that is fetched to show these figures."""
    page = parsed(demo())
    style = re.findall(r"<style[^>]*>(.*?)</style>", (demo() / "report.html").read_text(), re.DOTALL)

    assert [] == page.fetched
    assert [] == [found for text in style for found in re.findall(r"@import|url\((?!['\"]?data:)", text)]


def test_the_table_of_the_page_has_all_policies(demo):
    firsts = {cells[0] for cells in parsed(demo()).rows if cells}

    assert {policy.value for policy in POLICIES} <= firsts


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as refused:
        run_demo(seed=1, out=tmp_path / "file", as_json=True)

    assert f"{tmp_path}/file: cannot be written (File exists); name a writable folder with --out" == str(
        refused.value
    )


def test_nothing_is_replayed_before_both_files_can_be_written(tmp_path):
    (tmp_path / "report.html").mkdir()
    (tmp_path / "report.html").chmod(0o500)
    (tmp_path / "summary.json").symlink_to(tmp_path / "nowhere" / "summary.json")

    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        run_demo(seed=1, out=tmp_path, as_json=True)
