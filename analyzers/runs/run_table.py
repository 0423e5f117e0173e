"""A run under any runtime as numbers: one row a kernel, and one row of the whole.

A kernel's row has what its launch is (`perfc.analyzers.steps.features`) and what was estimated of
it; the row of the run has shares of its time by kind, and means over its products. Both read the
deployment. The scale of a kernel is the geometric mean of its estimate and of its roofline at the
rates of the data sheet: the first knows the kernel, the second other machines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import Env, Module, Numbers, TensorType, cached_entity, walk
from perfc.machine import Unit
from perfc.passes.runtimes import Tf32

from ..estimate.estimate import Predictor
from ..estimate.interval import Interval
from ..features.network_id import network_id
from ..features.sheet import Sheet
from ..steps.features import LAUNCH_S, SHARED, TILE, log2, tabulate
from ..steps.launch_kind import LaunchKind
from ..steps.setting import Precision, Setting
from ..steps.stored import columns_at
from .host import host_sides
from .network import Network, convolved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.deployment import Deployment
    from perfc.passes.roofline.roofline import RooflineTable

    from ..estimate.estimate import Estimate
    from ..estimators import Execution
    from ..features.classes import Array
    from ..features.table import KernelBatch
    from ..steps.columns import Columns
    from .prediction import PredictionTable

KINDS = len(LaunchKind)
RUN = KINDS
"""Number of the kind of the row that stands for what a run takes beside its kernels."""
HOST_S, EACH_S = 20e-6, 3e-6
"""Scale of that row: of a run, and of each of its launches."""
LEAST_S = 1e-9
PREDICTORS = tuple(Predictor)
IS_RUNTIME = "is_"
CONVOLVED = "convolution_macs"
"""Feature of a run: share of convolutions in its MACs."""
VERSION = "runtime_version"
"""Feature of a run: its runtime's version; 0 where none is given."""
"""Start of the features that say which runtime it is; the names are those of the rows."""
STORED = {
    "f32": Precision.F32, "tf32": Precision.TF32, "bf16": Precision.BF16,
    "amp-f16": Precision.AMP_F16, "amp-bf16": Precision.AMP_BF16,
}  # fmt: skip
"""Precision whose scale stands for a what-if one; f16 for narrower ones too."""
ORDER = ("f32", "tf32", "f16", "amp", "int8")
"""Precisions from the widest; their position is a feature."""
SUMMED = (
    LaunchKind.STEM, LaunchKind.DEPTHWISE, LaunchKind.GROUPED, LaunchKind.POINTWISE,
    LaunchKind.CONVOLUTION, LaunchKind.MATMUL, LaunchKind.BATCHED_MATMUL, LaunchKind.ATTENTION,
    LaunchKind.ELEMENTWISE, LaunchKind.SOFTMAX, LaunchKind.LAYER_NORM, LaunchKind.POOL,
    LaunchKind.COPY, LaunchKind.MOVEMENT,
)  # fmt: skip
"""Kinds of which the run's row has means."""
MEANS = ("log2_m", "log2_n", "log2_k", "log2_waves", "log2_intensity")
OF_MACHINE = ("device_tb_per_s", "ridge_flop_per_byte", "sm_count")
"""Features that the machine decides alone."""
SHORT_S = (5e-6, 10e-6, 20e-6, 50e-6)
"""Lengths of a launch below which shares of time and of launches are counted."""


@cached_entity
class RunTable:
    """Features of one run.

    Args:
        launches: columns by name, ``[kernels + 1]``: one element per distinct kernel, and a last
            one for the time outside kernels.
        scale_s: scale of all repetitions of each, ``[kernels + 1]``.
        run: features of the run, by name.
        floor_s: lower bound of the run.
        kernels_s: sum of the kernels' estimates.
        host: relative interval of the run's time on other hosts than the measured ones.
        network_id: `network_id` of its model.
    """

    launches: Mapping[str, Array]
    scale_s: Array
    run: Mapping[str, float]
    floor_s: float
    kernels_s: float
    host: Interval = Interval.exactly(1.0)
    network_id: int = 0

    @property
    def network(self) -> Network:
        """Return the kind of network by which kernels have most MACs, whatever the batch."""
        return Network.of(self.run[CONVOLVED])

    def launch_values(self, names: Sequence[str]) -> NDArray[np.float32]:
        """Return launch features, ``[kernels + 1, features]``; others repeat the run or are 0."""
        values = np.repeat(self.run_values(names), len(self.scale_s), axis=0)
        for i, name in enumerate(names):
            if name in self.launches:
                values[:, i] = self.launches[name]
        return values

    def run_values(self, names: Sequence[str]) -> NDArray[np.float32]:
        """Return run features, ``[1, features]``; unknown ones are 0."""
        return np.array([[self.run.get(name, 0.0) for name in names]], np.float32)


def precision(deployment: Deployment, element: str, bounds: RooflineTable) -> str:
    """Return the precision of a run as `ORDER` names it; "" if it is none of those.

    Args:
        deployment: how it is run.
        element: type that the model is stored in, for a deployment without a precision.
        bounds: its kernels on the target; TF32 is f32 where that has none.
    """
    match deployment.dtype or element:
        case "f32" | "tf32":
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
    macs = {True: 0.0, False: 0.0}
    for bound in bounds.kernels:
        macs[bound.tf32] += bound.counts.mac * bound.launches
    return macs[True] > macs[False]


def stored_element(source: Module) -> str:
    """Return the type of the largest stored tensor, which a model computes in; "" without one."""
    stored = [one for one in source.graph.weight_types if isinstance(one, TensorType)]
    floats = [t for t in stored if t.dtype.is_float]
    largest = max(floats, key=lambda t: t.numel if isinstance(t.numel, int) else 0, default=None)
    return str(largest.dtype) if largest is not None else ""


def is_whole(source: Module, dtype: str) -> bool:
    """Return True if all floating-point values of a model have a type, so that it changes none."""
    nodes = walk(source.graph)
    types = {v.type for node in nodes for v in (*node.inputs, *node.results) if v is not None}
    tensors = [one for one in types if isinstance(one, TensorType)]
    floats = {str(one.dtype) for one in tensors if one.dtype.is_float}
    return len(tensors) == len(types) and floats == {dtype}


def leading_extent(source: Module, env: Env) -> int:
    """Return the first extent of the first input, the batch of most models; 1 if unknown."""
    shapes = (v.type.shape for v in source.graph.inputs if isinstance(v.type, TensorType))
    first = next((s[0] for s in shapes if s), 1)
    return max(int(Numbers(env)(first)), 1)


def tabulated(
    execution: Execution, table: PredictionTable, deployment: Deployment, stored: str, batch: int
) -> RunTable:
    """Return the features of a run.

    Args:
        execution: its kernels, typed and canonical module among it.
        table: their estimates.
        deployment: how it is run.
        stored: its `precision`.
        batch: leading extent of its first input.
    """
    wide = stored if stored in ("f32", "tf32") else deployment.dtype
    how = STORED.get(wide, Precision.F16)
    parts = RunKernels.of(execution, table, Setting(how))
    columns, runtime = parts.by_kernel(), execution.kernels.runtime.measured_name
    shared = {
        "log2_attended": parts.log2_attended,
        "log_batch": float(np.log(max(batch, 1))),
        "log_launches": float(np.log(max(float(parts.launches.sum()), 1.0))),
        "precision": float(ORDER.index(stored)),
        VERSION: float("{}.{:02}".format(*(deployment.version or (0, 0)))),
        f"{IS_RUNTIME}{runtime}": 1.0,
        **{name: float(parts.features.column(name)[0]) for name in OF_MACHINE},
    }
    rows = {name: np.append(values, 0.0) for name, values in columns.items()}
    rows["kind"][-1] = RUN
    beside_s = HOST_S + EACH_S * float(parts.launches.sum())
    total = table.timeline
    assert execution.module is not None
    return RunTable(
        rows,
        np.append(parts.scale_s, beside_s),
        {**shared, **parts.of_run(columns, total.floor_s, total.time_s)},
        execution.bounds.floor_s,
        total.time_s,
        host_sides(execution, math.fsum([*(k.time_s for k in table.launched), total.fixed_s])),
        network_id(execution.module),
    )


@cached_entity
class RunKernels:
    """Distinct kernels of a run, from which its features are computed.

    Args:
        columns: extents and traits of the launches.
        features: features of the launches.
        kernels: the estimate of each.
        count: number of equal kernels.
        launched: launches of each kernel.
        sheet: sheet of the machine.
    """

    columns: Columns
    features: KernelBatch
    kernels: Sequence[Estimate]
    count: Array
    launched: Array
    sheet: Sheet

    @classmethod
    def of(cls, execution: Execution, table: PredictionTable, setting: Setting) -> RunKernels:
        """Group the kernels of a run that are equal and have the same estimate."""
        module, kernels = execution.module, execution.kernels
        assert module is not None
        bounds, sheet = execution.bounds, Sheet(execution.machine)
        groups: dict[tuple[int, int], list[int]] = {}
        for i, (bound, kernel) in enumerate(zip(bounds.kernels, table.launched, strict=True)):
            groups.setdefault((bound.kernel.identity, id(kernel)), []).append(i)
        at = [places[0] for places in groups.values()]
        columns = kernels.once(
            ("columns", *at), bounds.env, lambda: columns_at(kernels, module, bounds.env, at)
        )
        return cls(
            columns,
            tabulate(columns, setting, sheet),
            [table.launched[i] for i in at],
            np.array([len(places) for places in groups.values()], np.float64),
            # trips of loops may be more than 64 bits hold
            np.maximum(np.array([bounds.kernels[i].launches for i in at], np.float64), 1.0),
            sheet,
        )

    @cached_property
    def launches(self) -> Array:
        """Return the launches of each kernel and its duplicates, ``[kernels]``."""
        return self.count * self.launched

    @cached_property
    def time_s(self) -> Array:
        """Return the estimate of each kernel in seconds, ``[kernels]``."""
        return np.maximum([k.time_s for k in self.kernels], LEAST_S)

    @cached_property
    def roof_s(self) -> Array:
        """Return the roofline time of each kernel at data sheet rates, ``[kernels]``."""
        return np.asarray(self.features.scale_s * self.launched)

    @cached_property
    def scale_s(self) -> Array:
        """Return the scale of each kernel with its duplicates, ``[kernels]``; factors multiply it.

        It is the geometric mean of the estimate and of a lower bound with traffic and launches.
        """
        nbytes = self.columns.amounts["read_bytes"] + self.columns.amounts["write_bytes"]
        device_s = nbytes * self.columns.times / self.sheet.device_bytes_per_s
        floor_s = np.array([k.floor_s for k in self.kernels])
        physical_s = np.maximum(floor_s, device_s) + LAUNCH_S * self.launched
        return np.asarray(self.count * np.sqrt(self.time_s * physical_s))

    @cached_property
    def log2_attended(self) -> float:
        """Return log2 of the longest row that attention or a softmax reads; 0 without one."""
        kind, traits = self.columns.kind, self.columns.traits
        attended = np.where(kind == LaunchKind.ATTENTION.number, traits["n"], 1.0)
        attended = np.where(kind == LaunchKind.SOFTMAX.number, traits["reduced"], attended)
        return float(log2(attended).max(initial=0.0))

    def by_kernel(self) -> dict[str, Array]:
        """Return the features of the kernels by name, ``[kernels]``."""
        each_s = self.time_s / self.launched
        ratio = [max(k.time.high, LEAST_S) / max(k.time.low, LEAST_S) for k in self.kernels]
        return {
            **{
                name: self.features.column(name).astype(np.float64)
                for name in self.features.names if name not in SHARED
            },
            "log_time": np.log(each_s),
            "log_time_per_scale": np.log(each_s / np.maximum(self.features.scale_s, LEAST_S)),
            "predictor": np.array([float(PREDICTORS.index(k.predictor)) for k in self.kernels]),
            "log_width": np.log(ratio),
        }  # fmt: skip

    def of_run(
        self, columns: Mapping[str, Array], floor_s: float, total_s: float
    ) -> dict[str, float]:
        """Return the features of the run by name.

        Args:
            columns: features of the kernels.
            floor_s: lower bound of the time of the run.
            total_s: sum of the kernels' estimates.
        """
        kind = self.columns.kind
        whole_s = float((self.count * self.time_s).sum())
        time = self.count * self.time_s / max(whole_s, LEAST_S)
        roof_s = float((self.count * self.roof_s).sum())
        roof = self.count * self.roof_s / max(roof_s, LEAST_S)
        launches, each_s = self.launches, self.time_s / self.launched
        result = {
            "log_floor_per_sum": np.log(max(floor_s, LEAST_S) / max(total_s, LEAST_S)),
            "log_roof_per_sum": np.log(max(roof_s, LEAST_S) / max(whole_s, LEAST_S)),
        }
        for limit_s in SHORT_S:
            name = f"{1e6 * limit_s:.0f}us"
            result[f"time_in_{name}"] = time[each_s < limit_s].sum()
            result[f"launches_in_{name}"] = launches[each_s < limit_s].sum() / launches.sum()
        for one in LaunchKind:
            result[f"time_{one.name.lower()}"] = time[kind == one.number].sum()
        for one in SUMMED:
            mine = kind == one.number
            share = float(roof[mine].sum())
            name = one.name.lower()
            result[f"roof_{name}"] = share
            result[f"launches_{name}"] = np.log1p(launches[mine].sum()) - np.log(launches.sum())
            for mean in MEANS:
                weighed = float((roof * columns[mean])[mine].sum())
                result[f"{mean}_{name}"] = weighed / share if share > 1e-3 else 0.0
        return {
            name: float(value)
            for name, value in (result | self._of_products(columns, time)).items()
        }

    def _of_products(self, columns: Mapping[str, Array], time: Array) -> dict[str, float]:
        amounts, traits = self.columns.amounts, self.columns.traits
        weight = time * (amounts["mac"] > 0)
        weight = weight / max(float(weight.sum()), LEAST_S)
        tiles = np.ceil(amounts["m"] / TILE) * np.ceil(traits["n"] / TILE) * amounts["groups"]
        waves = tiles / self.sheet.sm_count
        means = {
            "product_m": log2(amounts["m"]), "product_n": log2(traits["n"]),
            "product_k": log2(traits["k"]), "product_groups": log2(amounts["groups"]),
            "product_channels": log2(traits["channels"]), "product_window": traits["window"],
            "product_stride": traits["stride"], "product_intensity": columns["log2_intensity"],
            "product_waves": np.log2(np.maximum(waves, 1e-3)), "product_fill": np.minimum(waves, 1),
        }  # fmt: skip
        grouped = (self.columns.kind == LaunchKind.GROUPED.number) * self.count * self.roof_s
        known = max(float(grouped.sum()), LEAST_S)
        return {
            **{name: float((weight * values).sum()) for name, values in means.items()},
            "grouped_groups": float((grouped * columns["log2_groups"]).sum()) / known,
            CONVOLVED: convolved(self.columns, self.count),
            "forest_share": float(
                time[columns["predictor"] == PREDICTORS.index(Predictor.LEARNED)].sum()
            ),
        }
