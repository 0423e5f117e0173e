"""DIPPM with its authors' weights: the faithful network of `pmgns`.

It reads the tables that the authors' program reads (Panner Selvam and Brorsson, Euro-Par 2023).
`perfc train checkpoint` reads the file of the weights.
"""

from __future__ import annotations

from typing import ClassVar

from .networks.from_checkpoint import FromCheckpoint
from .pmgns import Pmgns


class DippmAuthors(FromCheckpoint, Pmgns):
    """Predictor of time, energy and memory of an inference on an A100."""

    name: ClassVar[str] = "dippm-authors"
    title: ClassVar[str] = "DIPPM, its authors' checkpoint (Panner Selvam and Brorsson, 2023)"
    begins_from: ClassVar[str] = "perfc train checkpoint FILE"
    mode: ClassVar[str] = "eager"
    framework: ClassVar[str] = "torch 1.13"


PREDICTOR = DippmAuthors
