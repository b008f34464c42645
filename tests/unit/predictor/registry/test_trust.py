"""A stored model is data: nothing in it runs, whatever somebody put there."""

import io
import json
import pickle
import zipfile
from fractions import Fraction

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LinearRegression

from predictor.registry import trust
from predictor.registry.trust import packed, unpacked
from tests.builders.models import model


class Bomb:
    """Leaves a trace where it is unpickled."""

    went_off = False

    def __reduce__(self):
        return _go_off, ()


def _go_off():
    Bomb.went_off = True


@pytest.fixture(autouse=True)
def nothing_went_off():
    yield
    assert not Bomb.went_off


def rezipped(data, change):
    """The same archive after its entries, by name, were changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return made.getvalue()


def with_index(data, change):
    """The same archive after its index was changed."""

    def edit(entries):
        index = json.loads(entries["schema.json"])
        change(index)
        entries["schema.json"] = json.dumps(index)

    return rezipped(data, edit)


def test_a_model_comes_back_as_it_was():
    rows = np.zeros((2, 3), np.float32)
    before, after = model(0.25), unpacked(packed(model(0.25)))
    assert before.quantiles == after.quantiles
    np.testing.assert_array_equal(before.predict(rows, 60.0)[0], after.predict(rows, 60.0)[0])


def test_plain_data_comes_back_as_it_was():
    data = {"a": [1, 2.5, "three", True, None], "b": (np.arange(3),)}
    back = unpacked(packed(data), frozenset())
    assert data["a"] == back["a"]
    np.testing.assert_array_equal(data["b"][0], back["b"][0])


@pytest.mark.parametrize("kind", [pickle.dumps, lambda bomb: pickle.dumps(bomb, 0)])
def test_a_pickle_in_place_of_a_model_is_refused(kind):
    with pytest.raises(ValueError, match="is no intact skops file"):
        unpacked(kind(Bomb()))


def test_a_pickle_in_place_of_an_array_is_not_unpickled():
    def smuggle(entries):
        entries[next(name for name in entries if name.endswith(".npy"))] = pickle.dumps(Bomb())

    with pytest.raises(ValueError, match="cannot be read"):
        unpacked(rezipped(packed(model()), smuggle))


def test_an_array_of_pickled_objects_is_not_unpickled():
    made = io.BytesIO()
    np.save(made, np.array([Bomb()], dtype=object), allow_pickle=True)

    def smuggle(entries):
        entries[next(name for name in entries if name.endswith(".npy"))] = made.getvalue()

    with pytest.raises(ValueError, match="cannot be read"):
        unpacked(rezipped(packed(model()), smuggle))


@pytest.mark.parametrize(
    "name", ["model.pkl", "../../escape.npy", "/etc/1.npy", "a/1.npy", "1.npy.pkl", ".npy", "..\\1.npy"]
)
def test_files_of_other_names_are_refused(name):
    def add(entries):
        entries[name] = pickle.dumps(Bomb())

    with pytest.raises(ValueError, match=r"is no intact skops file .*it holds"):
        unpacked(rezipped(packed(model()), add))


def test_a_name_that_is_there_twice_is_refused():
    made = io.BytesIO(packed(model()))
    with zipfile.ZipFile(made, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("schema.json", "{}")
    with pytest.raises(ValueError, match="a name twice"):
        unpacked(made.getvalue())


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        (LinearRegression(), "sklearn.linear_model._base.LinearRegression"),
        (Fraction(1, 2), "fractions.Fraction"),
        (print, "builtins.print"),
        (np.float64, "numpy.float64"),
        ([{"deep": (np.random.default_rng(0),)}], "numpy.random._generator.Generator"),
        (model().predict, "predictor.learned.Learned"),
    ],
)
def test_what_skops_would_take_and_we_do_not_is_refused_by_name(stored, named):
    with pytest.raises(ValueError, match=f"types that are not allowed: .*{named}"):
        unpacked(packed(stored))


def test_a_type_is_allowed_only_as_what_it_is():
    """The name of an allowed type does not let another way to build things in."""

    def as_function(index):
        index["__loader__"] = "FunctionNode"

    with pytest.raises(ValueError, match=r"not allowed: predictor\.learned\.Learned"):
        unpacked(with_index(packed(model()), as_function))


@pytest.mark.parametrize(
    ("module", "name"), [("os", "system"), ("builtins", "eval"), ("predictor.learned", "learn")]
)
def test_a_renamed_type_is_refused(module, name):
    def rename(index):
        index["__module__"], index["__class__"] = module, name

    with pytest.raises(ValueError, match=f"not allowed: {module}.{name}"):
        unpacked(with_index(packed(model()), rename))


def test_nothing_is_imported_for_what_is_refused(tmp_path, monkeypatch):
    (tmp_path / "lure_of_models.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)

    def lure(index):
        index["content"]["content"][0]["__module__"] = "lure_of_models"

    with pytest.raises(ValueError, match=r"not allowed: lure_of_models\.tuple"):
        unpacked(with_index(packed(model()), lure))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_refused(share):
    data = packed(model())
    with pytest.raises(ValueError, match="is no intact skops file"):
        unpacked(data[: int(share * len(data))])


def test_a_file_without_an_index_is_refused():
    with pytest.raises(ValueError, match="is no intact skops file"):
        unpacked(rezipped(packed(model()), lambda entries: entries.pop("schema.json")))


def test_an_index_that_is_nested_beyond_reason_is_refused():
    def nest(entries):
        entries["schema.json"] = "[" * 200_000

    with pytest.raises(ValueError, match="is no intact skops file"):
        unpacked(rezipped(packed(model()), nest))


def test_a_file_that_unpacks_to_too_much_is_refused_before_it_does():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "{}")
        with archive.open("1.npy", "w") as file:
            for _ in range(trust.MOST_BYTES // 2**24 + 1):
                file.write(bytes(2**24))
    assert len(made.getvalue()) < 2**20
    with pytest.raises(ValueError, match="more than 32 MiB"):
        unpacked(made.getvalue())


def test_skops_is_asked_as_well():
    """Where our list lets a type through by mistake of a test, skops still names it: two locks, not one."""
    data = packed(model())
    assert ["predictor.forest.Forest", "predictor.learned.Learned"] == skops.io.get_untrusted_types(data=data)
