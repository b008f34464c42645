"""The row of numbered files that says what serves."""

import json

import pytest

from fleet.errors import ConflictError
from predictor.registry.files import Files
from predictor.registry.pointer import NOBODY, UNPROMOTED, Pointer, Promotion

A, B, C = (f"{number:012x}" for number in (10, 11, 12))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "global" / "promotions"


@pytest.fixture
def pointer(tmp_path):
    return Pointer(Files(str(tmp_path)), "global")


def promotion(number, version, before=None):
    return Promotion(number, version, "0" * 64, number - 1 if before is None else before, 1_790_000_000)


def test_at_first_nobody_serves(pointer):
    assert NOBODY == pointer.newest_number()
    assert UNPROMOTED == pointer.now()
    assert [] == list(pointer.back(pointer.now()))


def test_a_generation_is_a_file_that_people_can_read(pointer, folder):
    pointer.append(promotion(1, A))
    assert {
        "generation": 1,
        "version": A,
        "manifest_sha256": "0" * 64,
        "before": 0,
        "at_s": 1_790_000_000,
    } == json.loads((folder / "000001.json").read_text())
    assert ["000001.json"] == [path.name for path in folder.iterdir()]


def test_the_newest_counts(pointer):
    for number, version in enumerate((A, B, C), 1):
        pointer.append(promotion(number, version))
        assert promotion(number, version) == pointer.now()


def test_generations_are_numbers_not_names(pointer, folder):
    """A millionth promotion comes after the 999,999th."""
    pointer.append(promotion(999_999, A, before=0))
    pointer.append(promotion(1_000_000, B, before=999_999))
    assert B == pointer.now().version


def test_the_way_back_follows_what_was_there_before(pointer):
    """C was promoted after a rollback from B to A: B is not on its way back."""
    for one in (promotion(1, A), promotion(2, B), promotion(3, A, before=0), promotion(4, C, before=3)):
        pointer.append(one)
    assert [A, None] == [one.version for one in pointer.back(pointer.now())]


def test_a_generation_is_never_changed(pointer, folder):
    pointer.append(promotion(1, A))
    before = (folder / "000001.json").read_bytes()
    with pytest.raises(ConflictError, match=f"model global: {A} was made champion meanwhile"):
        pointer.append(promotion(1, B))
    assert before == (folder / "000001.json").read_bytes()
    assert A == pointer.now().version


def test_who_comes_late_is_told_also_of_no_version_and_of_a_broken_file(pointer, folder):
    pointer.append(promotion(1, None))
    with pytest.raises(ConflictError, match="no version was made champion meanwhile"):
        pointer.append(promotion(1, B))
    (folder / "000002.json").write_text("{")
    with pytest.raises(ConflictError, match=r"no version was made champion meanwhile \(generation 2\)"):
        pointer.append(promotion(2, B))


@pytest.mark.parametrize("name", ["3.json", "000003.json.tmp", ".000003.json.12.34", "000003", "0000x3.json"])
def test_other_files_are_no_generations(pointer, folder, name):
    pointer.append(promotion(1, A))
    (folder / name).write_text(json.dumps({"generation": 3}))
    assert 1 == pointer.newest_number()


def test_a_way_back_into_a_gap_ends_where_nobody_serves(pointer, folder):
    pointer.append(promotion(1, A))
    pointer.append(promotion(2, B))
    (folder / "000001.json").unlink()
    assert B == pointer.now().version
    assert [UNPROMOTED] == list(pointer.back(pointer.now()))
