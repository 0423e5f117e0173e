"""Small traces in the forms of the profilers, with secrets where real traces have them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

SECRET = "hunter2-AKIA0123456789"
DEVICE = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936,
          "computeMajor": 9, "computeMinor": 0, "numSms": 132}  # fmt: skip
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
BF16 = "c10::BFloat16"
Step = tuple[str, str, list[Any], list[str], list[str], float, float]
"""Kernel, operator, extents, types, values, begin and duration on the device in µs."""
STEPS: Sequence[Step] = (
    (GEMM, "aten::mm", [[4096, 4096], [4096, 4096]], [BF16, BF16], ["", ""], 20.0, 230.5),
    (NORM, "aten::native_layer_norm", [[4096, 4096], [], [4096], [4096], []],
     [BF16, "ScalarList", BF16, BF16, "Scalar"], ["", "[4096]", "", "", "1e-05"], 260.0, 60.25),
    (GEMM, "aten::mm", [[4096, 4096], [4096, 4096]], [BF16, BF16], ["", ""], 320.25, 231.0),
    ("Memcpy HtoD (Pinned -> Device)", "aten::copy_", [[1024], [1024], []],
     ["float", "float", "Scalar"], ["", "", "True"], 700.0, 3.0),
    (REDUCE, "c10d::allreduce_", [[], [], []], ["TensorList", "", ""], ["", "", SECRET],
     703.0, 97.0),
)  # fmt: skip


def kineto(steps: Sequence[Step] = STEPS) -> dict[str, Any]:
    """Return a trace of PyTorch: every operator launches its kernel 10 µs after it begins."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": f"python --key={SECRET}"}},
        {"ph": "X", "cat": "user_annotation", "name": SECRET, "ts": 0, "dur": 1, "tid": 1},
        {"ph": "X", "cat": "python_function", "name": f"{SECRET}.py(1)", "ts": 0, "dur": 9},
        {"ph": "X", "cat": "cpu_op", "name": f"TOKEN={SECRET}", "ts": 1, "dur": 2, "tid": 1},
    ]
    for at, (kernel, operator, dims, types, values, start, length) in enumerate(steps):
        host = max(start - 15.0, 0.0)
        given = {"External id": at, "Input Dims": dims, "Input type": types, "env": SECRET,
                 "Concrete Inputs": values}  # fmt: skip
        device = {"device": 0, "stream": 7, "correlation": 100 + at, "External id": at}
        category = "gpu_memcpy" if kernel.startswith("Mem") else "kernel"
        events += [
            {"ph": "X", "cat": "cpu_op", "name": operator, "tid": 1, "ts": host, "dur": 14.0,
             "args": given},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1,
             "ts": host + 10.0, "dur": 3.0, "args": {"correlation": 100 + at}},
            {"ph": "X", "cat": category, "name": kernel, "ts": start, "dur": length,
             "args": device},
        ]  # fmt: skip
    return {
        "schemaVersion": 1, "deviceProperties": [DEVICE], "hostname": SECRET,
        "environment": {"AWS_SECRET_ACCESS_KEY": SECRET}, "traceEvents": events,
    }  # fmt: skip


def faster() -> list[Step]:
    """Return the steps of another run: a faster product, another norm, no copy."""
    other = [list(s) for s in STEPS if not s[0].startswith("Mem")]
    other[0][6], other[2][6] = 200.0, 199.5
    other[1][0] = "triton_red_fused_native_layer_norm_0"
    return [tuple(s) for s in other]  # type: ignore[misc]


def text_of(trace: object) -> str:
    """Return a trace as JSON."""
    return json.dumps(trace, indent=0) + "\n"
