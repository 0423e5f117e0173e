"""How a model is divided among machines of one kind; a module of the IR is one machine's share."""

from __future__ import annotations

from typing import TypeVar

from perfc.errors import ModelError, ParseError
from perfc.ir.record import record

T = TypeVar("T")
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

    def share(self, total: int, what: str, where: str) -> int:
        """One rank's part of heads, columns or rows.

        Raises:
            ModelError: they do not divide evenly.
        """
        if total % self.tensor:
            message = f"{total} {what} do not divide among {self.tensor} ranks"
            raise ModelError(message, where=where)
        return total // self.tensor

    def share_at_least(self, total: int, what: str, where: str) -> int:
        """One rank's part of what every rank has a copy of where there are fewer than ranks.

        Raises:
            ModelError: neither they nor their copies divide evenly.
        """
        if total >= self.tensor:
            return self.share(total, what, where)
        if self.tensor % total:
            message = f"{total} {what} cannot be copied evenly to {self.tensor} ranks"
            raise ModelError(message, where=where)
        return 1

    def of_stage(self, layers: tuple[T, ...], stage: int) -> tuple[T, ...]:
        """The layers of one stage; the first stages have one more where they divide unevenly."""
        each, more = divmod(len(layers), self.pipeline)
        first = stage * each + min(stage, more)
        return layers[first : first + each + (stage < more)]

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
