"""Small traces in the forms of the profilers, with secrets where real traces have them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

SECRET = "hunter2-AKIA0123456789"
DEVICE = {
    "id": 0,
    "name": "NVIDIA H100 80GB HBM3",
    "totalGlobalMem": 85018279936,
    "computeMajor": 9,
    "computeMinor": 0,
    "numSms": 132,
}
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
BF16 = "c10::BFloat16"
Step = tuple[str, str, list[Any], list[str], list[str], float, float]
"""Kernel, operator, extents, types, values, begin and duration on the device in µs."""
STEPS: Sequence[Step] = (
    (GEMM, "aten::mm", [[4096, 4096], [4096, 4096]], [BF16, BF16], ["", ""], 20.0, 230.5),
    (
        NORM,
        "aten::native_layer_norm",
        [[4096, 4096], [], [4096], [4096], []],
        [BF16, "ScalarList", BF16, BF16, "Scalar"],
        ["", "[4096]", "", "", "1e-05"],
        260.0,
        60.25,
    ),
    (GEMM, "aten::mm", [[4096, 4096], [4096, 4096]], [BF16, BF16], ["", ""], 320.25, 231.0),
    (
        "Memcpy HtoD (Pinned -> Device)",
        "aten::copy_",
        [[1024], [1024], []],
        ["float", "float", "Scalar"],
        ["", "", "True"],
        700.0,
        3.0,
    ),
    (
        REDUCE,
        "c10d::allreduce_",
        [[], [], []],
        ["TensorList", "", ""],
        ["", "", SECRET],
        703.0,
        97.0,
    ),
)


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
        given = {
            "External id": at,
            "Input Dims": dims,
            "Input type": types,
            "env": SECRET,
            "Concrete Inputs": values,
        }
        device = {"device": 0, "stream": 7, "correlation": 100 + at, "External id": at}
        category = "gpu_memcpy" if kernel.startswith("Mem") else "kernel"
        events += [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": operator,
                "tid": 1,
                "ts": host,
                "dur": 14.0,
                "args": given,
            },
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "tid": 1,
                "ts": host + 10.0,
                "dur": 3.0,
                "args": {"correlation": 100 + at},
            },
            {
                "ph": "X",
                "cat": category,
                "name": kernel,
                "ts": start,
                "dur": length,
                "args": device,
            },
        ]
    return {
        "schemaVersion": 1,
        "deviceProperties": [DEVICE],
        "hostname": SECRET,
        "environment": {"AWS_SECRET_ACCESS_KEY": SECRET},
        "traceEvents": events,
    }


NCCL = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"
Launch = tuple[str, float, float, Mapping[str, object]]
"""Kernel, begin and duration in µs, arguments."""


def message(name: str, sent: int, received: int, ranks: int, **more: object) -> dict[str, object]:
    """Return the arguments of a collective in f32."""
    return {
        "Collective name": name,
        "In msg nelems": sent,
        "Out msg nelems": received,
        "Group size": ranks,
        "dtype": "Float",
        "Process Group Name": "0",
        "Process Group Ranks": str(list(range(ranks))),
        **more,
    }


def traced(launches: Sequence[Launch], **more: object) -> dict[str, Any]:
    """Return a trace of PyTorch with kernels and their launches."""
    made = kineto([])
    for at, (kernel, start, length, args) in enumerate(launches, 1):
        host = start - 5
        made["traceEvents"] += [
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "tid": 1,
                "ts": host,
                "dur": 2.0,
                "args": {"correlation": at},
            },
            {
                "ph": "X",
                "cat": "kernel",
                "name": kernel,
                "ts": start,
                "dur": length,
                "args": {"device": 0, "stream": 7, "correlation": at, **args},
            },
        ]
    return {**made, **more}


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
        agent = {
            "id": {"handle": 37000 + process},
            "type": 2,
            "cu_count": 256,
            "node_id": process,
            "product_name": "AMD Instinct MI350X",
            "model_name": SECRET,
        }
        dispatches, calls = [], []
        for at in range(4):
            begin = 1_000_000 + at * 50_000
            correlation = {"internal": 10 + at, "external": 0}
            info = {"agent_id": agent["id"], "kernel_id": 1 + (at + process) % 2}
            dispatches.append(
                {
                    "kind": 11,
                    "correlation_id": correlation,
                    "start_timestamp": begin,
                    "end_timestamp": begin + 40_000,
                    "dispatch_info": info,
                }
            )
            calls.append(
                {
                    "correlation_id": correlation,
                    "start_timestamp": begin - 3_000,
                    "end_timestamp": begin,
                    "args": SECRET,
                }
            )
        copy = {
            "operation": 2,
            "start_timestamp": 1_250_000,
            "end_timestamp": 1_260_000,
            "dst_agent_id": agent["id"],
            "src_agent_id": {"handle": 1},
        }
        symbols = [
            # names depend on the process
            {"kernel_id": 1 + (at + process) % 2, "formatted_kernel_name": name}
            for at, name in enumerate(kernels)
        ]
        processes.append(
            {
                "metadata": {
                    "command": ["train.py", f"--key={SECRET}"],
                    "node": {"hostname": SECRET},
                },
                "agents": [agent],
                "kernel_symbols": symbols,
                "buffer_records": {
                    "kernel_dispatch": dispatches,
                    "memory_copy": [copy],
                    "hip_api": calls,
                },
            }
        )
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


def xplane() -> dict[str, Any]:
    """Return the Chrome trace of XProf: kernels of a stream, repeated on a derived line."""
    args = {
        "hlo_op": "fusion.3",
        "tf_op": "jit(step)/layer/dot_general:",
        "secret": SECRET,
        "shape_with_layout": "bf16[16,1024]{1,0}",
        "correlation_id": 5,
    }
    return {
        "displayTimeUnit": "ns",
        "metadata": {"hostname": SECRET},
        "traceEvents": [
            {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0 A100"}},
            {"ph": "M", "pid": 9, "name": "process_name", "args": {"name": f"/host:CPU {SECRET}"}},
            {
                "ph": "M",
                "pid": 1,
                "tid": 13,
                "name": "thread_name",
                "args": {"name": "Stream #13(Compute)"},
            },
            {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "XLA Ops"}},
            {
                "ph": "X",
                "pid": 9,
                "tid": 2,
                "ts": 100,
                "dur": 2,
                "name": SECRET,
                "args": {"correlation_id": 5},
            },
            {"ph": "X", "pid": 1, "tid": 13, "ts": 90, "dur": 5, "name": "loop_add_fusion"},
            {
                "ph": "X",
                "pid": 1,
                "tid": 13,
                "ts": 105,
                "dur": 40,
                "name": "gemm_fusion_dot_1",
                "args": args,
            },
            {"ph": "X", "pid": 1, "tid": 1, "ts": 105, "dur": 40, "name": "fusion.3", "args": args},
        ],
    }


def ort() -> list[dict[str, Any]]:
    """Return the profile of onnxruntime: a branch with an addition in it, and a convolution."""

    def node(name: str, op: str, ts: int, dur: int, inputs: list[Any], out: list[int]) -> Any:
        args = {
            "op_name": op,
            "provider": "CPUExecutionProvider",
            "graph_index": SECRET,
            "input_type_shape": [{"float": x} for x in inputs],
            "output_type_shape": [{"float": out}],
        }
        return {
            "cat": "Node",
            "ph": "X",
            "name": f"{name}_kernel_time",
            "ts": ts,
            "dur": dur,
            "args": args,
        }

    begin = {
        "cat": "Session",
        "ph": "X",
        "name": "session_initialization",
        "ts": 0,
        "dur": 9,
        "args": {"path": SECRET},
    }
    image = [[1, 3, 224, 224], [64, 3, 7, 7], [64]]
    return [
        begin,
        node(f"conv {SECRET}", "Conv", 20, 500, image, [1, 64, 112, 112]),
        node("inner", "Add", 610, 30, [[64, 64], [64]], [64, 64]),
        node("branch", "If", 600, 50, [[1]], [64, 64]),
        node("product", "Gemm", 700, 20, [[8, 64], [32, 64], [32]], [8, 32]),
    ]


def tensorrt() -> list[dict[str, Any]]:
    """Return the file of ``trtexec --exportProfile``."""
    names = ("conv1 + relu1", "fc", "Reformatting CopyNode for Input Tensor 0 to conv1")
    layers = [
        {
            "name": name,
            "timeMs": 100.0 * at,
            "averageMs": 0.1 * at,
            "percentage": 1,
            "secret": SECRET,
        }
        for at, name in enumerate(names, 1)
    ]
    return [{"count": 1000}, *layers]


def layers() -> dict[str, Any]:
    """Return the file of ``trtexec --exportLayerInfo`` for it."""
    operand = {"Name": SECRET, "Dimensions": [1, 512], "Format/Datatype": "Row major FP16 format"}
    layer = {"Name": "fc", "LayerType": "MatrixMultiply", "Inputs": [operand], "Metadata": SECRET}
    return {"Layers": [layer], "Bindings": [SECRET]}


def times() -> list[dict[str, Any]]:
    """Return the file of ``trtexec --exportTimes``: the second inference waits for the host."""
    made = []
    for at, (enqueue, start) in enumerate(((0.0, 0.1), (2.0, 2.1))):
        made.append(
            {
                "startH2dMs": start - 0.05,
                "endH2dMs": start,
                "startComputeMs": start,
                "endComputeMs": start + 1,
                "startD2hMs": start + 1,
                "endD2hMs": start + 1.02,
                "startEnqMs": enqueue,
                "note": SECRET,
                "run": at,
            }
        )
    return made


WRITERS: Mapping[str, Callable[[], object]] = {
    "kineto": kineto,
    "ort": ort,
    "rocprof": rocprof,
    "tensorrt": tensorrt,
    "times": times,
    "xplane": xplane,
}
"""Formats of JSON by name."""


def operator(name: str, ts: float, dur: float, *dims: list[int], number: int = 0) -> dict[str, Any]:
    """Return an operator of the host with operands of bfloat16."""
    args = {"External id": number, "Input Dims": [*dims], "Input type": [BF16] * len(dims)}
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": name,
        "pid": 1,
        "tid": 1,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def runtime(name: str, ts: float, dur: float, correlation: int, **args: Any) -> dict[str, Any]:
    """Return a call of the runtime on the thread of `operator`."""
    return {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": name,
        "pid": 1,
        "tid": 1,
        "ts": ts,
        "dur": dur,
        "args": {"correlation": correlation, **args},
    }


def kernel(
    name: str, ts: float, dur: float | str, correlation: int, number: int | None = None
) -> dict[str, Any]:
    """Return a kernel, with the external number of its operator if there is one."""
    args = {"device": 0, "stream": 7, "correlation": correlation, "External id": number}
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": ts,
        "dur": dur,
        "args": {k: v for k, v in args.items() if v is not None},
    }


def chrome(*events: dict[str, Any]) -> dict[str, Any]:
    """Return a trace of PyTorch of events."""
    return {"schemaVersion": 1, "deviceProperties": [DEVICE], "traceEvents": [*events]}
