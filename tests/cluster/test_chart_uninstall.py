"""What the chart does when it goes: room that is still held is released, once the service is gone."""

from tests.cluster import test_chart
from tests.cluster.helm import by_kind, rendered
from tests.cluster.permissions import documents
from tests.cluster.test_chart import HOLD, rules_of

home = test_chart.home
settings = test_chart.settings


def test_what_is_held_is_released_after_the_service_by_who_may_do_nothing_else(settings, home):
    made = [
        body
        for body in rendered(settings(HOLD), home=home)
        if body["metadata"]["name"] == "foreslice-uninstall"
    ]

    assert {"post-delete"} == {body["metadata"]["annotations"]["helm.sh/hook"] for body in made}
    assert [by_kind(documents("hold"), "ClusterRole")["foreslice-release"]["rules"]] == list(
        rules_of(made).values()
    )
    pod = by_kind(made, "Job")["foreslice-uninstall"]["spec"]["template"]["spec"]
    assert "foreslice-uninstall" == pod["serviceAccountName"] == pod["volumes"][0]["configMap"]["name"]
    assert ["release", "--all", "--yes"] == pod["containers"][0]["args"][:3]
