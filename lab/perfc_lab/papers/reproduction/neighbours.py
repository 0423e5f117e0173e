"""Show embeddings of graphs on a plane (TraPPM's Figure 5.4).

An embedding is the sum over operators of TraPPM's auto-encoder; t-SNE maps it to two dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.graph.predictor import GraphPredictor
from perfc.analyzers.graph.rows import Measurements

from ...charts import chart, colored
from ...tables.architectures import family

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST_GRAPHS = 8
"""Minimum graphs of a chart: fewer form no groups."""
PERPLEXITY = 15.0
"""Perplexity of t-SNE, about the number of neighbours that a place depends on; a quarter of the
graphs if these are few."""
Place = tuple[float, float, str]
"""Place of a graph on the plane, and its family."""


def places(model: GraphPredictor, data: Measurements) -> list[Place]:
    """Return the places of TraPPM's embeddings of graphs on a plane; none for other predictors.

    Source: van der Maaten and Hinton, "Visualizing Data using t-SNE", JMLR 2008; scikit-learn.
    """
    from ..trappm import Trappm

    if not isinstance(model, Trappm) or model.encoder is None:
        return []
    # one row for each graph
    chosen = {row.graph: row for row in data.rows}
    if len(chosen) < LEAST_GRAPHS:
        return []
    from sklearn.manifold import TSNE

    rows = list(chosen.values())
    embeddings = [
        model.embedding(model.plain_tensors(data.graph(r), float(r.batch))).numpy() for r in rows
    ]
    plane = TSNE(perplexity=min(PERPLEXITY, len(rows) / 4), random_state=0).fit_transform(
        np.stack(embeddings)
    )
    return [
        (float(x), float(y), family(r.architecture)) for (x, y), r in zip(plane, rows, strict=True)
    ]


def plane_chart(title: str, points: list[Place]) -> Mapping[str, object]:
    """Return a chart of places, colored by family."""
    x, y = ({"field": name, "type": "quantitative", "axis": None} for name in "xy")
    values = [{"x": x, "y": y, "family": name} for x, y, name in points]
    mark = {"type": "circle", "aria": False}
    encoding = {"x": x, "y": y, "color": colored("family")}
    return chart(title, values, mark, height=420, encoding=encoding)
