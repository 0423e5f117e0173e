"""Single kernels by what whole steps taught, for kernels whose like nobody timed alone.

Factors of launches are learned through the times of whole steps (`training.step_fit`), where errors
of launches cancel: the interval of a kernel has, beside that of a step made of such launches alone,
what kernels timed alone were off. Kernels of one run are wrong together, and its interval adds up
the widths that steps have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.ir.types import TensorType
from perfc.passes.manager import Analyses
from perfc.passes.strides import Strides

from .. import artefact
from ..artefact import Artefact, WeightsError
from ..predictor import LONGEST
from ..sheet import Sheet
from .columns import columns as columns_of
from .features import tabulate
from .launches import Launch, Listing
from .predict import (
    FAR,
    distance_to,
    expected_error,
    multipliers,
    outside,
    walked,
    weights_name,
)
from .setting import Mode, Precision, Setting

if TYPE_CHECKING:
    from perfc.ir.graph import Module, Value
    from perfc.passes.fuse import Kernel, KernelTable
    from perfc.passes.roofline import RooflineTable

    from ..card import Card
    from ..classes import Array
    from .columns import Columns

RUNTIMES = {"eager": Mode.EAGER, "cudagraph": Mode.EAGER, "inductor": Mode.COMPILED}
"""Runtimes by the steps that ran their kernels, whatever launched them."""
PRECISIONS = {
    "f16": (Precision.AMP_F16, Precision.F16), "bf16": (Precision.AMP_BF16, Precision.BF16),
}  # fmt: skip
"""Ways to run kernels of a type, that of most rows first: autocast runs the same kernels."""
KERNEL_ERROR = 0.30
"""Root mean square of log(measured / predicted) of kernels timed alone on a machine of the steps.

1,200 kernels in f16 on RTX 3090, eight layers of Llama 3.1 8B that count the same, from the older
profiler of LLMServingSim; ``benchmarks/step_kernels.py``.
"""
NINE_IN_TEN = 1.645
"""Standard deviations on either side that hold nine in ten of a normal distribution."""
TORCH = re.compile(r"torch (\d{1,4})\.(\d{1,4})")


@dataclass(frozen=True, slots=True)
class KernelTime:
    """What steps say of a kernel, all its launches and the copies of its views together.

    Args:
        time_s: predicted.
        low_s: end of the interval of the kernel alone.
        high_s: its other end.
        in_run: ends of the interval of a step made of such launches alone, which is what the kernel
            adds to that of a run.
        is_extrapolating: the kernel or the machine is unlike those of the steps.
        is_measured: steps of its type were measured on this machine, or a near one.
        is_own: on this one.
        weights: name of the weights.
    """

    time_s: float
    low_s: float
    high_s: float
    in_run: tuple[float, float]
    is_extrapolating: bool
    is_measured: bool
    is_own: bool
    weights: str


class Stored(Listing):
    """Launches of a module whose types are those that are stored."""

    def bits(self, v: Value) -> int:
        """Of an element, as declared."""
        return v.type.dtype.bits if isinstance(v.type, TensorType) else 0


def kernel_times(
    bounds: RooflineTable,
    kernels: KernelTable,
    module: Module,
    wanted: Sequence[int],
    *,
    copies_alone: bool = False,
    folder: Path = artefact.SHIPPED,
) -> dict[int, KernelTime]:
    """Times of the kernels ``wanted`` that steps know, by their index; nothing without weights.

    Args:
        bounds: the roofline of the kernels.
        kernels: of the module, with their runtime.
        module: typed and canonical, in the types it runs in.
        wanted: indices in the roofline.
        copies_alone: only the copies of views that the framework makes for a kernel, for those
            that have some.
        folder: where weights lie.

    Raises:
        WeightsError: weights that are damaged or read other features.
    """
    mode = RUNTIMES.get(kernels.runtime.name.partition(":")[0])
    path = folder / f"{weights_name(mode)}.toml" if mode is not None else None
    if path is None or bounds.machine.kind == "cpu" or not wanted or not path.is_file():
        return {}
    found = _load(path)
    groups: dict[str, list[int]] = {}
    for i in wanted:
        dtype = element_type(bounds.kernels[i].kernel)
        if dtype in found.card.dtypes:
            groups.setdefault(dtype, []).append(i)
    listing: Stored | None = None
    times: dict[int, KernelTime] = {}
    for dtype, indices in groups.items():
        setting = setting_of(found.card, dtype, mode is Mode.COMPILED, bounds.machine.name)
        if setting is None:
            continue
        listing = listing or listed(bounds, kernels, module, setting.compiled)
        owners, made = launches_of(listing, bounds, indices, copies_alone=copies_alone)
        if made:
            times |= estimated(found, owners, columns_of(made), bounds, setting)
    return times


def element_type(kernel: Kernel) -> str:
    """The 16-bit type among what a kernel reads and writes, "" where there is none."""
    types = {
        str(v.type.dtype) for v in (*kernel.reads, *kernel.writes) if isinstance(v.type, TensorType)
    }
    return next((name for name in PRECISIONS if name in types), "")


def setting_of(card: Card, dtype: str, compiled: bool, target: str) -> Setting | None:
    """The way of running kernels of a type that steps were measured in, of the newest version.

    Where this machine was measured, its newest version.
    """
    for precision in PRECISIONS[dtype]:
        kin = [k for k in card.kin if k[1] == precision.value]
        own = [k for k in kin if k[0] == target]
        versions = [TORCH.fullmatch(k[2]) for k in own or kin]
        numbers = [(int(v[1]), int(v[2])) for v in versions if v is not None]
        if numbers:
            return Setting(precision, compiled=compiled, version=max(numbers))
    return None


def listed(bounds: RooflineTable, kernels: KernelTable, module: Module, compiled: bool) -> Stored:
    """Counts launches at the values of the roofline."""
    from perfc.ir.evaluate import Numbers

    strides = Analyses().get(Strides(kernels.runtime.name), module)
    return Stored(kernels, None, strides, compiled, [Numbers(bounds.env)])


def estimated(
    found: Artefact,
    owners: Array,
    columns: Columns,
    bounds: RooflineTable,
    setting: Setting,
) -> dict[int, KernelTime]:
    """Launches of one element type, summed by the kernel that owns them."""
    import numpy as np

    sheet, card = Sheet(bounds.machine), found.card
    table = tabulate(columns, setting, sheet)
    if table.names != card.features:
        raise WeightsError(
            f"weights of {card.name} read other features than these",
            hint="train them anew with `perfc train op`",
        )
    kinds = multipliers(found.more["multipliers"], card, setting, bounds.machine.name)
    factor = kinds[columns.kind.astype(int)] * np.exp(walked(found.factor, table.values))
    time_s = np.maximum(table.scale_s * factor, table.floor_s) * columns.times
    beyond = outside(found, table.values)
    known = bounds.machine.name in card.targets
    spread = walked(found.spread, table.values)
    width = expected_error(found, spread, known=known) * (1 + beyond)
    apart = distance_to(card, setting, sheet)
    band = card.calibration.at(apart, measured=known)
    down = np.minimum(width * -min(band.low, 0.0), LONGEST)
    up = np.minimum(width * max(band.high, 0.0), LONGEST)
    alone = NINE_IN_TEN * KERNEL_ERROR
    low_s, high_s = time_s * np.exp(-np.hypot(down, alone)), time_s * np.exp(np.hypot(up, alone))

    least_s, most_s = time_s * np.exp(-down), time_s * np.exp(up)
    times: dict[int, KernelTime] = {}
    for i in np.unique(owners).tolist():
        own = owners == i
        times[i] = KernelTime(
            float(time_s[own].sum()),
            float(low_s[own].sum()),
            float(high_s[own].sum()),
            (float(least_s[own].sum()), float(most_s[own].sum())),
            apart > FAR or bool(beyond[own].max() > FAR),
            apart <= FAR,
            known,
            card.name,
        )
    return times


def launches_of(
    listing: Stored, bounds: RooflineTable, indices: Sequence[int], *, copies_alone: bool
) -> tuple[Array, list[Launch]]:
    """Launches of kernels, the copies of their views after each, and whose they are."""
    import numpy as np

    owners: list[int] = []
    made: list[Launch] = []
    for i in indices:
        bound = bounds.kernels[i]
        own = [] if copies_alone else [listing.launch(i, bound.kernel)]
        own += [replace(copy, times=bound.launches) for copy in listing.copied(bound.kernel)]
        made += own
        owners += [i] * len(own)
    return np.array(owners), made


@cache
def _load(path: Path) -> Artefact:
    return artefact.load(path)
