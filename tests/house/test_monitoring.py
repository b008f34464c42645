"""Alerts and dashboard read metrics that there are, and each alert has its runbook."""

import json
import re

import pytest
import yaml

from foreslice.telemetry import Telemetry
from tests.builders.ticking import telling_all
from tests.house.test_docs import anchors

METRIC = re.compile(r"\bforeslice_\w+")


@pytest.fixture(scope="module")
def exported():
    """Names under which each metric is read."""
    telemetry = Telemetry()
    telemetry.observe(telling_all())
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}
    return {
        f"{metric.name}{suffix}"
        for metric in telemetry.registry.collect()
        for suffix in suffixes.get(metric.type, ("",))
    }


@pytest.fixture(scope="module")
def rules(root):
    [group] = yaml.safe_load((root / "deploy/monitoring/rules.yaml").read_text())["groups"]
    return group["rules"]


@pytest.fixture(scope="module")
def dashboard(root):
    return json.loads((root / "deploy/monitoring/dashboard.json").read_text())


def expressions(dashboard):
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    yield from (one["expr"] for one in dashboard["annotations"]["list"])
    yield from (one["definition"] for one in dashboard["templating"]["list"] if one["type"] == "query")


def test_alerts_read_metrics_that_there_are(rules, exported):
    assert set() == {name for rule in rules for name in METRIC.findall(rule["expr"])} - exported


def test_the_dashboard_reads_metrics_that_there_are_and_shows_all(dashboard, exported):
    read = {name for expression in expressions(dashboard) for name in METRIC.findall(expression)}

    assert set() == read - exported
    families = lambda names: {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in names}  # noqa: E731
    assert families(exported) == families(read)


def test_panels_do_not_overlap_and_say_what_they_show(dashboard):
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert all(panel["title"] and panel["description"] for panel in panels)
    cells = [
        (x, y)
        for panel in dashboard["panels"]
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_each_alert_says_what_it_means_and_has_its_runbook(root, rules):
    for rule in rules:
        assert {"summary", "description", "runbook"} == rule["annotations"].keys()
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert anchor == rule["alert"].lower()
        assert anchor in anchors((root / page).read_text())


def test_each_runbook_is_of_an_alert(root, rules):
    titles = re.findall(r"^## (\w+)$", (root / "docs/runbooks.md").read_text(), re.MULTILINE)
    assert [rule["alert"] for rule in rules] == titles
