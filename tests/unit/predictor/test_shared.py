"""What serves of a shared model: the newest sound champion, whatever becomes of its store."""

from dataclasses import astuple

import pytest

from fleet.errors import UnavailableError
from predictor.registry.registry import Registry
from predictor.shared import LOOK_EVERY_S, Shared, Shelf
from tests.builders.models import NAME, NOW_S, SIGNATURE, model, published

PRIOR = Shared("prior", model(), 0)


@pytest.fixture
def registry(tmp_path):
    return Registry(str(tmp_path))


def shelf(registry):
    return Shelf(registry, NAME, SIGNATURE, PRIOR)


def promoted(registry, shift, **given):
    version = published(registry, shift, **given)
    return registry.promote(NAME, version, 1_790_000_000).version


def test_without_a_champion_the_prior_serves(registry):
    one = shelf(registry)
    one.look(0.0)
    assert PRIOR is one.now()
    assert () == one.trouble


def test_a_promotion_and_a_rollback_serve_at_the_next_look_and_not_before(registry):
    one = shelf(registry)
    one.look(0.0)
    version = promoted(registry, 0.1)
    one.look(LOOK_EVERY_S - 1)
    assert "prior" == one.now().version
    one.look(LOOK_EVERY_S)
    assert version == one.now().version
    registry.rollback(NAME, 1_790_000_001)
    one.look(2 * LOOK_EVERY_S)
    assert "prior" == one.now().version


def test_the_newest_younger_version_is_the_challenger_until_it_serves(registry):
    one = shelf(registry)
    version = promoted(registry, 0.1)
    published(registry, 0.15, made_s=NOW_S - 10)
    one.look(0.0)
    assert one.challenger is None
    assert one.tally.beside() is None
    younger = published(registry, 0.2, made_s=NOW_S + 10, **{version: 0.09})
    one.look(LOOK_EVERY_S)
    assert (younger, version) == (one.challenger.version, one.now().version)
    assert (younger, version, 0, None) == tuple(astuple(one.tally.beside()))
    registry.promote(NAME, younger, NOW_S + 20)
    one.look(2 * LOOK_EVERY_S)
    assert one.challenger is None
    assert younger == one.now().version


def test_a_champion_that_turns_unsound_goes_on_serving_with_the_reason(registry, tmp_path):
    one = shelf(registry)
    version = promoted(registry, 0.1)
    one.look(0.0)
    (tmp_path / NAME / version / "model.skops").write_bytes(b"not a model")
    one.look(LOOK_EVERY_S)
    assert version == one.now().version
    assert 1 == len(one.trouble)
    assert f"model {NAME}: passed over: {NAME}/{version}" in one.trouble[0]


def test_a_store_that_does_not_answer_leaves_what_serves_with_the_reason(registry, tmp_path):
    class Away(Registry):
        is_away = False

        def champion(self, name, signature=None):
            if self.is_away:
                raise UnavailableError("no route to the store")
            return super().champion(name, signature)

    away = Away(str(tmp_path))
    one = shelf(away)
    version = promoted(registry, 0.1)
    one.look(0.0)
    away.is_away = True
    one.look(LOOK_EVERY_S)
    assert version == one.now().version
    assert (
        f"model {NAME}: the newest is not known, what serves goes on: no route to the store",
    ) == one.trouble
