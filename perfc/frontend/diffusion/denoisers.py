"""Denoisers: their inputs at a step, from the table of the classes of diffusers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.ir import record

from .pipeline import Latent, PipelinePart, Tensor

PACKED = 2
"""Cells of the latent along an edge of a token of FLUX."""
AXES = 3
"""Coordinates of a token of FLUX: which stream, row, column."""


@record
class Denoiser:
    """A class of denoisers.

    Args:
        rows: inputs by name, in the order of the call. A row has the fields of a `Tensor`, whose
            shape names sizes: of the latent, ``tokens`` of a prompt, ``packed`` tokens of the
            latent, ``axes`` of their positions, or keys of the configuration. A row with ``if``
            is an input only if the configuration sets that key.
        empty: arguments that are mappings without values, by name, with their keys.
        is_doubled: True if a guided step is one call of twice the batch, else two calls.
    """

    rows: Mapping[str, Mapping[str, Any]]
    empty: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_doubled: bool = True

    def inputs(self, part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """Return the inputs of a step.

        Args:
            part: its configuration.
            latent: latent of one picture.
            tokens: number of tokens of a prompt.
        """
        packed = (latent.height // PACKED) * (latent.width // PACKED)
        sizes = {**asdict(latent), "tokens": tokens, "packed": packed, "axes": AXES}
        return tuple(
            Tensor(
                name,
                tuple(sizes[size] if size in sizes else part.number(size) for size in row["shape"]),
                row.get("dtype", ""),
                row.get("has_batch", True),
            )
            for name, row in self.rows.items()
            if "if" not in row or part.config.get(row["if"])
        )

    def fixed(self) -> dict[str, object]:
        """Return the arguments that are no tensors, each with None for all of its keys."""
        return {name: dict.fromkeys(keys) for name, keys in self.empty.items()}


DENOISERS = {name: Denoiser(**row) for name, row in data_next_to(__file__).items()}
"""Denoisers by name of their class."""


def denoiser_of(part: PipelinePart) -> Denoiser:
    """Return the denoiser of a part.

    Raises:
        ModelError: an unknown class.
    """
    return part.kind(DENOISERS)
