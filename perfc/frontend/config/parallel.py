"""How a model is divided among machines of one kind; a module of the IR is one machine's share."""

from __future__ import annotations

from perfc.errors import ParseError
from perfc.ir.record import record

MOST_RANKS = 1 << 16


@record
class Parallel:
    """Degrees of parallelism.

    Args:
        tensor: ranks that share every product: heads, inner widths, vocabulary.
        pipeline: stages that layers are divided into.
        expert: ranks that experts are divided among; 1 divides each expert by ``tensor``.
        attention_data: groups of ``tensor`` ranks that each serve sequences of their own up to
            the experts, which they share: attention data parallelism.
        nodes: over how many nodes the ranks of one stage spread.
    """

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    attention_data: int = 1
    nodes: int = 1

    @property
    def ranks(self) -> int:
        """Machines in all."""
        return self.tensor * self.attention_data * self.pipeline

    def checked(self) -> Parallel:
        """Itself.

        Raises:
            ParseError: degrees that do not go together.
        """
        named = (
            ("tensor", self.tensor), ("pipeline", self.pipeline), ("expert", self.expert),
            ("attention_data", self.attention_data), ("nodes", self.nodes),
        )  # fmt: skip
        for name, degree in named:
            if not 1 <= degree <= MOST_RANKS:
                raise ParseError(f"{name} = {degree} is no degree of parallelism", hint="1 or more")
        stage = self.tensor * self.attention_data
        if self.expert not in (1, stage):
            hint = f"1, or {stage}: all ranks of a stage"
            raise ParseError(f"experts cannot be divided among {self.expert} ranks", hint=hint)
        if stage % self.nodes:
            raise ParseError(f"{stage} ranks do not spread over {self.nodes} nodes")
        return self


ALONE = Parallel()
