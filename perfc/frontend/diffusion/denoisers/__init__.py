"""Denoisers, each family its own file: what a step calls them with."""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import ClassVar

from perfc.errors import ModelError

from ..pipeline import Latent, Part, Tensor


class Denoiser(ABC):
    """A family of denoisers."""

    classes: ClassVar[tuple[str, ...]]
    """Of diffusers."""
    is_doubled: ClassVar[bool] = True
    """Whether a guided step is one call of twice the batch; else it is two calls."""

    @abstractmethod
    def inputs(self, part: Part, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """What a step calls it with.

        Args:
            part: its configuration.
            latent: of one picture.
            tokens: of a prompt.
        """

    def fixed(self) -> dict[str, object]:
        """Arguments that are no tensors."""
        return {}


@cache
def denoisers() -> tuple[Denoiser, ...]:
    """One of each file."""
    return tuple(_each())


def _each() -> Iterator[Denoiser]:
    for found in pkgutil.iter_modules(__path__):
        yield import_module(f"{__name__}.{found.name}").DENOISER


def denoiser_of(part: Part) -> Denoiser:
    """That of a part.

    Raises:
        ModelError: perfc knows none of its class.
    """
    for one in denoisers():
        if part.class_name in one.classes:
            return one
    known = ", ".join(sorted(name for one in denoisers() for name in one.classes))
    raise ModelError(f"no denoiser {part.class_name[:64]!r} is known", where=part.name,
                     hint=f"known are {known}")  # fmt: skip
