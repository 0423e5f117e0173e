"""Kernels of an eager framework, recorded once as a CUDA graph and replayed."""

from dataclasses import replace

from . import GPU, LaunchMode
from .eager import TABLE as EAGER

TABLE = replace(
    EAGER,
    name="cudagraph",
    title="operator by operator, recorded as a CUDA graph and replayed",
    launch=LaunchMode.GRAPH,
    devices=GPU,
    measured_as="cudagraph",
    aliases=(),
    stands_for=frozenset(),
    formats=frozenset(),
    source=f"{EAGER.source}; torch.cuda.graph records the same kernels",
)
