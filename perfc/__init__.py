"""perfc: a compiler for performance.

>>> import perfc
>>> report = perfc.analyze("examples/models/resnet50.onnx.gz", target="a100", dims={"batch": 8})
>>> len(report.kernels.kernels) > 0
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.common.first_use import first_use
from perfc.common.version import __version__

if TYPE_CHECKING:
    from perfc.api import Report, analyze, infer_shapes
    from perfc.distributed.service import plan, scale
    from perfc.errors import PerfcError
    from perfc.frontend.pytorch.op_costs import op_cost
    from perfc.measuring.peaks import mfu, peak
    from perfc.measuring.watching import watch
    from perfc.serving import llm
    from perfc.serving.generation import diffusion
    from perfc.serving.step_time import step_predictor
    from perfc.study.comparison import compare_models as compare
    from perfc.study.single_kernel import op
    from perfc.study.sweep import sweep_model as sweep
    from perfc.study.whole import predict

__all__ = [
    "PerfcError",
    "Report",
    "__version__",
    "analyze",
    "compare",
    "diffusion",
    "infer_shapes",
    "llm",
    "mfu",
    "op",
    "op_cost",
    "peak",
    "plan",
    "predict",
    "scale",
    "step_predictor",
    "sweep",
    "watch",
]


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(__all__)


__getattr__ = first_use(
    __name__,
    {
        "Report": ".api",
        "analyze": ".api",
        "compare": ".study.comparison:compare_models",
        "diffusion": ".serving.generation",
        "infer_shapes": ".api",
        "llm": ".serving",
        "mfu": ".measuring.peaks",
        "op": ".study.single_kernel",
        "op_cost": ".frontend.pytorch.op_costs",
        "peak": ".measuring.peaks",
        "plan": ".distributed.service",
        "predict": ".study.whole",
        "scale": ".distributed.service",
        "step_predictor": ".serving.step_time",
        "sweep": ".study.sweep:sweep_model",
        "watch": ".measuring.watching",
        "PerfcError": ".errors",
    },
)
