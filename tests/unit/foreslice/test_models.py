"""`foreslice models`: what a store holds, and which of it serves, for people and for scripts."""

import json
import shutil

import pytest

from fleet.errors import InputError
from foreslice import models
from predictor.registry.registry import Registry
from tests.builders.models import NAME, NOW_S, files, published


@pytest.fixture
def store(tmp_path):
    return Registry(str(tmp_path / "store"))


@pytest.fixture
def champion(store):
    version = published(store)
    store.promote(NAME, version, NOW_S)
    return version


@pytest.fixture
def better(store, champion):
    return published(store, 0.1, pinball=0.07, made_s=NOW_S + 60, **{champion: 0.08})


def said(capsys, ask, *args):
    """What a command prints, as text and as JSON."""
    ask(*args, as_json=False)
    text = capsys.readouterr().out
    ask(*args, as_json=True)
    return text, json.loads(capsys.readouterr().out)


def test_list_has_all_versions_newest_first(capsys, store, champion, better):
    text, found = said(capsys, models.print_list, store)
    assert [(better, False), (champion, True)] == [(row["version"], row["serves"]) for row in found["models"]]
    assert ["2026-09-21 14:14", "2026-09-21 14:13"] == [row["made"] for row in found["models"]]
    assert {"", 0.95} == {row["trouble"] for row in found["models"]} | {
        row["coverage"] for row in found["models"]
    }
    assert champion in text
    assert "95.0%" in text


def test_list_says_what_is_wrong_with_a_version(capsys, store, champion, better, tmp_path):
    (tmp_path / "store" / NAME / better / "manifest.json").write_text("{}")
    text, found = said(capsys, models.print_list, store)
    troubles = {row["version"]: row["trouble"] for row in found["models"]}
    assert {champion: "", better: "manifest.json is none of foreslice's"} == troubles
    assert "none of foreslice's" in text


def test_list_of_nothing(capsys, store):
    text, found = said(capsys, models.print_list, store)
    assert [] == found["models"]
    assert "no models in" in text


def test_show_is_of_what_serves_unless_told_otherwise(capsys, store, champion, better):
    text, found = said(capsys, models.print_one, store, NAME)
    assert (champion, 24) == (found["version"], found["training"]["series"])
    assert "24 series" in text
    assert better == said(capsys, models.print_one, store, f"{NAME}/{better}")[1]["version"]


def test_show_of_nothing_is_one_line(store):
    with pytest.raises(InputError, match="model global: no version serves; name a version"):
        models.print_one(store, NAME, as_json=True)


def test_verify_reads_everything(capsys, store, champion, better, tmp_path):
    assert models.print_verified(store, None, as_json=False)
    assert {f"{NAME}/{one}: sound" for one in (champion, better)} == set(capsys.readouterr().out.splitlines())
    (tmp_path / "store" / NAME / better / "model.skops").write_bytes(files(0.5)["model.skops"])
    assert not models.print_verified(store, None, as_json=True)
    found = json.loads(capsys.readouterr().out)
    troubles = {row["version"]: row["trouble"] for row in found["models"]}
    assert "" == troubles[champion]
    assert "model.skops is not what was published" in troubles[better]
    assert models.print_verified(store, f"{NAME}/{champion}", as_json=True)


def test_promote_and_rollback(capsys, store, champion, better, tmp_path):
    models.run_promote(store, f"{NAME}/{better}", as_json=False)
    assert f"Model {NAME}" in (tmp_path / "store" / NAME / better / "card.html").read_text()
    assert f"{NAME}/{better} serves (generation 2)\n" == capsys.readouterr().out
    models.run_rollback(store, NAME, as_json=True)
    assert {"model": NAME, "version": champion, "generation": 3, "passed_over": []} == json.loads(
        capsys.readouterr().out
    )
    models.run_rollback(store, NAME, as_json=False)
    assert f"no version of {NAME} serves (generation 4)\n" == capsys.readouterr().out
    models.run_promote(store, f"{NAME}/{champion}", as_json=True)
    told = {"model": NAME, "version": champion, "generation": 5, "page": "card.html"}
    assert told == json.loads(capsys.readouterr().out)


def test_rollback_says_what_it_passes_over(capsys, store, champion, better, tmp_path):
    models.run_promote(store, f"{NAME}/{better}", as_json=True)
    shutil.rmtree(tmp_path / "store" / NAME / champion)
    capsys.readouterr()
    models.run_rollback(store, NAME, as_json=False)
    assert [
        f"passed over: {NAME}/{champion}: manifest.json is missing; it is not used; what serves stays",
        f"no version of {NAME} serves (generation 3)",
    ] == capsys.readouterr().out.splitlines()


def test_promote_wants_a_version(store):
    with pytest.raises(InputError, match="global: names no version; write NAME/VERSION"):
        models.run_promote(store, NAME, as_json=True)


def test_compare_sets_two_side_by_side(capsys, store, champion, better):
    text, found = said(capsys, models.print_comparison, store, f"{NAME}/{better}", NAME)
    assert (better, champion, []) == (found["challenger"], found["rival"], found["objections"])
    assert 4 == len(found["scores"])
    assert 0.875 == pytest.approx(found["scores"][0]["ratio"])
    assert "0.875" in text
    assert "the gate has no objection" in text


def test_compare_goes_by_same_windows_where_neither_was_scored_beside_the_other(capsys, store, champion):
    worse = published(store, 0.2, pinball=0.1)
    text, found = said(capsys, models.print_comparison, store, f"{NAME}/{worse}", NAME)
    assert 1.25 == pytest.approx(found["scores"][0]["ratio"])
    assert f"it was not scored beside {champion} on the same windows" in found["objections"]
    assert "not scored beside" in text


def test_compare_refuses_what_cannot_be_compared(store, champion):
    elsewhere = published(store, 0.2, folds="0" * 64)
    with pytest.raises(InputError, match="were not scored on the same windows"):
        models.print_comparison(store, f"{NAME}/{elsewhere}", NAME, as_json=True)
    store.publish(files(name="other"), "other")
    with pytest.raises(InputError, match="are two models"):
        models.print_comparison(store, f"{NAME}/{elsewhere}", f"other/{'0' * 12}", as_json=True)
