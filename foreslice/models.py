"""`foreslice models`: what a store of models holds, and which of them serves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.markdown import Markdown
from rich.table import Table

from fleet.codec import encode
from fleet.errors import InputError
from foreslice import output, show
from foreslice.clock import WallClock
from foreslice.recipes import allowed_by
from foreslice.report.card import page
from foreslice.settings.recipe_file import types_of
from predictor.registry.gate import band, objections
from predictor.registry.manifest import Manifest, Score
from predictor.registry.pointer import Promotion
from predictor.registry.registry import Registry

PAGE = "card.html"
"""Card with plots, beside the files of a version that was promoted."""


def registry_at(store: str, config: Path | None) -> Registry:
    """Return the store at a URL; `config` names settings that allow estimators which are not ours."""
    return Registry(store, types_of(allowed_by(config)))


def print_list(registry: Registry, *, as_json: bool) -> None:
    """Print every version in a store: when it was made, whether it serves, what is wrong with it."""
    rows = [row for name in registry.names() for row in _rows(registry, name)]
    if as_json:
        output.print_json({"store": registry.url, "models": rows})
        return
    if not rows:
        show.console().print(f"no models in {registry.url}", markup=False)
        return
    table = Table("model", "version", "made", "serves", "q .95 covers", "trouble", box=None)
    for row in rows:
        serves = "yes" if row["serves"] else ""
        coverage = "" if row["coverage"] is None else f"{row['coverage']:.1%}"
        table.add_row(row["model"], row["version"], row["made"], serves, coverage, row["trouble"])
    show.console().print(table)


def print_one(registry: Registry, which: str, *, plot: Path | None = None, as_json: bool) -> None:
    """Print what is said of a version, by default of what serves; leave its card with plots in `plot`."""
    name, version = _version(registry, which)
    found = registry.load(name, version)
    if plot is not None:
        with output.writable(plot):
            plot.write_text(page(found.manifest), encoding="utf-8")
    if as_json:
        output.print_json(
            {"model": name, "version": version, "sha256": found.sha256, **encode(found.manifest)}
        )
    else:
        show.console().print(f"{name}/{version}\n", markup=False)
        show.console().print(Markdown(found.card))


def print_verified(registry: Registry, which: str | None, *, as_json: bool) -> bool:
    """Print whether versions are sound, and return whether all are."""
    asked = (
        [_version(registry, which)]
        if which is not None
        else [(name, version) for name in registry.names() for version in registry.versions(name)]
    )
    rows = [
        {"model": name, "version": version, "trouble": _trouble(registry, name, version)}
        for name, version in asked
    ]
    if as_json:
        output.print_json({"store": registry.url, "models": rows})
    else:
        for row in rows:
            said = row["trouble"] or f"{row['model']}/{row['version']}: sound"
            show.console().print(said, markup=False, soft_wrap=True)
    return not any(row["trouble"] for row in rows)


def run_promote(registry: Registry, which: str, *, as_json: bool) -> None:
    """Let a version serve, and print the new generation."""
    name, version = _split(which)
    if version is None:
        raise InputError("names no version", where=which, fix="write NAME/VERSION")
    made = promote(registry, name, version)
    if as_json:
        told = {"model": name, "version": version, "generation": made.generation, "page": PAGE}
        output.print_json(told)
    else:
        show.console().print(f"{name}/{version} serves (generation {made.generation})", markup=False)


def promote(registry: Registry, name: str, version: str) -> Promotion:
    """Let a version serve, with its card with plots beside it; `InputError` if the gate does not let it."""
    made = registry.promote(name, version, int(WallClock().now_s()))
    registry.attach(name, version, PAGE, page(registry.manifest(name, version)).encode())
    return made


def run_rollback(registry: Registry, name: str, *, as_json: bool) -> None:
    """Let the version before serve again, and print which that is."""
    serving = registry.rollback(name, int(WallClock().now_s()))
    version, generation = serving.promotion.version, serving.promotion.generation
    if as_json:
        output.print_json(
            {
                "model": name,
                "version": version,
                "generation": generation,
                "passed_over": list(serving.passed_over),
            }
        )
        return
    for line in serving.passed_over:
        show.console().print(f"passed over: {line}", markup=False, soft_wrap=True)
    what = f"{name}/{version} serves again" if version is not None else f"no version of {name} serves"
    show.console().print(f"{what} (generation {generation})", markup=False)


def print_comparison(registry: Registry, which: str, rival: str, *, as_json: bool) -> None:
    """Print two versions of a model side by side.

    `InputError` if they were not scored on the same windows.
    """
    (name, version), (other_name, other) = _version(registry, which), _version(registry, rival)
    if name != other_name:
        raise InputError("are two models", where=f"{which}, {rival}", fix="compare versions of one model")
    ours, theirs = registry.manifest(name, version), registry.manifest(name, other)
    rows = [_compared(score, loss) for score, loss in _losses(ours, theirs, other)]
    if not rows:
        raise InputError(
            "were not scored on the same windows",
            where=f"{name}/{version}, {name}/{other}",
            fix="score the challenger beside the rival",
        )
    against = objections(ours, other)
    if as_json:
        output.print_json(
            {"model": name, "challenger": version, "rival": other, "scores": rows, "objections": against}
        )
        return
    table = Table("window s", "quantile", "loss", f"loss of {other}", "ratio", "coverage", "band", box=None)
    for row in rows:
        low, high = row["band"]
        table.add_row(
            str(row["window_s"]),
            f"{row['quantile']:g}",
            f"{row['loss']:.4f}",
            f"{row['rival_loss']:.4f}",
            "" if row["ratio"] is None else f"{row['ratio']:.3f}",
            f"{row['coverage']:.1%}",
            f"{low:.1%} to {high:.1%}",
        )
    show.console().print(table)
    for line in against or ["the gate has no objection"]:
        show.console().print(line, markup=False, soft_wrap=True)


def _losses(ours: Manifest, theirs: Manifest, other: str) -> Iterator[tuple[Score, float]]:
    """Yield scores of one with the loss of the other on the same windows, from whichever manifest has it."""
    same = ours.folds == theirs.folds
    known = {(score.window_s, score.quantile): score.pinball for score in theirs.scores if same}
    for score in ours.scores:
        loss = score.loss_of(other)
        loss = known.get((score.window_s, score.quantile)) if loss is None else loss
        if loss is not None:
            yield score, loss


def _compared(score: Score, loss: float) -> dict[str, Any]:
    return {
        "window_s": score.window_s,
        "quantile": score.quantile,
        "windows": score.windows,
        "loss": score.pinball,
        "rival_loss": loss,
        "ratio": score.pinball / loss if loss > 0 else None,
        "coverage": score.coverage,
        "band": band(score.quantile),
    }


def _rows(registry: Registry, name: str) -> Iterator[dict[str, Any]]:
    serving = registry.champion(name)
    made: list[tuple[int, dict[str, Any]]] = []
    for version in registry.versions(name):
        row = {
            "model": name,
            "version": version,
            "made": "",
            "serves": False,
            "coverage": None,
            "trouble": "",
        }
        at_s = 0
        try:
            manifest = registry.manifest(name, version)
        except InputError as error:
            row["trouble"] = error.what
        else:
            at_s = manifest.made_s
            row["made"] = datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M")
            row["serves"] = version == serving.promotion.version
            row["coverage"] = _coverage(manifest)
        made.append((at_s, row))
    yield from (row for _, row in sorted(made, key=lambda one: (-one[0], one[1]["version"])))


def _coverage(manifest: Manifest) -> float | None:
    """Return the coverage of q .95 over all windows, `None` if that was not asked."""
    asked = [score for score in manifest.scores if score.quantile == 0.95]  # noqa: PLR2004 -- the usual one
    windows = sum(score.windows for score in asked)
    return sum(score.coverage * score.windows for score in asked) / windows if windows else None


def _trouble(registry: Registry, name: str, version: str) -> str:
    try:
        registry.load(name, version)
    except InputError as error:
        return str(error)
    return ""


def _version(registry: Registry, which: str) -> tuple[str, str]:
    name, version = _split(which)
    if version is None:
        version = registry.champion(name).promotion.version
    if version is None:
        raise InputError("no version serves", where=f"model {name}", fix="name a version: NAME/VERSION")
    return name, version


def _split(which: str) -> tuple[str, str | None]:
    name, slash, version = which.partition("/")
    return name, version if slash else None
