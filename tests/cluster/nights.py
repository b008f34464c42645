"""Fleets whose nights are for many small engines and whose days are for few large ones, twelve times as fast.

What runs at night falls to a tenth before the large ones come in four steps, and comes back as they go.
"""

import numpy as np

from actuator.mechanisms.device_plugin import profile_of
from actuator.objects.granted import resources_asked
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import Mix
from simulator.api import DEPLOYMENT, POD
from simulator.layouts import CONFIG_MAP_NAME, Managed
from simulator.manifests import NAME_LABEL, plugged_deployment
from simulator.mig_manager import Times
from simulator.truth import HiddenTruth
from tests.builders.layout_days import DEEP, LARGE, NIGHT, on, workloads
from tests.cluster.compressed import FASTER, PERIOD_S, RISE_S, SEED, Compressed, in_namespace
from tests.cluster.lab import LABEL
from tests.cluster.permissions import install
from tests.cluster.town import GRACE_S, ROLES, TWELFTH, Town, share_of
from tests.fakes.manifests import request

HOUR_S = PERIOD_S / 24
MIX = Mix(500.0, 200.0)

CARDS = 14
STEPS = (
    (6.0, (6.0, 4.5), (6.4, 3.2), (6.8, 1.9), (7.2, 0.6), (10.9, 1.5), (11.3, 3.0), (11.7, 4.5), (12.1, 6.0)),
    (0.2, (7.5, 0.8), (8.0, 1.4), (8.5, 2.4), (9.0, 3.0), (10.5, 1.5), (10.9, 0.8), (11.3, 0.2)),
    (0.2, (7.5, 0.5), (8.0, 0.9), (8.5, 1.5), (9.0, 1.8), (10.5, 0.9), (10.9, 0.5), (11.3, 0.2)),
)
"""Work in whole cards of who is small, large, and very large, on so many cards: at midnight, then from an
hour on, within a minute."""

BEGINS = (("1g.10gb", 40), ("3g.40gb", 2), ("7g.80gb", 1))
"""What each runs on when it is begun to be watched, and how many replicas of it."""

MOST_REPLICAS = 400
"""At night the small ones are more than the default limit lets there be."""

TIMES = Times(*(part / FASTER for part in (20.0, 15.0, 25.0)))


def nights(steepest_s, namespace, scale):
    """Return the day of the three, so many times as large."""
    model, small = CapacityModel([H100_80GB]), in_namespace(namespace, workloads())
    works = np.array([_course(*each) for each in STEPS]).T * scale
    full = [model.sustained(one, model.reference(one), MIX) for one in small]
    return Compressed(small, (MIX,) * len(small), works * np.array(full), steepest_s)


def _course(first, *steps):
    """Work by second of the period."""
    times, levels = [0.0], [first]
    for hour, level in steps:
        times += [hour * HOUR_S, hour * HOUR_S + RISE_S]
        levels += [levels[-1], level]
    return np.interp(np.arange(PERIOD_S), times, levels)


class NightTown(Town):
    """Eight nodes of eight cards, or three of four, that DRA's driver cuts as claims come."""

    mechanism = "dra"
    more = "shrink: {within: 50s}\n"

    def __init__(self, server, agents, name, steepest_s, *, nodes=8, cards=8):
        self.scale = nodes * cards / CARDS
        super().__init__(
            server,
            agents,
            name,
            demand := nights(steepest_s, name, self.scale),
            demand.workloads,
            laws=HiddenTruth(SEED, {H100_80GB.id: H100_80GB}),
            nodes=nodes,
            cards=cards,
            mode="full",
            loop=TWELFTH,
        )

    def begin_workloads(self):
        """Create the Deployments, each on instances."""
        for one, (profile, replicas) in zip(self.workloads, BEGINS, strict=True):
            template = self.template(f"mig-{profile.replace('.', '-')}", request(profile=profile))
            labels = {NAME_LABEL: one.key.name}
            count = round(replicas * self.scale)
            self.lab.deployment(one.key.name, template, count, labels=labels, grace_s=GRACE_S)

    def served(self, one):
        """Return the settings of a workload."""
        more = f"    mechanism: {self.mechanism}\n    replicas: {{max: {MOST_REPLICAS}}}\n"
        return super().served(one) + more


class ManagedTown(NightTown):
    """The same under MIG managers, cut for the night to begin with."""

    mechanism = "device-plugin"
    is_claimed = False
    is_cut_anew = True
    roles = (*ROLES, "foreslice-observe-layouts", "foreslice-cut-file")

    def begin_nodes(self, agents, containers, delays):
        """Register the nodes as feature discovery and device plugins show them."""
        for name in ("layouts", "cut"):
            install(self.lab.server, name)
        managed = Managed(self._cuts(), TIMES, namespace=self.name, is_claimed=self.is_claimed)
        agents.add_managed(self.nodes, H100_80GB, managed, containers, delays)

    def begin_workloads(self):
        """Create the Deployments, each on instances."""
        for one, (profile, replicas) in zip(self.workloads, BEGINS, strict=True):
            body = plugged_deployment(one, on(profile), round(replicas * self.scale))
            body["spec"]["template"]["spec"]["nodeSelector"] = {LABEL: self.name}
            self.lab.create(DEPLOYMENT, one.key.name, spec=body["spec"])

    @property
    def more(self):
        """The settings of layouts."""
        return super().more + (
            f"layouts: {{manager: {self.name}/{CONFIG_MAP_NAME}, acting: true, dwell: 5m, lead: 2m, "
            f"nodes: {{{LABEL}: {self.name}}}}}\n"
        )

    def held(self):
        """Return the cards that pods hold, in memory slices."""
        bound = (pod["spec"] for pod in self.lab.list(POD) if "nodeName" in pod["spec"])
        asked = (resource for spec in bound for resource in resources_asked(spec))
        return sum(share_of(profile_of(resource)) for resource in asked)

    def _cuts(self):
        if self.cards == 4:
            return ((NIGHT,) * 4, (NIGHT,) * 4, (LARGE, LARGE, DEEP, NIGHT))
        return (*((NIGHT,) * 8,) * 5, *((LARGE,) * 8,) * 2, (DEEP,) * 8)


class ClaimedTown(ManagedTown):
    """The same where DRA's driver offers what the managers cut, and pods have claims."""

    mechanism = "dra"
    is_claimed = True

    def begin_workloads(self):
        """Create the Deployments, each with a claim for an instance."""
        NightTown.begin_workloads(self)

    def held(self):
        """Return the cards that claims hold, in memory slices."""
        return Town.held(self)


def small(server, agents, name, steepest_s):
    """Make a town of three nodes of four cards under MIG managers."""
    return ManagedTown(server, agents, name, steepest_s, nodes=3, cards=4)
