"""Single kernels by what whole steps taught, for kernels whose like nobody timed alone.

Factors of launches are learned through the times of whole steps (`training.runs.step_fit`), where
errors of launches cancel: the interval of a kernel has, beside that of a step made of such launches
alone, what kernels timed alone were off. Kernels of one run are wrong together, and its interval
adds up the widths that steps have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir import Kind, Module, TensorType, entity, record
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.inference.strides import Strides, strides_of
from perfc.passes.manager import Analyses
from perfc.passes.precision.autocast import Autocast
from perfc.passes.precision.retype import AUTOCAST
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes import Steps

from ..artefacts import artefact
from ..artefacts.artefact import Artefact, WeightsError
from ..estimate.estimate import Estimate, Predictor
from ..estimate.floors import above_floors
from ..estimate.interval import Interval
from ..features.sheet import Sheet
from ..intervals.conformal import EXTRAPOLATED, LONGEST
from .columns import columns as columns_of
from .features import tabulate
from .launches import Launch, LaunchWalk
from .predict import (
    CLASS,
    FAR,
    distance_to,
    ends,
    multipliers,
    outside,
    walked,
    weights_name,
)
from .setting import Precision, RunMode, Setting
from .stored import Stored

if TYPE_CHECKING:
    from perfc.passes.fusion.fuse import KernelTable
    from perfc.passes.fusion.kernel import Kernel
    from perfc.passes.roofline.roofline import RooflineTable

    from ..artefacts.card import Card
    from ..features.classes import Array

MODES = {Steps.EAGER: RunMode.EAGER, Steps.COMPILED: RunMode.COMPILED}
"""Execution mode whose weights cover the kernels of a runtime, by kind of steps."""
PRECISIONS = {
    "f16": (Precision.AMP_F16, Precision.F16), "bf16": (Precision.AMP_BF16, Precision.BF16),
}  # fmt: skip
"""Precisions that run kernels of a type, by number of rows: autocast runs the same kernels."""
ALL = -1
"""Owner of launches that all kernels share."""
KERNEL_ERROR = constants_next_to(__file__)["kernel_error"].number
"""Root mean square of log(measured / predicted) of kernels timed alone on machines of the steps."""
NINE_IN_TEN = 1.645
"""Standard deviations of the 90 % interval of a normal distribution."""
NEVER_RUN = frozenset({Kind.OPTIMIZER})
"""Kinds of kernels that the fitted steps, all of inference, did not run."""
TORCH = r"torch (\d{1,4})\.(\d{1,4})"


@record
class Autocasting:
    """A model under autocast.

    Args:
        dtype: element type of its products.
        module: typed and canonical, in f32, with the same kernels as the predicted module.
        am: caches its kernels, types and strides between calls.
    """

    dtype: str
    module: Module
    am: Analyses = field(default_factory=Analyses)

    @classmethod
    def of(cls, source: Module, dtype: str) -> Autocasting | None:
        """Return the model, as read, under autocast to a precision; None if that is no autocast."""
        narrow = AUTOCAST.get(dtype)
        if narrow is None:
            return None
        am = Analyses()
        return cls(narrow, am.apply(Canonicalize(), source), am)


def kernel_times(
    bounds: RooflineTable,
    kernels: KernelTable,
    module: Module,
    wanted: Sequence[int],
    *,
    copies_alone: bool = False,
    autocast: Autocasting | None = None,
    folder: Path = artefact.SHIPPED,
) -> dict[int, Estimate]:
    """Return the times of the ``wanted`` kernels that weights cover, by index; {} without weights.

    Args:
        bounds: the roofline of the kernels.
        kernels: kernels of the module, with their runtime.
        module: typed and canonical, in the types it runs in.
        wanted: indices in the roofline.
        copies_alone: only copies of views and casts that the framework makes for a kernel.
        autocast: the model under autocast; None without it.
        folder: folder of the weights.

    Raises:
        WeightsError: weights that are damaged or read other features.
    """
    times: dict[int, Estimate] = {}
    for part in covered(bounds, kernels, module, wanted, autocast=autocast, folder=folder):
        owned = launches_of(part.listing, bounds, part.indices, copies_alone=copies_alone)
        if owned.launches:
            times |= owned.shared(estimated(part.weights, owned, bounds, part.setting))
    if copies_alone:
        return times
    floors_s = [bounds.kernels[i].floor_s for i in times]
    before_s = [t.time_s for t in times.values()]
    # the sum stays because the weights were fitted to sums
    ends_s = above_floors(np.array(before_s), np.array(floors_s), math.fsum(before_s)).tolist()
    scaled = (
        t.scaled(s / t.time_s if t.time_s else 1.0)
        for t, s in zip(times.values(), ends_s, strict=True)
    )
    return {i: t.above(floor_s) for i, t, floor_s in zip(times, scaled, floors_s, strict=True)}


@entity
class CoveredKernels:
    """Kernels of one element type that weights cover.

    Args:
        weights: fitted to steps with such kernels.
        setting: setting of these steps.
        listing: counts the kernels' launches.
        indices: indices of the kernels.
    """

    weights: Artefact
    setting: Setting
    listing: LaunchWalk
    indices: Sequence[int]


def covered(
    bounds: RooflineTable,
    kernels: KernelTable,
    module: Module,
    wanted: Sequence[int],
    *,
    autocast: Autocasting | None,
    folder: Path,
) -> list[CoveredKernels]:
    """Return the ``wanted`` kernels that weights cover, by element type; [] without weights."""
    steps = kernels.runtime.known_steps
    mode = MODES[steps] if steps is not None else None
    path = folder / f"{weights_name(mode)}.json" if mode is not None else None
    if path is None or bounds.machine.kind == "cpu" or not wanted or not path.is_file():
        return []
    artefact = _load(path)
    groups: dict[str, list[int]] = {}
    for i in wanted:
        kernel = bounds.kernels[i].kernel
        dtype = autocast.dtype if autocast else element_type(kernel)
        is_fitted = kernel.helper is None and kernel.kind not in NEVER_RUN
        if dtype in artefact.card.dtypes and is_fitted:
            groups.setdefault(dtype, []).append(i)
    listing: LaunchWalk | None = None
    parts: list[CoveredKernels] = []
    for dtype, indices in groups.items():
        setting = setting_of(
            artefact.card, dtype, mode is RunMode.COMPILED, bounds.machine.name,
            mixed=autocast is not None,
        )  # fmt: skip
        if setting is None:
            continue
        listing = listing or listed(bounds, kernels, module, setting.compiled, autocast)
        if listing is None:
            return []
        parts.append(CoveredKernels(artefact, setting, listing, indices))
    return parts


def element_type(kernel: Kernel) -> str:
    """Return the 16-bit type among a kernel's inputs and outputs; "" without one."""
    types = {
        str(v.type.dtype) for v in (*kernel.reads, *kernel.writes) if isinstance(v.type, TensorType)
    }
    return next((name for name in PRECISIONS if name in types), "")


def setting_of(
    card: Card, dtype: str, compiled: bool, target: str, *, mixed: bool = False
) -> Setting | None:
    """Return the setting of measured steps with kernels of a type, at the newest version.

    It is the newest version on this machine, if that was measured. ``mixed`` requires autocast.
    """
    for precision in PRECISIONS[dtype]:
        configurations = [k for k in card.configurations if k[1] == precision.value]
        of_target = [k for k in configurations if k[0] == target]
        versions = [re.fullmatch(TORCH, k[2]) for k in of_target or configurations]
        numbers = [(int(v[1]), int(v[2])) for v in versions if v is not None]
        if numbers and (precision.is_mixed or not mixed):
            return Setting(precision, compiled=compiled, version=max(numbers))
    return None


def listed(
    bounds: RooflineTable,
    kernels: KernelTable,
    module: Module,
    compiled: bool,
    autocast: Autocasting | None,
) -> LaunchWalk | None:
    """Return the lister of a module's launches at the values of the roofline's symbols.

    None if a model under autocast is fused differently in f32.
    """
    from perfc.ir import Numbers

    name, at = kernels.runtime.name, [Numbers(bounds.env)]
    if autocast is None:
        return Stored(kernels, None, strides_of(module, kernels), compiled, at)
    am, wide = autocast.am, autocast.module
    stored, table = am.get(Autocast(autocast.dtype), wide), am.get(Fuse(name), wide)
    if len(table.kernels) != sum(k.helper is None for k in kernels.kernels):
        return None
    operators = iter(table.kernels)
    each = [next(operators) if k.helper is None else k for k in kernels.kernels]
    table = replace(table, kernels=tuple(each), memo={})
    return LaunchWalk(table, stored, am.get(Strides(name), wide), compiled, at)


@record
class Owned:
    """Launches with their kernels.

    Args:
        launches: launches of all kernels.
        owners: index of each launch's kernel; ``ALL`` for the casts of weights.
        weight_bytes: bytes of cast weights, by kernel.
    """

    launches: Sequence[Launch]
    owners: Sequence[int]
    weight_bytes: Mapping[int, float]

    def shared(self, times: Mapping[int, Estimate]) -> dict[int, Estimate]:
        """Return the times by kernel, each with its part of the casts of weights."""
        shares = {i: time for i, time in times.items() if i != ALL}
        casts = times.get(ALL)
        if casts is None:
            return shares
        whole = math.fsum(self.weight_bytes.values())
        for i, nbytes in self.weight_bytes.items():
            part = casts.scaled(nbytes / whole)
            shares[i] = shares[i].plus(part) if i in shares else part
        return shares


@entity
class LaunchTimes:
    """Predicted launches of one element type, with all their repetitions.

    Args:
        scale_s: roofline of one repetition.
        factor: fitted factor of the scale.
        time_s: time of all repetitions; no launch is below its floor.
        down: logarithm of the middle over the lower end, for a step of such launches.
        up: logarithm of the upper end over the middle.
        beyond: distance of each launch from the training range.
    """

    scale_s: Array
    factor: Array
    time_s: Array
    down: Array
    up: Array
    beyond: Array


def launch_times(
    artefact: Artefact, owned: Owned, bounds: RooflineTable, setting: Setting
) -> LaunchTimes:
    """Return the time of each launch: its scale times the fitted factor.

    Raises:
        WeightsError: weights that read other features.
    """
    sheet, card = Sheet(bounds.machine), artefact.card
    columns = columns_of(owned.launches)
    table = tabulate(columns, setting, sheet)
    if table.names != card.features:
        raise WeightsError(
            f"weights of {card.name} read other features than these",
            hint="train them anew with `perfc train op`",
        )
    kinds = multipliers(artefact.more["multipliers"], card, setting, bounds.machine.name)
    factor = kinds[columns.kind.astype(int)] * np.exp(walked(artefact.factor, table.values))
    time_s = np.maximum(table.scale_s * factor, table.floor_s) * columns.times
    beyond = outside(artefact, table.values)
    known = bounds.machine.name in card.targets
    spread = walked(artefact.spread, table.values)
    low, high = ends(card, spread, distance_to(card, setting, sheet), known=known)
    down = np.minimum(-low * (1 + beyond), LONGEST)
    up = np.minimum(high * (1 + beyond), LONGEST)
    return LaunchTimes(table.scale_s, factor, time_s, down, up, beyond)


def estimated(
    artefact: Artefact, owned: Owned, bounds: RooflineTable, setting: Setting
) -> dict[int, Estimate]:
    """Return the times of kernels of one element type: sums of their launches."""
    owners, each = np.array(owned.owners), launch_times(artefact, owned, bounds, setting)
    time_s, alone = each.time_s, NINE_IN_TEN * KERNEL_ERROR
    low_s, high_s = (
        time_s * np.exp(-np.hypot(each.down, alone)), time_s * np.exp(np.hypot(each.up, alone))
    )  # fmt: skip
    least_s, most_s = time_s * np.exp(-each.down), time_s * np.exp(each.up)
    separation = distance_to(artefact.card, setting, Sheet(bounds.machine))
    times: dict[int, Estimate] = {}
    for i in sorted({*owned.owners}):
        is_owned = owners == i
        alone_s, step_s = (
            Interval(*(float(end[is_owned].sum()) for end in ends))
            for ends in ((low_s, time_s, high_s), (least_s, time_s, most_s))
        )
        times[i] = Estimate(
            0.0,
            alone_s,
            Predictor.STEPS,
            CLASS,
            is_extrapolating=alone_s.high > EXTRAPOLATED * alone_s.low,
            is_measured=separation <= FAR,
            is_own=bounds.machine.name in artefact.card.targets,
            in_run=step_s,
        )
    return times


def launches_of(
    listing: LaunchWalk, bounds: RooflineTable, indices: Sequence[int], *, copies_alone: bool
) -> Owned:
    """Return the launches of kernels: casts before each kernel, copies of its views after it."""
    owners: list[int] = []
    launches: list[Launch] = []
    weight_bytes: dict[int, float] = {}
    for i in indices:
        kernel, before = listing.table.kernels[i], listing.weight_bytes
        moved = list[Launch]()
        if not listing.table.runtime.launches:
            # else casts and copies of views are kernels
            moved += [*listing.casts(kernel), *listing.copied(kernel)]
        of_kernel = [] if copies_alone else [listing.launch(i, kernel)]
        of_kernel += [replace(launch, times=bounds.kernels[i].launches) for launch in moved]
        launches += of_kernel
        owners += [i] * len(of_kernel)
        if listing.weight_bytes > before:
            weight_bytes[i] = listing.weight_bytes - before
    casts = list(listing.weight_casts())
    return Owned([*launches, *casts], [*owners, *[ALL] * len(casts)], weight_bytes)


@cache
def _load(path: Path) -> Artefact:
    return artefact.load(path)
