"""Lists objects, page by page: all of a path, or what a command that looks and leaves may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.resources import Resource
from actuator.manifest import Json
from fleet.errors import RefusedError

ALL: Mapping[str, str] = MappingProxyType({})
PAGE = 500
"""Objects in one answer to a list, which bounds the memory that reading it takes."""


def listed(server: ApiServer, path: str, where: Mapping[str, str] = ALL) -> tuple[list[Json], str]:
    """Return every object of a path that `where` selects, and the version as of which they are."""
    bodies: list[Json] = []
    query: Json = {"limit": PAGE, **where}
    while True:
        page = server.request("GET", path, query=query)
        bodies += page["items"]
        metadata = page["metadata"]
        if not metadata.get("continue"):
            return bodies, metadata["resourceVersion"]
        query["continue"] = metadata["continue"]


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
        """Return every object of a resource, each saying what it is."""
        return [
            resource.named(body)
            for namespace in self._namespaces
            for body in listed(self._server, resource.path(namespace))[0]
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
