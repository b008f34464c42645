"""Pages that need nothing but themselves: a template of a package, with plotly's pictures inside."""

from __future__ import annotations

from importlib.metadata import version

import plotly.graph_objects as go
import plotly.offline
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def rendered(package: str, template: str, **values: object) -> str:
    """Return a page as one HTML text with everything that it needs inside.

    Args:
        package: Package in whose `data` folder the template is; what it extends or imports may be in ours.
        template: Name of the template there; `plotly_js` and our `version` are known to each.
        values: What else it is about.
    """
    loader = ChoiceLoader([PackageLoader(one, "data") for one in (package, "foreslice.report")])
    return (
        Environment(autoescape=True, undefined=StrictUndefined, loader=loader)
        .get_template(template)
        .render(plotly_js=plotly.offline.get_plotlyjs(), version=version("foreslice"), **values)
    )


def div(figure: go.Figure, name: str) -> str:
    """Return a picture as the part of a page that has this id."""
    text: str = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        config={"responsive": True, "displayModeBar": False},
    )
    return text
