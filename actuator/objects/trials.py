"""Trials of shapes as FractionPlans hold them, with the step that added their replicas."""

from __future__ import annotations

from actuator.manifest import Json, seconds_of, timestamp_of
from fleet.trial import Trial


def trial_status(trial: Trial | None) -> Json:
    """Return what a step's status says of its trial, nothing where there is none."""
    if trial is None:
        return {}
    why = {"because": trial.because, "until": timestamp_of(trial.until_s)}
    failed = why if trial.failures or trial.roomless else {}
    roomless = {"roomless": trial.roomless} if trial.roomless else {}
    proven = {} if trial.proven_at_s is None else {"provenAt": timestamp_of(trial.proven_at_s)}
    return {
        "trial": {"servedSeconds": round(trial.served_s), "failures": trial.failures, **roomless, **failed},
        **proven,
    }


def trial_of(step: Json) -> Trial | None:
    """Return the trial that a step's status tells of, `None` where it tells of none."""
    if "trial" not in step and "provenAt" not in step:
        return None
    body: Json = step.get("trial") or {}
    return Trial(
        served_s=body.get("servedSeconds", 0),
        failures=body.get("failures", 0),
        because=body.get("because", ""),
        until_s=seconds_of(body["until"]) if "until" in body else 0.0,
        proven_at_s=seconds_of(step["provenAt"]) if "provenAt" in step else None,
        roomless=body.get("roomless", 0),
    )
