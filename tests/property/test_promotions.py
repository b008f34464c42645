"""Whatever is promoted, taken back or broken, in any order: what serves is what a stack would say."""

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import ConflictError, InputError
from predictor.registry.artefact import FILES, MANIFEST
from predictor.registry.files import Files
from predictor.registry.pointer import NOBODY, UNPROMOTED, Pointer, Promotion
from predictor.registry.registry import Registry
from tests.builders.models import NAME, NOW_S, files

VERSIONS = [f"{number:012x}" for number in range(5)]
WRITERS = st.sampled_from(["a", "b"])


def empty():
    """The URL of a store with nothing in it."""
    fsspec.filesystem("memory").store.clear()
    return "memory://models"


def promotion(now, number, version):
    return Promotion(number + 1, version, "0" * 64, now.generation, NOW_S)


def taken_back(pointer, number):
    now = pointer.now()
    earlier = next(pointer.back(now), UNPROMOTED)
    return Promotion(number + 1, earlier.version, earlier.manifest_sha256, earlier.before, NOW_S)


@given(st.lists(st.one_of(st.sampled_from(VERSIONS), st.none()), max_size=20))
def test_promotions_push_and_rollbacks_pop(moves: list[str | None]):
    """`None` = a rollback."""
    pointer, stack = Pointer(Files(empty()), NAME), []
    for number, move in enumerate(moves):
        if move is None:
            pointer.append(taken_back(pointer, number))
            stack = stack[:-1]
        else:
            pointer.append(promotion(pointer.now(), number, move))
            stack.append(move)
        assert (stack[-1] if stack else None) == pointer.now().version
    assert len(moves) == pointer.newest_number()
    assert list(reversed(stack[:-1])) == [
        one.version for one in pointer.back(pointer.now()) if one.generation != NOBODY and one.version
    ]


@given(st.lists(st.tuples(WRITERS, st.booleans(), st.sampled_from(VERSIONS)), max_size=30))
def test_what_was_decided_on_an_old_view_is_never_written(moves):
    """Two writers look and write in any order; who writes on what is no longer so is told, each time."""
    pointer = Pointer(Files(empty()), NAME)
    views = {}
    for writer, looks, version in moves:
        if looks or writer not in views:
            views[writer] = pointer.newest_number(), pointer.now()
            continue
        (number, now), newest = views.pop(writer), pointer.newest_number()
        if number == newest:
            pointer.append(promotion(now, number, version))
            assert version == pointer.now().version
        else:
            before = pointer.now()
            with pytest.raises(ConflictError):
                pointer.append(promotion(now, number, version))
            assert before == pointer.now()


@given(st.binary(max_size=200))
def test_no_bytes_in_a_pointer_take_the_champion_away(content: bytes):
    files_ = Files(empty())
    pointer = Pointer(files_, NAME)
    pointer.append(promotion(UNPROMOTED, 0, VERSIONS[1]))
    files_.write(f"{NAME}/promotions/000002.json", content)
    assert VERSIONS[1] == pointer.now().version


@pytest.fixture(scope="module")
def artefact():
    return files()


@given(
    name=st.sampled_from([MANIFEST, *FILES]),
    place=st.floats(0, 1, exclude_max=True),
    flip=st.integers(1, 255),
)
def test_no_flipped_byte_of_an_artefact_goes_unnoticed(name, place, flip, artefact):
    raw, registry = Files(empty()), Registry("memory://models")
    version = registry.publish(artefact, NAME)
    registry.promote(NAME, version, NOW_S)
    content = bytearray(artefact[name])
    content[int(place * len(content))] ^= flip
    raw.write(f"{NAME}/{version}/{name}", bytes(content))
    with pytest.raises(InputError):
        registry.load(NAME, version)
    assert registry.champion(NAME).artefact is None
