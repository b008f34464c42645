"""Exporters' readings as uses and holds: of instances, of whole cards, of tenants' shares."""

from pathlib import Path

import pytest

from fleet.sharing import Card, Extent, Hold, Use, shared
from predictor.engines import shipped
from predictor.inspection.devices import devices_of
from predictor.inspection.scrape import Exposed, parsed
from predictor.uses import cards_of, holds_of, uses_of

CASES = Path(__file__).parents[2] / "data" / "cases"
MIB = 2**20
MIG, WHOLE = (f"GPU-00000000-0000-4000-8000-00000000000{number}" for number in range(2))


def devices(*series):
    return devices_of(series, shipped().values()).devices


def series(name, value, **labels):
    return Exposed(name, labels, (), (value,))


@pytest.fixture(scope="module")
def node():
    """A node with one card in MIG mode and one whole card, as DCGM exporter tells of it."""
    path = CASES / "dcgm-mig.prom"
    return devices(*parsed(path.read_text(), str(path)).series)


def test_instances_are_their_tenants_and_the_card_without_mig_is_credited_to_its_holder(node):
    whole = Hold("llm/chat-whole-0", "", "device-plugin", memory_share=1.0, extent=Extent.CARD)
    cut, card = shared(cards_of(node), [[whole], holds_of(node)], uses_of(node))
    busy = {tenant.hold.tenant: tenant.use.compute for view in (cut, card) for tenant in view.tenants}
    assert {
        "llm/embed-0": 0.112,
        "llm/rerank-0": 0.981,
        "llm/chat-mig-0": 0.553,
        "llm/chat-whole-0": 0.861,
    } == busy
    assert (MIG, WHOLE) == (cut.card.uuid, card.card.uuid)
    assert (2310 + 5120 + 31220 + 1) * MIB == cut.memory_used_bytes, "the free instance's own byte too"
    assert (70211 * MIB, 0.861) == (card.memory_used_bytes, card.compute_used)
    assert (70211 + 10877) * MIB == card.card.memory_bytes


def test_who_is_on_a_card_without_instances_is_not_told_to_hold_it(node):
    _, card = shared(cards_of(node), [holds_of(node)], uses_of(node))
    [tenant] = card.tenants
    assert ("llm/chat-whole-0", None) == (tenant.hold.tenant, tenant.use)


def test_an_instance_that_one_pod_has_is_a_hold_of_its_size(node):
    told = {hold.tenant: (hold.memory_bytes, hold.extent) for hold in holds_of(node)}
    assert {
        "llm/embed-0": (9910 * MIB, Extent.INSTANCE),
        "llm/rerank-0": (9910 * MIB, Extent.INSTANCE),
        "llm/chat-mig-0": (40120 * MIB, Extent.INSTANCE),
    } == told


HAMI = {"device_uuid": "GPU-a", "namespace": "t", "pod": "a", "container_index": "0"}


def test_hami_tells_of_each_tenant_what_it_was_granted_and_uses():
    told = devices(
        series("hami_vgpu_memory_used_bytes", 3e9, **HAMI),
        series("hami_vgpu_memory_limit_bytes", 8e9, **HAMI),
        series("hami_vgpu_core_allocated_ratio", 30.0, **HAMI),
        series("hami_container_device_utilization_ratio", 20.0, **HAMI),
    )
    assert [Use("GPU-a", "", ("t/a",), True, 3e9, 0.2, "HAMi")] == list(uses_of(told))
    assert [Hold("t/a", "GPU-a", "hami", 8e9, compute_share=0.3)] == list(holds_of(told))
    assert [] == list(cards_of(told))


def test_cores_of_zero_are_no_bound():
    told = devices(
        series("hami_vgpu_memory_limit_bytes", 8e9, **HAMI),
        series("hami_vgpu_core_allocated_ratio", 0.0, **HAMI),
    )
    assert [None] == [hold.compute_share for hold in holds_of(told)]
    assert [] == list(uses_of(told)), "nothing was measured"


def test_kai_tells_what_each_tenant_uses():
    labels = {"gpu_uuid": "GPU-a", "namespace": "t", "pod": "a", "gpu": "0"}
    told = devices(
        series("gpu_fractioning_gpu_memory_used_bytes", 3e9, **labels),
        series("gpu_fractioning_gpu_sm_utilization_percent", 40.0, **labels),
    )
    assert [Use("GPU-a", "", ("t/a",), True, 3e9, 0.4, "KAI GPU fractioning")] == list(uses_of(told))
    assert ["kai"] == [hold.mechanism for hold in holds_of(told)]


def test_without_free_memory_a_card_has_no_size():
    told = devices(series("DCGM_FI_DEV_FB_USED", 100.0, UUID="GPU-a", hostname="n"))
    assert [Card("GPU-a", "n")] == list(cards_of(told))
