"""Names of PyTorch modules, as opposed to paths of files."""

from __future__ import annotations

import os
import re
from dataclasses import field
from typing import Any

from perfc.common.plugins import NO_CODE, may_run
from perfc.errors import ModelError
from perfc.ir import record

from .folder import BY_NAME

NAME = re.compile(r"(.+\.py|[A-Za-z_]\w*(\.\w+)*):([\w./-]+)")
"""Names of modules: a file or an importable module, a colon, and the object in it."""
SOURCE_FOLDERS = ("", "src")
"""Folders of a project in which packages lie."""
CATALOGS = ("timm", "torchvision", "transformers")
"""Libraries that create models by name. Their workers run in an empty folder, so that no code of a
project runs."""


@record
class NamedModule:
    """PyTorch module or function of JAX by its name, with its inputs.

    Functions that expect the path of a model accept it too.

    Args:
        name: ``package.module:Name`` or ``path.py:Name``.
        inputs: shapes with the batch, as in ``8x3x224x224`` and ``input_ids=8x128:i64``.
        kwargs: JSON object of arguments of the class or function.
        folder: folder to import it from; "" for the current one.
        input: shape of one example, or a tensor, as `perfc.analyze` takes it.
        examples: several inputs, as `perfc.analyze` takes them.
        is_jax: whether it is a function of JAX.
        place: line of the project file that names it; "" for the command line.
    """

    name: str
    inputs: tuple[str, ...] = ()
    kwargs: str = ""
    folder: str = ""
    input: Any = None
    examples: Any = None
    is_jax: bool = False
    place: str = field(default="", compare=False)

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
    # C:/model.onnx has the form of a name, but is a path
    named = NAME.fullmatch(path)
    if named is None or named[3].startswith("/") or os.path.exists(path):
        return False
    # HEAD:model.onnx is a file of a revision
    return not named[3].lower().endswith(BY_NAME)


def is_catalogued(model: NamedModule) -> bool:
    """Return True for a model of a library, which depends on no code of a project."""
    return not model.is_jax and model.name.partition(":")[0] in CATALOGS


def require_code(model: NamedModule) -> None:
    """Refuse a model whose module would run where no code may; catalogs run no code of a project.

    Raises:
        ModelError: no code may run.
    """
    if is_catalogued(model) or may_run():
        return
    hint = "remove this line and its [[models]] table" if model.place else ""
    what = f"{model} would run its module, which --no-code or {NO_CODE} refuses"
    raise ModelError(what, hint=hint, where=model.place)
