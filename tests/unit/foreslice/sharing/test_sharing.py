"""`foreslice sharing` puts objects and readings together card by card, as tables, JSON and a page."""

import json

import pytest
import yaml

from actuator.inventory.understand import dump_of
from fleet.errors import InputError
from foreslice.sharing.gather import sharing_of
from foreslice.sharing.run import Dumped, run_sharing
from predictor.inspection.scrape import Exposed
from tests.fakes.manifests import h100_slices

GIB, MIB = 2**30, 2**20
MIG, WHOLE = "GPU-node-a-0", "GPU-node-a-1"


def pod(name, annotations=None, node="node-a", **limits):
    container = {"name": "c", "resources": {"limits": limits}} if limits else {"name": "c"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "llm", "uid": name, "annotations": annotations or {}},
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": "Running"},
    }


def claim(device, user):
    result = {"request": "r", "driver": "gpu.nvidia.com", "pool": "node-a", "device": device}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"claim-{user}", "namespace": "llm"},
        "spec": {},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": user, "uid": user}],
        },
    }


def fraction(name, portion):
    """A pod that KAI has given a portion of card GPU-k."""
    data = {"GPU_PORTION": portion, "NVIDIA_VISIBLE_DEVICES": "GPU-k"}
    meta = {"name": f"{name}-shared-0", "namespace": "llm"}
    return [
        pod(name, {"gpu-fraction": portion, "runai/shared-gpu-configmap": f"{name}-shared"}, node="node-k"),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data},
    ]


OBJECTS = [
    *(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **body}
        for body in h100_slices("node-a", gpus=2)
    ),
    *(pod(name) for name in ("chat", "embed", "big")),
    claim("gpu-0-mig-3g40gb-9-0", "chat"),
    claim("gpu-0-mig-1g10gb-19-4", "embed"),
    claim("gpu-1", "big"),
    *fraction("a", "0.50"),
    *fraction("b", "0.30"),
]


def dcgm(name, value, card, tenant, **labels):
    return Exposed(name, {"UUID": card, "namespace": "llm", "pod": tenant, **labels}, (), (value,))


SERIES = [
    dcgm("DCGM_FI_DEV_FB_USED", 31_000, MIG, "chat", GPU_I_ID="2", GPU_I_PROFILE="3g.40gb"),
    dcgm("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.6, MIG, "chat", GPU_I_ID="2", GPU_I_PROFILE="3g.40gb"),
    dcgm("DCGM_FI_DEV_FB_USED", 70_000, WHOLE, "big"),
    dcgm("DCGM_FI_DEV_GPU_UTIL", 70, WHOLE, "big"),
    dcgm("DCGM_FI_DEV_FB_USED", 60_000, "GPU-k", "a"),
    dcgm("DCGM_FI_DEV_GPU_UTIL", 88, "GPU-k", "a"),
]


@pytest.fixture(scope="module")
def cards():
    """Every card by its UUID."""
    return {view.card.uuid: view for view in sharing_of(dump_of(OBJECTS), SERIES).cards}


def tenants(view):
    return {tenant.hold.tenant.partition("/")[2]: tenant for tenant in view.tenants}


def test_instances_have_their_grant_from_the_claim_and_their_use_from_the_exporter(cards):
    held = tenants(cards[MIG])
    assert (39.5 * GIB, 31_000 * MIB, 0.6) == (
        held["chat"].hold.memory_bytes,
        held["chat"].use.memory_bytes,
        held["chat"].use.compute,
    )
    assert held["embed"].use is None
    assert (5 / 8, 4 / 7) == pytest.approx((cards[MIG].memory_granted, cards[MIG].compute_granted))


def test_a_whole_card_s_reading_is_its_holder_s(cards):
    assert pytest.approx(0.7) == tenants(cards[WHOLE])["big"].use.compute


def test_a_shared_card_s_reading_is_nobody_s_although_the_exporter_names_a_pod(cards):
    view = cards["GPU-k"]
    assert [None, None] == [tenant.use for tenant in view.tenants]
    assert (pytest.approx(0.8), None, 0.88) == (view.memory_granted, view.compute_granted, view.compute_used)
    assert ("kai",) == view.mechanisms


def test_two_mechanisms_on_a_card_are_a_note():
    also = pod("h", {"hami.io/vgpu-devices-allocated": "GPU-k,NVIDIA,1000,10:;"})
    [note] = sharing_of(dump_of([*OBJECTS, also]), []).notes
    assert "card GPU-k is shared by hami and kai: one GPU, one mechanism" == note


def test_an_allocation_that_cannot_be_read_is_a_note_and_not_nothing():
    damaged = pod("h", {"hami.io/vgpu-devices-allocated": "GPU-k,NVIDIA:;"})
    [note] = sharing_of(dump_of([*OBJECTS, damaged]), []).notes
    assert note.startswith("Pod llm/h: hami.io/vgpu-devices-allocated cannot be read: unknown, not 0")
    assert note.endswith("so that a card holds more than is shown")


def test_a_pod_of_the_device_plugin_is_placed_by_the_exporter():
    plain = pod("plain", node="node-x", **{"nvidia.com/gpu": "1"})
    used = dcgm("DCGM_FI_DEV_FB_USED", 1000, "GPU-x", "plain")
    [view] = sharing_of(dump_of([plain]), [used]).cards
    [tenant] = view.tenants
    assert ("device-plugin", 1.0, 1000 * MIB) == (
        tenant.hold.mechanism,
        view.memory_granted,
        tenant.use.memory_bytes,
    )


@pytest.fixture
def dumped(tmp_path):
    """The same as files."""
    objects, metrics = tmp_path / "objects.json", tmp_path / "scraped.prom"
    objects.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    lines = (
        one.name
        + "{"
        + ",".join(f'{label}="{value}"' for label, value in one.labels.items())
        + f"}} {one.newest}"
        for one in SERIES
    )
    metrics.write_text("\n".join(lines) + "\n")
    return Dumped([objects], [metrics])


def test_scripts_get_every_card_and_tenant(dumped, capsys):
    run_sharing(dumped, None, as_json=True)
    told = {card["card"]: card for card in json.loads(capsys.readouterr().out)["cards"]}
    assert {MIG, WHOLE, "GPU-k"} == set(told)
    assert ["llm/a", "llm/b"] == told["GPU-k"]["falls_with_card"]
    [a, _] = told["GPU-k"]["tenants"]
    assert {
        "tenant": "llm/a",
        "mechanism": "kai",
        "has_alone": "share",
        "held_by": 1,
        "granted": {"memory_bytes": None, "memory_share": 0.5, "compute_share": None},
        "used": None,
        "neighbours": ["llm/b"],
        "falls_with": ["llm/b"],
    } == a


def test_people_get_tables_in_which_unknown_is_a_dash(dumped, capsys):
    run_sharing(dumped, None, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    [card] = [line.split() for line in lines if line.startswith("GPU-k")]
    assert ["GPU-k", "-", "-", "kai", "2", "80", "%", "58.6", "GiB", "-", "88", "%", "-"] == card


def test_nothing_found_is_said(tmp_path, capsys):
    empty = tmp_path / "empty.yaml"
    empty.write_text(yaml.safe_dump(pod("web")))
    run_sharing(Dumped([empty], []), None, as_json=False)
    assert "No card was found.\n" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ("none.prom: cannot be read (No such file or directory)", {"metrics": "none.prom"}),
        ("none.yaml: cannot be read", {"objects": "none.yaml"}),
        ("gone/page.html: cannot be written (No such file or directory)", {"out": "gone/page.html"}),
        ("cannot be written (Is a directory)", {"out": "."}),
    ],
)
def test_what_cannot_be_used_is_one_line(dumped, tmp_path, expected, given):
    source = Dumped(
        [tmp_path / given["objects"]] if "objects" in given else dumped.objects,
        [tmp_path / given["metrics"]] if "metrics" in given else dumped.metrics,
    )
    with pytest.raises(InputError) as said:
        run_sharing(source, tmp_path / given["out"] if "out" in given else None, as_json=True)
    assert expected in str(said.value)


def test_an_object_that_is_not_whole_is_one_line_too(dumped, tmp_path):
    nameless = [{**body, "metadata": {}} for body in OBJECTS if body["kind"] == "ResourceSlice"]
    path = tmp_path / "slices.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nameless}))
    with pytest.raises(InputError, match=r"slices\.json: an object is not as the API has it"):
        run_sharing(Dumped([path], dumped.metrics), None, as_json=True)
