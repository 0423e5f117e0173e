"""Models that a converter reads, by name and first bytes."""

from __future__ import annotations

import os
from enum import Enum

HDF5 = b"\x89HDF\r\n"
"""First bytes of an HDF5 file."""
GRAPH = b"\n"
"""First byte of a frozen graph and of a Paddle program: the tag of a message as field 1, where an
ONNX model has a number."""


class Convertible(Enum):
    """Model that a converter reads, with the extra that has the converter."""

    SAVED_MODEL = "tensorflow"
    FROZEN = "tensorflow-frozen"
    KERAS = "tensorflow-keras"
    PADDLE = "paddle"

    @property
    def extra(self) -> str:
        """Return the extra of pyproject.toml."""
        return self.value.partition("-")[0]


def source_of(path: str, head: bytes) -> Convertible | None:
    """Return the source format of a model; None if it needs no converter.

    Args:
        path: path of a file or folder; empty for a model given as bytes.
        head: first bytes of a file.
    """
    if not path:
        return None
    if not head:
        # a folder has no first bytes
        is_saved_model = os.path.isfile(os.path.join(path, "saved_model.pb"))
        return Convertible.SAVED_MODEL if is_saved_model else None
    suffix = os.path.splitext(path)[1].lower()
    # files of NetCDF are HDF5 too, but hold no model
    if suffix == ".keras" or (head.startswith(HDF5) and suffix != ".nc"):
        return Convertible.KERAS
    if suffix == ".pdmodel":
        return Convertible.PADDLE
    if os.path.basename(path) == "saved_model.pb":
        return Convertible.SAVED_MODEL
    return Convertible.FROZEN if suffix == ".pb" and head.startswith(GRAPH) else None
