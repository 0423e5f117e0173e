"""Annotation of ONNX files with analysis results, for model viewers."""

from __future__ import annotations

from .model_explorer import node_data
from .properties import annotate

__all__ = ["annotate", "node_data"]
