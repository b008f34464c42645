"""What nodes have left beside their cards, as replicas come and go on the way to a placement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from allocator.packing.cards import Card, Seat
from allocator.packing.problem import Ask
from fleet.host import NOTHING, UNKNOWN, Host, HostAmount
from fleet.workload import WorkloadKey


class Nodes:
    """CPU, memory and places for pods of the nodes of cards. Trials change it; `fork` keeps the original.

    Args:
        hosts: Nodes by name with what is left of them; others have enough.
        asks: Workloads, with what one replica takes and the nodes closed to it; others take nothing.
        cards: Cards of the nodes.
    """

    def __init__(self, hosts: Mapping[str, Host], asks: Iterable[Ask], cards: Iterable[Card]) -> None:
        self._hosts = dict(hosts)
        mine = tuple(asks) if hosts else ()
        self._asked = {ask.key: ask.host for ask in mine}
        self._closed = {ask.key: ask.closed for ask in mine if ask.closed}
        self._node = {card.uuid: card.node for card in cards}

    def fork(self) -> Nodes:
        """Return nodes that can be changed without changing these."""
        twin = Nodes(self._hosts, (), ())
        twin._asked, twin._closed, twin._node = self._asked, self._closed, self._node
        return twin

    def lacks(self, key: WorkloadKey, uuid: str) -> str:
        """Return why a card's node takes no more replica of a workload, empty = it does for all we know."""
        if self._node[uuid] in self._closed.get(key, ()):
            return "lets no pod of it in"
        lacking = self._hosts.get(self._node[uuid], UNKNOWN).lacks_for(self._asked.get(key, NOTHING))
        return f"has too little {lacking}" if lacking else ""

    def named(self, key: WorkloadKey, uuid: str) -> str:
        """Return in one clause why a card's node takes no more replica of a workload."""
        return f"node {self._node[uuid]} {self.lacks(key, uuid)}"

    def beside(self, uuid: str) -> set[str]:
        """Return the cards of the node of one of them."""
        return {other for other, node in self._node.items() if node == self._node[uuid]}

    def start(self, key: WorkloadKey, uuid: str, seat: Seat) -> None:
        """Count a replica that runs on a seat from now on; further cards of one take nothing more."""
        self._count(uuid, seat, self._asked.get(key, NOTHING))

    def stop(self, key: WorkloadKey, uuid: str, seat: Seat) -> None:
        """Count a replica that no longer runs on a seat."""
        self._count(uuid, seat, NOTHING - self._asked.get(key, NOTHING))

    def _count(self, uuid: str, seat: Seat, amount: HostAmount) -> None:
        host = self._hosts.get(self._node[uuid])
        if host is not None and not seat.is_part:
            self._hosts[self._node[uuid]] = host.without(amount)
