"""Ceilings of a machine: rates of arithmetic units and bandwidths of memory levels.

Source: Williams et al. 2009 (roofline); Yang et al. 2020 (hierarchical roofline, one slope per
memory level).
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from perfc.ir import record
from perfc.machine import Machine, MemoryLevel, Peak, Rate, Unit


class RoofLevel(Enum):
    """Levels of the memory hierarchy; the value is the target file's name."""

    L1 = "l1"
    L2 = "l2"
    DEVICE = "device"

    @property
    def title(self) -> str:
        """Return the title of the level."""
        return self.value.upper() if self is not RoofLevel.DEVICE else "device"


FLOAT_UNITS = (Unit.MATRIX, Unit.VECTOR)
"""Units whose operations the vertical axis counts; special functions are none of them."""


@record
class Roof:
    """A horizontal ceiling: one arithmetic unit at one or more element types of equal rate.

    Args:
        unit: matrix or vector.
        dtypes: element types, as the target file lists them.
        peak: peak rate of the hardware.
        sustained: measured rate; None if not measured.
    """

    unit: Unit
    dtypes: tuple[str, ...]
    peak: Rate
    sustained: Rate | None = None

    @property
    def title(self) -> str:
        """Return the title of the ceiling: ``f16 matrix``."""
        return f"{'/'.join(self.dtypes)} {self.unit.value}"

    @property
    def is_float(self) -> bool:
        """Return True if one of its element types is floating-point."""
        return any(d.lstrip("tb").startswith("f") for d in self.dtypes)  # tf32 and bf16 too

    @property
    def reached(self) -> Rate:
        """Return the measured rate, or the vendor's if not measured."""
        return self.sustained or self.peak


@record
class Slope:
    """A diagonal ceiling: bandwidth of one memory level."""

    level: RoofLevel
    peak: Rate
    sustained: Rate | None = None

    @property
    def reached(self) -> Rate:
        """Return the measured bandwidth, or the vendor's if not measured."""
        return self.sustained or self.peak


@record
class Roofs:
    """Every ceiling of one machine.

    Args:
        target: name of the target.
        description: description of the machine.
        roofs: horizontal ceilings, fastest first.
        slopes: diagonal ceilings, innermost level first.
    """

    target: str
    description: str
    roofs: tuple[Roof, ...]
    slopes: tuple[Slope, ...]

    def roof(self, unit: Unit, dtype: str) -> Roof | None:
        """Return the horizontal ceiling of a unit and element type; None without one."""
        return next((r for r in self.roofs if r.unit is unit and dtype in r.dtypes), None)

    def slope(self, level: RoofLevel) -> Slope | None:
        """Return the diagonal ceiling of a level."""
        return next((s for s in self.slopes if s.level is level), None)

    def attainable_flop_per_s(
        self, roof: Roof, level: RoofLevel, intensity: float, *, peak: bool = False
    ) -> float:
        """Return the attainable rate: ``min(rate, bandwidth * intensity)``.

        Source: Williams et al. 2009; equation 3.1 of the thesis cited in `docs/ncu.md`.
        """
        top = (roof.peak if peak else roof.reached).value
        slope = self.slope(level)
        if slope is None:
            return top
        return min(top, (slope.peak if peak else slope.reached).value * intensity)

    def only(self, wanted: Collection[tuple[Unit, str]]) -> Roofs:
        """Return the ceilings without other horizontal ones; all of them if none is wanted."""
        selected = tuple(r for r in self.roofs if any((r.unit, d) in wanted for d in r.dtypes))
        return Roofs(self.target, self.description, selected or self.roofs, self.slopes)


def roofs_of(machine: Machine) -> Roofs:
    """Return the ceilings of ``machine``; equally fast element types of one unit share one."""
    # types of a unit share a line if both their peak and their measured rate are equal
    merged: dict[tuple[Unit, float, float | None], list[tuple[str, Peak]]] = {}
    for (unit, dtype), peak in machine.compute.items():
        if unit in FLOAT_UNITS and is_drawn(unit, dtype):
            sustained = peak.sustained.value if peak.sustained else None
            merged.setdefault((unit, peak.peak.value, sustained), []).append((dtype, peak))
    roofs = [
        Roof(unit, tuple(d for d, _ in same), same[0][1].peak, same[0][1].sustained)
        for (unit, _, _), same in merged.items()
    ]
    roofs.sort(key=lambda r: -r.peak.value)
    slopes = tuple(_slope(m) for m in machine.memory if m.name in {x.value for x in RoofLevel})
    return Roofs(machine.name, machine.description, tuple(roofs), slopes)


def is_drawn(unit: Unit, dtype: str) -> bool:
    """Return True if a rate is drawn: all except integers of the vector unit.

    The flop of a kernel exclude its integer operations on vector units: no mark has such a ceiling.
    """
    return unit is Unit.MATRIX or not dtype.startswith(("i", "u", "b1"))


def _slope(level: MemoryLevel) -> Slope:
    return Slope(RoofLevel(level.name), level.bandwidth, level.sustained)


def listed(machine: Machine, peak: Peak, unit: Unit, dtype: str) -> tuple[Unit, str]:
    """Return the unit and element type under which the target lists ``peak``.

    The entry may be of another type than the kernel's, as TF32 for f32. ``unit`` and ``dtype`` are
    returned for a rate that no entry has, such as one derived from the rate of another type.
    """
    for (listed_unit, listed_dtype), entry in machine.compute.items():
        if entry is peak:
            return listed_unit, listed_dtype
    return unit, dtype
