"""Estimator by physical laws: a nonnegative sum of resources for each class of kernels."""

from __future__ import annotations

from .laws import LawReason, Laws

__all__ = ["LawReason", "Laws"]
