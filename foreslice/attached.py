"""A Kubernetes cluster and our part in it: its watches, and the election of who writes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing

from actuator.kube.apiserver import ApiServer
from actuator.kube.cluster import KubeCluster
from foreslice.clock import WallClock
from foreslice.lease import Candidate, Election, identity


class Attached:
    """An open cluster. Close it in the end, so that another process may lead at once.

    Args:
        server: Its API server; closed along with the rest.
        namespaces: Namespaces of workloads.
        lease_namespace: Where the Lease is, `None` = nothing will be written, so nobody is elected.
    """

    def __init__(self, server: ApiServer, namespaces: Iterable[str], lease_namespace: str | None) -> None:
        with ExitStack() as opened:
            opened.enter_context(closing(server))
            if lease_namespace is None:
                self.cluster = opened.enter_context(closing(KubeCluster(server, namespaces, _observes)))
            else:
                candidate = Candidate(server, lease_namespace, identity(), WallClock().now_s)
                cluster = KubeCluster(server, namespaces, candidate.fence)
                self.cluster = opened.enter_context(closing(cluster))
                candidate.turn()
                opened.enter_context(closing(Election(candidate)))
            self._stack = opened.pop_all()

    def close(self) -> None:
        """Give up the lead, end the watches, and hang up."""
        self._stack.close()


def _observes() -> int:
    return 0
