"""torch.compile's Inductor: generated kernels for pointwise chains and reductions.

Its wrapper launches one after the other, unless graphs are recorded (`inductor_cudagraph`).
"""

from perfc.ir import Kind

from ..fusion.windows import WINDOWS
from . import STRIDED, Framework, LaunchMode, Layout, Runtime, Steps, Tf32
from ._inductor_launches import launches, puts_last
from ._list_limits import PYTORCH

_POINTWISE = frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE, Kind.MOVEMENT, Kind.RANDOM})
_LOOPS = _POINTWISE | {Kind.NORMALIZATION, Kind.REDUCTION, Kind.SOFTMAX}

TABLE = Runtime(
    name="inductor",
    title="torch.compile (Inductor)",
    launch=LaunchMode.EAGER,
    epilogue={
        Kind.ELEMENTWISE: _LOOPS,
        Kind.MOVEMENT: _LOOPS,
        Kind.QUANTIZE: _LOOPS,
        Kind.NORMALIZATION: _LOOPS,
        Kind.REDUCTION: _LOOPS,
        Kind.SOFTMAX: _POINTWISE,
        Kind.GATHER: _LOOPS,
        Kind.RANDOM: _LOOPS,
    },
    patterns=("slice_update", "attention", "linear_bias"),
    views=STRIDED | {WINDOWS},
    keeps_shared=True,
    framework=Framework.TORCH,
    library="cuDNN",
    tf32=Tf32.CONVOLUTIONS,
    steps=Steps.COMPILED,
    measured_as="inductor",
    layouts=(Layout.CHANNELS_FIRST, Layout.CHANNELS_LAST),
    lists=PYTORCH,
    launches=launches,
    puts_last=puts_last,
    source="torch._inductor scheduler: pointwise and reduction loops over the same range fuse, "
    "values that others read are written on the way; fuse_attention passes; matrix products "
    "and convolutions stay library calls, batch normalisation is a pointwise loop unless frozen",
)
