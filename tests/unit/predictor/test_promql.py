"""Selectors mean what was said: no value of a label can say anything else."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import InputError
from predictor.sources.promql import selector

text = st.text(st.characters(exclude_categories=["Cs"]))


def matchers(query):
    """The matchers of a selector, read as PromQL reads them: names, `=~` and quoted expressions."""
    found, rest = {}, query.removeprefix("{")
    while rest != "}":
        label, rest = rest.split("=~", maxsplit=1)
        found[label.removeprefix(",")], end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:]
    return found


@pytest.mark.parametrize(
    ("expected", "names", "labels"),
    [
        ('{__name__=~"up"}', ["up"], {}),
        ('{__name__=~"vllm:a|vllm:b"}', ["vllm:a", "vllm:b"], {}),
        ('{__name__=~"a",model_name=~"x|y",pod=~"z"}', ["a"], {"model_name": ["x", "y"], "pod": ["z"]}),
        (r'{__name__=~"a",m=~"org/llama\\-3\\.1"}', ["a"], {"m": ["org/llama-3.1"]}),
        (r'{__name__=~"a",m=~"\"\\\\\\\n"}', ["a"], {"m": ['"\\\n']}),
    ],
)
def test_selectors(expected, names, labels):
    assert expected == selector(names, labels)


@given(values=st.lists(text, min_size=1), other=text)
def test_a_selector_means_its_values_and_no_other(values, other):
    read = matchers(selector(["up"], {"model_name": values}))

    assert ["__name__", "model_name"] == list(read)
    assert all(re.fullmatch(read["model_name"], value) for value in values)
    assert (other in values) == bool(re.fullmatch(read["model_name"], other))


@given(value=text)
def test_control_characters_are_written_as_escapes_that_go_reads(value):
    quoted = selector(["up"], {"model_name": [value]})

    assert not re.search(r"[\x00-\x1f]", quoted)
    assert {"\\\\", '\\"', "\\n", "\\r", "\\t", "\\b", "\\f", "\\u"} >= set(re.findall(r"\\.", quoted))


@pytest.mark.parametrize("label", ["", "1st", "model-name", 'a="b",c', "modèle", "a\n"])
def test_what_is_no_label_is_refused(label):
    with pytest.raises(InputError, match="no label of Prometheus"):
        selector(["up"], {label: ["x"]})


@pytest.mark.parametrize("value", ["\ud800", "a\udfffb"])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(InputError, match="not Unicode"):
        selector(["up"], {"model_name": [value]})
