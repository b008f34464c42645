"""Workloads that settings select by labels: each Deployment that has them is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic_core import PydanticCustomError

from fleet.errors import InputError
from foreslice.settings.schema import Settings
from foreslice.settings.workload import WorkloadSettings, told_apart


def has_selectors(settings: Settings) -> bool:
    """Return whether it takes a look at the cluster to know the workloads."""
    return any(workload.selector for workload in settings.workloads)


def with_selected(settings: Settings, found: Mapping[int, Sequence[str]]) -> Settings:
    """Return settings in which every workload has a name.

    What is named by itself counts before what is selected, and what is selected first before the rest.

    Args:
        settings: As they are in the file.
        found: Names of the Deployments that an entry selects, by its place among the workloads.

    Raises:
        InputError: Two of them cannot be told apart.
    """
    workloads = tuple(_named(settings, found))
    for index, workload in enumerate(workloads):
        for other in workloads[:index]:
            try:
                told_apart(workload, other, index)
            except PydanticCustomError as error:
                where = f"{workload.namespace}/{workload.name}"
                fix = "name it by itself, or have match tell them apart with {name}"
                raise InputError(error.message(), where=where, fix=fix) from error
    return settings.model_copy(update={"workloads": workloads})


def _named(settings: Settings, found: Mapping[int, Sequence[str]]) -> Iterator[WorkloadSettings]:
    taken = {
        (workload.namespace, name)
        for workload in settings.workloads
        for name in (workload.name, *workload.variants)
    }
    for index, workload in enumerate(settings.workloads):
        if not workload.selector:
            yield workload
            continue
        for name in found.get(index, ()):
            if (workload.namespace, name) not in taken:
                taken.add((workload.namespace, name))
                yield workload.named(name)
