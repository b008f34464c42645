"""Pages that need nothing but themselves: a template of a package, with plotly's pictures inside."""

from __future__ import annotations

from importlib.metadata import version

import plotly.graph_objects as go
import plotly.io
import plotly.offline
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from foreslice.report.ink import GRID

PAPER = go.layout.Template(plotly.io.templates["plotly"]).update(
    layout={
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12},
        "xaxis": {"gridcolor": GRID, "zerolinecolor": GRID},
        "yaxis": {"gridcolor": GRID, "zerolinecolor": GRID},
    }
)
"""How a picture looks that says nothing else: its grid neither glares in the dark nor fades in the light."""


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
    """Return a picture as the part of a page that has this id, on paper of either colour."""
    figure.update_layout(template=PAPER)
    text: str = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        config={"responsive": True, "displayModeBar": False},
    )
    return text
