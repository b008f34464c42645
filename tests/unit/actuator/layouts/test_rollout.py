"""A node is brought to a layout and nothing that serves is cut; what fails is taken back."""

import pytest

from actuator.layouts.config_file import with_configs
from actuator.layouts.named import entries_of, other_of
from actuator.layouts.node import CONFIG_LABEL, OPERAND_LABELS
from fleet.boards import A100_80GB
from simulator.api import POD
from simulator.labels import label
from simulator.mig_manager import OPERANDS, Fault
from tests.fakes.layouts import DAY, FILE, NIGHT, Site, wish

HALVES = [{"3g.40gb": 2}] * 4
OFFERED = {
    "night": {"mig-1g.10gb": 14, "mig-7g.80gb": 2},
    "day": {"mig-1g.10gb": 7, "mig-3g.40gb": 3, "mig-4g.40gb": 1, "mig-7g.80gb": 1},
}


def test_a_node_gets_another_layout_and_is_let_go():
    site = Site(sync_s=0.0)
    acts, _ = site.until_quiet()

    assert ["hold", "write", "label", "wait", "release", "nothing"] == acts
    assert OFFERED["day"] == site.offer
    assert (DAY, False, None) == (site.manager.cuts, site.is_held, site.progress)


def test_it_is_asked_again_where_the_manager_did_not_know_the_layout_yet():
    """A file reaches the manager's pod about a minute after it was written; its first answer is `failed`."""
    site = Site(sync_s=90.0)
    acts, _ = site.until_quiet()

    assert acts.count("label") > 1
    assert OFFERED["day"] == site.offer


def test_pods_on_cards_that_change_are_evicted_and_no_others():
    site = Site(sync_s=0.0)
    for name, resource in (("small", "mig-1g.10gb"), ("large", "mig-7g.80gb"), ("other", "gpu")):
        site.add_pod(name, resource)
    site.add_pod("beside", "mig-1g.10gb", "initContainers")  # as sidecars are, which go on
    site.until_quiet()

    assert ["other"] == [pod["metadata"]["name"] for pod in site.pods_on("gpu-1")]
    assert OFFERED["day"] == site.offer


def test_all_that_may_go_go_in_one_turn():
    site = Site(sync_s=0.0)
    for name in "abc":
        site.add_pod(name, "mig-1g.10gb")
    site.kept_by_budget = {"llm/b"}
    steps = [site.turn() for _ in range(4)]

    assert [(), (), ("llm/a", "llm/c"), ()] == [step.pods for step in steps]
    assert "llm/b may not go now" in steps[-1].because


def test_where_a_mode_changes_pods_on_cards_that_stay_as_they_are_go_too():
    """One card's mode is toggled, so the manager clears every cut card of the node."""
    file = """\
version: v1
mig-configs:
  night:
    - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}
    - {devices: [1, 2, 3], mig-enabled: false}
"""
    site = Site(sync_s=0.0, cuts=[{"1g.10gb": 7}, None, None, None], file=file)
    site.add_pod("small", "mig-1g.10gb")
    site.until_quiet(wish([{"1g.10gb": 7}, {"7g.80gb": 1}, None, None]))

    assert {"gpu": 2, "mig-1g.10gb": 7, "mig-7g.80gb": 1} == site.offer
    assert [] == site.pods_on("gpu-1")


def test_a_budget_is_waited_for_and_the_label_comes_after():
    site = Site(sync_s=0.0)
    site.add_pod("small", "mig-1g.10gb")
    site.kept_by_budget = {"llm/small"}
    steps = [site.turn() for _ in range(20)]

    assert {"hold", "write", "wait"} == {step.act for step in steps}
    assert "disruption budget" in steps[-1].because
    assert "night" == site.labels[CONFIG_LABEL]
    site.kept_by_budget.clear()
    site.until_quiet()
    assert OFFERED["day"] == site.offer


class Slow(Site):
    """A site whose pods are seen as they were some time ago."""

    seen = ()

    def pods_on(self, node):
        return self.seen or super().pods_on(node)


def test_a_pod_that_took_the_name_of_the_one_that_was_seen_is_not_evicted():
    site = Slow(sync_s=0.0)
    site.add_pod("small", "mig-1g.10gb")
    while site.turn().act != "write":
        pass
    site.seen = site.pods_on("gpu-1")
    site.store.delete(POD, "llm", "small", grace_s=0)
    site.add_pod("small", "mig-1g.10gb")
    step = site.turn()

    assert ("wait", "llm/small is gone already") == (step.act, step.because)
    assert site.store.get(POD, "llm", "small") is not None


def test_pods_that_never_go_give_the_node_back():
    site = Site(sync_s=0.0)
    site.add_pod("small", "mig-1g.10gb", **{"karpenter.sh/do-not-disrupt": "true"})
    steps = [site.turn() for _ in range(185)]

    released = next(step for step in steps if step.act == "release")
    assert "pods do not go: llm/small (karpenter.sh/do-not-disrupt: true)" == released.because
    assert "night" == site.labels[CONFIG_LABEL]
    assert "evict" not in site.calls
    assert "refuse" == site.turn().act  # for an hour, or it would be closed to new pods again at once


@pytest.mark.parametrize("fault", [Fault.FAILED, Fault.PARTIAL, Fault.HOLLOW])
def test_what_goes_wrong_once_is_tried_again(fault):
    site = Site([fault], sync_s=0.0)
    site.until_quiet()

    assert OFFERED["day"] == site.offer


@pytest.mark.parametrize(
    "faults", [[Fault.FAILED] * 3, [Fault.PARTIAL] * 3, [Fault.HOLLOW] * 3, [Fault.STALE], [Fault.REBOOTING]]
)
def test_what_goes_wrong_again_is_taken_back_and_left_alone(faults):
    """One that is applied, or is to be after a reboot, is never gone about again by the manager."""
    site = Site(faults, sync_s=0.0)
    _, last = site.until_quiet()

    assert "release" == last.act
    assert "it is as it was before" in last.because
    assert (OFFERED["night"], "night") == (site.offer, site.labels[CONFIG_LABEL])
    assert not site.is_held
    assert "left alone for an hour" in site.turn().because


@pytest.mark.parametrize("fault", [Fault.FAILED, Fault.PARTIAL, Fault.HOLLOW])
def test_what_a_stale_device_plugin_offers_does_not_make_a_way_back_that_failed_good(fault):
    """Nobody had restarted it: it went on to offer the night's devices of cards that were cleared."""
    site = Site([Fault.STALE, fault], sync_s=0.0)
    _, last = site.until_quiet()

    assert ("refuse", True) == (last.act, site.is_held)
    assert "a person is needed" in last.because


def test_a_node_that_is_rebooted_on_the_way_is_waited_for():
    """It says `rebooting`, offers nothing for minutes, and is neither taken back nor left alone for it."""
    site = Site([Fault.REBOOTED], sync_s=0.0)
    acts, last = site.until_quiet()

    assert "nothing" == last.act
    assert "restore" not in acts
    assert (OFFERED["day"], False, None) == (site.offer, site.is_held, site.progress)


def test_an_operand_that_people_have_switched_off_is_not_given_back():
    site = Site([Fault.WEDGED], sync_s=0.0)
    label(site.store, "gpu-1", {f"{OPERAND_LABELS}dcgm": "false"})
    acts, _ = site.until_quiet()
    values = {n.removeprefix(OPERAND_LABELS): v for n, v in site.labels.items() if n in OPERANDS}

    assert "restore" in acts
    assert {"false": ["dcgm"]} == {v: [n] for n, v in values.items() if v != "true"}
    assert {"device-plugin", "gpu-feature-discovery", "client"} < values.keys(), "DRA's plugin is a client"


def test_a_manager_that_never_ends_gets_its_operands_back_and_the_layout_is_taken_back():
    site = Site([Fault.WEDGED], sync_s=0.0)
    acts, _ = site.until_quiet()

    assert "restore" in acts
    assert (OFFERED["night"], "night") == (site.offer, site.labels[CONFIG_LABEL])
    assert {"true"} == {v for n, v in site.labels.items() if n.startswith("nvidia.com/gpu.deploy.")}


def test_after_an_hour_it_is_tried_anew():
    site = Site([Fault.FAILED] * 3, sync_s=0.0)
    site.until_quiet()
    site.clock.run_until(site.clock.now_s + 3601)
    site.until_quiet()

    assert OFFERED["day"] == site.offer


def test_where_there_and_back_fail_the_node_is_kept_free_for_a_person():
    site = Site([Fault.FAILED] * 6, sync_s=0.0)
    _, last = site.until_quiet()

    assert ("refuse", True) == (last.act, site.is_held)
    assert "a person is needed" in last.because


def test_a_label_that_somebody_else_writes_is_theirs():
    site = Site(sync_s=0.0)
    while site.turn().act != "label":
        pass
    body = site.node("gpu-1")
    labels = {**body["metadata"]["labels"], CONFIG_LABEL: "night"}
    site.store.replace({**body, "metadata": {**body["metadata"], "labels": labels}})
    step = site.turn()

    assert ("release", "night") == (step.act, site.labels[CONFIG_LABEL])
    assert "somebody else wrote night" in step.because


def test_another_wish_before_the_label_is_written_lets_the_node_go():
    site = Site(sync_s=0.0)
    site.add_pod("small", "mig-1g.10gb")
    site.kept_by_budget = {"llm/small"}
    site.turn()

    assert "something else is wanted meanwhile" == site.turn(wish([{"2g.20gb": 3}] * 4)).because


@pytest.mark.parametrize(
    ("cuts", "board", "said"),
    [
        ([{"4g.40gb": 2}, *NIGHT[1:]], None, "cannot all exist at once"),
        ([None, *NIGHT[1:]], A100_80GB, "needs a reset"),
    ],
)
def test_what_may_not_be_done_is_refused_before_anything_is_touched(cuts, board, said):
    site = Site() if board is None else Site(board=board)
    step = site.turn(wish(cuts))

    assert ("refuse", []) == (step.act, site.calls)
    assert said in step.because


@pytest.mark.parametrize("was_asked_for", [False, True], ids=["wanted", "on-the-node"])
def test_a_configuration_of_ours_that_was_edited_by_hand_is_left_alone(was_asked_for):
    """What its name says is not in it any more: the node would become something that nobody planned."""
    site, day = Site(sync_s=0.0), wish()
    if was_asked_for:
        site.until_quiet()
    edited = with_configs(FILE, dict.fromkeys((day.name, other_of(day.name)), entries_of(HALVES)), "file")
    site.texts.append((site.clock.now_s, edited))
    calls = len(site.calls)
    step = site.turn(wish(NIGHT) if was_asked_for else day)

    assert ("refuse", calls, edited) == (step.act, len(site.calls), site.file()[0])
    assert "was edited by hand" in step.because


def test_the_same_layout_is_nothing_to_do():
    site = Site()

    assert ("nothing", []) == (site.turn(wish(NIGHT)).act, site.calls)
