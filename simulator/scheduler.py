"""kube-scheduler's part in the embedded world: it gives each pod a node, and its claim a device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from actuator.mechanisms.device_plugin import asks_plugin
from actuator.mechanisms.dra import DRIVER, Ask, ask_of
from actuator.objects.allocations import AllocationReader, allocated_ids, granted, results_of
from actuator.objects.holds import shut_by
from actuator.objects.hosts import HostReader, host_amount
from actuator.objects.places import places_of
from actuator.objects.slices import SliceReader, shared_device
from fleet.devices import Device, DeviceId, Ledger, Pool, first_fit, in_order_of_trial, ledger_of
from fleet.errors import RefusedError
from simulator.affinity import company, kin
from simulator.api import BINDING, CLAIM, NODE, POD, SLICE, TAINT_RULE, Api, Change, Event, Json, timestamp
from simulator.clock import Clock
from simulator.delays import Delays
from simulator.errors import NotModelledError
from simulator.metadata import Name, name_of
from simulator.plugged import node_for
from simulator.pods import DELETE_PROTECTION, claim_names, is_leaving, with_condition
from simulator.workqueue import WorkQueue

_UNMODELLED_IN_PODS = ("schedulingGates",)
_UNMODELLED_IN_DEVICES = {"taints", "bindsToNode", "bindingConditions"}

Devices = tuple[Device, ...]


class Scheduler:
    """Binds pods that name this scheduler, each some time after it could be; retries when room may be free.

    Nodes are spread over, but for pods that prefer company or other fault domains; those without CPU and
    memory enough are passed over; devices are taken by first fit inside one (`fleet.devices`). A pod that
    does not fit stays Pending and says so.
    """

    def __init__(self, api: Api, clock: Clock, delays: Delays, name: str = "default-scheduler") -> None:
        self._api = api
        self._clock = clock
        self._delays = delays
        self._name = name
        self._slices, self._hosts, self._holdings = SliceReader(), HostReader(), AllocationReader()
        self._queue: WorkQueue[Name] = WorkQueue(clock, self._schedule)
        self._unschedulable: dict[Name, Json] = {}
        self._held: set[Name] = set()
        api.watch(POD, self._on_pod)
        api.watch(CLAIM, self._on_claim)
        api.watch(SLICE, self._on_slice)
        api.watch(NODE, lambda _: self._retry(self._unschedulable))
        api.watch(TAINT_RULE, lambda _: self._retry(self._unschedulable))

    def _on_pod(self, event: Event) -> None:
        pod = event.body
        name = name_of(pod)
        if event.change is Change.DELETED:
            self._unschedulable.pop(name, None)
            if asks_plugin(pod["spec"]):
                self._retry(self._unschedulable)
        elif self._is_mine(pod) and name not in self._unschedulable and None not in claim_names(pod).values():
            self._queue.add(name, self._delays.schedule_s(pod))

    def _on_claim(self, event: Event) -> None:
        name = name_of(event.body)
        if event.change is not Change.DELETED and allocated_ids(event.body):
            self._held.add(name)
        elif name in self._held:
            self._held.remove(name)
            self._retry(self._unschedulable)
        elif event.change is Change.ADDED:
            pods = self._unschedulable.items()
            self._retry([pod for pod, body in pods if name in _claims_of(body)])

    def _on_slice(self, event: Event) -> None:
        for device in event.body["spec"].get("devices", ()):
            if wishes := _UNMODELLED_IN_DEVICES & device.keys():
                raise NotModelledError(f"scheduling on devices with {sorted(wishes)}")
            if device.get("allowMultipleAllocations") and (
                "consumesCounters" in device or shared_device(device).leaves_room
            ):
                raise NotModelledError(
                    "scheduling on devices with allowMultipleAllocations that are cut too, or shared by "
                    "claims that name no capacity"
                )
        self._retry(self._unschedulable)

    def _retry(self, names: Iterable[Name]) -> None:
        for name in list(names):
            self._queue.add(name, self._delays.schedule_s(self._unschedulable.pop(name)))

    def _is_mine(self, pod: Json) -> bool:
        spec = pod["spec"]
        named = spec.get("schedulerName", "default-scheduler")
        return bool(named == self._name and not spec.get("nodeName") and not is_leaving(pod))

    def _schedule(self, name: Name) -> None:
        pod = self._api.get(POD, *name)
        if pod is None or not self._is_mine(pod):
            return
        if asks_plugin(pod["spec"]) and not claim_names(pod):
            others = self._api.list(POD)
            node = node_for(pod, self._api.list(NODE), others, company(pod, others))
            if node is not None:
                self._api.create(_binding(pod, node))
            else:
                self._unschedulable[name] = pod
                self._explain(pod, "Insufficient nvidia.com devices")
            return
        claim = self._claim(pod)
        device = self._device(claim, pod) if claim else None
        if claim is None or device is None:
            self._unschedulable[name] = pod
            self._explain(pod, "cannot allocate all claims" if claim else "waiting for its ResourceClaim")
        else:
            self._allocate(claim, *device, pod)
            self._api.create(_binding(pod, device[0][0].node))

    def _claim(self, pod: Json) -> Json | None:
        """Return the pod's claim, `None` while there is none that can be used."""
        claims = _claims_of(pod)
        wishes = [field for field in _UNMODELLED_IN_PODS if pod["spec"].get(field)]
        if len(claims) != 1 or wishes:
            raise NotModelledError(f"scheduling a pod with {len(claims)} claims and {wishes or 'no wishes'}")
        claim = self._api.get(CLAIM, *claims[0])
        return None if claim is None or is_leaving(claim) else claim

    def _device(self, claim: Json, pod: Json) -> tuple[Devices, str] | None:
        """Return what the claim of a pod has or would get, and for which request or alternative.

        A device that is no longer published holds nothing. Alternatives are tried in order on each node; how
        nodes that can offer different ones are weighed depends on all that pods ask for, and is not modelled.
        """
        inventory = self._slices.read(self._api.list(SLICE))
        if allocated_ids(claim):
            given = (inventory.held(result) for result in granted(claim))
            devices = tuple(device for device in given if device is not None)
            return (devices, results_of(claim)[0]["request"]) if devices else None
        nodes, pods = self._api.list(NODE), self._api.list(POD)
        hosts = self._hosts.read(nodes, pods, "")
        asked = host_amount(pod["spec"])
        closed = places_of(nodes).closed_to(pod["spec"])
        usable = {node for node, host in hosts.items() if not host.lacks_for(asked)} - closed
        pools = [pool for pool in inventory.pools if pool.node in usable]
        held: defaultdict[str, list[Device]] = defaultdict(list)
        for device in self._holdings.read(self._api.list(CLAIM), inventory):
            held[device.pool].append(device)
        taken = Ledger({}, {pool: frozenset(device.name for device in there) for pool, there in held.items()})
        order = in_order_of_trial(pools, taken, company(pod, pods), kin(pod, pods, nodes))
        ask = _ask(claim)
        shut = self._shut(ask)
        # What is left of a pool is reckoned where its turn comes: mostly the first has room.
        found = (_first_offer(pool, ledger_of([pool], held[pool.name]), ask, shut) for pool in order)
        offers = (offer for offer in found if offer is not None)
        if not ask.others:
            return next(offers, None)
        made = list(offers)
        if len({taken for _, taken in made}) > 1:
            name = claim["metadata"]["name"]
            raise NotModelledError(f"which node gets claim {name}: they offer different alternatives")
        return made[0] if made else None

    def _shut(self, ask: Ask) -> frozenset[DeviceId]:
        """Return the devices whose taints a claim does not tolerate."""
        shut = tuple(shut_by(self._api.list(TAINT_RULE), ask.tolerations))
        if any(None in each for each in shut):
            raise NotModelledError("taints of whole pools, or of devices in any pool")
        return frozenset((pool, device) for pool, device in shut if pool is not None and device is not None)

    def _allocate(self, claim: Json, devices: Devices, taken: str, pod: Json) -> None:
        """Allocate the claim, if it is not, and reserve it for the pod; the finalizer comes first."""
        finalizers = claim["metadata"].get("finalizers", [])
        if DELETE_PROTECTION not in finalizers:
            metadata = {**claim["metadata"], "finalizers": [*finalizers, DELETE_PROTECTION]}
            claim = self._api.replace({**claim, "metadata": metadata})
        status = claim.get("status", {})
        tolerations = _ask(claim).tolerations
        tolerated = {"tolerations": list(tolerations)} if tolerations else {}
        results = [{**_result(device, taken, claim), **tolerated} for device in devices]
        allocation = status.get("allocation") or _allocation(results, devices[0].node, self._clock.now_s)
        user = {"resource": POD.plural, "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        status = {**status, "allocation": allocation, "reservedFor": [*status.get("reservedFor", ()), user]}
        self._api.replace_status({**claim, "status": status})

    def _explain(self, pod: Json, why: str) -> None:
        nodes = len(self._api.list(NODE))
        status = with_condition(
            pod["status"],
            "PodScheduled",
            is_true=False,
            at_s=self._clock.now_s,
            reason="Unschedulable",
            message=f"0/{nodes} nodes are available: {nodes} {why}.",
        )
        self._api.replace_status({**pod, "status": status})


def _claims_of(pod: Json) -> list[Name]:
    return [(pod["metadata"]["namespace"], name) for name in claim_names(pod).values() if name is not None]


def _ask(claim: Json) -> Ask:
    try:
        return ask_of(claim["spec"])
    except RefusedError as error:
        raise NotModelledError(f"claim {claim['metadata']['name']}: {error}") from error


def _first_offer(
    pool: Pool, ledger: Ledger, ask: Ask, shut: frozenset[DeviceId]
) -> tuple[Devices, str] | None:
    """Return what a claim would get of one node, and for which request or alternative."""
    found = ((first_fit((pool,), ledger, request, shut), taken) for taken, request in ask.alternatives)
    return next(((devices, taken) for devices, taken in found if devices), None)


def _result(device: Device, taken: str, claim: Json) -> Json:
    """Return what is given of a device; of one that claims share with what is consumed of it."""
    pool, published = device.published
    result: Json = {"request": taken, "driver": DRIVER, "pool": pool, "device": published}
    if device.part_of or device.shared is not None:
        result["shareID"] = claim["metadata"]["uid"]
        result["consumedCapacity"] = {name: str(amount) for (_, name), amount in device.draws.items()}
    return result


def _allocation(results: Sequence[Json], node: str, at_s: float) -> Json:
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "allocationTimestamp": timestamp(at_s),
        "devices": {"results": list(results)},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
    }


def _binding(pod: Json, node: str) -> Json:
    metadata = pod["metadata"]
    return {
        "apiVersion": BINDING.api_version,
        "kind": BINDING.name,
        "metadata": {"namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]},
        "target": {"apiVersion": NODE.api_version, "kind": NODE.name, "name": node},
    }
