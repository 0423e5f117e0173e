"""Kernels of torch.compile, recorded once as a CUDA graph and replayed."""

from dataclasses import replace

from . import GPU, LaunchMode
from .inductor import TABLE as INDUCTOR

TABLE = replace(
    INDUCTOR,
    name="inductor-cudagraph",
    measured_as="",
    title="torch.compile (Inductor) in a CUDA graph",
    launch=LaunchMode.GRAPH,
    devices=GPU,
    aliases=("reduce-overhead",),
    source=f"{INDUCTOR.source}; mode='reduce-overhead' records the same kernels (CUDAGraph Trees)",
)
