"""Lowering of ONNX models, and of models in messages of ONNX, to the IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfc.ir import Module

    from ..formats import ReadOptions
    from ..reading.proto import ProtoModel


def lowered(model: ProtoModel, options: ReadOptions) -> Module:
    """Return the module of a model's messages.

    Raises:
        ModelError: the graph is not one: an undefined name, a cycle, endless functions.
    """
    from .functions import Functions
    from .lower import Lowering
    from .symbols import SymbolTable

    table = SymbolTable(options.dims, model.ranges)
    return Lowering(model, table, options.contents, Functions.of(model)).module()
