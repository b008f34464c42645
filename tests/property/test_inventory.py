"""An inventory of objects that are damaged, shuffled, repeated, or written in any spelling."""

import copy
import json
import math
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from actuator.inventory.hami import Grant, grants_of
from actuator.inventory.kai import fraction_of, memory_of, mib_of, queue_of
from actuator.inventory.layouts import advertised, card_layouts
from actuator.inventory.logs import unhealthy_cards
from actuator.inventory.understand import dump_of, understand
from actuator.inventory.versions import as_v1
from fleet.boards import A100_80GB
from fleet.errors import InputError
from fleet.mig import Placement, is_legal
from foreslice.inventory import show_inventory

DATA = Path(__file__).parents[1] / "data"
FILES = [
    *sorted((DATA / "cases").glob("[NDK]*/*.yaml")),
    *sorted((DATA / "kai").glob("*-pod*.yaml")),
    DATA / "kai" / "multi-device-fraction.yaml",
]


def objects(path):
    return [
        body
        for body in yaml.safe_load_all(path.read_text())
        if isinstance(body, dict) and ("kind" in body or "mig-configs" in body)
    ]


EVERYTHING = [body for path in FILES for body in objects(path)]


def paths(body, at=()):
    """Yield the path of every value inside a JSON value."""
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in items:
        yield (*at, key)
        yield from paths(value, (*at, key))


def damaged(bodies, at, value):
    found = copy.deepcopy(bodies)
    holder = found
    for key in at[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[at[-1]]
    else:
        holder[at[-1]] = value
    return found


SMALL = [
    body
    for name in ("N02", "D01", "D04", "K03", "K09")
    for path in (DATA / "cases").glob(f"{name}*/*.yaml")
    for body in objects(path)
]
PATHS = [path for path in paths(SMALL) if len(path) > 1]
SPOILT = st.sampled_from([..., None, 0, -1, "", "x", [], {}, ["x"], {"x": "y"}])


@given(st.sampled_from(PATHS), SPOILT)
def test_a_damaged_object_is_understood_or_refused_and_never_a_traceback(tmp_path_factory, at, value):
    path = tmp_path_factory.mktemp("dump") / "objects.json"
    path.write_text(json.dumps({"kind": "List", "items": damaged(SMALL, at, value)}))

    with suppress(InputError), redirect_stdout(None):
        show_inventory([path], [], "", as_json=True)


@given(st.permutations(EVERYTHING))
def test_the_order_of_objects_changes_no_finding(bodies):
    def found(given):
        return sorted((f["code"], f["object"], f["what"]) for f in understand(dump_of(given))["findings"])

    assert found(_unique(EVERYTHING)) == found(_unique(bodies))


def _unique(bodies):
    """Return objects without those whose name another one has: of two, which is last decides."""
    named = [
        (b.get("kind"), b.get("metadata", {}).get("namespace"), b.get("metadata", {}).get("name"))
        for b in bodies
    ]
    return [body for body, name in zip(bodies, named, strict=True) if named.count(name) == 1]


@given(st.lists(st.sampled_from(EVERYTHING), max_size=12))
def test_giving_objects_twice_changes_nothing(bodies):
    once, twice = understand(dump_of(bodies)), understand(dump_of([*bodies, *bodies]))

    assert once["findings"] == twice["findings"]
    assert once["queues"] == twice["queues"]


@given(st.sampled_from(EVERYTHING))
def test_what_is_in_the_newest_shape_stays_as_it_is(body):
    assert as_v1(as_v1(body)) == as_v1(body)


@given(st.floats(0.001, 0.999))
def test_every_decimal_between_0_and_1_is_a_fraction_as_it_is_written(value):
    assert float(f"{value:.4f}") == (fraction_of(f"{value:.4f}") or 0.0)
    assert math.isclose(value, fraction_of(repr(value)))


@given(st.text(max_size=8))
def test_whatever_is_written_is_a_fraction_inside_0_and_1_or_none(text):
    value = fraction_of(text)

    assert value is None or 0 < value < 1
    assert (memory_of(text) or 1) > 0


@given(st.integers(1, 10**6), st.sampled_from([("Mi", 2**20), ("GiB", 2**30), ("GB", 10**9), ("mb", 10**6)]))
def test_amounts_are_rounded_up_to_mib_by_less_than_one(amount, unit):
    suffix, size = unit
    mib = mib_of(f"{amount}{suffix}")

    assert (mib - 1) * 2**20 < amount * size <= mib * 2**20


GRANTS = st.lists(
    st.lists(
        st.builds(Grant, st.sampled_from(["GPU-a", "GPU-b"]), st.integers(0, 99999), st.integers(0, 100)),
        max_size=3,
    ),
    min_size=1,
    max_size=4,
)


@given(GRANTS)
def test_an_allocation_is_read_as_hami_writes_it(containers):
    text = "".join(
        "".join(f"{g.uuid},NVIDIA,{g.mib},{g.cores}:" for g in grants) + ";" for grants in containers
    )

    assert tuple(map(tuple, containers)) == grants_of(text)


@given(st.integers(0, 10**12), st.sampled_from([("", 1), ("m", 10**3), ("u", 10**6), ("n", 10**9)]))
def test_what_a_queue_holds_is_the_number_whatever_its_suffix(count, suffix):
    text, size = suffix
    status = {"allocated": {"nvidia.com/gpu": f"{count}{text}"}}

    assert (
        pytest.approx(count / size)
        == queue_of({"metadata": {"name": "q"}, "spec": {}, "status": status}).allocated
    )


PROFILES = [profile.name for profile in A100_80GB.profiles]


@given(st.dictionaries(st.sampled_from(PROFILES), st.integers(1, 7)), st.integers(1, 8))
def test_a_layout_that_is_called_legal_has_placements_that_are(counts, gpus):
    layouts = card_layouts([{"devices": "all", "mig-enabled": True, "mig-devices": counts}], gpus, A100_80GB)

    assert gpus == len(layouts)
    assert (0, {name: gpus * count for name, count in sorted(counts.items())}) == advertised(layouts)
    for layout in layouts:
        if layout.is_legal:
            placed = [Placement(*_split(text)) for text in layout.placements]
            assert is_legal(A100_80GB, placed)
            assert counts == {name: sum(p.profile == name for p in placed) for name in counts}
            assert layout.free_compute_slices >= 0


def _split(text):
    profile, start = text.split("@")
    return profile, int(start)


@given(st.text("GPU-0a \n", max_size=9).filter(lambda text: "GPU-" not in text))
def test_no_log_line_that_names_no_card_makes_one_unhealthy(text):
    assert {} == unhealthy_cards(f"XidCriticalError: Xid=94 on Device={text}")
