"""Whatever is written into a stored model or its manifest: it is used as it was, or refused in one line."""

import copy
import io
import json
import zipfile

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from predictor.registry.artefact import MANIFEST, MODEL
from predictor.registry.manifest import manifest_of
from predictor.registry.trust import packed, unpacked
from tests.builders.models import files, model

PACKED = packed(model())
SOUND = files()
NAMES = [
    "os.system",
    "builtins.eval",
    "numpy.load",
    "predictor.learned.Learned",
    "builtins.dict",
    "numpy.ndarray",
]
LOADERS = [
    "ObjectNode",
    "FunctionNode",
    "MethodNode",
    "PartialNode",
    "ConstructorFromReduceNode",
    "OperatorFuncNode",
    "ReduceNode",
    "SparseMatrixNode",
    "TypeNode",
    "JsonNode",
    "DictNode",
    "CachedNode",
    "TreeNode",
]
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def places(node, path=()):
    """Every way to a value inside of JSON."""
    yield path
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield from places(value, (*path, key))


def put(node, path, value):
    """The same JSON with another value in a place."""
    if not path:
        return value
    changed = copy.deepcopy(node)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def nodes(index):
    return [path for path in places(index) if path and path[-1] == "__loader__"]


def index_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read("schema.json"))


def with_index(data, index):
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w") as changed:
        for name in archive.namelist():
            changed.writestr(name, json.dumps(index) if name == "schema.json" else archive.read(name))
    return made.getvalue()


INDEX = index_of(PACKED)
PLACES = list(places(INDEX))
LOADER_PLACES = nodes(INDEX)


def read(reader, data):
    """What is in it, and the lines of why it was refused."""
    try:
        return reader(data), []
    except ValueError as error:
        return None, str(error).splitlines()


def opened(data):
    """What is in it, `None` where it was refused, in one line."""
    found, lines = read(unpacked, data)
    assert len(lines) <= 1
    return found


@given(place=st.sampled_from(PLACES), value=junk)
def test_junk_in_an_index_is_read_or_refused(place, value):
    opened(with_index(PACKED, put(INDEX, place, value)))


@given(place=st.sampled_from(LOADER_PLACES), loader=st.sampled_from(LOADERS), name=st.sampled_from(NAMES))
def test_no_node_can_be_made_to_build_something_else(place, loader, name):
    module, _, kind = name.rpartition(".")
    index = put(INDEX, place, loader)
    for key, value in (("__module__", module), ("__class__", kind)):
        index = put(index, (*place[:-1], key), value)
    found = opened(with_index(PACKED, index))
    assert not callable(found)


@given(st.binary(max_size=300))
def test_no_bytes_are_taken_for_a_model(data):
    assert opened(data) is None


@settings(max_examples=200)
@given(place=st.sampled_from(list(places(json.loads(SOUND[MANIFEST])))), value=junk)
def test_junk_in_a_manifest_is_read_or_refused(place, value):
    data = json.dumps(put(json.loads(SOUND[MANIFEST]), place, value)).encode()
    manifest, lines = read(manifest_of, data)
    assert len(lines) == (manifest is None)
    if manifest is not None:
        assert manifest == manifest_of(manifest.as_bytes())


@given(shift=st.floats(-50, 50), quantiles=st.integers(1, 9))
def test_every_model_comes_back_as_it_was(shift, quantiles):
    before = model(shift, tuple(np.linspace(0.1, 0.9, quantiles).tolist()))
    after = unpacked(packed(before))
    rows = np.zeros((3, 3), np.float32)
    assert before.quantiles == after.quantiles
    for one, other in zip(before.predict(rows, 60.0), after.predict(rows, 60.0), strict=True):
        np.testing.assert_array_equal(one, other)
    assert MODEL in files(shift)
