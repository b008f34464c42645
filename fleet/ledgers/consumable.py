"""Devices that several claims share, by the capacity that each consumes (KEP-5075).

kubernetes staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating,
allocator_incubating's consumable capacity (v1.37): a capacity that a claim does not name takes its policy's
default, and without a policy all of it. Steps below 1 (gate DRAFractionalCapacityRange) are not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

MEMORY = "memory"
"""Capacity by which the size of a share is told."""

_HUNDRED = 100


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be asked of a capacity: a range, a list of values, or anything.

    Attributes:
        default: What a claim takes that does not name it, `None` = all.
        minimum: Least amount, `None` = no range.
        maximum: Most, `None` = no bound.
        step: Amounts lie on `minimum` + n x `step`, `None` = anywhere.
        values: Amounts on offer, ascending; empty = any.
    """

    default: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None
    values: tuple[int, ...] = ()

    def granted(self, asked: int) -> int | None:
        """Return the amount that is consumed where `asked` is named, `None` if the policy refuses it."""
        amount = asked
        if self.minimum is not None:
            above = max(asked - self.minimum, 0)
            steps = -(-above // self.step) if self.step else 0
            amount = self.minimum + (steps * self.step if self.step else above)
        elif self.values:
            return next((value for value in self.values if asked <= value), None)
        is_over = self.maximum is not None and amount > self.maximum and amount != self.default
        return None if is_over else amount

    def at_most(self, amount: int) -> int | None:
        """Return the largest amount up to this one that is granted as asked, `None` if there is none."""
        if self.minimum is not None:
            above = min(amount, amount if self.maximum is None else self.maximum) - self.minimum
            return None if above < 0 else self.minimum + above - (above % self.step if self.step else 0)
        if self.values:
            return max((value for value in self.values if value <= amount), default=None)
        return amount


@dataclass(frozen=True, slots=True)
class Capacity:
    """One capacity of a device.

    Attributes:
        value: How much there is.
        policy: What may be asked of it, `None` = any amount.
    """

    value: int
    policy: Policy | None = None

    def consumed(self, asked: int | None) -> int | None:
        """Return what a claim consumes that asks so much (`None` = does not name it); `None` if refused."""
        if asked is None:
            default = self.policy.default if self.policy else None
            return self.value if default is None else default
        return self.policy.granted(asked) if self.policy else asked


@dataclass(frozen=True, slots=True)
class SharedDevice:
    """A device with capacities, and what claims consume of them.

    Attributes:
        capacities: Capacities by name, unqualified as published.
        is_shared: It takes several claims (`allowMultipleAllocations`).
        consumed: Amounts taken so far.
        claims: Number of claims on it.
    """

    capacities: Mapping[str, Capacity] = field(hash=False)
    is_shared: bool = True
    consumed: Mapping[str, int] = field(default_factory=dict, hash=False)
    claims: int = 0

    @property
    def leaves_room(self) -> bool:
        """Whether beside a claim that names no capacity there is room for one that asks for the least."""
        return self.take({}).refusal(dict.fromkeys(self.capacities, 0)) is None

    def consumed_by(self, asked: Mapping[str, int]) -> dict[str, int] | None:
        """Return what a claim consumes of each capacity; `None` if even an empty device is refused to it."""
        empty = replace(self, consumed={}, claims=0)
        return dict(empty.take(asked).consumed) if empty.refusal(asked) is None else None

    def share(self, hundredths: int) -> dict[str, int] | None:
        """Return what a claim names for so much of every capacity, `None` where the steps are too coarse.

        Rounded down, so that as many fit as there are in a hundred.
        """
        amounts = {}
        for name, capacity in self.capacities.items():
            part = capacity.value * hundredths // _HUNDRED
            granted = capacity.policy.at_most(part) if capacity.policy else part
            if granted is None:
                return None
            amounts[name] = granted
        return amounts if self.hundredths(amounts) == hundredths else None

    def hundredths(self, consumed: Mapping[str, int]) -> int:
        """Return what part of the memory is consumed, in hundredths; 0 of a device without any."""
        memory = self.capacities.get(MEMORY)
        return round(_HUNDRED * consumed.get(MEMORY, 0) / memory.value) if memory and memory.value else 0

    def refusal(self, asked: Mapping[str, int]) -> str | None:
        """Return why the scheduler would not put a claim here, in one line; `None` if it would."""
        if not self.is_shared and self.claims:
            return "the device takes one claim"
        for name in asked:
            if name not in self.capacities:
                return f"the device has no capacity {name}"
        for name, capacity in self.capacities.items():
            amount = capacity.consumed(asked.get(name))
            if amount is None:
                return f"{name}: {asked[name]} is beyond what may be asked for"
            left = capacity.value - self.consumed.get(name, 0)
            if amount > left:
                how = "asked" if name in asked else "not named, so that all or the default of it is taken"
                return f"{name}: {amount} of {left} left ({how})"
        return None

    def take(self, asked: Mapping[str, int]) -> SharedDevice:
        """Return the device after the claim is allocated; only what is not refused has a place here."""
        consumed = dict(self.consumed)
        for name, capacity in self.capacities.items():
            consumed[name] = consumed.get(name, 0) + (capacity.consumed(asked.get(name)) or 0)
        return replace(self, consumed=consumed, claims=self.claims + 1)
