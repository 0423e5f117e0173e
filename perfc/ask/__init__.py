"""Questions on a model, answered from the facts of its report alone."""

from __future__ import annotations

from .answer import Answer, Answers, ask

__all__ = ["Answer", "Answers", "ask"]
