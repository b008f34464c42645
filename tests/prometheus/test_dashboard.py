"""A real Prometheus understands what the dashboard asks."""

import json
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

from tests.house.test_monitoring import expressions

DASHBOARD = Path(__file__).parents[2] / "deploy" / "monitoring" / "dashboard.json"


def test_every_expression_of_the_dashboard_is_one(server_of):
    url = server_of()
    refused = []
    for expression in expressions(json.loads(DASHBOARD.read_text())):
        if expression.startswith("label_values"):
            continue  # Grafana's own
        asked = expression.replace("$namespace", ".*").replace("$workload", ".*")
        with urlopen(f"{url}/api/v1/query?{urlencode({'query': asked})}") as answer:  # noqa: S310
            if json.load(answer)["status"] != "success":
                refused.append(asked)
    assert [] == refused
