"""A question to the decision core as a file: everything that a plan depends on, without names of machines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allocator.decide import Question
from fleet.cluster import Fleet
from fleet.codec import decode, encode
from fleet.errors import InputError

FORMAT = "foreslice snapshot 1"


def as_text(question: Question) -> str:
    """Return a question as JSON text.

    Nodes, fault domains, cards and pods are numbered in place of their names. Workloads and their Deployments
    keep theirs, which settings name too; nothing else of the cluster, of its users or of its secrets is in a
    question.
    """
    body = {"format": FORMAT, "question": encode(question)}
    names = {name: alias for name, alias in _aliases(question.fleet) if name}
    return json.dumps(_renamed(body, names), separators=(",", ":")) + "\n"


def read(path: Path) -> Question:
    """Return the question of a snapshot file; `InputError` saying what is wrong with it where."""
    where = f"snapshot {path}"
    fix = "make one with `foreslice snapshot`"
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=where, fix="name a file") from None
    except ValueError as error:
        raise InputError(f"is no JSON ({error})", where=where, fix=fix) from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise InputError(f"is not of format {FORMAT!r}", where=where, fix=fix)
    try:
        question = decode(Question, body.get("question"))
    except (ValueError, TypeError) as error:
        raise InputError(f"does not hold a question: {error}", where=where, fix=fix) from None
    if not isinstance(question, Question):
        raise TypeError(type(question))
    return question


def _aliases(fleet: Fleet) -> Iterator[tuple[str, str]]:
    """Yield names of machines, cards and pods with what they are called in a snapshot."""
    nodes = dict.fromkeys([*(gpu.node for gpu in fleet.gpus), *(pool.node for pool in fleet.pools)])
    yield from ((node, f"node-{n}") for n, node in enumerate(nodes))
    pools = dict.fromkeys(pool.name for pool in fleet.pools if pool.name not in nodes)
    yield from ((pool, f"pool-{n}") for n, pool in enumerate(pools))
    cards = dict.fromkeys(
        [*(gpu.uuid for gpu in fleet.gpus), *(d.gpu for pool in fleet.pools for d in pool.devices)]
    )
    yield from ((uuid, f"card-{n}") for n, uuid in enumerate(cards))
    domains = dict.fromkeys(host.domain for host in fleet.hosts.values() if host.domain not in nodes)
    yield from ((domain, f"domain-{n}") for n, domain in enumerate(domains))
    pods = [r.pod for s in fleet.standings for v in s.variants for r in v.replicas]
    yield from ((pod, f"pod-{n}") for n, pod in enumerate(dict.fromkeys(pods)))


def _renamed(value: Any, names: dict[str, str]) -> Any:  # noqa: ANN401 -- JSON in, JSON out
    if isinstance(value, dict):
        return {key: _renamed(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value
