"""The rights that layouts of nodes take, as the chart grants them."""

import pytest

from foreslice.settings.load import load
from tests.cluster.helm import rendered
from tests.cluster.test_chart import ACT, SETTINGS, rules_of


@pytest.mark.parametrize(
    ("agent", "mechanism"), [("manager", "device-plugin"), ("plugin", "time-slicing, isolation: none")]
)
def test_layouts_take_the_rights_that_they_are_given_and_the_file_that_they_name(tmp_path, agent, mechanism):
    path, home = tmp_path / "settings.yaml", tmp_path / "helm"
    plugged = (SETTINGS % ACT).replace("mode: full", f"mode: full, mechanism: {mechanism}")
    path.write_text(plugged)
    assert set() == added(rendered(path, home=home))
    for acting, more in (("false", set()), ("true", {"foreslice-cut", "foreslice-cut-file"})):
        path.write_text(plugged + f"layouts: {{{agent}: gpus/my-layouts, acting: {acting}}}\n")
        made = rendered(path, home=home)
        read = {"foreslice-observe-layouts"}
        assert read | more == added(made)
        names = [
            n for rules in rules_of(made).values() for rule in rules for n in rule.get("resourceNames", ())
        ]
        assert {"my-layouts"} == {name for name in names if "layouts" in name or "mig" in name}
        bound = {b["roleRef"]["name"] for b in made if b["metadata"].get("namespace") == "gpus"}
        assert {role for role in read | more if role.endswith(("observe-layouts", "-file"))} == bound
        assert load(path)


def added(made):
    """Roles on nodes and layouts that are bound."""
    bound = {b["roleRef"]["name"] for b in made if b["kind"] in ("ClusterRoleBinding", "RoleBinding")}
    return {role for role in bound if "-cut" in role or "layouts" in role}
