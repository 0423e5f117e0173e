"""PyTorch modules by name: ``package.module:Name``, ``path.py:Name``, ``timm:NAME``."""

from __future__ import annotations

from perfc.ir import Module

from ..reading.module_name import NamedModule, is_named
from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for the name of a PyTorch module."""
    return not head and is_named(path)


def lower(model: str | bytes | NamedModule, options: ReadOptions) -> Module:
    """Return the module of a PyTorch module at its example inputs."""
    from ..pytorch.named import named_module

    assert not isinstance(model, bytes)
    named = NamedModule(model) if isinstance(model, str) else model
    return named_module(named, options.dims)
