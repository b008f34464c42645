"""What is said of a stored model is found to hold before it is used."""

import json
from dataclasses import replace

import numpy as np
import pytest

from predictor.registry import artefact
from predictor.registry.artefact import CARD, GOLDEN, MANIFEST, MODEL, check_signature, version_of
from predictor.registry.manifest import FORMAT, Signature, Versions, fingerprint, manifest_of
from predictor.registry.trust import packed
from tests.builders.models import NAME, SIGNATURE, files, model


def read(made, name=NAME, version=None):
    return artefact.read(made, name, version_of(made[MANIFEST]) if version is None else version)


def edited(made, change, *, rehash=()):
    """The same artefact after its manifest was changed, hashes of changed files made good."""
    found = json.loads(made[MANIFEST])
    change(found)
    for file in found["files"]:
        if file["name"] in rehash:
            file["sha256"] = artefact.sha256(made[file["name"]])
    return {**made, MANIFEST: json.dumps(found).encode()}


def refused(made, match, **given):
    with pytest.raises(ValueError, match=match) as caught:
        read(made, **given)
    assert "\n" not in str(caught.value)


def test_it_comes_back_as_it_was_written():
    made = files(0.5)
    found = read(made)
    assert version_of(made[MANIFEST]) == found.version
    assert (NAME, SIGNATURE, FORMAT) == (found.manifest.name, found.manifest.signature, found.manifest.format)
    assert Versions.here() == found.manifest.versions
    np.testing.assert_array_equal([[0.5, 1.5]], found.model.predict(np.zeros((1, 3), np.float32), 60.0)[0])
    assert manifest_of(found.manifest.as_bytes()) == found.manifest


def test_its_card_says_what_it_is_and_how_good():
    card = read(files(pinball=0.0812, coverage=0.944)).card
    for part in ("# global", "24 series", "2026-05-28", "94.4%", "0.0812", "last + residual 0.1000"):
        assert part in card


@pytest.mark.parametrize("name", [MODEL, GOLDEN, CARD, MANIFEST])
def test_a_missing_file_is_named(name):
    made = files()
    refused({**made, name: None}, f"{name} is missing", version=version_of(made[MANIFEST]))


@pytest.mark.parametrize("name", [MODEL, GOLDEN, CARD])
@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: data + b" ", lambda data: b""])
def test_a_spoilt_file_is_refused(name, spoil):
    made = files()
    refused({**made, name: spoil(made[name])}, f"{name} is not what was published")


@pytest.mark.parametrize("name", [MODEL, GOLDEN, CARD])
def test_a_file_of_another_version_is_refused(name):
    refused({**files(0.0), name: files(0.1, pinball=0.07)[name]}, f"{name} is not what was published")


def test_a_manifest_of_another_version_is_refused():
    made = files()
    refused(
        {**made, MANIFEST: files(0.1)[MANIFEST]},
        "that of another version",
        version=version_of(made[MANIFEST]),
    )


def test_a_version_of_another_model_is_refused():
    refused(files(name="other"), "version of another model .'other'")


def test_a_model_that_answers_otherwise_than_when_published_is_refused():
    """As one does that another library reads otherwise, or whose files were swapped with their hashes."""
    other = files(0.001)
    swapped = edited({**files(), MODEL: other[MODEL]}, lambda found: None, rehash=[MODEL])
    refused(swapped, "answers its golden input otherwise")


def test_rounding_is_not_another_answer():
    swapped = edited({**files(), MODEL: packed(model(1e-9))}, lambda found: None, rehash=[MODEL])
    assert read(swapped).version


@pytest.mark.parametrize(
    "stored", [{"just": "data"}, [1, 2], model(quantiles=(0.5, 0.9, 0.95)), np.zeros(3)], ids=type
)
def test_something_else_than_such_a_model_is_refused(stored):
    swapped = edited({**files(), MODEL: packed(stored)}, lambda found: None, rehash=[MODEL])
    refused(swapped, "golden input")


@pytest.mark.parametrize("depth", [1, 10**15, -1])
def test_trees_that_would_be_walked_for_ever_are_refused(depth):
    sound = model()
    endless = replace(sound, models=replace(sound.models, depth=depth))
    swapped = edited({**files(), MODEL: packed(endless)}, lambda found: None, rehash=[MODEL])
    refused(swapped, f"trees of 1 nodes are {depth} deep")


@pytest.mark.parametrize("golden", [{"rows": np.zeros((2, 3))}, [], {"rows": 1, "said": 2}], ids=str)
def test_a_golden_input_that_is_none_is_refused(golden):
    swapped = edited({**files(), GOLDEN: packed(golden)}, lambda found: None, rehash=[GOLDEN])
    refused(swapped, "golden input")


def test_what_writes_a_model_refuses_one_that_does_not_fit_its_signature():
    with pytest.raises(ValueError, match="quantiles"):
        files(stored=model(quantiles=(0.5,)))


@pytest.mark.parametrize(
    ("what", "version"),
    [
        ("foreslice", "99.0.0"),
        ("scikit_learn", "99.1"),
        ("numpy", "99.0.0rc1"),
        ("skops", "9.9"),
        ("python", "4.0.0"),
    ],
)
def test_what_something_newer_wrote_is_refused(what, version):
    newer = edited(files(), lambda found: found["versions"].update({what: version}))
    refused(newer, f"{version}, newer than")


def test_what_something_older_or_a_bug_fix_later_wrote_is_read():
    here = Versions.here()
    later = here.numpy.rsplit(".", 1)[0] + ".999"
    made = edited(files(), lambda found: found["versions"].update(numpy=later, scikit_learn="1.0.0"))
    assert read(made).version


def test_a_newer_format_is_refused_whatever_else_is_in_it():
    made = {**files(), MANIFEST: json.dumps({"format": FORMAT + 1, "news": []}).encode()}
    refused(made, f"has format {FORMAT + 1}, newer than {FORMAT}")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda found: found.update(surprise=1), "malformed"),
        (lambda found: found.pop("training"), "malformed"),
        (lambda found: found.update(scores=7), "malformed"),
        (lambda found: found.update(made_s="today"), "malformed"),
        (lambda found: found["files"].pop(), "other files than"),
        (lambda found: found["files"].append({"name": "x.pkl", "sha256": ""}), "other files than"),
        (lambda found: found["files"][0].update(name="../../model.skops"), "other files than"),
        (lambda found: found["scores"][0].update(pinball=float("nan")), "is not JSON"),
        (lambda found: found["scores"][0].update(coverage=1e999), "is not JSON"),
        (lambda found: found.update(format="1"), "none of foreslice's"),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(change, match):
    refused(edited(files(), change), match)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 200_000])
def test_a_manifest_that_is_none_is_refused(data):
    refused({**files(), MANIFEST: data}, "manifest.json")


def test_a_number_too_large_for_a_score_is_refused():
    made = files()
    made[MANIFEST] = made[MANIFEST].replace(b'"pinball": 0.08', b'"pinball": 1e999', 1)
    refused(made, "no numbers")


@pytest.mark.parametrize(
    ("wanted", "match"),
    [
        (
            Signature(("now", "tomorrow"), (1800, 3600), (0.5, 0.95), 300, "peak"),
            "other features: an hour ago",
        ),
        (Signature(SIGNATURE.features[::-1], (1800, 3600), (0.5, 0.95), 300, "peak"), "their order"),
        (
            Signature(SIGNATURE.features, (900,), (0.5, 0.95), 300, "peak"),
            r"windows_s \(1800, 3600\), wanted",
        ),
        (Signature(SIGNATURE.features, (1800, 3600), (0.9,), 300, "peak"), "quantiles"),
        (Signature(SIGNATURE.features, (1800, 3600), (0.5, 0.95), 60, "peak"), "step_s 300, wanted are 60"),
        (Signature(SIGNATURE.features, (1800, 3600), (0.5, 0.95), 300, "step"), "target peak"),
    ],
)
def test_a_model_that_takes_or_gives_something_else_is_refused(wanted, match):
    with pytest.raises(ValueError, match=match):
        check_signature(SIGNATURE, wanted)
    check_signature(SIGNATURE, SIGNATURE)


def test_a_fingerprint_is_that_of_values_and_shapes():
    one = fingerprint([np.arange(6.0)])
    assert 64 == len(one)
    assert one == fingerprint([np.arange(6.0)])
    assert one != fingerprint([np.arange(6.0).reshape(2, 3)])
    assert one != fingerprint([np.arange(6.0) + 1e-9])
