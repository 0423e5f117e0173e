"""Generators of images and videos from the configurations that diffusers keeps with weights."""

from __future__ import annotations

from .export import module_of as module_of
from .pipeline import DiffusionPipeline as DiffusionPipeline
from .pipeline import PartRole as PartRole
from .pipeline import Picture as Picture
from .pipeline import PipelinePart as PipelinePart
from .reader import read_pipeline as read_pipeline
from .reader import shipped as shipped
