"""Models under autocast, and modes of measured steps by runtime."""

from __future__ import annotations

from dataclasses import field

from perfc.ir import Module, record
from perfc.passes.manager import Analyses
from perfc.passes.precision.retype import AUTOCAST
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes import Steps

from .setting import RunMode

MODES = {Steps.EAGER: RunMode.EAGER, Steps.COMPILED: RunMode.COMPILED}
"""Execution mode whose weights cover the kernels of a runtime, by kind of steps."""


@record
class Autocasting:
    """A model under autocast.

    Args:
        dtype: element type of its products.
        module: typed and canonical, in f32, with the same kernels as the predicted module.
        am: caches its kernels, types and strides between calls.
    """

    dtype: str
    module: Module
    am: Analyses = field(default_factory=Analyses)

    @classmethod
    def of(cls, source: Module, dtype: str) -> Autocasting | None:
        """Return the model, as read, under autocast to a precision; None if that is no autocast."""
        narrow = AUTOCAST.get(dtype)
        if narrow is None:
            return None
        am = Analyses()
        return cls(narrow, am.apply(Canonicalize(), source), am)
