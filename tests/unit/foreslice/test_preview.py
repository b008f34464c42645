"""`foreslice plan --diff`: what would be written, as kubectl diff shows it."""

import json
from dataclasses import replace

import pytest

from actuator.ports import Rewrite
from fleet.errors import UnavailableError
from foreslice import snapshot
from foreslice.planning import print_plan
from foreslice.preview import Preview, as_lines
from tests.unit.foreslice.test_planning import ONE, SETTINGS, asked

LIVE = """\
version: v1
metrics: {source: embedded}
cluster: {kind: embedded, nodes: 2, cards_per_node: 4}
acting: true
loop: {history: 1d}
workloads:
"""


@pytest.fixture
def told(tmp_path, capsys):
    """Print the diff of a snapshot of such workloads in this mode, and return what was printed."""

    def printed(*, as_json=False, mode="full", **works):
        (tmp_path / "snapshot.json").write_text(snapshot.as_text(asked(**works)))
        lines = "".join(ONE.format(name) for name in works).replace("mode: full", f"mode: {mode}")
        (tmp_path / "settings.yaml").write_text(SETTINGS + lines)
        files = tmp_path / "snapshot.json", tmp_path / "settings.yaml"
        print_plan(*files, None, diff=True, as_json=as_json)
        return capsys.readouterr().out

    return printed


def test_of_a_snapshot_it_shows_what_is_written_of_each_deployment(told):
    assert """\
diff -u -N LIVE/apps.v1.Deployment.serving.a-whole MERGED/apps.v1.Deployment.serving.a-whole
--- LIVE/apps.v1.Deployment.serving.a-whole
+++ MERGED/apps.v1.Deployment.serving.a-whole
@@ -4,4 +4,4 @@
   name: a-whole
   namespace: serving
 spec:
-  replicas: 1
+  replicas: 3
# a snapshot has no objects: only what would be written of them is shown
""" == told(a=2.5)


def test_what_is_held_is_a_remark_with_the_reason(told):
    lines = told(a=2.5, mode="forecast-only").splitlines()
    assert "# nothing would be written" == lines[0]
    assert ["# serving/a: scale-up a-whole to 3: held: mode forecast-only adds nothing"] == lines[1:]


def test_scripts_get_objects_steps_and_reasons(told):
    answer = json.loads(told(a=2.5, as_json=True))
    (write,) = answer["writes"]
    assert (1, 3, None) == (
        write["before"]["spec"]["replicas"],
        write["after"]["spec"]["replicas"],
        write["objection"],
    )
    assert (False, []) == (answer["is_whole"], answer["held"])


def test_it_is_plain_where_nobody_looks(told):
    assert "\x1b" not in told(a=2.5)


def test_live_it_shows_whole_objects_and_writes_none(tmp_path, capsys):
    settings = tmp_path / "settings.yaml"
    settings.write_text(LIVE + ONE.format("chat"))
    print_plan(None, settings, None, diff=True, as_json=True)
    answer = json.loads(capsys.readouterr().out)
    kinds = [write["after"]["kind"] for write in answer["writes"]]
    assert ["FractionPlan", "ResourceClaimTemplate", "Deployment"] == kinds
    assert (1, []) == (answer["writes"][-1]["after"]["spec"]["replicas"], answer["held"]), (
        "a first one, on trial"
    )
    assert "simulated: cards" in answer["conditions"][-1]


def test_without_a_cluster_nothing_would_be_written(tmp_path):
    settings = tmp_path / "settings.yaml"
    (tmp_path / "rows.csv").write_text(
        "timestamp,series,namespace,pod,model_name,value\n60,vllm:request_success_total,serving,p,chat,1\n"
    )
    head = "version: v1\nmetrics: {source: file, path: rows.csv}\ncluster: {kind: none, board: h100-80gb}\n"
    settings.write_text(head + "workloads:\n" + ONE.format("chat").replace(", mode: full", ""))
    for diff in (True, False):
        with pytest.raises(UnavailableError, match="no cluster is seen"):
            print_plan(None, settings, None, diff=diff, as_json=False)


def test_what_the_api_server_fills_in_is_left_out_and_what_it_refuses_is_said():
    meta = {"name": "web", "namespace": "shop"}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"replicas": 1}}
    kept = {**web, "metadata": {**meta, "uid": "u", "managedFields": []}, "status": {"replicas": 1}}
    more = {**web, "spec": {"replicas": 2}}
    lines = list(as_lines(Preview((Rewrite(kept, more, "kept by argocd"),), ())))
    assert ["-  replicas: 1", "+  replicas: 2", "# would be refused: kept by argocd"] == lines[-3:]
    assert not [line for line in lines if "uid" in line or "status" in line]
    same = replace(Rewrite(kept, web), objection="")
    assert 1 == len(list(as_lines(Preview((same,), ()))))
