"""Annotation of ONNX files with analysis results, for model viewers."""

from __future__ import annotations

from .properties import annotate

__all__ = ["annotate"]
