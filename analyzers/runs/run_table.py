"""Tabulate the numbers of a run by which it is compared with measured runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import Env, Module, Numbers, TensorType, cached_entity
from perfc.machine import Unit
from perfc.passes.runtimes import Tf32

from ..features.distance import coordinates, vendor
from ..features.network_id import network_id
from ..features.sheet import Sheet
from ..steps.columns import Columns, columns_at
from ..steps.features import log2
from ..steps.launch_kind import LaunchKind

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.passes.roofline.roofline import RooflineTable

    from ..estimators import Execution
    from ..features.classes import Array
    from .prediction import PredictionTable

LEAST_S = 1e-9
"""Minimum time in logarithms and denominators, as a part of a run may take none."""
ORDER = ("f32", "tf32", "f16", "amp", "int8")
"""Precisions, from the widest; trained weights contain their indices."""
RATES_OF = "f16"
"""Element type whose rates define the coordinates and distances of machines."""
WORK = ("log_launch", "log_batch", "log2_m")
"""Logarithms of the mean time of a launch on the device, of the batch, and of the mean rows of
products: numbers that grow with the batch."""
NETWORK = ("log_launches", "log2_attended", "log2_n", "log2_k")
"""Logarithms of the number of launches, of the longest row of attention scores, and of the mean
columns and depth of products: numbers that are the same at any batch."""
MACHINE = (
    "log2_matrix",
    "log2_vector",
    "log2_bandwidth",
    "log2_l2",
    "log2_sms",
    "log2_clock",
    "log2_power",
    "vendor",
)
"""Coordinates of the machine, `perfc.analyzers.features.distance.coordinates`."""
SHARES = tuple(f"time_{kind.name.lower()}" for kind in LaunchKind)
"""Square roots of the shares of the device's time by kind of launch."""
COUNTS = tuple(f"launches_{kind.name.lower()}" for kind in LaunchKind)
"""Square roots of the shares of launches by kind, the same at any batch."""
PARTS = ("of_device", "of_host", "of_fixed")
"""Shares of the parts of a run: derivatives of the logarithm of the run's time by the logarithm of
the time of each part."""
COLUMNS = (*WORK, *NETWORK, *MACHINE, *SHARES, *COUNTS, *PARTS)
ADA = 8.9
"""Compute capability of Ada, whose larger L2 makes it differ from Ampere, which has the same major
number."""
CHANGE = 0.8
"""Change of the logarithm of a part's time over which a derivative is taken as a difference. It is
wide, so that a run in which device and host take about as long has a share of both."""
STEPS = np.eye(len(PARTS)) * CHANGE / 2
"""Half a change of each part, one row each, for central differences."""


@cached_entity
class RunTable:
    """Numbers of one run for the Gaussian process of runs.

    Args:
        runtime: name of the runtime in measured runs.
        library: name of the library of its kernels, "" if no other runtime launches them.
        stored: precision of the run (`precision`).
        version: version of its runtime, as 2.09 for 2.9; 0 if unknown.
        architecture: number of vendor and major compute capability; Ada has a separate one.
        network_id: `network_id` of its model.
        places: values of `COLUMNS`.
        ways_s: host and device seconds on each path through the run, ``[paths, 2]``; the longest
            path determines its time.
        fixed_s: time besides launches and kernels.
        kernels_s: time of the run by its timeline.
        floor_s: lower bound of the run.
    """

    runtime: str
    library: str
    stored: str
    version: float
    architecture: float
    network_id: int
    places: Array
    ways_s: Array
    fixed_s: float
    kernels_s: float
    floor_s: float


def longer(ways_s: Array, fixed_s: float, parts: Array) -> Array:
    """Return the logarithm of the factor of a run from the logarithms of the factors of its parts.

    It grows with each factor: a run with more work never takes less time. The shape is ``[...]``.

    Args:
        ways_s: `RunTable.ways_s`.
        fixed_s: time besides launches and kernels.
        parts: logarithms of the factors of the parts, ``[..., parts]``.
    """
    # a path is as long as its device and host times together; the longest path counts
    device, host, fixed = np.exp(parts).T
    changed_s = (ways_s @ np.array([host, device])).max(axis=0) + fixed_s * fixed + LEAST_S
    return np.asarray(np.log(changed_s / (ways_s.sum(axis=1).max() + fixed_s + LEAST_S)))


def precision(deployment: Deployment, element: str, bounds: RooflineTable) -> str:
    """Return the precision of a run as `ORDER` names it; "" for a precision that is not there.

    Args:
        deployment: deployment of the run.
        element: type in which the model is stored, for a deployment without a precision.
        bounds: its kernels on the target; TF32 counts as f32 on a target without it.
    """
    match deployment.dtype or element:
        case "f32" | "tf32":
            # TF32 that is no faster than f32, or absent, is f32
            wide, narrow = (
                bounds.machine.entry(Unit.MATRIX, "f32", allow_tf32=allowed).nominal.value
                for allowed in (False, True)
            )
            is_narrow = deployment.dtype == "tf32" or is_rounded(
                deployment.rounded_on(bounds.machine), bounds
            )
            return "tf32" if is_narrow and narrow > wide else "f32"
        case "f16" | "bf16":
            return "f16"
        case "amp-f16" | "amp-bf16":
            return "amp"
        case "i8" | "f8e4m3" | "f8e5m2":
            return "int8"
    return ""


def is_rounded(tf32: Tf32, bounds: RooflineTable) -> bool:
    """Return True if most MACs of a run may use TF32."""
    if tf32 is not Tf32.CONVOLUTIONS:
        return tf32 is Tf32.ALL
    # TF32 for convolutions alone, as in PyTorch's default: the kernels decide
    macs = {True: 0.0, False: 0.0}
    for bound in bounds.kernels:
        macs[bound.tf32] += bound.counts.mac * bound.launches
    return macs[True] > macs[False]


def stored_element(source: Module) -> str:
    """Return the type of the largest stored float tensor, in which a model computes; or ""."""
    stored = [t for t in source.graph.weight_types if isinstance(t, TensorType)]
    floats = [t for t in stored if t.dtype.is_float]
    largest = max(floats, key=lambda t: t.numel if isinstance(t.numel, int) else 0, default=None)
    return str(largest.dtype) if largest is not None else ""


def leading_extent(source: Module, env: Env) -> int:
    """Return the first extent of the first input, the batch of most models; 1 if unknown."""
    shapes = (v.type.shape for v in source.graph.inputs if isinstance(v.type, TensorType))
    first = next((s[0] for s in shapes if s), 1)
    return max(int(Numbers(env)(first)), 1)


def tabulated(
    execution: Execution, table: PredictionTable, deployment: Deployment, stored: str, batch: int
) -> RunTable:
    """Return the table of a run.

    Args:
        execution: kernels of the run with their typed and canonical module.
        table: estimates of the kernels.
        deployment: deployment of the run.
        stored: precision of the run (`precision`).
        batch: leading extent of the first input.
    """
    module = execution.module
    assert module is not None
    kernels, bounds, alone = execution.kernels, execution.bounds, table.timeline
    first = dict[int, int]()  # of equal kernels, whose launches and times are summed below
    for i, bound in enumerate(bounds.kernels):
        first.setdefault(bound.kernel.identity, i)
    indices = [*first.values()]
    columns = kernels.once(
        ("columns", *indices), bounds.env, lambda: columns_at(kernels, bounds.env, indices)
    )
    number_of = {identity: i for i, identity in enumerate(first)}
    numbers = [number_of[bound.kernel.identity] for bound in bounds.kernels]
    times_s = [k.time_s for k in table.launched]
    time_s, counts = (
        np.asarray(np.bincount(numbers, summands, len(indices)), np.float64)
        for summands in (times_s, [bound.launches for bound in bounds.kernels])
    )
    launches, device_s = max(float(counts.sum()), 1.0), float(np.sum(times_s))
    sheet = Sheet(execution.machine)
    attended, m, n, k = extents(columns, counts)
    ways_s, fixed_s = np.array([[0.0, device_s]]), alone.fixed_s  # seconds of host and device
    if not kernels.runtime.has_parts:  # its measured runs are whole: all counts as device time
        ways_s, fixed_s = np.array([[0.0, alone.time_s]]), 0.0
    elif table.host is not None:
        ways_s = np.concatenate([ways_s, table.host.ways_s(times_s)])
    work = math.log(max(device_s, LEAST_S) / launches), math.log(max(batch, 1)), m
    return RunTable(
        kernels.runtime.measured_name,
        kernels.runtime.library,
        stored,
        float("{}.{:02}".format(*(deployment.version or (0, 0)))),  # 2.09 before 2.10
        vendor(sheet) * 100 + math.floor(sheet.generation) + (sheet.generation == ADA) / 2,
        kernels.once("network", {}, lambda: network_id(module)),
        np.array(
            [
                *work,
                *(math.log(launches), attended, n, k),
                *coordinates(sheet, RATES_OF),
                *shares(columns, time_s),
                *shares(columns, counts),
                *(longer(ways_s, fixed_s, STEPS) - longer(ways_s, fixed_s, -STEPS)) / CHANGE,
            ]
        ),
        ways_s,
        fixed_s,
        alone.time_s,
        bounds.floor_s,
    )


def extents(columns: Columns, counts: Array) -> tuple[float, ...]:
    """Return the longest row of attention scores and the mean extents of products.

    They are logarithms to base 2; the extents are rows, columns and depth.

    Args:
        columns: extents and traits of kernels.
        counts: number of launches of each.
    """
    kind, traits = columns.kind, columns.traits
    # keys of fused attention, or the row of a softmax in attention that is not fused
    attended = np.where(kind == LaunchKind.ATTENTION.number, traits["n"], 1.0)
    attended = np.where(kind == LaunchKind.SOFTMAX.number, traits["reduced"], attended)
    # means are weighted by multiply-accumulates
    weight = counts * columns.amounts["mac"]
    weight = weight / max(float(weight.sum()), LEAST_S)
    of_products = (columns.amounts["m"], traits["n"], traits["k"])
    return float(log2(attended).max(initial=0.0)), *(float(weight @ log2(x)) for x in of_products)


def shares(columns: Columns, time_s: Array) -> Array:
    """Return the square roots of the shares of times (or counts) by kind of launch.

    Euclidean distances of square roots are Hellinger distances, up to a factor.
    """
    by_kind = np.bincount(columns.kind.astype(int), time_s, len(LaunchKind))
    return np.asarray(np.sqrt(by_kind / max(float(time_s.sum()), LEAST_S)))
