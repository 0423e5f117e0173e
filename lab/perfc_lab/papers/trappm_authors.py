"""TraPPM with its authors' weights: the faithful network of `trappm`.

It reads the features of the authors' program (Panner Selvam and Brorsson, NeurIPS 2023 workshop).
`perfc train checkpoint` reads the files of the weights.
"""

from __future__ import annotations

from typing import ClassVar

from .networks.from_checkpoint import FromCheckpoint
from .trappm import Trappm


class TrappmAuthors(FromCheckpoint, Trappm):
    """Predictor of time, memory and power of a training step on an A100."""

    name: ClassVar[str] = "trappm-authors"
    title: ClassVar[str] = "TraPPM, its authors' checkpoints (Panner Selvam and Brorsson, 2023)"
    begins_from: ClassVar[str] = "perfc train checkpoint FILE"
    mode: ClassVar[str] = "training"
    framework: ClassVar[str] = "torch 2.0"


PREDICTOR = TrappmAuthors
