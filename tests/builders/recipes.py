"""Recipes as shipped, and quick ones like them."""

from dataclasses import replace

from foreslice.settings.recipe_file import shipped_recipes

RECIPES = shipped_recipes()
OWN, POOLED = RECIPES.own, RECIPES.pooled
CALIBRATION = OWN.calibration


def recipe(question=None, every_s=0, base=OWN, **parameters):
    """One of ours with some things changed; every step is learnt from unless said."""
    asked = base.question if question is None else question
    return replace(base, question=asked, every_s=every_s, parameters={**base.parameters, **parameters})
