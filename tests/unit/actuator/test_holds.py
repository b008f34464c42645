"""Holds as DeviceTaintRules: what is written, what is read back, and whose claims are let through."""

import copy
from math import inf

import pytest

from actuator.holding import hold_rooms
from actuator.objects.holds import holds_of, may_take_held, rule_of, shut_by, taint_value, toleration
from fleet.errors import ConflictError, RefusedError
from fleet.holds import Hold, kept_from
from fleet.workload import WorkloadKey

CHAT, CODE = WorkloadKey("serving", "chat"), WorkloadKey("serving", "code")
UNTIL_S = 1_800_000_000.0
HALF, OTHER = ("n0", "gpu-0-mig-3g40gb-9-0"), ("n0", "gpu-0-mig-3g40gb-9-4")


def hold(device=HALF, owner=CHAT, until_s=UNTIL_S):
    return Hold(device, owner, "a replica on 3g.40gb", until_s)


def changed(*path, value):
    rule = copy.deepcopy(rule_of(hold()))
    at = rule
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return rule


class TestRules:
    def test_what_is_written_is_read_back_as_it_was(self):
        assert (hold(),) == holds_of([rule_of(hold())])

    def test_owner_purpose_and_expiry_stand_on_the_object(self):
        assert {
            "foreslice.dev/held-for": "serving/chat",
            "foreslice.dev/purpose": "a replica on 3g.40gb",
            "foreslice.dev/expires": "2027-01-15T08:00:00.000000Z",
        } == rule_of(hold())["metadata"]["annotations"]

    def test_a_rule_names_its_device_and_evicts_nobody(self):
        assert {
            "deviceSelector": {"driver": "gpu.nvidia.com", "pool": "n0", "device": HALF[1]},
            "taint": {"key": "foreslice.dev/held-for", "value": "serving.chat", "effect": "NoSchedule"},
        } == rule_of(hold())["spec"]

    def test_one_device_has_one_name_whoever_holds_it(self):
        holds = (hold(), hold(owner=CODE), hold(OTHER), hold(("n1", HALF[1])))
        names = [rule_of(each)["metadata"]["name"] for each in holds]
        assert names[0] == names[1]
        assert 3 == len(set(names))

    @pytest.mark.parametrize(
        "foreign",
        [changed("metadata", "labels", value={}), changed("metadata", "name", value="drain-gpu-1")],
    )
    def test_what_is_not_ours_by_label_and_name_is_no_hold(self, foreign):
        assert () == holds_of([foreign])

    @pytest.mark.parametrize(
        ("annotation", "text"),
        [("expires", "soon"), ("held-for", "chat"), ("held-for", "")],
    )
    def test_one_that_does_not_say_for_whom_or_until_when_has_expired(self, annotation, text):
        [found] = holds_of([changed("metadata", "annotations", f"foreslice.dev/{annotation}", value=text)])
        assert -inf == found.until_s

    @pytest.mark.parametrize("selector", [None, {"pool": "n0"}, {"pool": "n0", "device": OTHER[1]}])
    def test_one_of_ours_that_is_not_about_its_device_has_expired_and_is_found(self, selector):
        [found] = holds_of([changed("spec", "deviceSelector", value=selector)])
        assert (-inf, CHAT) == (found.until_s, found.owner)
        assert rule_of(hold())["metadata"]["name"] == found.name

    def test_values_of_taints_fit_in_a_label_and_tell_workloads_apart(self):
        long = [WorkloadKey("n" * 40, "w" * 40 + end) for end in "ab"]
        values = [taint_value(key) for key in (*long, WorkloadKey("a", "b-c"), WorkloadKey("a-b", "c"))]
        assert 4 == len(set(values))
        assert all(len(value) <= 63 for value in values)


class TestTolerations:
    @pytest.mark.parametrize(
        ("carried", "is_let_through"),
        [
            ([], False),
            ([toleration(CHAT)], True),
            ([toleration(CODE)], False),
            ([{"key": "nvidia.com/gpu", "operator": "Exists"}, toleration(CHAT)], True),
            ([{"operator": "Exists"}], True),
            ([{"key": "foreslice.dev/held-for", "operator": "Exists", "effect": "NoExecute"}], False),
            ([{"key": "foreslice.dev/held-for", "value": "serving.chat"}], True),
        ],
    )
    def test_claims_are_let_through_by_key_value_and_effect(self, carried, is_let_through):
        assert is_let_through is may_take_held(carried, CHAT)
        assert ([] if is_let_through else [HALF]) == list(shut_by([rule_of(hold())], carried))

    def test_of_other_drivers_nothing_is_shut(self):
        assert [] == list(shut_by([changed("spec", "deviceSelector", "driver", value="other")], []))

    @pytest.mark.parametrize(
        ("selector", "shut"),
        [
            (None, []),
            ({}, [(None, None)]),
            ({"driver": "gpu.nvidia.com"}, [(None, None)]),
            ({"pool": "n0"}, [("n0", None)]),
            ({"device": HALF[1]}, [(None, HALF[1])]),
        ],
    )
    def test_rules_of_others_shut_all_that_they_do_not_narrow_and_nothing_without_a_selector(
        self, selector, shut
    ):
        assert shut == list(shut_by([changed("spec", "deviceSelector", value=selector)], []))
        without = rule_of(hold())
        del without["spec"]["deviceSelector"]
        assert [] == list(shut_by([without], []))

    def test_devices_are_kept_from_all_but_their_owner(self):
        holds = (hold(), hold(OTHER, CODE))
        assert [{OTHER}, {HALF}, {HALF, OTHER}] == [kept_from(one, holds) for one in (CHAT, CODE, None)]


class Writes:
    """A cluster that notes what is held and released, and answers as it is told."""

    def __init__(self, error=None):
        self.made = []
        self._error = error

    def hold(self, held):
        self._note("hold", held)

    def release(self, held):
        self._note("release", held)

    def _note(self, verb, held):
        self.made.append((verb, held.owner.name, held.device[1][-1]))
        if self._error is not None:
            raise self._error


class TestHoldingRooms:
    def test_only_what_differs_is_written(self):
        cluster = Writes()
        assert () == hold_rooms(cluster, [hold(), hold(OTHER)], [hold(OTHER), hold(("n0", "gpu-1"))])
        assert [("release", "chat", "0"), ("hold", "chat", "1")] == cluster.made

    @pytest.mark.parametrize("held", [(hold(), hold(until_s=-inf)), (hold(until_s=-inf), hold())])
    def test_of_two_that_say_the_same_device_only_the_one_that_is_wanted_stays(self, held):
        """A rule of ours that somebody wrote says another device than its own, and has expired."""
        cluster = Writes()
        assert () == hold_rooms(cluster, held, [hold()])
        assert [("release", "chat", "0")] == cluster.made

    @pytest.mark.parametrize("wanted", [hold(owner=CODE), hold(until_s=UNTIL_S + 60)])
    def test_a_device_changes_hands_by_a_release_and_a_hold_a_turn_later(self, wanted):
        cluster = Writes()
        hold_rooms(cluster, [hold()], [wanted])
        hold_rooms(cluster, [], [wanted])
        assert [("release", "chat", "0"), ("hold", wanted.owner.name, "0")] == cluster.made

    def test_what_others_were_quicker_with_is_passed_over(self):
        cluster = Writes(ConflictError("exists already"))
        assert () == hold_rooms(cluster, [hold()], [hold(OTHER)])
        assert 2 == len(cluster.made)

    def test_what_is_refused_is_said_once_and_not_tried_for_every_device(self):
        cluster = Writes(RefusedError("may not create devicetaintrules"))
        [said] = hold_rooms(cluster, [], [hold(), hold(OTHER)])
        assert said.endswith("may not create devicetaintrules")
        assert 1 == len(cluster.made)
