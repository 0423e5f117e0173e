"""Names of PyTorch modules, as opposed to paths of files."""

from __future__ import annotations

import os
import re

NAME = re.compile(r"(.+\.py|[A-Za-z_]\w*(\.\w+)*):([\w./-]+)")
"""Names of modules: a file or an importable module, and what is in it."""


def is_named(path: str) -> bool:
    """Return True if a model is given by the name of a PyTorch module.

    >>> is_named("timm:resnet50"), is_named("model.onnx"), is_named("C:/model.onnx")
    (True, False, False)
    """
    named = NAME.fullmatch(path)
    return named is not None and not named[3].startswith("/") and not os.path.exists(path)
