"""Embeddings of graphs on a plane (TraPPM's Figure 5.4).

t-SNE of what TraPPM's auto-encoder sums over operators.
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
"""Minimum graphs of a plane: fewer have no neighborhoods."""
PERPLEXITY = 15.0
"""Neighbors that a place depends on, about; a quarter of few graphs."""
Place = tuple[float, float, str]
"""Place of a graph on the plane, and its family."""


def places(model: GraphPredictor, data: Measurements) -> list[Place]:
    """Return t-SNE of the auto-encoder's summed embeddings by graph; none of other predictors.

    Van der Maaten and Hinton, JMLR 2008, as scikit-learn has it.
    """
    from ..trappm import Trappm

    if not isinstance(model, Trappm) or model.encoder is None:
        return []
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
    """Return a chart of the plane, families by color."""
    x, y = ({"field": name, "type": "quantitative", "axis": None} for name in "xy")
    values = [{"x": x, "y": y, "family": name} for x, y, name in points]
    mark = {"type": "circle", "aria": False}
    encoding = {"x": x, "y": y, "color": colored("family")}
    return chart(title, values, mark, height=420, encoding=encoding)
