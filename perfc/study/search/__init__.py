"""Searches of architectures: the Pareto front of a user's space, sampled by Optuna."""

from __future__ import annotations

from .quantity import Objective
from .run import Limits, SearchPlan, SpaceSearch, search_space
from .space import Space

__all__ = ["Limits", "Objective", "SearchPlan", "Space", "SpaceSearch", "search_space"]
