"""Fleets of H100 with dynamic MIG, and what stands on them, with sane defaults."""

from dataclasses import replace

from actuator.objects.slices import SliceReader
from fleet.boards import H100_80GB
from fleet.cluster import Fleet, Gpu, Replica, Standing, Variant
from fleet.devices import Device, DeviceRequest, Pool, first_fit, in_order_of_trial, ledger_of
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey
from simulator.static_driver import BY_MEMORY, Card, static_slices

BOARD = H100_80GB
PRODUCT = BOARD.product_names[0]
ENGINES = {"copy": "copy-engines", "decoder": "decoders", "encoder": "encoders", "jpeg": "jpeg-engines"}
NOW_S = 1_700_000_000.0


def shape(profile):
    """A shape of an H100 by profile, `"whole"` for the card."""
    return Shape(BOARD.id, profile)


def configuration(text):
    """Read `"2 x 2g.20gb + 1 x whole"`, as a configuration prints itself."""
    if text in ("", "nothing"):
        return Configuration()
    pairs = (part.split(" x ") for part in text.split(" + "))
    return Configuration({shape(profile): int(n) for n, profile in pairs})


def key(name):
    """A workload's key in the one namespace of these tests."""
    return WorkloadKey("serving", name)


def _draws(engines, memory_mib, slices, sm):
    """Counters as NVIDIA's DRA driver publishes them."""
    return {
        **{counter: getattr(engines, name) for name, counter in ENGINES.items()},
        "ofa-engines": engines.ofa,
        "memory": memory_mib,
        **{f"memory-slice-{index}": 1 for index in slices},
        "multiprocessors": sm,
    }


def card(node, index):
    """Devices of one card in published order (whole, then by profile name and start), and its counters."""
    counter_set = f"gpu-{index}-counter-set"
    largest = BOARD.profile("7g.80gb")
    everything = _draws(largest.engines, int(largest.memory_gib * 1024), range(BOARD.grid), BOARD.sm)
    counters = {(counter_set, counter): amount for counter, amount in everything.items()}
    common = {"node": node, "pool": node, "gpu": f"GPU-{node}-{index}", "product": PRODUCT}
    devices = [
        Device(
            name=f"gpu-{index}",
            kind="gpu",
            profile=None,
            draws=counters,
            memory_slices=frozenset(range(BOARD.grid)),
            **common,
        )
    ]
    for profile in sorted(BOARD.profiles, key=lambda profile: profile.name):
        for start in profile.starts:
            slices = range(start, start + profile.memory_slices)
            draws = _draws(profile.engines, int(profile.memory_gib * 1024), slices, profile.sm)
            spelled = profile.name.replace(".", "").replace("+", "-")
            devices.append(
                Device(
                    name=f"gpu-{index}-mig-{spelled}-{profile.gi_profile_id}-{start}",
                    kind="mig",
                    profile=profile.name,
                    draws={(counter_set, counter): amount for counter, amount in draws.items()},
                    memory_slices=frozenset(slices),
                    **common,
                )
            )
    return devices, counters


def pool(node, cards):
    """The pool of one node."""
    pairs = [card(node, index) for index in range(cards)]
    return Pool(
        name=node,
        node=node,
        devices=tuple(device for devices, _ in pairs for device in devices),
        counters={counter: amount for _, counters in pairs for counter, amount in counters.items()},
    )


def fleet(cards=1, per_node=8, foreign=(), standings=(), hosts=None):
    """A fleet of so many H100; nothing on it but `foreign`, devices held by others, by (node, name)."""
    nodes = [(f"node-{n}", min(per_node, cards - first)) for n, first in enumerate(range(0, cards, per_node))]
    pools = tuple(pool(node, size) for node, size in nodes)
    devices = {(device.pool, device.name): device for each in pools for device in each.devices}
    return Fleet(
        version="1",
        gpus=tuple(Gpu(f"GPU-{node}-{index}", node, BOARD) for node, size in nodes for index in range(size)),
        pools=pools,
        allocated=tuple(devices[taken] for taken in foreign),
        standings=tuple(standings),
        hosts=hosts or {},
    )


def time_sliced(cards, replicas, node="node-0", standings=()):
    """A fleet of one node whose cards are each offered so many times, and not otherwise."""
    part = f"{100 // replicas}/100"
    devices = tuple(
        Device(node, node, f"{c}-{n}", "share", f"GPU-{node}-{c}", part, {}, frozenset({n}), PRODUCT)
        for n in range(replicas)
        for c in range(cards)
    )
    gpus = tuple(Gpu(f"GPU-{node}-{c}", node, BOARD) for c in range(cards))
    return Fleet("1", gpus, (Pool(node, node, devices, {}),), (), tuple(standings))


def consumable(cards, node="node-0"):
    """A fleet of one node of whose cards claims may have parts."""
    return _published(static_slices(node, [Card(BOARD)] * cards, BY_MEMORY), node)


def cut(*placements, cards=1, node="node-0"):
    """A fleet of one node whose cards are cut beforehand, each into these."""
    return _published(static_slices(node, [Card(BOARD, placements)] * cards), node)


def _published(bodies, node):
    read = SliceReader().read(
        [{**body, "metadata": {"name": node, "resourceVersion": "1"}} for body in bodies]
    )
    return Fleet("1", read.gpus, read.pools, (), ())


def standing(name, wanted="", **history):
    """A workload of which so much is asked for, nothing of it created yet."""
    variants = tuple(
        Variant(f"{name}-{s.profile}", s, replicas, "1", is_base=not number)
        for number, (s, replicas) in enumerate(configuration(wanted).counts.items())
    )
    return Standing(key(name), variants, **history)


def request(of):
    """What a replica of this shape asks of DRA."""
    kind, profile = ("gpu", None) if of.is_whole else ("share" if of.hundredths else "mig", of.profile)
    return DeviceRequest(kind, profile, (PRODUCT,))


def running(empty, *standings):
    """The fleet once every replica that is asked for runs where the scheduler puts it, in this order.

    Fails if one has no room: a test that sets the scene must set a possible one.
    """
    ledger, allocated, placed = ledger_of(empty.pools, empty.allocated), list(empty.allocated), []
    for one in standings:
        variants = []
        for variant in one.variants:
            replicas = []
            for number in range(variant.wanted):
                found = first_fit(in_order_of_trial(empty.pools, ledger), ledger, request(variant.shape))
                device = next(iter(found), None)
                assert device is not None, f"no room for {variant.name}"
                ledger = ledger.take(device)
                allocated.append(device)
                pod = f"{variant.name}-{number}"
                replicas.append(Replica(pod, variant.name, variant.shape, device, True, False, NOW_S - 3600))
            variants.append(replace(variant, replicas=tuple(replicas)))
        placed.append(replace(one, variants=tuple(variants)))
    return replace(empty, allocated=tuple(allocated), standings=(*empty.standings, *placed))
