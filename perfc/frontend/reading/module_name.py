"""Names of PyTorch modules, as opposed to paths of files."""

from __future__ import annotations

import os
import re
from typing import Any

from perfc.ir.record import record

NAME = re.compile(r"(.+\.py|[A-Za-z_]\w*(\.\w+)*):([\w./-]+)")
"""Names of modules: a file or an importable module, and what is in it."""
SOURCE_FOLDERS = ("", "src")
"""Folders of a project that packages lie in."""


@record
class NamedModule:
    """PyTorch module or function of JAX by its name, with its inputs; functions of paths take it.

    Args:
        name: ``package.module:Name`` or ``path.py:Name``.
        inputs: shapes with the batch, as in ``8x3x224x224`` and ``input_ids=8x128:i64``.
        kwargs: JSON object of arguments of the class or function.
        folder: folder to import it from; "" for the current one.
        input: shape of one example, or a tensor, as `perfc.analyze` takes it.
        examples: several inputs, as `perfc.analyze` takes them.
        is_jax: whether it is a function of JAX.
    """

    name: str
    inputs: tuple[str, ...] = ()
    kwargs: str = ""
    folder: str = ""
    input: Any = None
    examples: Any = None
    is_jax: bool = False

    def __fspath__(self) -> str:
        """Return the name."""
        return self.name

    def __str__(self) -> str:
        """Return the name."""
        return self.name


def is_named(path: str) -> bool:
    """Return True if a model is given by the name of a PyTorch module.

    >>> is_named("timm:resnet50"), is_named("model.onnx"), is_named("C:/model.onnx")
    (True, False, False)
    """
    named = NAME.fullmatch(path)
    return named is not None and not named[3].startswith("/") and not os.path.exists(path)
