"""Counters of one launch to seconds, flop by unit and element type, and bytes by level.

    time  = cycles elapsed / cycles a second                                             (3.3)
    FP32  = fadd + 2 ffma + fmul;  FP64 likewise                                         (3.4)
    FP16  = hadd + 2 hfma + hmul                                                         (3.5)
    tensor = instructions of the tensor pipe * operations of one on that architecture    (3.6)

Source: equations 3.3 to 3.6 of the thesis cited in `docs/ncu.md`, whose 512 operations an
instruction are Volta's. A counter that is missing is never taken for zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from perfc.ir import record
from perfc.machine import Unit
from perfc.view.chart.roofs import RoofLevel

from .metrics import (
    CYCLES,
    CYCLES_PER_S,
    DEVICE_NAME,
    DRAM_PARTS,
    DURATION,
    LEVELS,
    OPS_PATH,
    OPS_PATH_TYPES,
    PER_CYCLE,
    PIPE_TENSOR,
    PIPE_TENSOR_OPS,
    SCALAR,
    SCALAR_OPS,
    SCALAR_PATTERN,
    SECTOR_BYTES,
    SECTORS,
    has_tensor_pipe,
    instruction,
)
from .table import NcuLaunch

TENSOR = "tensor"
"""Pipe of unknown kind; also names missing tensor operations."""


@record
class LaunchQuantities:
    """Quantities derived from the counters of one launch.

    Args:
        time_s: time; None where neither cycles nor a duration were collected.
        flop: operations by unit and element type, without those that were not counted.
        nbytes: bytes by level, without levels that were not counted.
        missing: quantities that could not be computed, each with the counters it lacks.
        assumed: instructions whose shape had to be assumed.
    """

    time_s: float | None
    flop: Mapping[tuple[Unit, str], float]
    nbytes: Mapping[RoofLevel, float]
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    assumed: frozenset[str] = frozenset()

    @property
    def is_bound(self) -> bool:
        """Return True if arithmetic counters are missing, so that the sum is a lower bound."""
        # without counters of FP64 the sum is as good as complete: models rarely compute in it
        return any(name in self.missing for name in ("FP32", "FP16", TENSOR))


def is_wanted(name: str) -> bool:
    """Return True if an equation uses a metric."""
    return name in _WANTED or OPS_PATH.match(name) is not None or name.startswith(_DERIVED)


# beginnings of further names: derived counters of `--set roofline`, and the name of the device
_DERIVED = ("derived__smsp__sass_thread_inst_executed_op_", DEVICE_NAME)
_SCALARS = {
    SCALAR_PATTERN.format(unit=unit, letter=letter, op=op) + suffix
    for unit in ("sm", "smsp")
    for letter in SCALAR.values()
    for op in SCALAR_OPS
    for suffix in ("", PER_CYCLE)
}
_WANTED = frozenset(
    {
        *CYCLES,
        *CYCLES_PER_S,
        *DURATION,
        *(name for names in LEVELS.values() for name in names),
        *SECTORS.values(),
        *DRAM_PARTS,
        PIPE_TENSOR,
        *PIPE_TENSOR_OPS.values(),
        *_SCALARS,
    }
)


def derive(launch: NcuLaunch, arch: str) -> LaunchQuantities:
    """Apply the equations to one launch."""
    metrics = launch.metrics
    missing: dict[str, tuple[str, ...]] = {}
    assumed: set[str] = set()
    time_s = seconds(metrics)
    if time_s is None:
        missing["time"] = (CYCLES[0], CYCLES_PER_S[0])
    rate = first(metrics, CYCLES_PER_S)
    cycles = first(metrics, CYCLES)
    # counters per cycle need the cycles
    if cycles is None and time_s is not None and rate is not None:
        cycles = time_s * rate
    flop: dict[tuple[Unit, str], float] = {}
    for dtype in SCALAR:
        # flop, or the names of missing counters
        counted = scalar(metrics, dtype, cycles)
        if isinstance(counted, tuple):
            missing[f"FP{dtype[1:]}"] = counted
        else:
            flop[Unit.VECTOR, dtype] = counted
    for key, value in tensor(launch, arch, cycles, missing, assumed).items():
        flop[key] = flop.get(key, 0.0) + value
    nbytes: dict[RoofLevel, float] = {}
    for level in RoofLevel:
        moved = bytes_at(metrics, level)
        if moved is None:
            missing[f"{level.title} bytes"] = LEVELS[level.value]
        else:
            nbytes[level] = moved
    return LaunchQuantities(time_s, flop, nbytes, missing, frozenset(assumed))


def first(metrics: Mapping[str, float], names: Sequence[str]) -> float | None:
    """Return the first of several counters that was collected."""
    return next((metrics[n] for n in names if n in metrics), None)


def seconds(metrics: Mapping[str, float]) -> float | None:
    """Return the time by equation 3.3; the duration counter where cycles were not collected."""
    for cycles, rate in zip(CYCLES, CYCLES_PER_S, strict=True):
        if cycles in metrics and metrics.get(rate, 0.0) > 0:
            return metrics[cycles] / metrics[rate]
    return first(metrics, DURATION)


def scalar(
    metrics: Mapping[str, float], dtype: str, cycles: float | None
) -> float | tuple[str, ...]:
    """Return the flop of a type by equation 3.4 or 3.5, or the counters that are missing."""
    total = 0.0
    lacking: list[str] = []
    for op, weight in SCALAR_OPS.items():
        count = executed(metrics, SCALAR[dtype] + op, cycles)
        if count is None:
            lacking.append(SCALAR[dtype] + op)
        else:
            total += weight * count
    if not lacking:
        return total
    # several names as one, in the form of a shell: …_op_{fadd,fmul}_pred_on.sum
    ops = lacking[0] if len(lacking) == 1 else f"{{{','.join(lacking)}}}"
    return (SCALAR_PATTERN.format(unit="sm", letter="", op=ops),)


def executed(metrics: Mapping[str, float], op: str, cycles: float | None) -> float | None:
    """Return the thread instructions of one kind, from whichever counter holds them.

    ``--set roofline`` collects them for each cycle, and multiplied by their operations: two of a
    multiply–add, and twice as many in half precision, where each is a packed pair.
    """
    letter, kind = op[0], op[1:]
    for unit in ("sm", "smsp"):
        name = SCALAR_PATTERN.format(unit=unit, letter=letter, op=kind)
        if name in metrics:
            return metrics[name]
        if name + PER_CYCLE in metrics and cycles is not None:
            return metrics[name + PER_CYCLE] * cycles
    # the name says by how much the count is multiplied
    for times in (2, 4):
        name = f"derived__smsp__sass_thread_inst_executed_op_{op}_pred_on_x{times}"
        if name in metrics and cycles is not None:
            return metrics[name] * cycles / times
    return None


def tensor(
    launch: NcuLaunch,
    arch: str,
    cycles: float | None,
    missing: dict[str, tuple[str, ...]],
    assumed: set[str],
) -> dict[tuple[Unit, str], float]:
    """Return operations of the tensor pipe: counted by the chip, else by equation 3.6."""
    counted = counted_operations(launch.metrics, cycles)
    if counted:
        is_empty = not any(counted.values()) and "f16" not in counted
        if is_empty and launch.metrics.get(PIPE_TENSOR):
            # Nsight Compute 2025.3 has no counter of f16 operations on Hopper by these names.
            missing[TENSOR] = ("sm__ops_path_tensor_src_fp16*.sum",)
        return {(Unit.MATRIX, d): v for d, v in counted.items()}
    flop: dict[tuple[Unit, str], float] = {}
    pipes = {p: launch.metrics[n] for p, n in PIPE_TENSOR_OPS.items() if n in launch.metrics}
    if not pipes and PIPE_TENSOR in launch.metrics:
        pipes = {TENSOR: launch.metrics[PIPE_TENSOR]}
    if not pipes and has_tensor_pipe(arch):
        missing[TENSOR] = (PIPE_TENSOR,)
    for pipe, count in pipes.items():
        mma, is_certain = instruction(arch, pipe, launch.kernel)
        if not count:
            continue
        if mma is None:
            missing[TENSOR] = ("sm__ops_path_tensor_src_*.sum",)
            continue
        if not is_certain:
            assumed.add(f"{mma.shape}, {mma.flop} operations")
        key = (Unit.MATRIX, mma.dtype)
        flop[key] = flop.get(key, 0.0) + count * mma.flop
    return flop


def counted_operations(metrics: Mapping[str, float], cycles: float | None) -> dict[str, float]:
    """Return ``sm__ops_path_tensor_src_…`` by source type; a multiply-add counts as two.

    Some versions list a type once with and once without its result type, or once for each kind of
    sparsity: the finest split is added up, never both.
    """
    by_type: dict[str, dict[tuple[bool, bool], float]] = {}
    for name, value in metrics.items():
        match = OPS_PATH.match(name)
        if match is None or match["src"] not in OPS_PATH_TYPES:
            continue
        if match["rate"]:
            if cycles is None:
                continue
            value *= cycles
        # by kind of split; each kind that is complete has the same sum, an incomplete one less
        split = (match["dst"] is not None, match["sparsity"] is not None)
        sums = by_type.setdefault(match["src"], {})
        sums[split] = sums.get(split, 0.0) + value
    operations: dict[str, float] = {}
    for source, sums in by_type.items():
        dtype = OPS_PATH_TYPES[source]
        operations[dtype] = operations.get(dtype, 0.0) + max(sums.values())
    return operations


def bytes_at(metrics: Mapping[str, float], level: RoofLevel) -> float | None:
    """Return the bytes that pass a level; from sectors or both directions if there is no sum."""
    nbytes = first(metrics, LEVELS[level.value])
    if nbytes is not None:
        return nbytes
    if level is RoofLevel.DEVICE:
        parts = [metrics.get(name) for name in DRAM_PARTS]
        return None if None in parts else sum(p for p in parts if p is not None)
    sectors = metrics.get(SECTORS[level.value])
    return None if sectors is None else sectors * SECTOR_BYTES
