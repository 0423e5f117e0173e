"""Growth of a process of OpenVINO on a processor: mapped weights, their copies, one plan.

Weights are mapped pages of their file. Folding a batch normalization gives a convolution new
weights. oneDNN packs the weights of convolutions and products into copies, and the compiled model
keeps the unpacked ones. Results are in one block that is planned before the run.

Source: OpenVINO 2026.4, plugins/intel_cpu/src/memory_management, nodes/conv.cpp and fullyconnected.
"""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import Env, Kind, Value
from perfc.ir.ops.normalization.normalization import BatchNormalization

from ...fusion.kernel import Kernel
from ...memory.liveness import bytes_of
from ...memory.storage import BufferRole, StorageTable
from . import ProcessMemory

PACKED = frozenset({Kind.CONV, Kind.MATMUL})
"""Kinds whose second operand is packed."""


def grown_by_openvino(kernels: Sequence[Kernel], table: StorageTable, env: Env) -> ProcessMemory:
    """Return the growth of a process that compiles a model and runs it.

    Args:
        kernels: kernels of the model.
        table: buffers of a run.
        env: values of the model's symbols.
    """
    sizes = table.sizes(env)
    stored = sum(
        n for b, n in zip(table.buffers, sizes, strict=True) if b.role is BufferRole.PARAMETER
    )
    copied_bytes = 0
    packed = dict[Value, None]()
    for k in kernels:
        nodes = (*k.nodes, *k.folded)
        is_folded = any(isinstance(n.op, BatchNormalization) for n in nodes)
        for n in nodes:
            weight = n.inputs[1] if n.op.kind in PACKED else None
            if weight is None or weight.weight is None:
                continue
            # a folded copy and a packed copy, which kernels that share the weight do not share
            if is_folded and n.op.kind is Kind.CONV:
                copied_bytes += 2 * bytes_of(weight, env)
            else:
                packed[weight] = None
    copied_bytes += sum(bytes_of(v, env) for v in packed)
    return ProcessMemory(
        0, stored, copied_bytes, max(table.live_bytes(env), default=stored) - stored
    )
