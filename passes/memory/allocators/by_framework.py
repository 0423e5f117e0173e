"""The allocator of each framework."""

from __future__ import annotations

from ...runtimes import Framework
from . import Allocator
from .bfc import BfcArena
from .cuda_caching import CudaCaching
from .planned import Planned


def allocator_of(framework: Framework) -> type[Allocator]:
    """The allocator of a framework; a plan where it is not known."""
    match framework:
        case Framework.TORCH:
            return CudaCaching
        case Framework.ORT:
            return BfcArena
        case _:
            return Planned
