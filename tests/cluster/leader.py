"""A process that leads, claims a step, and writes when it is told to.

`python -m tests.cluster.leader KUBECONFIG` says `claimed`, waits for a line, tries to write, and says what
became of it.
"""

import sys
import time
from contextlib import closing
from pathlib import Path

from actuator.kube.cluster import KubeCluster
from actuator.kube.connect import connect
from fleet.errors import ForesliceError
from foreslice.clock import WallClock
from foreslice.lease import Candidate, Election, Pace
from tests.contract.test_cluster_contract import START_S, WEB, change

PACE = Pace(lease_s=6, lead_s=4.0, turn_s=0.2)


def say(text):
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(kubeconfig):
    """Lead, claim, wait, write."""
    with closing(connect(Path(kubeconfig))) as server:
        candidate = Candidate(server, "default", "stalled", WallClock().now_s, PACE)
        with (
            closing(Election(candidate)),
            closing(KubeCluster(server, [WEB.namespace], candidate.fence)) as cluster,
        ):
            while not candidate.is_leader:
                time.sleep(0.05)
            seen = cluster.view([WEB]).standing(WEB).variants[0].version
            plan = cluster.claim_step(cluster.record(change()), 0, START_S)
            say("claimed")
            sys.stdin.readline()
            for write in (
                lambda: cluster.scale(WEB, "web", 9, expects=seen),
                lambda: cluster.scale(WEB, "web", 9, expects=None),
                lambda: cluster.claim_step(plan, 1, START_S),
            ):
                try:
                    write()
                    say("written")
                except ForesliceError as error:
                    say(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
