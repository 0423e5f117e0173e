"""perfc: a compiler for performance.

>>> import perfc
>>> report = perfc.analyze("examples/models/resnet50.onnx.gz", target="a100", dims={"batch": 8})
>>> len(report.kernels.kernels) > 0
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.common.version import __version__

if TYPE_CHECKING:
    from perfc.api import Report, analyze, infer_shapes
    from perfc.distributed.service import plan, scale
    from perfc.errors import PerfcError
    from perfc.machine.peaks import mfu, peak
    from perfc.serving import llm
    from perfc.serving.generation import diffusion
    from perfc.study.comparison import compare_models as compare
    from perfc.study.single_kernel import op
    from perfc.study.step_time import step_predictor
    from perfc.study.whole import predict

__all__ = [
    "PerfcError", "Report", "__version__", "analyze", "compare", "diffusion", "infer_shapes",
    "llm", "mfu", "op", "peak", "plan", "predict", "scale", "step_predictor",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name in ("analyze", "infer_shapes", "Report"):
        from perfc import api

        return getattr(api, name)
    if name == "compare":
        from perfc.study.comparison import compare_models

        return compare_models
    if name == "diffusion":
        from perfc.serving.generation import diffusion

        return diffusion
    if name == "llm":
        from perfc.serving import llm

        return llm
    if name in ("mfu", "peak"):
        from perfc.machine import peaks

        return getattr(peaks, name)
    if name in ("plan", "scale"):
        from perfc.distributed import service

        return getattr(service, name)
    if name == "step_predictor":
        from perfc.study.step_time import step_predictor

        return step_predictor
    if name == "op":
        from perfc.study.single_kernel import op

        return op
    if name == "predict":
        from perfc.study.whole import predict

        return predict
    if name == "PerfcError":
        from perfc.errors import PerfcError

        return PerfcError
    raise AttributeError(f"module 'perfc' has no attribute {name!r}")
