"""Questions about a model, answered from its report."""

from __future__ import annotations

from .answer import Answer, Answers
from .what_if import ask

__all__ = ["Answer", "Answers", "ask"]
