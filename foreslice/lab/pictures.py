"""What several notebooks draw alike."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go


def by_workload(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each workload, in the order in which they appear."""
    return {str(name): part for name, part in table.groupby("workload", sort=False)}


def bars(table: pd.DataFrame, columns: Mapping[str, tuple[str, str]], by: str = "workload") -> go.Figure:
    """Return bars beside each other: by column of the table its name and colour."""
    figure = go.Figure()
    for column, (name, colour) in columns.items():
        figure.add_bar(
            x=table[by],
            y=table[column],
            name=name,
            marker_color=colour,
            hovertemplate="%{x}: %{y:.3g}<extra></extra>",
        )
    return figure
