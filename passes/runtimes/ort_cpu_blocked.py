"""ONNX Runtime with all graph optimisations on its CPU provider: blocked channels."""

from dataclasses import replace

from perfc.ir import Kind

from . import ort_cpu

_ADDED = frozenset({"add", "sum", "add_relu", "hard_swish"})

TABLE = replace(
    ort_cpu.TABLE,
    name="ort-cpu-blocked",
    title="ONNX Runtime, all graph optimisations, CPU with blocked channels",
    epilogue={**ort_cpu.TABLE.epilogue, Kind.NORMALIZATION: frozenset({Kind.ELEMENTWISE})},
    epilogue_tags={
        Kind.CONV: ort_cpu.TABLE.epilogue_tags[Kind.CONV] | _ADDED,
        Kind.NORMALIZATION: frozenset({"relu"}),
    },
    aliases=(),
    stands_for=frozenset({"cpu"}),
    blocks_channels=True,
    source="onnxruntime nchwc_transformer.cc: on blocked channels a convolution also adds another "
    "result before its activation, and batch normalisation is one with a kernel of 1; "
    "the default of its sessions on x86-64 and arm64",
)
