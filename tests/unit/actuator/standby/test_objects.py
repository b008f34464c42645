"""The pool as Kubernetes objects: what is written, what is read back, and who cannot join."""

import pytest

from actuator.manifest import STANDBY_LABEL
from actuator.mechanisms.engine_memory import UTILISATION
from actuator.objects.standby import BARRED, GATE, HOLD, TAKEN, slices_of
from actuator.standby.engines import sleeping_engines
from actuator.standby.objects import ObjectDormitory
from fleet.boards import H100_80GB
from fleet.errors import ConflictError, RefusedError
from fleet.ledgers.beds import Highest, Measured
from fleet.shape import Shape
from fleet.standby import Doing, Hold
from fleet.workload import WorkloadKey
from simulator.api import CLAIM, DEPLOYMENT, POD
from simulator.cluster import EmbeddedCluster
from simulator.standby import PoolObjects
from tests.builders.dormitory import WHOLE, Dormitory

ANT, BEE = WorkloadKey("shop", "ant"), WorkloadKey("shop", "bee")
HUGE = 10**400
"""JSON has it, and no float."""


@pytest.fixture
def place():
    return Dormitory()


@pytest.fixture
def dormitory(place):
    made = ObjectDormitory(PoolObjects(place.store), [H100_80GB], sleeping_engines()["vllm"], 0.93)
    made.add("shop", "s", WHOLE)
    return made


def read(dormitory):
    (pool,) = dormitory.slices("shop")
    return pool


def test_a_standby_pod_is_one_of_its_workload_on_the_shared_claim_behind_a_gate(place, dormitory):
    dormitory.board(read(dormitory), ANT)
    pod, base = place.pod("ant-s"), place.store.get(DEPLOYMENT, "shop", "ant")
    spec, labels = pod["spec"], base["spec"]["template"]["metadata"]["labels"]
    assert {**labels, STANDBY_LABEL: "s"} == pod["metadata"]["labels"]
    assert [{"name": "gpu", "resourceClaimName": "s"}] == spec["resourceClaims"]
    assert [{"conditionType": GATE}] == spec["readinessGates"]
    assert {"name": UTILISATION, "value": "0.930"} in spec["containers"][0]["env"]
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (base["metadata"]["uid"], True) == (owner["uid"], owner["controller"])


def test_standby_pods_are_no_replicas_of_their_workload(place, dormitory):
    dormitory.board(read(dormitory), ANT)
    place.wait(30)
    standing = EmbeddedCluster(place.store).view([ANT]).standing(ANT)
    assert (1, 1) == (len(standing.own.replicas), standing.own.ready)


def test_what_is_written_on_a_slice_is_read_back_and_fences(dormitory):
    before = read(dormitory)
    dormitory.hold(before, Hold(ANT, Doing.SERVING, 12.5), {BEE: 99.0})
    pool = read(dormitory)
    assert (Hold(ANT, Doing.SERVING, 12.5), {BEE: 99.0}) == (pool.hold, pool.barred)
    with pytest.raises(ConflictError):
        dormitory.hold(before, Hold(BEE, Doing.SERVING, 13.0), {})
    dormitory.hold(pool, None, {})
    assert (None, {}) == (read(dormitory).hold, read(dormitory).barred)


def test_what_engines_were_read_to_take_stays_whoever_is_held_next_and_fences(dormitory):
    taken = {ANT: Measured(Highest(3, 17.25), Highest(2, 1.5), 99.0), BEE: Measured(Highest(1, 4.0))}
    before = read(dormitory)
    dormitory.note(before, taken)
    with pytest.raises(ConflictError):
        dormitory.note(before, {})
    dormitory.hold(read(dormitory), Hold(ANT, Doing.SERVING, 12.5), {})
    assert taken == read(dormitory).taken


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "null",
        '{"ant": 3}',
        '{"ant": [1, "much", 1, 1, 1]}',
        '{"ant": [Infinity, 1, 1, 1, 1]}',
        f'{{"ant": [1, {HUGE}, 1, 1, 1]}}',
        '{"ant": [1, 1, 1, NaN, 1]}',
        '{"ant": [1, -1e999, 1, 1, 1]}',
        '{"ant": [1, 1, 1, 1, Infinity]}',
    ],
)
def test_readings_that_somebody_scribbled_on_are_none(place, dormitory, said):
    claim = place.store.get(CLAIM, "shop", "s")
    place.store.replace({**claim, "metadata": {**claim["metadata"], "annotations": {TAKEN: said}}})
    assert ({}, "") == (read(dormitory).taken, read(dormitory).trouble)


def test_a_gate_is_turned_as_of_the_pod_that_was_read(place, dormitory):
    dormitory.board(read(dormitory), ANT)
    place.wait(30)
    before = read(dormitory)
    dormitory.turn(before, before.sleeper(ANT), is_open=True, at_s=place.now_s)
    now = read(dormitory).sleeper(ANT)
    assert (True, place.now_s) == (now.is_open, now.turned_s)
    with pytest.raises(ConflictError):
        dormitory.turn(before, before.sleeper(ANT), is_open=False, at_s=place.now_s)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{}",
        "nobody",
        '{"workload": "ant", "doing": "dancing", "since": 1}',
        f'{{"workload": "ant", "doing": "serving", "since": {HUGE}}}',
        "[]",
        "null",
    ],
)
def test_a_slice_that_somebody_scribbled_on_is_left_alone(place, dormitory, said):
    claim = place.store.get(CLAIM, "shop", "s")
    place.store.replace({**claim, "metadata": {**claim["metadata"], "annotations": {HOLD: said}}})
    assert f"ResourceClaim shop/s: annotation {HOLD} is not ours" in read(dormitory).trouble


@pytest.mark.parametrize("said", ["", "[]", "null", '{"ant": "long"}', f'{{"ant": {HUGE}}}'])
def test_nobody_is_left_alone_until_what_is_no_time(place, dormitory, said):
    claim = place.store.get(CLAIM, "shop", "s")
    place.store.replace({**claim, "metadata": {**claim["metadata"], "annotations": {BARRED: said}}})
    assert ({}, "") == (read(dormitory).barred, read(dormitory).trouble)


def test_foreign_claims_and_pods_with_the_label_are_no_part_of_the_pool(place, dormitory):
    claim = place.store.get(CLAIM, "shop", "s")
    foreign = {**claim, "metadata": {"name": "x", "namespace": "shop", "labels": {STANDBY_LABEL: "x"}}}
    pod = {"metadata": {"name": "p", "namespace": "shop", "labels": {STANDBY_LABEL: "s"}}, "spec": {}}
    (found,) = slices_of([claim, foreign], [pod])
    assert ("s", ()) == (found.name, found.sleepers)


def test_everything_may_be_tried_again(place, dormitory):
    dormitory.add("shop", "s", WHOLE)
    dormitory.board(read(dormitory), ANT)
    dormitory.board(read(dormitory), ANT)
    assert 1 == len(read(dormitory).sleepers)
    pool = read(dormitory)
    dormitory.remove(pool, pool.sleeper(ANT))
    place.wait(200)
    dormitory.drop(read(dormitory))
    assert [] == list(dormitory.slices("shop"))


def test_a_pod_that_has_ended_gives_its_name_to_the_next(place, dormitory):
    dormitory.board(read(dormitory), ANT)
    place.wait(30)
    pod = place.pod("ant-s")
    place.store.replace_status({**pod, "status": {**pod["status"], "phase": "Failed"}})
    assert () == read(dormitory).sleepers
    dormitory.board(read(dormitory), ANT)
    place.wait(700)
    dormitory.board(read(dormitory), ANT)
    assert pod["metadata"]["uid"] != place.pod("ant-s")["metadata"]["uid"]


def test_a_pod_of_that_name_that_is_not_ours_is_not_taken_for_one(place, dormitory):
    place.store.create(
        {
            "apiVersion": "v1",
            "kind": POD.name,
            "metadata": {"name": "ant-s", "namespace": "shop"},
            "spec": {"containers": [{"name": "c"}], "schedulerName": "other"},
        }
    )
    with pytest.raises(RefusedError, match="exists and is not ours"):
        dormitory.board(read(dormitory), ANT)


def _edit(place, change):
    body = place.store.get(DEPLOYMENT, "shop", "ant")
    place.store.delete(DEPLOYMENT, "shop", "ant")
    template = body["spec"]["template"]
    pods = template["spec"]
    container = {**pods["containers"][0], **change}
    spec = {**body["spec"], "template": {**template, "spec": {**pods, "containers": [container]}}}
    metadata = {key: body["metadata"][key] for key in ("name", "namespace", "labels")}
    place.store.create({**body, "metadata": metadata, "spec": spec})


@pytest.mark.parametrize(
    ("expected", "change"),
    [
        (
            "shop/ant: its engine is started without --enable-sleep-mode, so it has no sleep mode",
            {"args": []},
        ),
        (
            "shop/ant: its engine is started without VLLM_SERVER_DEV_MODE=1, so it has no sleep mode",
            {"env": [{"name": "VLLM_SERVER_DEV_MODE", "value": "0"}]},
        ),
    ],
)
def test_an_engine_without_sleep_mode_cannot_join_and_the_reason_is_one_line(
    place, dormitory, expected, change
):
    assert "" == dormitory.objection(ANT)
    _edit(place, change)
    assert expected == dormitory.objection(ANT)
    with pytest.raises(RefusedError, match="no sleep mode"):
        dormitory.board(read(dormitory), ANT)


@pytest.mark.parametrize(
    ("expected", "change"), [(0, {}), (8123, {"ports": [{"containerPort": 8123}, {"containerPort": 1}]})]
)
def test_an_engine_listens_where_its_container_says(place, dormitory, expected, change):
    _edit(place, change)
    dormitory.board(read(dormitory), ANT)
    assert expected == read(dormitory).sleeper(ANT).port


def test_a_shape_that_no_card_of_the_fleet_has_makes_no_slice(dormitory):
    with pytest.raises(RefusedError, match="a100-80gb"):
        dormitory.add("shop", "t", Shape("a100-80gb"))
