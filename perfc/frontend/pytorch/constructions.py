"""Lines of code that construct the modules of a program, put before the call stacks of nodes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import wraps
from importlib import import_module
from types import FrameType
from typing import Any

MOST_FRAMES = 12
"""Maximum frames of a construction, the innermost ones of the user's code."""


def foreign_files() -> tuple[str, ...]:
    """Return beginnings of the names of files that are not the user's: PyTorch, perfc, no file."""
    installed = os.path.dirname(import_module("torch").__file__ or "")
    return f"{installed}{os.sep}", os.path.dirname(__file__), "<"


def record_constructions() -> dict[int, str]:
    """Record the call stack of every module that is constructed from now on.

    Returns:
        Table that fills with the stacks, in the form of a stack trace, by identity of the module.
    """
    module_class: Any = import_module("torch.nn").Module
    result, init, foreign = dict[int, str](), module_class.__init__, foreign_files()

    @wraps(init)
    def recording(self: Any, *args: Any, **kwargs: Any) -> None:
        frames: list[str] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and len(frames) < MOST_FRAMES:
            file = frame.f_code.co_filename
            # constructors of the module itself call each other: the caller is further out
            is_base = frame.f_locals.get("self") is self
            if not is_base and not file.startswith(foreign):
                frames.append(f'File "{file}", line {frame.f_lineno}, in {frame.f_code.co_name}\n')
            frame = frame.f_back
        result[id(self)] = "  ".join(reversed(frames))
        init(self, *args, **kwargs)

    module_class.__init__ = recording
    return result


def with_constructions(program: Any, model: Any, made: Mapping[int, str]) -> None:
    """Put the lines that construct the modules of each node before the lines that call it.

    Args:
        program: a ``torch.export.ExportedProgram``, which is changed.
        model: the module that was exported.
        made: table of `record_constructions`.
    """
    modules = {path: made.get(id(module), "") for path, module in model.named_modules()}
    for node in program.graph_module.graph.nodes:
        stack = [*(node.meta.get("nn_module_stack") or {}).values()]
        # a module that is called again has `@` and a number behind its path
        path = stack[-1][0].partition("@")[0] if stack else ""
        if modules.get(path):
            trace = node.meta.get("stack_trace") or ""
            node.meta["stack_trace"] = f"{modules[path]}  {trace}".rstrip()
