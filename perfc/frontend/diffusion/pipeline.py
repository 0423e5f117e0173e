"""What generates an image: an encoder of the prompt, a denoiser called step by step, a decoder.

A latent diffusion model denoises a small picture, which a decoder widens (Rombach et al., 2022,
arXiv:2112.10752, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from perfc.errors import ModelError, ParseError
from perfc.ir.record import record

LARGEST_EDGE = 1 << 13
"""Pixels along an edge of a picture, at most."""
MOST_FRAMES = 1 << 10
MOST_STEPS = 1 << 12


class PartRole(Enum):
    """What a part does, in the order of a run."""

    PROMPT = "prompt"
    """Encodes the prompt, once."""
    DENOISER = "denoiser"
    """Is called at every step."""
    DECODER = "decoder"
    """Makes pixels of what was denoised, once."""


@record
class Picture:
    """What is asked for.

    Args:
        height: in pixels.
        width: in pixels.
        frames: of a video; 1 for an image.
    """

    height: int
    width: int
    frames: int = 1

    def checked(self) -> Picture:
        """Itself.

        Raises:
            ParseError: no such size.
        """
        for name, size, most in (
            ("--size", self.height, LARGEST_EDGE),
            ("--size", self.width, LARGEST_EDGE),
            ("--frames", self.frames, MOST_FRAMES),
        ):
            if not 1 <= size <= most:
                raise ParseError(f"{size} is no size", where=name, hint=f"1 to {most}")
        return self


@record
class Tensor:
    """An input of a part at one batch.

    Args:
        name: of the argument.
        shape: behind the batch.
        dtype: element type as PyTorch names it; that of the weights by default.
        has_batch: whether its first extent is the batch.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = ""
    has_batch: bool = True


@record
class PipelinePart:
    """A network of a pipeline.

    Args:
        name: as the folder calls it, e.g. ``transformer``.
        role: what it does.
        class_name: of the library that defines it.
        config: its configuration, without what only the library's files need.
    """

    name: str
    role: PartRole
    class_name: str
    config: Mapping[str, Any]

    def number(self, key: str) -> int:
        """A whole number of the configuration.

        Raises:
            ModelError: it has none.
        """
        found = self.config.get(key)
        if not isinstance(found, int) or isinstance(found, bool) or not 0 < found < 1 << 24:
            raise ModelError(f"no size {key!r} in the configuration", where=self.name)
        return found


@record
class Latent:
    """The small picture that is denoised.

    Args:
        channels: of it.
        frames: 1 for an image.
        height: in cells.
        width: in cells.
    """

    channels: int
    frames: int
    height: int
    width: int


@record
class DiffusionPipeline:
    """A generator.

    Args:
        name: of the folder, or a shipped name.
        class_name: of the pipeline in diffusers.
        parts: prompts' encoders, denoiser, decoder.
        picture: what it makes where nothing is asked for.
        steps: of denoising, likewise.
        tokens: of a prompt, as it is padded.
        is_guided: whether each step denoises once with the prompt and once without
            (classifier-free guidance, Ho and Salimans, 2022, arXiv:2207.12598).
    """

    name: str
    class_name: str
    parts: tuple[PipelinePart, ...]
    picture: Picture
    steps: int
    tokens: int
    is_guided: bool

    def part(self, role: PartRole) -> PipelinePart:
        """The first part of a role.

        Raises:
            ModelError: there is none.
        """
        for part in self.parts:
            if part.role is role:
                return part
        raise ModelError(f"a pipeline without a {role.value}", where=self.name)
