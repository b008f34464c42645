"""Workloads that settings select by labels, once it is known what has them."""

import json

import pytest

from fleet.errors import InputError
from foreslice.settings.load import load, matches_of, workloads_of
from foreslice.settings.selecting import has_selectors, with_selected

HEAD = "version: v1\nmetrics: {source: prometheus, url: 'http://p:9090'}\ncluster: {kind: kubernetes}\n"
LABELS = {"team": "chat"}


def entry(**keys):
    plain = {"model": "qwen2.5-7b-bf16", "slo": {"ttft": {"p95": "1s"}}}
    return f"  - {json.dumps(plain | keys)}\n"


@pytest.fixture
def read(write):
    return lambda *entries: load(write(HEAD + "workloads:\n" + "".join(entries)))


def names(settings):
    return [str(workload.key) for workload in workloads_of(settings)]


def test_every_deployment_that_is_selected_is_a_workload_like_the_entry(read):
    settings = read(entry(selector=LABELS, namespace="shop", tier="strict"), entry(name="rag"))
    found = with_selected(settings, {0: ["a", "b"]})

    assert has_selectors(settings)
    assert not has_selectors(found)
    assert ["shop/a", "shop/b", "default/rag"] == names(found)
    assert ["strict", "strict", "balanced"] == [workload.tier for workload in workloads_of(found)]
    assert [{"namespace": "shop", "model_name": "a"}] == [
        match.labels for key, match in matches_of(found).items() if key.name == "a"
    ]


def test_what_is_named_counts_before_what_is_selected_and_what_comes_first_before_the_rest(read):
    settings = read(
        entry(selector=LABELS, tier="strict"),
        entry(selector={"app": "x"}, tier="economy"),
        entry(name="a"),
    )
    found = with_selected(settings, {0: ["a", "b"], 1: ["b", "c"]})

    assert {"default/a": "balanced", "default/b": "strict", "default/c": "economy"} == {
        str(workload.key): workload.tier for workload in workloads_of(found)
    }


def test_what_is_named_as_a_variant_is_no_workload_of_its_own(read):
    settings = read(entry(selector=LABELS), entry(name="a", variants=["a-small", "c"]))
    assert ["default/b", "default/a"] == names(with_selected(settings, {0: ["a", "a-small", "b"]}))


def test_a_match_may_hold_the_name(read):
    match = {"app": "{name}", "model_name": ["{name}", "{name}-v2"]}
    found = with_selected(read(entry(selector=LABELS, match=match)), {0: ["a"]})

    [made] = matches_of(found).values()
    assert {"app": "a", "model_name": ("a", "a-v2")} == made.labels


def test_what_is_selected_must_be_told_apart(read):
    settings = read(entry(selector=LABELS, match={"model_name": "m"}))
    with pytest.raises(InputError, match=r"^default/b: has the same labels as default/a: both would get"):
        with_selected(settings, {0: ["a", "b"]})


def test_nothing_may_have_the_labels(read):
    assert [] == names(with_selected(read(entry(selector=LABELS)), {0: []}))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD + "workloads:\n" + entry(), "5: workloads[0].name: is missing"),
        (
            HEAD + "workloads:\n" + entry(name="a", selector=LABELS),
            "5: workloads[0].selector: give either name or selector",
        ),
        (
            HEAD.replace("kubernetes", "none") + "workloads:\n" + entry(selector=LABELS),
            "5: workloads[0].selector: selects Deployments, and cluster.kind is none",
        ),
        (
            HEAD + "workloads:\n" + entry(selector=LABELS, variants=["b"]),
            "5: workloads[0].variants: are of one Deployment, and need name in place of selector",
        ),
        (HEAD + "workloads:\n" + entry(selector={"a b": "c"}), "5: workloads[0].selector"),
        (HEAD + "workloads:\n" + entry(selector={"a": "b,c=d"}), "5: workloads[0].selector"),
    ],
    ids=["neither", "both", "no cluster", "variants", "label", "value"],
)
def test_what_cannot_be_selected_is_one_line(write, text, line):
    path = write(text)
    with pytest.raises(InputError) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}:{line}")
