"""A Kubernetes cluster and our part in it: its watches, and the election of who writes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing

from actuator.kube.apiserver import ApiServer
from actuator.kube.cluster import KubeCluster
from actuator.kube.events import EventRecorder
from actuator.kube.records import Fence
from actuator.kube.standby import KubePoolObjects
from actuator.notice import Notice
from actuator.objects.beside import ALONE, Beside
from actuator.objects.variants import NOWHERE, Spreading
from foreslice.clock import WallClock
from foreslice.lease import Candidate, Election, identity


class Attached:
    """An open cluster. Close it in the end, so that another process may lead at once.

    Args:
        server: Its API server; closed along with the rest.
        namespaces: Namespaces of workloads.
        lease_namespace: Where the Lease is, `None` = nothing will be written, so nobody is elected.
        spreading: What fault domains are, and whose copies are spread over them.
        beside: Deployments beside the workloads' own.
        holds: Whether room may be held.

    Attributes:
        cluster: The cluster as the service sees it.
        fence: Raises where writing is not ours.
        pool: The objects of the standby pool there.
    """

    def __init__(
        self,
        server: ApiServer,
        namespaces: Iterable[str],
        lease_namespace: str | None,
        spreading: Spreading = NOWHERE,
        *,
        beside: Beside = ALONE,
        holds: bool = False,
    ) -> None:
        with ExitStack() as opened:
            opened.enter_context(closing(server))
            self._recorder: EventRecorder | None = None
            self.fence: Fence = _observes
            if lease_namespace is None:
                cluster = KubeCluster(server, namespaces, _observes, spreading, beside=beside, holds=holds)
                self.cluster = opened.enter_context(closing(cluster))
            else:
                name = identity()
                candidate = Candidate(server, lease_namespace, name, WallClock().now_s)
                self.fence = candidate.fence
                cluster = KubeCluster(
                    server, namespaces, candidate.fence, spreading, beside=beside, holds=holds
                )
                self.cluster = opened.enter_context(closing(cluster))
                self._recorder = EventRecorder(
                    server, cluster.reference, lease_namespace, name, cluster.is_leader
                )
                opened.enter_context(closing(self._recorder))
                candidate.turn()
                opened.enter_context(closing(Election(candidate)))
            self.pool = KubePoolObjects(server, self.fence)
            self._stack = opened.pop_all()

    def tell(self, notice: Notice) -> None:
        """Have a notice written as an Event, where anything is written at all."""
        if self._recorder is not None:
            self._recorder.tell(notice)

    def close(self) -> None:
        """Give up the lead, end the watches, and hang up."""
        self._stack.close()


def _observes() -> int:
    return 0
