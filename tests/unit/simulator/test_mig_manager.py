"""The simulated MIG manager writes the labels that the real one's code was seen to write."""

from itertools import groupby

import pytest

from actuator.layouts.config_file import with_configs
from actuator.layouts.named import entries_of
from actuator.layouts.node import CONFIG_LABEL, PAUSED
from simulator.api import NODE
from simulator.labels import label
from simulator.mig_manager import OPERANDS, STATE, Fault
from tests.fakes.layouts import DAY, FILE, NIGHT, Site
from tests.fakes.turned import NAME

PENDING, DONE = "pending", "true"


def labelled(site, value, run_s=300.0):
    """Label the node, and return the states and operands' labels in their order."""
    seen = []

    def note(event):
        labels = event.body["metadata"]["labels"]
        now = (labels.get(STATE), labels.get(OPERANDS[0]))
        if not seen or seen[-1] != now:
            seen.append(now)

    body = site.node(NAME)
    labels = {**body["metadata"]["labels"], CONFIG_LABEL: value}
    site.store.replace({**body, "metadata": {**body["metadata"], "labels": labels}})
    site.store.watch(NODE, note)
    site.clock.run_until(site.clock.now_s + run_s)
    return seen[1:]


def site_with(cuts, faults=(), then=NIGHT):
    configs = {"foreslice-0000000000-a": entries_of(cuts), "foreslice-0000000000-b": entries_of(then)}
    return Site(faults, sync_s=0.0, file=with_configs(FILE, configs, "file"))


def test_a_change_pauses_operands_and_gives_them_back():
    assert [(PENDING, PAUSED), ("success", DONE)] == labelled(site_with(DAY), "foreslice-0000000000-a")


def test_device_plugin_feature_discovery_and_other_clients_are_stopped_and_started_anew():
    """DRA's plugin is a client, which finds static instances when it starts (v0.15.0, gpu.deploy.client)."""
    site, found = site_with(DAY), []
    label(site.store, NAME, {OPERANDS[3]: "false"})
    site.store.watch(NODE, lambda event: found.append(event.body["metadata"]["labels"]))
    labelled(site, "foreslice-0000000000-a")
    courses = {
        name.rpartition(".")[2]: [value for value, _ in groupby(labels[name] for labels in found)]
        for name in OPERANDS
    }

    restarted = [DONE, PAUSED, DONE]
    assert restarted == courses["device-plugin"] == courses["gpu-feature-discovery"] == courses["client"]
    assert ["false"] == courses["dcgm"], "switched off by people"


def test_a_node_that_is_rebooted_has_no_instances_until_the_manager_has_built_them():
    site, offers = site_with(DAY, [Fault.REBOOTED]), []
    site.store.watch(NODE, lambda event: offers.append((event.body["metadata"]["labels"][STATE], site.offer)))
    states = labelled(site, "foreslice-0000000000-a", run_s=600.0)

    assert [(PENDING, PAUSED), ("rebooting", PAUSED), (PENDING, PAUSED), ("success", DONE)] == states
    assert (PENDING, {}) in offers
    assert DAY == site.manager.cuts


def test_what_is_applied_already_is_never_pending():
    assert [] == labelled(site_with(NIGHT), "foreslice-0000000000-a")


def test_a_name_that_the_file_does_not_have_fails_at_once():
    assert [("failed", DONE)] == labelled(site_with(DAY), "dusk")


def test_a_change_that_fails_leaves_the_cards_without_instances():
    site = site_with(DAY, [Fault.FAILED])

    assert [(PENDING, PAUSED), ("failed", DONE)] == labelled(site, "foreslice-0000000000-a")
    assert {} == site.offer


def test_a_wedged_one_stays_as_it_is():
    assert [(PENDING, PAUSED)] == labelled(site_with(DAY, [Fault.WEDGED]), "foreslice-0000000000-a")


def test_a_name_that_comes_meanwhile_is_taken_up_when_the_change_has_ended():
    """The manager reads its label again only then (NVIDIA/mig-parted, cmd/nvidia-mig-manager/main.go)."""
    site = site_with(DAY, then=[{"3g.40gb": 2}] * 4)

    assert [(PENDING, PAUSED)] == labelled(site, "foreslice-0000000000-a", run_s=10)
    assert [("success", DONE), (PENDING, PAUSED)] == labelled(site, "foreslice-0000000000-b", run_s=50)
    assert DAY == site.manager.cuts
    site.clock.run_until(site.clock.now_s + 60)
    assert [{"3g.40gb": 2}] * 4 == site.manager.cuts


def test_a_name_that_comes_while_it_is_wedged_is_taken_up_at_once():
    site = site_with(DAY, [Fault.WEDGED])
    labelled(site, "foreslice-0000000000-a")

    assert [("success", DONE)] == labelled(site, "foreslice-0000000000-b")


def test_a_hollow_success_shows_no_devices():
    site = site_with(DAY, [Fault.HOLLOW])

    assert ("success", DONE) == labelled(site, "foreslice-0000000000-a")[-1]
    assert {} == site.offer


@pytest.mark.parametrize(
    ("resource", "state"), [("mig-1g.10gb", "failed"), ("mig-2g.20gb", "success"), ("gpu", "success")]
)
def test_a_card_in_use_is_not_cut(resource, state):
    site = site_with(DAY)
    site.add_pod("p", resource)

    assert (state, DONE) == labelled(site, "foreslice-0000000000-a")[-1]


def test_the_same_name_with_other_content_does_nothing():
    site = site_with(DAY)
    labelled(site, "foreslice-0000000000-a")
    before = site.manager.cuts
    text = with_configs(FILE, {"foreslice-0000000000-a": entries_of(NIGHT)}, "file")
    site.texts.append((site.clock.now_s, text))
    site.clock.run_until(site.clock.now_s + 600)

    assert before == site.manager.cuts
