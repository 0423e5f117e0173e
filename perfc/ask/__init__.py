"""Questions on a model, answered from the facts of its report."""

from __future__ import annotations

from .answer import Answer, Answers
from .what_if import ask

__all__ = ["Answer", "Answers", "ask"]
