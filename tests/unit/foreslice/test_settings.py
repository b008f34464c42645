import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from fleet.errors import InputError
from fleet.workload import LatencyTarget, Limits, Mode, Router, Slo, Tier, Workload, WorkloadKey
from foreslice.settings.check import report
from foreslice.settings.load import load, matches_of, workloads_of
from foreslice.settings.schema import json_schema_text

CONFIG = Path(__file__).parents[3] / "config"
FILES = sorted(path for path in CONFIG.glob("**/*.yaml") if path.parent.name != "replay")

HEAD = "version: v1\nmetrics: {source: embedded}\ncluster: {kind: embedded}\nworkloads:\n"
PROMETHEUS = "version: v1\nmetrics:\n  source: prometheus\n  url: https://prometheus:9090\n"
RECORDED = "version: v1\nmetrics: {source: file, path: metrics.csv}\n"
GOOD = "  - {name: chat, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}\n"

DURATION = "a duration needs a number and a unit: ms, s, m, h or d, e.g. 500ms"


def one(**keys):
    """The good workload with other keys, as YAML."""
    plain = {"name": "chat", "model": "qwen2.5-7b-bf16", "slo": {"ttft": {"p95": "1s"}}}
    merged = {key: value for key, value in (plain | keys).items() if value is not None}
    return f"  - {json.dumps(merged)}\n"


WRONG = {
    "unit mistaken": (
        HEAD + one(slo={"ttft": {"p95": "500s"}}),
        ["5: workloads[0].slo.ttft.p95: expected between 10ms and 120s; is the unit right? (is '500s')"],
    ),
    "unit mistaken downwards": (
        HEAD + one(slo={"itl": {"p99": "60s"}}),
        ["5: workloads[0].slo.itl.p99: expected between 1ms and 5s; is the unit right? (is '60s')"],
    ),
    "no unit": (
        HEAD + one(slo={"ttft": {"p95": 500}}),
        [f"5: workloads[0].slo.ttft.p95: {DURATION} (is 500)"],
    ),
    "waits for nothing": (
        "loop:\n  tick: 0s\n" + HEAD + GOOD,
        ["2: loop.tick: expected between 1s and 1d; is the unit right? (is '0s')"],
    ),
    "lead beyond the forecast": (
        "loop:\n  lead: 6h\n" + HEAD + GOOD,
        ["2: loop.lead: expected between 1s and 5h; is the unit right? (is '6h')"],
    ),
    "typo in a key": (
        HEAD + one(teir="strict"),
        ["5: workloads[0].teir: unknown key, did you mean tier? (is 'strict')"],
    ),
    "typo in a required key": (
        HEAD + one(model=None, modle="qwen2.5-7b-bf16"),
        [
            "5: workloads[0].model: is missing",
            "5: workloads[0].modle: unknown key, did you mean mode or model? (is 'qwen2.5-7b-bf16')",
        ],
    ),
    "key like no other": (HEAD + one(xyz=1), ["5: workloads[0].xyz: unknown key (is 1)"]),
    "known key elsewhere": ("tier: strict\n" + HEAD + GOOD, ["1: tier: does not belong here (is 'strict')"]),
    "same workload twice": (HEAD + GOOD + GOOD, ["6: workloads[1].name: default/chat is described twice"]),
    "no workload": (
        "version: v1\nmetrics: {source: embedded}\ncluster: {kind: embedded}\nworkloads: []\n",
        ["4: workloads: must not be empty"],
    ),
    "workloads are no list": (
        HEAD.replace("workloads:\n", "workloads: chat\n"),
        ["4: workloads: must be a list (is 'chat')"],
    ),
    "workload is no group": (HEAD + "  - chat\n", ["5: workloads[0]: must be a group of keys (is 'chat')"]),
    "mechanism that is not made real": (
        HEAD + one(mechanism="kai"),
        [
            (
                "5: workloads[0].mechanism: must be 'dra', 'dra-shares', 'device-plugin' or 'time-slicing' "
                "(is 'kai')"
            )
        ],
    ),
    "isolation that its mechanism does not keep": (
        HEAD + one(mechanism="time-slicing", isolation="memory"),
        ["5: workloads[0].isolation: must be none, all that time-slicing keeps (is memory)"],
    ),
    "unknown tier and router": (
        HEAD
        + "  - name: chat\n    model: qwen2.5-7b-bf16\n    slo: {ttft: {p95: 1s}}\n"
        + "    tier: gold\n    router: best\n",
        [
            "8: workloads[0].tier: must be 'economy', 'balanced' or 'strict' (is 'gold')",
            "9: workloads[0].router: must be 'equal', 'least-loaded' or 'weighted' (is 'best')",
        ],
    ),
    "name that Kubernetes refuses": (
        HEAD + one(name="_"),
        ["5: workloads[0].name: must be lower-case letters, digits, '-' and '.', as in Kubernetes (is '_')"],
    ),
    "dots in a namespace": (
        HEAD + one(namespace="."),
        ["5: workloads[0].namespace: must be lower-case letters, digits and '-', as in Kubernetes (is '.')"],
    ),
    "no namespace": (
        HEAD.replace("workloads:", "layouts: {plugin: a}\nworkloads:") + GOOD,
        ["4: layouts.plugin: must be namespace/name, of lower-case letters, digits, '-' and '.' (is 'a')"],
    ),
    "no value of a label": (
        HEAD + one(selector={"a": " "}),
        ["5: workloads[0].selector.a: must be letters, digits, '-', '_' and '.', as in labels (is ' ')"],
    ),
    "names that differ in dots": (
        HEAD + one(name="a.b") + one(name="a-b"),
        ["6: workloads[1].name: default/a-b and default/a.b would name their variants alike"],
    ),
    "same series twice": (
        HEAD + one(match={"model_name": "x"}) + one(name="b", match={"model_name": "x"}),
        [
            "6: workloads[1].match: has the same labels as default/chat: both would get the whole demand",
        ],
    ),
    "same series twice, once by default": (
        HEAD + GOOD + one(name="b", match={"model_name": "chat", "namespace": "default"}),
        [
            "6: workloads[1].match: has the same labels as default/chat: both would get the whole demand",
        ],
    ),
    "yes is true": (
        HEAD + "  - {name: yes, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}\n",
        ["5: workloads[0].name: must be a valid string (is True)"],
    ),
    "no objective": (
        HEAD + one(slo={}),
        ["5: workloads[0].slo: name ttft, itl or e2e: without an objective nothing can be sized"],
    ),
    "two percentiles": (
        HEAD + one(slo={"ttft": {"p95": "1s", "p99": "2s"}}),
        ["5: workloads[0].slo.ttft: name exactly one percentile, e.g. p95: 500ms"],
    ),
    "percentile without a limit": (
        HEAD + one(slo={"ttft": {"p95": None}}),
        ["5: workloads[0].slo.ttft: name exactly one percentile, e.g. p95: 500ms"],
    ),
    "bounds crossed": (
        HEAD + one(replicas={"min": 3, "max": 1}),
        ["5: workloads[0].replicas: min (3) is above max (1)"],
    ),
    "label called as a source is": (
        HEAD + one(match={"file": 3}),
        ["5: workloads[0].match.file: must be a text, or a list of texts one of which it has (is 3)"],
    ),
    "other version": (
        "version: v2\n" + HEAD.split("\n", 1)[1] + GOOD,
        ["1: version: must be 'v1' (is 'v2')"],
    ),
    "no version": (HEAD.split("\n", 1)[1] + GOOD, ["1: version: is missing"]),
    "unknown source": (
        "version: v1\nmetrics:\n  source: prom\nworkloads:\n" + GOOD,
        ["3: metrics.source: must be 'file', 'prometheus' or 'embedded' (is 'prom')"],
    ),
    "no source": (
        "version: v1\nmetrics: {path: a.csv}\nworkloads:\n" + GOOD,
        ["2: metrics.source: is missing"],
    ),
    "metrics is no group": (
        "version: v1\nmetrics: file\nworkloads:\n" + GOOD,
        ["2: metrics: must be a group of keys (is 'file')"],
    ),
    "no path": ("version: v1\nmetrics: {source: file}\nworkloads:\n" + GOOD, ["2: metrics.path: is missing"]),
    "path to nothing": (
        "version: v1\nmetrics:\n  source: file\n  path: gone.csv\nworkloads:\n" + GOOD,
        ["4: metrics.path: no such file (is 'gone.csv')"],
    ),
    "path too long": (
        f"version: v1\nmetrics:\n  source: file\n  path: {'x' * 256}\nworkloads:\n" + GOOD,
        [f"4: metrics.path: cannot be read (File name too long) (is '{'x' * 256}')"],
    ),
    "column taken for a label": (
        RECORDED + "workloads:\n" + one(match={"model_name": "chat", "value": "1"}),
        ["4: workloads[0].match.value: is a column of every recorded file, not a label"],
    ),
    "the past acted on": (
        RECORDED + "acting: true\ncluster: {kind: kubernetes}\nworkloads:\n" + GOOD,
        ["3: acting: a recorded file cannot be acted on in a cluster: its time stands at its newest row"],
    ),
    "engines without a world": (
        "version: v1\nmetrics: {source: embedded}\nworkloads:\n" + GOOD,
        ["2: metrics.source: embedded needs cluster.kind embedded: the simulated engines run there"],
    ),
    "no address": (
        "version: v1\nmetrics: {source: prometheus}\nworkloads:\n" + GOOD,
        ["2: metrics.url: is missing"],
    ),
    "user without a password": (
        PROMETHEUS + "  username: me\nworkloads:\n" + GOOD,
        ["2: metrics: username and password_file belong together"],
    ),
    "password without a user": (
        PROMETHEUS + "  password_file: secret\nworkloads:\n" + GOOD,
        ["2: metrics: username and password_file belong together"],
    ),
    "two ways in": (
        PROMETHEUS + "  username: me\n  password_file: secret\n  token_file: token\nworkloads:\n" + GOOD,
        ["2: metrics: give token_file, or username and password_file, not both"],
    ),
    "patience for nothing": (
        PROMETHEUS + "  timeout: 0s\nworkloads:\n" + GOOD,
        ["5: metrics.timeout: expected between 1s and 1d; is the unit right? (is '0s')"],
    ),
    "real demand for a simulated world": (
        PROMETHEUS + "cluster: {kind: embedded}\nworkloads:\n" + GOOD,
        [
            (
                "3: metrics.source: prometheus needs cluster.kind kubernetes or none: "
                "a simulated world has its own time"
            )
        ],
    ),
    "more cards than a node holds": (
        HEAD.replace("{kind: embedded}", "{kind: embedded, cards_per_node: 9}") + GOOD,
        ["3: cluster.cards_per_node: must be less than or equal to 8 (is 9)"],
    ),
    "several at once": (
        "http: {port: 99999}\nacting: perhaps\n" + HEAD + one(tier="gold") + one(name="b", slo=None),
        [
            "2: acting: must be a valid boolean, unable to interpret input (is 'perhaps')",
            "1: http.port: must be less than or equal to 65535 (is 99999)",
            "7: workloads[0].tier: must be 'economy', 'balanced' or 'strict' (is 'gold')",
            "8: workloads[1].slo: is missing",
        ],
    ),
    "CRLF": (
        (HEAD + one(tier="gold")).replace("\n", "\r\n"),
        ["5: workloads[0].tier: must be 'economy', 'balanced' or 'strict' (is 'gold')"],
    ),
}

UNREADABLE = {
    "empty": (b"", ": no settings in it; start from config/default.yaml"),
    "only a comment": (b"# nothing\n", ": no settings in it; start from config/default.yaml"),
    "a list": (b"- a\n", ": no settings in it; start from config/default.yaml"),
    "not YAML": (
        b"a: [1, 2\nb: }\n",
        ":2: not valid YAML: expected ',' or ']', but got ':'; mend the syntax",
    ),
    "tab": (
        b"a:\n\tb: 1\n",
        ":2: not valid YAML: found character '\\t' that cannot start any token; mend the syntax",
    ),
    "key twice": (b"a: 1\nb: 2\na: 3\n", ":3: not valid YAML: key 'a' is there twice; mend the syntax"),
    "key is a list": (b"? [a]\n: 1\n", ":1: not valid YAML: found unhashable key; mend the syntax"),
    "no such date": (b"a: 2024-13-45\n", ": not valid YAML: month must be in 1..12; mend the value"),
    "object": (
        b"a: !code [true]\n",
        ":1: not valid YAML: could not determine a constructor for the tag '!code'; mend the syntax",
    ),
    "NUL": (b"a\0b", ": not valid YAML: special characters are not allowed; mend the syntax"),
    "nested deeply": (b"a: " + 1000 * b"[", ": is nested too deeply; mend the syntax"),
    "not text": (b"\xff\xfe", ": is not UTF-8 text; name a readable YAML file"),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_each_thing_that_is_wrong_is_a_line_with_file_line_key_and_value(text, expected, write):
    path = write(text)

    with pytest.raises(InputError) as refused:
        load(path)

    assert [f"{path}:{line}" for line in expected] == str(refused.value).split("\n")


@pytest.mark.parametrize(("content", "expected"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_holds_no_settings_is_refused_in_one_line(content, expected, write):
    path = write(content)

    with pytest.raises(InputError) as refused:
        load(path)

    assert f"{path}{expected}" == str(refused.value)


def test_a_missing_file_and_a_folder_are_refused_in_one_line(tmp_path):
    with pytest.raises(InputError) as missing:
        load(tmp_path / "none.yaml")
    with pytest.raises(InputError) as folder:
        load(tmp_path)

    assert f"{tmp_path}/none.yaml: no such file; name an existing settings file" == str(missing.value)
    assert f"{tmp_path}: cannot be read (Is a directory); name a readable YAML file" == str(folder.value)


def test_what_is_left_out_has_the_default_of_the_commented_file(write):
    (short,) = workloads_of(load(write(HEAD + GOOD)))
    (full,) = workloads_of(load(CONFIG / "default.yaml"))

    assert Slo(ttft=LatencyTarget(0.95, 1.0)) == short.slo
    assert Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.06)) == full.slo
    assert load(write(HEAD + GOOD)).loop == load(CONFIG / "default.yaml").loop
    assert load(write(HEAD + GOOD)).cluster == load(CONFIG / "default.yaml").cluster
    assert load(write(HEAD + GOOD)).http == load(CONFIG / "default.yaml").http
    assert Workload(short.key, short.model, short.slo) == short
    assert Workload(full.key, full.model, full.slo) == full


def test_every_key_of_a_workload_arrives(write):
    text = one(
        namespace="prod",
        slo={"ttft": {"p99": "500ms"}, "itl": {"p50": "40ms"}},
        tier="strict",
        mode="scale-up-only",
        router="least-loaded",
        isolation="memory",
        replicas={"min": 2, "max": 5},
        scheduler="kai-scheduler",
        match={"model_name": "x"},
    )
    settings = load(write(HEAD + text))
    (workload,) = workloads_of(settings)

    assert WorkloadKey("prod", "chat") == workload.key
    assert Slo(LatencyTarget(0.99, 0.5), LatencyTarget(0.5, 0.04)) == workload.slo
    assert (Tier.STRICT, Mode.SCALE_UP_ONLY, Router.LEAST_LOADED) == (
        workload.tier,
        workload.mode,
        workload.router,
    )
    assert ("memory", Limits(2, 5), "kai-scheduler") == (
        workload.isolation,
        workload.limits,
        workload.scheduler,
    )
    [match] = matches_of(settings).values()
    assert ({"model_name": "x"}, {}) == (match.labels, match.router)


def test_a_percentile_without_a_limit_beside_the_one_that_is_meant_is_not_there(write):
    (workload,) = workloads_of(load(write(HEAD + one(slo={"ttft": {"p95": "1s", "p99": None}}))))

    assert Slo(LatencyTarget(0.95, 1.0)) == workload.slo


def test_the_name_of_a_deployment_may_have_dots(write):
    (workload,) = workloads_of(load(write(HEAD + one(name="qwen2.5-7b"))))

    assert WorkloadKey("default", "qwen2.5-7b") == workload.key


def test_the_time_to_the_last_token_is_an_objective_of_its_own(write):
    (workload,) = workloads_of(load(write(HEAD + one(slo={"e2e": {"p90": "45s"}}))))

    assert Slo(e2e=LatencyTarget(0.9, 45.0)) == workload.slo


def test_series_are_matched_by_namespace_and_model_name_unless_told_otherwise(write):
    [(key, match)] = matches_of(load(write(HEAD + GOOD))).items()
    assert (WorkloadKey("default", "chat"), {"namespace": "default", "model_name": "chat"}) == (
        key,
        match.labels,
    )


def test_anchors_and_merge_keys_of_yaml_are_understood(write):
    text = "  - &a {name: a, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}\n  - {<<: *a, name: b}\n"

    assert ["a", "b"] == [w.key.name for w in workloads_of(load(write(HEAD + text)))]


@pytest.mark.parametrize("text", [("\ufeff" + HEAD + GOOD), (HEAD + GOOD).replace("\n", "\r\n")])
def test_a_byte_order_mark_and_other_line_ends_do_no_harm(text, write):
    assert 1 == len(load(write(text)).workloads)


def test_the_shipped_schema_is_the_one_of_the_code():
    """Refresh it with `foreslice config schema > config/schema.json`."""
    assert json_schema_text() == (CONFIG / "schema.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shipped_files_can_be_used_and_fit_the_schema(path):
    assert report(path, as_json=False)[1]
    jsonschema.Draft202012Validator(json.loads(json_schema_text())).validate(
        yaml.safe_load(path.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("wrong", ["unit mistaken", "no unit", "typo in a key", "no workload", "no source"])
def test_an_editor_sees_these_mistakes_too(wrong):
    """No plausible range can be written for text in a schema: that one is for the program."""
    schema = jsonschema.Draft202012Validator(json.loads(json_schema_text()))

    assert schema.is_valid(yaml.safe_load(WRONG[wrong][0])) == (wrong == "unit mistaken")
