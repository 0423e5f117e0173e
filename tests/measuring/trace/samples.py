"""Small traces in the forms of the profilers, with secrets where real traces have them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
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


def rocprof() -> dict[str, Any]:
    """Return the JSON of rocprofv3 for two processes on two devices."""
    kernels = ("Cijk_Alik_Bljk_BBS_BH_MT64x32x256", "__amd_rocclr_fillBufferAligned")
    processes: list[dict[str, Any]] = []
    for process in range(2):
        agent = {"id": {"handle": 37000 + process}, "type": 2, "cu_count": 256, "node_id": process,
                 "product_name": "AMD Instinct MI350X", "model_name": SECRET}  # fmt: skip
        dispatches, calls = [], []
        for at in range(4):
            begin = 1_000_000 + at * 50_000
            correlation = {"internal": 10 + at, "external": 0}
            info = {"agent_id": agent["id"], "kernel_id": 1 + (at + process) % 2}
            dispatches.append({
                "kind": 11, "correlation_id": correlation, "start_timestamp": begin,
                "end_timestamp": begin + 40_000, "dispatch_info": info,
            })  # fmt: skip
            calls.append({"correlation_id": correlation, "start_timestamp": begin - 3_000,
                          "end_timestamp": begin, "args": SECRET})  # fmt: skip
        copy = {"operation": 2, "start_timestamp": 1_250_000, "end_timestamp": 1_260_000,
                "dst_agent_id": agent["id"], "src_agent_id": {"handle": 1}}  # fmt: skip
        symbols = [
            # names depend on the process
            {"kernel_id": 1 + (at + process) % 2, "formatted_kernel_name": name}
            for at, name in enumerate(kernels)
        ]
        processes.append({
            "metadata": {"command": ["train.py", f"--key={SECRET}"], "node": {"hostname": SECRET}},
            "agents": [agent], "kernel_symbols": symbols,
            "buffer_records": {"kernel_dispatch": dispatches, "memory_copy": [copy],
                               "hip_api": calls},
        })  # fmt: skip
    return {"rocprofiler-sdk-tool": processes}


def nsys(path: Path) -> None:
    """Write the SQLite export of Nsight Systems."""
    import sqlite3

    base = sqlite3.connect(path)
    kind = "CUPTI_ACTIVITY_KIND_"
    launch = "start INTEGER, end INTEGER, deviceId INTEGER, correlationId INTEGER"
    base.executescript(f"""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE {kind}KERNEL ({launch}, demangledName INTEGER, shortName INTEGER);
        CREATE TABLE {kind}MEMCPY ({launch}, copyKind INTEGER, bytes INTEGER);
        CREATE TABLE {kind}RUNTIME (start INTEGER, end INTEGER, correlationId INTEGER);
        CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER);
        CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
    """)
    names = [SECRET, GEMM, NORM]
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
    for at in range(4):
        begin = 1000 + at * 100_000
        row = (begin, begin + 60_000, 0, at, 1 + at % 2, 0)
        base.execute(f"INSERT INTO {kind}KERNEL VALUES (?, ?, ?, ?, ?, ?)", row)
        base.execute(f"INSERT INTO {kind}RUNTIME VALUES (?, ?, ?)", (begin - 500, begin, at))
    base.execute(f"INSERT INTO {kind}MEMCPY VALUES (500000, 510000, 0, 9, 1, 4096)")
    base.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA L4', 23000000000, 58)")
    base.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('KEY', ?)", (SECRET,))
    base.commit()
    base.close()
