"""How pictures are drawn that stand on a page of any colour, as in a notebook: readable in light and dark."""

from __future__ import annotations

import plotly.graph_objects as go

BLUE, ORANGE, GREEN, PINK, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
"""Okabe and Ito's colours: told apart by people who do not see all of them, on white and on black."""
PURPLE, OLIVE = "#8C6BB1", "#999933"
"""Two more, in place of their black and yellow."""
YELLOW = "#F0E442"
"""Theirs, faint on white: for whoever comes late."""
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, RED, PURPLE, OLIVE)

INK = "#727a84"
"""Grey that has a contrast of 4.3 both to white and to the dark of JupyterLab (#111111)."""

GRID = "rgba(125,133,144,0.22)"

MARGIN = {"l": 60, "r": 20, "t": 50, "b": 45}


def inked(figure: go.Figure, *, title: str = "", height: int = 340) -> go.Figure:
    """Return a figure on no paper of its own, with ink that both light and dark let see."""
    figure.update_layout(
        title={"text": title, "font": {"size": 15}, "x": 0, "xanchor": "left"},
        height=height,
        margin=MARGIN,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 12, "color": INK},
        colorway=COLOURS,
        hovermode="closest",
    )
    figure.update_xaxes(gridcolor=GRID, linecolor=INK, zerolinecolor=GRID, automargin=True)
    figure.update_yaxes(gridcolor=GRID, linecolor=INK, zerolinecolor=GRID, automargin=True)
    return figure
