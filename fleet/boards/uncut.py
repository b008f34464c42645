"""Boards without MIG: they serve whole, or shared by a mechanism that cuts nothing.

Multiprocessors and memory: data sheets, and the totals that nvidia-smi prints.
"""

from __future__ import annotations

from fleet.boards.geometry import Board


def _uncut(board_id: str, product_names: tuple[str, ...], architecture: str, sm: int, mib: int) -> Board:
    return Board(
        id=board_id,
        product_names=product_names,
        architecture=architecture,
        grid=1,
        compute_slices=1,
        sm=sm,
        memory_gib=mib / 1024,
        profiles=(),
        resetless_mig_toggle=False,
    )


A10_24GB = _uncut("a10-24gb", ("NVIDIA A10",), "Ampere (GA102)", 72, 23028)
A10G_24GB = _uncut("a10g-24gb", ("NVIDIA A10G",), "Ampere (GA102)", 80, 23028)
A40_48GB = _uncut("a40-48gb", ("NVIDIA A40",), "Ampere (GA102)", 84, 46068)
L4_24GB = _uncut("l4-24gb", ("NVIDIA L4",), "Ada Lovelace", 58, 23034)
L40_48GB = _uncut("l40-48gb", ("NVIDIA L40",), "Ada Lovelace", 142, 46068)
L40S_48GB = _uncut("l40s-48gb", ("NVIDIA L40S",), "Ada Lovelace", 142, 46068)
T4_16GB = _uncut("t4-16gb", ("Tesla T4", "NVIDIA T4"), "Turing", 40, 15360)
V100_16GB = _uncut("v100-16gb", ("Tesla V100-SXM2-16GB", "Tesla V100-PCIE-16GB"), "Volta", 80, 16384)
V100_32GB = _uncut("v100-32gb", ("Tesla V100-SXM2-32GB", "Tesla V100-PCIE-32GB"), "Volta", 80, 32768)
