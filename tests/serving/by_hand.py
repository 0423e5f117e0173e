"""A clock of serving whose times are known by hand."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.serving.simulation.scheduler import Chunk


class Clock:
    """A millisecond a token of a prompt, ten a step of decodes, one more a sequence."""

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        return 1e-3 * sum(c.tokens for c in chunks) + (10e-3 + 1e-3 * decodes if decodes else 0.0)
