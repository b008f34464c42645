"""`make soak`: a day in two hours on 64 cards of a real control plane, and what became of it.

`SOAK_FLEET` says whose: `tenants` on dynamic MIG (if it is not set), or nights of small engines and days of
large ones on `dynamic-mig`, under a `mig-manager`, or under one that cuts what DRA's driver offers
(`mig-manager-dra`).
"""

import io
import json
import os
import sys
import tempfile
from contextlib import redirect_stdout, suppress
from pathlib import Path

from actuator.layouts.node import is_held
from foreslice.leave import run_restore
from simulator.api import CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, LEASE, NODE, POD
from tests.cluster.compressed import PERIOD_S
from tests.cluster.conftest import NEWEST, make_classes
from tests.cluster.controlplane import control_plane
from tests.cluster.lab import until
from tests.cluster.nights import ClaimedTown, ManagedTown, NightTown
from tests.cluster.scene import scene
from tests.cluster.town import compressed
from tests.cluster.verdict import Watch, missed
from tests.prometheus.server import absent

NAME = "fleet"
SAMPLE_S = 2
SETTLED_S = 120
TOLD_EVERY_S = 60
FLEETS = {
    "tenants": compressed,
    "dynamic-mig": NightTown,
    "mig-manager": ManagedTown,
    "mig-manager-dra": ClaimedTown,
}
CUT_AT_MOST = 0.05
"""Share of the cards' time in which they may be cut anew."""
STEEPEST_IN_S = 600


def main():
    """Watch for `SOAK_MINUTES` (two hours if it is not set), print what was seen, and fail on any fault."""
    if programs := absent():
        sys.exit(f"{', '.join(programs)} not found: apt-get install prometheus")
    lasts_s = 60 * float(os.environ.get("SOAK_MINUTES") or PERIOD_S / 60)
    fleet = os.environ.get("SOAK_FLEET") or "tenants"
    if fleet not in FLEETS:
        sys.exit(f"SOAK_FLEET={fleet}: name one of {', '.join(FLEETS)}")
    with tempfile.TemporaryDirectory(prefix="foreslice-soak-") as directory:
        told = soak(Path(directory), FLEETS[fleet], lasts_s)
    is_met = told["rises met"] == told["rises"] and told["share of cards' time being cut"] <= CUT_AT_MOST
    if told["faults"] or told["left over"] or told["requests cut off"] or not is_met:
        sys.exit("the soak has found faults")


def soak(directory, make, lasts_s):
    """Print and return what became of a compressed day, or of so much of it, before all is taken down."""
    logs = directory / "control-plane"
    logs.mkdir()
    with control_plane(NEWEST, logs) as plane:
        make_classes(plane)
        with scene(plane, directory / "prometheus", {NAME: make}, STEEPEST_IN_S) as made:
            town, clock = made.towns[NAME], made.clock
            watch, begun_s, told_s = Watch(town), clock.now_s, 0.0
            with town.service(plane, made.url, directory / NAME) as process:

                def look():
                    nonlocal told_s
                    assert process.poll() is None, (directory / NAME / "log").read_text()[-2000:]
                    town.look(clock.now_s)
                    watch.look(clock.now_s)
                    if clock.now_s - told_s > TOLD_EVERY_S:
                        told_s = clock.now_s
                        _tell(town, watch, begun_s)
                    return clock.now_s - begun_s > lasts_s

                until(look, within_s=2 * lasts_s, every_s=SAMPLE_S)
            found = watch.rises(town.demand, SETTLED_S)
            lost = missed(found)
            told = {
                "minutes": round((clock.now_s - begun_s) / 60, 1),
                "rises": len(found),
                "rises met": len(found) - len(lost),
                "rises missed": [
                    [town.workloads[row].key.name, round(at_s - begun_s), round(share, 3)]
                    for row, at_s, share in lost
                ],
                "inside their SLO": round(watch.attainment(SETTLED_S), 4),
                "most cards": max(cards for _, cards, _ in town.seen),
                "fewest cards": min(cards for _, cards, _ in town.seen),
                "layouts of nodes changed": len(watch.layouts) - 1,
                "share of cards' time being cut": round(watch.share_of_cards("cut"), 4),
                "share of cards' time held": round(watch.share_of_cards("held"), 4),
                "requests cut off": round(watch.cut_off(), 1),
                "faults": watch.faults,
                "left over": left_over(town, _as_owner(plane, directory / NAME / "foreslice.yaml")),
            }
            _say(json.dumps(told, indent=2))
            return told


def left_over(town, settings):
    """Return what is still there of us, once all is given back where that can be, as an owner would."""
    lab = town.lab
    kept = lab.server.request("GET", lab.path(LEASE, "foreslice"))["spec"].get("holderIdentity")
    there = [f"the lease is held by {kept}"] if kept else []
    there += [f"node {name} is held" for name in town.nodes if is_held(lab.get(NODE, name))]
    return there if town.is_cut_anew else [*there, *_not_given_back(town, settings)]


def _not_given_back(town, settings):
    lab = town.lab
    with redirect_stdout(io.StringIO()):
        run_restore(settings, [], every=True, wait="10m", as_json=True)
    names = {one.key.name for one in town.workloads}
    pods = {body["metadata"]["name"] for body in lab.list(POD)}
    with suppress(AssertionError):
        until(lambda: not _foreign(lab.list(DEPLOYMENT), names), within_s=60)
    return [
        *_foreign(lab.list(DEPLOYMENT), names),
        *_foreign(lab.list(CLAIM_TEMPLATE), town.templates),
        *(
            f"claim {body['metadata']['name']} of no pod"
            for body in lab.list(CLAIM)
            if not {owner["name"] for owner in body["metadata"].get("ownerReferences", ())} & pods
        ),
    ]


def _as_owner(plane, settings):
    """Return settings by which a workload's owner gets at the cluster, with the rights of one."""
    path = settings.with_name("owner.yaml")
    own = f"kubeconfig: {plane.kubeconfig}"
    path.write_text(settings.read_text().replace("kubeconfig: kubeconfig", own))
    return path


def _foreign(bodies, names):
    """Return which objects are not their owners'."""
    found = (body["metadata"]["name"] for body in bodies)
    return [f"{name} is left" for name in found if name not in names]


def _tell(town, watch, begun_s):
    at_s, cards, ready = town.seen[-1]
    found = watch.rises(town.demand, SETTLED_S)
    met = f"{len(found) - len(missed(found))} of {len(found)} rises met"
    faults = f"{len(watch.faults)} faults"
    _say(f"{(at_s - begun_s) / 60:6.1f} min  {cards:6.2f} cards  {ready:3} ready  {met}  {faults}")


def _say(text):
    print(text, flush=True)  # noqa: T201  the command's output


if __name__ == "__main__":
    main()
