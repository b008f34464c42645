"""What every object says of itself in `metadata`."""

from __future__ import annotations

from simulator.api import Json

Name = tuple[str, str]
"""Namespace and name."""


def name_of(body: Json) -> Name:
    """Return where an object is found among those of its kind."""
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]


def owner_reference(owner: Json) -> Json:
    """Return how an object says that `owner` controls it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_owned(body: Json, owner: Json) -> bool:
    """Return whether an object names `owner` among its owners."""
    references = body["metadata"].get("ownerReferences", ())
    return any(reference["uid"] == owner["metadata"]["uid"] for reference in references)
