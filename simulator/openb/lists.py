"""Lists of hosts and pods in openb's CSV form, plain or gzipped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from allocator.shares.hosts import Host
from allocator.shares.mix import WHOLE_MILLI, Ask
from fleet.errors import InputError

_HOST_COLUMNS = ("cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")


def read_hosts(path: Path) -> tuple[Host, ...]:
    """Return the hosts of a list (columns cpu_milli, memory_mib, gpu, model); `InputError` if it is none."""
    table = _read(path, _HOST_COLUMNS)
    hosts = tuple(
        Host(gpus=int(gpus), product=str(product), cpu_milli=int(cpu), memory_mib=int(memory))
        for cpu, memory, gpus, product in zip(*(table[name] for name in _HOST_COLUMNS), strict=True)
    )
    if not any(host.gpus for host in hosts):
        raise InputError("no host has a card", where=str(path), fix="give a list of hosts with GPUs")
    return hosts


def read_pods(path: Path) -> tuple[Ask, ...]:
    """Return what the pods of a list ask for, in the list's order; `InputError` if it is none.

    Columns: cpu_milli, memory_mib, num_gpu, gpu_milli (of each card) and, where given, gpu_spec: card
    models that a pod may run on, joined by `|`.
    """
    table = _read(path, _POD_COLUMNS)
    specs = table["gpu_spec"] if "gpu_spec" in table else [""] * len(table)
    pods = []
    for row, (cpu, memory, gpus, milli, spec) in enumerate(
        zip(*(table[name] for name in _POD_COLUMNS), specs, strict=True), start=2
    ):
        most = WHOLE_MILLI if gpus else 0
        if gpus < 0 or not (bool(gpus) <= milli <= most) or (gpus > 1 and milli != WHOLE_MILLI):
            raise InputError(
                f"a pod asks for {gpus} cards of {milli} thousandths",
                where=f"{path} line {row}",
                fix="ask for whole cards, or for 1 to 999 thousandths of one",
            )
        products = frozenset(filter(None, str(spec).split("|")))
        pods.append(Ask(int(gpus), int(milli), int(cpu), int(memory), products))
    if not any(pod.gpus for pod in pods):
        raise InputError("no pod asks for a card", where=str(path), fix="give a list of pods with GPUs")
    return tuple(pods)


def _read(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, keep_default_na=False)
    except (OSError, ValueError) as error:  # not there, no text, no CSV
        why = " ".join(str(error).split())
        raise InputError(
            f"cannot be read ({why})", where=str(path), fix="give a CSV, plain or .gz"
        ) from error
    missing = [name for name in columns if name not in table]
    if missing:
        raise InputError(
            f"column {missing[0]} is missing", where=str(path), fix=f"columns {', '.join(columns)} are needed"
        )
    numbers = [name for name in columns if name != "model"]
    wrong = [name for name in numbers if not pd.api.types.is_integer_dtype(table[name])]
    if wrong:
        raise InputError(
            f"column {wrong[0]} is not all whole numbers", where=str(path), fix="correct or cut those rows"
        )
    return table
