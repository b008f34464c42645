"""Who may meet on one card: one GPU, one mechanism, one mode of sharing its compute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MPS = "mps"


@dataclass(frozen=True, slots=True)
class Tenancy:
    """How one tenant holds a card.

    Attributes:
        mechanism: Key of the mechanism table.
        mode: How the mechanism shares compute, where it has modes: `time-slicing`, `sm-sharing`, `mps`.
        is_share: It takes part of the card by a share, not a whole card or a MIG instance.
    """

    mechanism: str
    mode: str = ""
    is_share: bool = True

    @property
    def needs_mps(self) -> bool:
        """Whether an MPS server must run on the card."""
        return MPS in (self.mechanism, self.mode) or self.mode == "sm-sharing"


def clash(held: Iterable[Tenancy], new: Tenancy, *, is_mig: bool) -> str | None:
    """Return the rule that forbids `new` on a card with these tenants, in one line; `None` if there is none.

    Rules: KAI-Scheduler docs/gpu-sharing (sm-sharing needs MPS; two modes never share a device);
    k8s-device-plugin README (no MPS on MIG); kubernetes-sigs/dra-driver-nvidia-gpu device_state.go (no MPS
    where shares are consumable).

    Args:
        held: Its tenants.
        new: Who is to join them.
        is_mig: The card is in MIG mode.
    """
    if new.needs_mps and is_mig:
        return "MPS does not run on a card in MIG mode"
    if new.mechanism == "dra" and new.is_share and new.mode == MPS:
        return "the DRA driver refuses MPS where shares are consumable"
    for tenant in held:
        if tenant.mechanism != new.mechanism:
            return f"one GPU, one mechanism: {tenant.mechanism} holds the card, not {new.mechanism}"
        if tenant.mode != new.mode:
            modes = f"{tenant.mode or 'none'}, not {new.mode or 'none'}"
            return f"one way of sharing compute on a card: it runs {modes}"
    return None
