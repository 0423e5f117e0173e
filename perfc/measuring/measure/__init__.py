"""Measurement: run a model or read a profile, and compare it with predictions per kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.common.first_use import first_use

__all__ = ["Measurement", "measure", "read_profile"]

if TYPE_CHECKING:
    from .matching.compare import Measurement
    from .session import measure, read_profile


__getattr__ = first_use(
    __name__,
    {
        "Measurement": ".matching.compare",
        **dict.fromkeys(("measure", "read_profile"), ".session"),
    },
)
