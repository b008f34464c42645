"""Frozen dataclasses to JSON and back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple

import pytest

from fleet.codec import DERIVED, decode, encode


class Colour(StrEnum):
    RED = "red"


class Rung(IntEnum):
    LOW = 1


@dataclass(frozen=True)
class Inner:
    name: str
    size: float


@dataclass(frozen=True)
class Outer:
    inner: Inner
    colour: Colour
    rung: Rung
    maybe: Inner | None
    pairs: Mapping[tuple[str, int], Inner]
    names: frozenset[str]
    many: tuple[Inner, ...]
    two: tuple[str, int]
    is_on: bool = field(default=False)


ONE = Inner("a", 1.5)
WHOLE = Outer(
    ONE,
    Colour.RED,
    Rung.LOW,
    ONE,
    {("x", 1): ONE, ("y", 2): ONE},
    frozenset({"b", "a"}),
    (ONE, ONE),
    ("z", 3),
    True,
)


def test_what_is_encoded_and_read_as_json_is_decoded_to_the_same():
    assert WHOLE == decode(Outer, json.loads(json.dumps(encode(WHOLE))))


class Named(NamedTuple):
    space: str
    inner: Inner


def test_a_named_tuple_is_written_by_name_like_a_dataclass():
    written = encode(Named("shop", ONE))

    assert {"space": "shop", "inner": {"name": "a", "size": 1.5}} == written
    read = decode(Named, written)
    assert (Named, Named("shop", ONE)) == (type(read), read)
    with pytest.raises(ValueError, match="Named has inner, space"):
        decode(Named, ["shop", ONE])


@dataclass(frozen=True)
class Remembering:
    name: str
    memory: object = field(default_factory=object, compare=False, metadata=DERIVED)


def test_what_follows_from_the_rest_is_not_written_and_made_anew():
    one = Remembering("a")
    written = encode(one)

    assert {"name": "a"} == written
    assert one == decode(Remembering, written)
    assert decode(Remembering, written).memory is not one.memory


def test_what_may_be_missing_is_null():
    bare = Outer(ONE, Colour.RED, Rung.LOW, None, {}, frozenset(), (), ("z", 3))
    assert bare == decode(Outer, encode(bare))
    assert None is encode(bare)["maybe"]


def test_a_whole_number_is_a_float_where_one_is_asked_for():
    got = decode(Inner, {"name": "a", "size": 2})
    assert (2.0, float) == (got.size, type(got.size))


def test_sets_come_in_order_so_that_the_same_value_is_the_same_text():
    assert ["a", "b"] == encode(WHOLE)["names"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"name": "a"}, "Inner has name, size"),
        ({"name": "a", "size": 1.0, "more": 1}, "Inner has name, size"),
        ({"name": 1, "size": 1.0}, "1 is no str"),
        ({"name": "a", "size": "big"}, "'big' is no float"),
        (None, "Inner has name, size"),
    ],
)
def test_data_of_another_type_is_refused(data, says):
    with pytest.raises(ValueError, match=says):
        decode(Inner, data)


@pytest.mark.parametrize("wrong", [{"many": 1}, {"colour": "blue"}, {"two": ["z"]}])
def test_parts_of_another_type_are_refused(wrong):
    with pytest.raises(ValueError):  # noqa: PT011 -- each says something else
        decode(Outer, encode(WHOLE) | wrong)
