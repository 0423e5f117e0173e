"""DIPPM with its authors' weights: the faithful network of `pmgns`, which reads as their program.

Panner Selvam and Brorsson, Euro-Par 2023; `perfc train checkpoint` reads the file.
"""

from __future__ import annotations

from typing import ClassVar

from .networks.from_checkpoint import FromCheckpoint
from .pmgns import Pmgns


class DippmAuthors(FromCheckpoint, Pmgns):
    """Weights of an A100; time, energy and memory of an inference."""

    name: ClassVar[str] = "dippm-authors"
    title: ClassVar[str] = "DIPPM, its authors' checkpoint (Panner Selvam and Brorsson, 2023)"
    begins_from: ClassVar[str] = "perfc train checkpoint FILE"
    mode: ClassVar[str] = "eager"
    framework: ClassVar[str] = "torch 1.13"


PREDICTOR = DippmAuthors
