"""Names, times and selectors of Kubernetes objects."""

import pytest

from actuator.manifest import (
    digest_of,
    dns_label,
    dropped,
    key_of,
    seconds_of,
    selects,
    timestamp_of,
    version_of,
)
from fleet.workload import WorkloadKey


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("llama-3g-40gb", "llama-3g.40gb"),
        ("llama-1g-10gb-me", "llama-1g.10gb+me"),
        ("llama-whole", "llama-whole"),
        ("nvidia-h100-80gb-hbm3", "NVIDIA H100 80GB HBM3"),
        ("a-b", "--a..b--"),
    ],
)
def test_dns_label_replaces_what_a_name_may_not_hold(name, text):
    assert name == dns_label(text)


def test_long_names_that_differ_only_at_the_end_stay_apart():
    names = {dns_label("x" * 80 + suffix) for suffix in ("1g.10gb", "1g.20gb")}

    assert 2 == len(names)
    assert {63} == {len(name) for name in names}


def test_a_name_of_63_characters_is_left_as_it_is():
    assert "x" * 63 == dns_label("x" * 63)


def test_digest_does_not_depend_on_the_order_of_keys():
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})


@pytest.mark.parametrize(
    ("seconds", "timestamp"),
    [
        (1767225600.0, "2026-01-01T00:00:00Z"),
        (1767225600.25, "2026-01-01T00:00:00.250000Z"),
        (1767222000.0, "2026-01-01T00:00:00+01:00"),
    ],
)
def test_seconds_of_reads_rfc_3339(seconds, timestamp):
    assert seconds == seconds_of(timestamp)


def test_timestamp_of_is_a_micro_time_in_utc():
    assert "2026-01-01T00:00:00.500000Z" == timestamp_of(1767225600.5)


@pytest.mark.parametrize(
    ("expected", "selector", "labels"),
    [
        (True, {"matchLabels": {"app": "a"}}, {"app": "a", "team": "x"}),
        (False, {"matchLabels": {"app": "a"}}, {"app": "b"}),
        (False, {"matchLabels": {"app": "a", "team": "x"}}, {"app": "a"}),
        (True, {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}, {"app": "b"}),
        (False, {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a"]}]}, {}),
        (False, {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}, {"app": "a"}),
        (True, {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}, {}),
        (True, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {"app": "a"}),
        (False, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {}),
        (True, {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, {}),
        (False, {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, {"app": "a"}),
        (
            False,
            {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "team", "operator": "Exists"}]},
            {"app": "a"},
        ),
        (False, {}, {"app": "a"}),
        (False, {"matchLabels": {}}, {"app": "a"}),
        (False, {"matchLabels": None}, {}),
    ],
)
def test_selectors(expected, selector, labels):
    assert expected is selects(selector, labels)


def test_key_and_version_of_an_object():
    body = {"metadata": {"namespace": "llm", "name": "llama", "resourceVersion": "12"}}

    assert WorkloadKey("llm", "llama") == key_of(body)
    assert "12" == version_of(body)


def test_cluster_wide_objects_have_an_empty_namespace():
    assert WorkloadKey("", "node-1") == key_of({"metadata": {"name": "node-1"}})


@pytest.mark.parametrize(
    ("lost", "sent", "kept"),
    [
        ("", {"a": {"b": 1}}, {"a": {"b": 1}, "more": 2}),
        ("", {"a": {}, "b": [], "c": None}, {}),
        ("spec.a.b", {"a": {"b": 1}}, {"a": {}}),
        ("spec.a[1].c", {"a": [{"b": 1}, {"c": 2}]}, {"a": [{"b": 1}, {"d": 2}]}),
        ("spec.a[1]", {"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}]}),
        ("", {"a": "20389Mi"}, {"a": "20878336Ki"}),
    ],
)
def test_what_a_server_drops_is_named_and_what_it_adds_or_writes_otherwise_is_nothing(lost, sent, kept):
    assert lost == dropped(sent, kept)
