"""Write and read tensors in files of safetensors, which hold numbers and names and run no code.

Checkpoints of trainings and results of their stages are such files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from perfc.analyzers.artefacts.artefact import bounded_content
from perfc.analyzers.graph.store import write_file
from perfc.errors import PerfcError

MAX_BYTES = 512 << 20
"""Maximum bytes of a file of weights, which is read as a whole."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors by name; the file appears in one step, so that it is never incomplete."""
    from safetensors.torch import save

    # copies: safetensors refuses tensors that share memory
    plain = {n: t.detach().cpu().contiguous().clone() for n, t in tensors.items()}
    write_file(path, save(plain))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file of `write_tensors`, by name.

    Raises:
        PerfcError: the file is missing, too large or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return dict(load(bounded_content(path, MAX_BYTES)))
    except SafetensorError as error:
        raise PerfcError(
            f"no tensors: {error}", where=str(path), hint="remove it and train again"
        ) from None
