"""Lists objects once: for commands that look and leave."""

from __future__ import annotations

from collections.abc import Sequence

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.resources import Resource
from actuator.manifest import Json
from fleet.errors import RefusedError

_PAGE = 500


class Lister:
    """Lists resources in some namespaces; `""` = in all.

    Attributes:
        notes: What was refused, with the rule that would let it.
    """

    def __init__(self, server: ApiServer, namespaces: Sequence[str] = ("",)) -> None:
        self._server = server
        self._namespaces = namespaces
        self.notes: list[str] = []

    def all(self, resource: Resource) -> list[Json]:
        """Return every object of a resource, each with its kind, which lists leave out."""
        return [
            {"kind": resource.kind, **body}
            for namespace in self._namespaces
            for body in self._pages(resource.path(namespace))
        ]

    def some(self, resource: Resource) -> list[Json]:
        """Return what may be read of a resource, and note what may not."""
        try:
            return self.all(resource)
        except NotFoundError:
            return []
        except RefusedError as error:
            self.notes.append(str(error))
            return []

    def _pages(self, path: str) -> list[Json]:
        bodies: list[Json] = []
        query: Json = {"limit": _PAGE}
        while True:
            page = self._server.request("GET", path, query=query)
            bodies += page["items"]
            if not page["metadata"].get("continue"):
                return bodies
            query["continue"] = page["metadata"]["continue"]
