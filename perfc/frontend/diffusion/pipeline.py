"""Pipelines that generate images: prompt encoders, a denoiser called at each step, a decoder.

A latent diffusion model denoises a small picture, which a decoder enlarges (Rombach et al., 2022,
arXiv:2112.10752, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from perfc.errors import ModelError, ParseError
from perfc.ir import record

Kind = TypeVar("Kind")
LARGEST_EDGE = 1 << 13
"""Maximum pixels along an edge of a picture."""
MOST_FRAMES = 1 << 10
"""Maximum frames of a video, beyond those of any published pipeline."""
MOST_STEPS = 1 << 12
"""Maximum denoising steps; DDPM, which has the most, takes 1,000."""


class PartRole(Enum):
    """Role of a part, in the order of a run."""

    PROMPT = "prompt"
    """Encodes the prompt, once."""
    DENOISER = "denoiser"
    """Runs at every step."""
    DECODER = "decoder"
    """Turns the denoised latent into pixels, once."""


@record
class Picture:
    """Size of the generated picture.

    Args:
        height: in pixels.
        width: in pixels.
        frames: number of frames of a video; 1 for an image.
    """

    height: int
    width: int
    frames: int = 1

    def checked(self) -> Picture:
        """Return the picture itself if its size is valid.

        Raises:
            ParseError: an invalid size.
        """
        # errors name the option that the size was given by
        for name, size, most in (
            ("--size", self.height, LARGEST_EDGE),
            ("--size", self.width, LARGEST_EDGE),
            ("--frames", self.frames, MOST_FRAMES),
        ):
            if not 1 <= size <= most:
                raise ParseError(f"{size} is no size", where=name, hint=f"1 to {most}")
        return self

    def with_sizes(self, height: int, width: int, frames: int) -> Picture:
        """Return a picture with the sizes that are not 0.

        Raises:
            ParseError: an invalid size.
        """
        # 0 is for the default
        return Picture(height or self.height, width or self.width, frames or self.frames).checked()


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
        class_name: name of its class in diffusers or transformers.
        config: its configuration, without keys that begin with an underscore.
    """

    name: str
    role: PartRole
    class_name: str
    config: Mapping[str, Any]

    def kind(self, known: Mapping[str, Kind]) -> Kind:
        """Return the entry of a table for the class of the network.

        Raises:
            ModelError: an unknown class.
        """
        if self.class_name not in known:
            raise ModelError(
                f"no {self.role.value} {self.class_name[:64]!r} is known",
                where=self.name,
                hint=f"known are {', '.join(sorted(known))}",
            )
        return known[self.class_name]

    def number(self, key: str) -> int:
        """Return a whole number of the configuration.

        Raises:
            ModelError: it has none.
        """
        value = self.config.get(key)
        # larger numbers are damage: such a network would not fit any memory
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 24:
            raise ModelError(f"no size {key!r} in the configuration", where=self.name)
        return value


@record
class Latent:
    """The small picture that is denoised.

    Args:
        channels: number of channels.
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
        class_name: class name of the pipeline in diffusers.
        parts: prompts' encoders, denoiser, decoder.
        picture: default size.
        steps: default number of denoising steps.
        tokens: number of tokens of a prompt, as it is padded.
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
        """Return the first part of a role.

        Raises:
            ModelError: there is none.
        """
        for part in self.parts:
            if part.role is role:
                return part
        raise ModelError(f"a pipeline without a {role.value}", where=self.name)
