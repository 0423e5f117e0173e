"""What the analysis found where viewers of the model show it."""

from __future__ import annotations

from .model_explorer import node_data
from .properties import annotate

__all__ = ["annotate", "node_data"]
