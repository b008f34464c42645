"""Versions at a URL, and which of them serves: whatever is refused, the champion stays."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import fsspec
import pytest

from fleet.errors import ConflictError, InputError
from predictor.registry.registry import Registry
from tests.builders.models import NAME, NOW_S, SIGNATURE, files, published

OTHER = replace(SIGNATURE, features=("now", "something else", "yesterday"))


@pytest.fixture
def url(tmp_path):
    return str(tmp_path / "store")


@pytest.fixture
def registry(url):
    return Registry(url)


@pytest.fixture
def champion(registry):
    """The version that serves."""
    version = published(registry)
    registry.promote(NAME, version, NOW_S)
    return version


def serves(registry, signature=None):
    return registry.champion(NAME, signature).promotion.version


def successor(registry, champion, shift=0.1, **given):
    """A version that beats the champion."""
    return published(registry, shift, pinball=0.07, **{champion: 0.08}, **given)


def test_any_url_will_do():
    registry = Registry("memory://models")
    version = published(registry)
    registry.promote(NAME, version, NOW_S)
    assert version == serves(Registry("memory://models"))
    fsspec.filesystem("memory").store.clear()


def test_what_is_published_is_found_and_does_not_serve(registry):
    version = published(registry)
    assert [NAME] == registry.names()
    assert [version] == registry.versions(NAME)
    assert version == registry.load(NAME, version).version
    assert serves(registry) is None
    assert registry.champion(NAME).artefact is None


def test_to_publish_twice_is_to_publish_once(registry):
    made = files()
    assert registry.publish(made, NAME) == registry.publish(made, NAME)
    assert 1 == len(registry.versions(NAME))


def test_what_could_not_be_read_back_is_not_published(registry):
    broken = {**files(), "model.skops": b"PK"}
    with pytest.raises(InputError, match=r"model\.skops is not what was published"):
        registry.publish(broken, NAME)
    assert [] == registry.versions(NAME)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "/etc", "A", "a b", ".hidden", "x" * 64, "a\n"])
def test_a_name_that_could_lead_elsewhere_is_refused(registry, name):
    for ask in (registry.versions, registry.champion, lambda one: registry.load(one, "0" * 12)):
        with pytest.raises(InputError, match="is no name of a model"):
            ask(name)
    with pytest.raises(InputError, match="is no name of a model"):
        registry.publish(files(), name)


@pytest.mark.parametrize("version", ["", "..", "../../etc", "0" * 11, "0" * 13, "promotions", "ABCDEF012345"])
def test_a_version_that_could_lead_elsewhere_is_refused(registry, version):
    for ask in (registry.load, registry.manifest):
        with pytest.raises(InputError, match="is no version"):
            ask(NAME, version)


def test_a_version_that_is_not_there_is_refused(registry, champion):
    with pytest.raises(InputError, match=r"global/0{12}: manifest\.json is missing"):
        registry.promote(NAME, "0" * 12, NOW_S)
    assert champion == serves(registry)


def test_a_better_one_takes_over(registry, champion):
    better = successor(registry, champion)
    promotion = registry.promote(NAME, better, NOW_S + 1)
    assert (2, better, 1, NOW_S + 1) == (
        promotion.generation,
        promotion.version,
        promotion.before,
        promotion.at_s,
    )
    assert better == serves(registry)
    assert better == registry.champion(NAME).artefact.version


def test_a_worse_one_does_not(registry, champion):
    worse = published(registry, 0.1, pinball=0.09, **{champion: 0.08})
    with pytest.raises(
        InputError, match=rf"is not promoted: it costs 1\.125 of what {champion} does; what serves"
    ):
        registry.promote(NAME, worse, NOW_S)
    assert champion == serves(registry)


def test_what_serves_cannot_be_promoted_again(registry, champion):
    with pytest.raises(InputError, match="serves already"):
        registry.promote(NAME, champion, NOW_S)


def truncated(path):
    (path / "model.skops").write_bytes((path / "model.skops").read_bytes()[:500])


def swapped(path):
    other = files(0.7)
    (path / "model.skops").write_bytes(other["model.skops"])


def newer(path):
    found = json.loads((path / "manifest.json").read_text())
    found["versions"]["foreslice"] = "99.0.0"
    (path / "manifest.json").write_text(json.dumps(found))


def foreign(path):
    for name, data in files(name="other").items():
        (path / name).write_bytes(data)


def without_card(path):
    (path / "card.md").unlink()


def folder_in_place_of_model(path):
    (path / "model.skops").unlink()
    (path / "model.skops").mkdir()


def endless_manifest(path):
    (path / "manifest.json").write_bytes(b" " * (2**20 + 10))


ATTACKS = [truncated, swapped, newer, foreign, without_card, folder_in_place_of_model, endless_manifest]


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_unsound_is_refused_in_one_line_and_the_champion_stays(registry, champion, tmp_path, attack):
    better = successor(registry, champion)
    attack(tmp_path / "store" / NAME / better)
    for ask in (registry.load, lambda *of: registry.promote(*of, NOW_S)):
        with pytest.raises(InputError, match=f"{NAME}/{better}: ") as caught:
            ask(NAME, better)
        assert 1 == len(str(caught.value).splitlines())
    assert champion == serves(registry)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_champion_that_goes_bad_gives_way_to_the_one_before(registry, champion, tmp_path, attack):
    better = successor(registry, champion)
    registry.promote(NAME, better, NOW_S)
    attack(tmp_path / "store" / NAME / better)
    serving = registry.champion(NAME)
    assert champion == serving.promotion.version == serving.artefact.version
    assert 1 == len(serving.passed_over)
    assert better in serving.passed_over[0]


def test_a_champion_replaced_under_its_name_is_noticed(registry, champion, tmp_path):
    """Twelve digits can be forged with patience; the promotion knows all sixty-four."""
    pointer = tmp_path / "store" / NAME / "promotions" / "000001.json"
    pointer.write_text(
        json.dumps({**json.loads(pointer.read_text()), "manifest_sha256": champion + "0" * 52})
    )
    serving = registry.champion(NAME)
    assert serving.artefact is None
    assert "is not what was promoted" in serving.passed_over[0]


def test_a_model_with_other_features_is_refused_and_the_champion_stays(registry, champion):
    better = successor(registry, champion, signature=OTHER)
    with pytest.raises(InputError, match="takes other features: an hour ago, something else"):
        registry.promote(NAME, better, NOW_S, SIGNATURE)
    assert champion == serves(registry, SIGNATURE)


def test_a_champion_with_other_features_is_passed_over_where_they_are_wanted(registry, champion):
    better = successor(registry, champion, signature=OTHER)
    registry.promote(NAME, better, NOW_S)
    assert better == serves(registry)
    assert champion == serves(registry, SIGNATURE)


def test_rollback_brings_the_one_before_back(registry, champion):
    registry.promote(NAME, successor(registry, champion), NOW_S)
    serving = registry.rollback(NAME, NOW_S)
    assert (champion, 3) == (serving.promotion.version, serving.promotion.generation)
    assert champion == serves(registry)


def test_rollback_of_the_first_leaves_none(registry, champion):
    assert registry.rollback(NAME, NOW_S).promotion.version is None
    assert serves(registry) is None
    with pytest.raises(InputError, match="nothing serves"):
        registry.rollback(NAME, NOW_S)
    assert 3 == registry.promote(NAME, champion, NOW_S).generation


def test_rollback_passes_over_what_is_unsound(registry, champion, tmp_path):
    second = successor(registry, champion)
    registry.promote(NAME, second, NOW_S)
    registry.promote(NAME, published(registry, 0.2, pinball=0.06, **{second: 0.07}), NOW_S)
    truncated(tmp_path / "store" / NAME / second)
    serving = registry.rollback(NAME, NOW_S)
    assert champion == serving.promotion.version
    assert [True] == [second in line for line in serving.passed_over]


class Interrupted(Registry):
    """Has looked at what serves when somebody promotes another version."""

    def __init__(self, url, meanwhile):
        super().__init__(url)
        self.meanwhile = meanwhile

    def load(self, name, version, signature=None):
        found = super().load(name, version, signature)
        if version != serves(Registry(self._files.url)):
            self.meanwhile()
        return found


def test_of_two_promotions_at_once_one_is_told(registry, champion, url):
    first, second = successor(registry, champion), successor(registry, champion, 0.2)
    late = Interrupted(url, lambda: registry.promote(NAME, first, NOW_S))
    with pytest.raises(
        ConflictError, match=rf"{first} was made champion meanwhile \(generation 2\); look at it"
    ):
        late.promote(NAME, second, NOW_S)
    assert first == serves(registry)


def test_of_many_promotions_at_once_each_generation_has_one(registry, champion, url):
    rivals = [successor(registry, champion, 0.1 * i) for i in range(1, 9)]

    def promote(version):
        try:
            return Registry(url).promote(NAME, version, NOW_S).generation
        except (ConflictError, InputError):
            return None

    with ThreadPoolExecutor(8) as pool:
        won = dict(zip(rivals, pool.map(promote, rivals), strict=True))
    assert {2} == {generation for generation in won.values() if generation is not None}
    assert 2 == won[serves(registry)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"generation": 2, "version": "../../x", "manifest_sha256": "", "before": 1, "at_s": 0}',
        b'{"generation": 2, "version": null, "manifest_sha256": "", "before": 7, "at_s": 0}',
        b'{"generation": 9, "version": null, "manifest_sha256": "", "before": 1, "at_s": 0}',
    ],
)
def test_a_broken_pointer_leaves_the_champion(registry, champion, tmp_path, content):
    (tmp_path / "store" / NAME / "promotions" / "000002.json").write_bytes(content)
    serving = registry.champion(NAME)
    assert champion == serving.promotion.version
    assert 1 == len(serving.passed_over)
    assert 3 == registry.promote(NAME, successor(registry, champion), NOW_S).generation


def test_other_things_in_the_store_are_left_alone(registry, champion, tmp_path):
    store = tmp_path / "store"
    (store / ".git").mkdir()
    (store / "README.md").write_text("ours")
    (store / NAME / "promotions" / "notes.txt").write_text("ours")
    assert [NAME] == registry.names()
    assert champion == serves(registry)


def test_a_store_that_was_copied_is_the_same_store(registry, champion, tmp_path):
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    assert champion == serves(Registry(str(tmp_path / "copy")))
