"""The allocator of each framework."""

from __future__ import annotations

from ...runtimes import Framework, Runtime
from . import Allocator
from .bfc import BfcArena
from .cuda_caching import CudaCaching
from .planned import Planned
from .trainers import Expandable


def allocator_of(table: Runtime) -> type[Allocator]:
    """Return the allocator of a runtime's framework; an ideal plan if its allocator is unknown."""
    match table.framework:
        case Framework.TORCH if table.is_trainer:
            return Expandable
        case Framework.TORCH:
            return CudaCaching
        case Framework.ORT:
            return BfcArena
        case _:
            return Planned
