"""What became of a fleet, judged from outside: by its router, and by what the API server says of it."""

from bisect import bisect_right
from collections import Counter, defaultdict
from itertools import pairwise

from actuator.layouts.node import CONFIG_LABEL, progress_of
from fleet.boards import H100_80GB
from simulator.api import CLAIM, NODE
from simulator.mig_manager import STATE
from simulator.rest import address
from tests.cluster.compressed import RISE_S
from tests.cluster.lab import LABEL, PDB

SLICES = {profile.name.replace(".", ""): profile.memory_slices for profile in H100_80GB.profiles}
MET = 0.95
"""Share of requests inside their SLO: what the objectives ask for."""


class Watch:
    """Looks at a town again and again.

    Attributes:
        faults: What must never be seen, one line each.
        layouts: What nodes were cut into by their MIG manager, (time in s, label by node) where it changed.
    """

    def __init__(self, town):
        self._town = town
        self._begun_s = None
        self._ended_s = None
        self._nodes_s = Counter()
        self.faults = []
        self.layouts = []

    def look(self, at_s):
        """Look once."""
        since_s = 0.0 if self._begun_s is None else at_s - self._ended_s
        self._begun_s = at_s if self._begun_s is None else self._begun_s
        self._ended_s = at_s
        self._look_at_nodes(at_s, since_s)
        self.faults += [f"{at_s:.0f}: {line}" for line in overlaps(self._town.lab.list(CLAIM))]
        for budget in self._town.lab.list(PDB):
            status = budget.get("status", {})
            if status.get("currentHealthy", 0) < status.get("desiredHealthy", 0):
                self.faults.append(f"{at_s:.0f}: budget {budget['metadata']['name']} is broken: {status}")

    def _look_at_nodes(self, at_s, since_s):
        query = {"labelSelector": f"{LABEL}={self._town.name}"}
        nodes = self._town.lab.server.request("GET", address(NODE), query=query)["items"]
        for node in nodes:
            progress = progress_of(node)
            self._nodes_s["held"] += since_s * (progress is not None and progress.broken_at_s is None)
            self._nodes_s["cut"] += since_s * (progress is not None and bool(progress.asked))
            if node["metadata"]["labels"].get(STATE) == "failed":
                self.faults.append(f"{at_s:.0f}: node {node['metadata']['name']} could not be cut")
        now = {node["metadata"]["name"]: node["metadata"]["labels"].get(CONFIG_LABEL) for node in nodes}
        if not self.layouts or self.layouts[-1][1] != now:
            self.layouts.append((at_s, now))

    def share_of_cards(self, what):
        """Return the share of all cards' time in which nodes were "held" for another layout, or were "cut".

        Cut: from asking the MIG manager to its devices on offer; the whole node counts.
        """
        return self._nodes_s[what] / (len(self._town.nodes) * (self._ended_s - self._begun_s))

    def cut_off(self):
        """Return the requests that were being served when their engine was stopped."""
        tallies = self._town.tallies
        total = tallies[max(tallies)].since(tallies[_at(tallies, self._begun_s)])
        return float(total.cut.sum())

    def rises(self, demand, settled_s):
        """Return (tenant, when a rise was over, share of its requests that were inside their SLO).

        Args:
            demand: What was offered.
            settled_s: How long after the first look the service has had time to make itself ready.
        """
        tallies = self._town.tallies
        until_s = int(min(self._ended_s, max(tallies)))
        return [
            (row, at_s, inside(tallies, row, at_s - RISE_S, at_s))
            for row, at_s in demand.rises(int(self._begun_s + settled_s), until_s - RISE_S)
        ]

    def attainment(self, settled_s):
        """Return the share of all requests that were inside their SLO once the service had settled."""
        tallies = self._town.tallies
        total = tallies[max(tallies)].since(tallies[_at(tallies, self._begun_s + settled_s)])
        return float(total.inside.sum() / total.offered.sum())


def missed(rises):
    """Return those of some rises of which too few requests were inside their SLO."""
    return [rise for rise in rises if rise[2] < MET]


def inside(tallies, row, from_s, until_s):
    """Return the share of a tenant's requests in [from_s, until_s) that were inside their SLO."""
    total = tallies[_at(tallies, until_s)].since(tallies[_at(tallies, from_s)])
    return float(total.inside[row] / total.offered[row]) if total.offered[row] else 1.0


def _at(tallies, at_s):
    """Return the last second until which requests were counted by then; more are counted meanwhile."""
    seconds = list(tallies)
    return seconds[bisect_right(seconds, at_s) - 1]


def overlaps(claims):
    """Yield which allocated devices of a card overlap; places are read off the driver's names."""
    cards = defaultdict(list)
    for claim in claims:
        allocation = claim.get("status", {}).get("allocation")
        for result in allocation["devices"]["results"] if allocation else ():
            card, start, end = _place(result["device"])
            cards[result["pool"], card].append((start, end, claim["metadata"]["name"]))
    for (node, card), held in cards.items():
        for (_, end, first), (start, _, second) in pairwise(sorted(held)):
            if start < end:
                yield f"{node} {card}: {first} and {second} overlap"


def _place(device):
    """Return the card of a device, and the memory slices that it is on as [start, end)."""
    card, _, instance = device.partition("-mig-")
    if not instance:
        return card, 0, H100_80GB.grid
    profile, *_, start = instance.split("-")
    return card, int(start), int(start) + SLICES[profile]
