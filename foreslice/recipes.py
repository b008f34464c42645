"""The recipe that a command was asked for, and what `foreslice recipe check` says of one."""

from __future__ import annotations

from pathlib import Path

from foreslice import output, show
from foreslice.settings.load import load as load_settings
from foreslice.settings.recipe_file import any_of, load, shipped
from predictor.recipe import Recipe


def allowed_by(config: Path | None) -> tuple[str, ...]:
    """Return the import paths that a settings file lets recipes name; none without one."""
    return load_settings(config).learning.allowed if config is not None else ()


def chosen(path: Path | None, config: Path | None, default: str) -> Recipe:
    """Return the recipe in a file, else the shipped one of this name.

    Raises:
        InputError: It cannot be used, or names what the settings in `config` do not allow.
    """
    return load(path, allowed_by(config)) if path is not None else shipped(default)


def run_check(path: Path, config: Path | None, *, as_json: bool) -> None:
    """Print what a recipe makes; `InputError` with a line for each thing that is wrong with it."""
    found = any_of(path, allowed_by(config))
    makes = "a model" if isinstance(found, Recipe) else "a forecaster"
    if as_json:
        output.print_json({"file": str(path), "usable": True, "makes": makes})
    else:
        show.console().print(f"{path}: can be used: makes {makes}", markup=False, soft_wrap=True)
