"""Find the models of a folder, by one list of suffixes for all commands.

>>> [is_model(name) for name in ("a.onnx.gz", "b.pt2", ".c.onnx", "notes.txt")]
[True, True, False, False]
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from perfc.errors import ModelError

ONNX = (".onnx", ".onnx.gz", ".onnxtxt")
"""Suffixes of the files that fixes are written for."""
SUFFIXES = (*ONNX, ".pt2", ".tflite", ".gguf")
"""Suffixes of the files that are searched for: of models only, and read without other programs."""
BY_NAME = (
    *SUFFIXES,
    *(".onnxtext", ".pir", ".pb", ".safetensors", ".json", ".keras", ".pdmodel"),
    *(".mlir", ".mlirbc", ".stablehlo", ".xml"),
)
"""Suffixes of models given by name; other files have some of them too."""
MOST_MODELS = 10_000
"""Maximum models below a folder."""


def models_in(root: Path, suffixes: tuple[str, ...] = SUFFIXES) -> list[str]:
    """Return the models below a folder, sorted, without hidden folders and packages.

    Raises:
        ModelError: too many models.
    """
    models: list[str] = []
    for here, folders, names in os.walk(root):
        # os.walk descends into the folders that remain in this list
        folders[:] = [f for f in folders if not is_foreign(Path(here, f))]
        fitting = [n for n in names if is_model(n) and n.endswith(suffixes)]
        models += [Path(here, n).relative_to(root).as_posix() for n in fitting]
        if len(models) > MOST_MODELS:
            message = f"more than {MOST_MODELS:,} models below this folder"
            raise ModelError(
                message, where=str(root), hint="name some, by a pattern or in perfc.toml"
            )
    return sorted(models)


def expanded(paths: Iterable[str], suffixes: tuple[str, ...] = SUFFIXES) -> list[str]:
    """Return paths once each, with the models below a folder in its place.

    Raises:
        ModelError: a folder without models, or with too many.
    """
    models: list[str] = []
    for name in paths:
        path = Path(name)
        inside = [name]
        if path.is_dir():
            inside = [os.path.join(path, m) for m in models_in(path, suffixes)]
        if not inside and not is_folder_model(name):
            hint = f"models end in {', '.join(suffixes)}"
            raise ModelError("no models in this folder", where=name, hint=hint)
        models += inside or [name]
    return list(dict.fromkeys(models))


def is_model(name: str) -> bool:
    """Return True if a file name is that of a model."""
    return name.endswith(SUFFIXES) and not name.startswith(".")


def is_typed(word: str) -> bool:
    """Return True if a word of the command line has the suffix of a model, or names a module."""
    return ":" in word or word.lower().endswith(BY_NAME)


def is_folder_model(name: str) -> bool:
    """Return True if a folder is a model itself, as that of a Hugging Face configuration."""
    from ..formats import format_of, onnx

    return format_of(name) is not onnx


def is_foreign(folder: Path) -> bool:
    """Return True if a folder is hidden, installed, or a Python environment."""
    name = folder.name
    hidden = name.startswith(".") or name in ("node_modules", "site-packages", "__pycache__")
    return hidden or (folder / "pyvenv.cfg").is_file()  # a virtual environment
