"""Peak arithmetic rates of devices by the names that drivers print, and model FLOP utilization."""

from __future__ import annotations

import math
import sys
from typing import Any

from perfc.errors import TargetError
from perfc.ir import Origin, dtype_named, frozen
from perfc.machine.catalog import load_machine
from perfc.machine.machine import Machine, Rate, Unit


@frozen
class DevicePeak:
    """Peak rates of one device for one element type, in flop/s (integer types: op/s).

    Args:
        target: name of the target file.
        device: description of the device, with its memory and variant.
        dtype: element type of the operands.
        unit: arithmetic unit that has the rate.
        dense_flop_per_s: rate of the data sheet without sparsity, a multiply–add as two operations.
        sparse_flop_per_s: rate of the data sheet with 2:4 sparsity; None if it has none.
        boost_flop_per_s: rate at the highest clock that the driver allows; at least the dense rate.
        power_w: power limit of the variant; None if unknown.
        origin: ``VENDOR`` for a number of the vendor, ``ASSUMED`` for a derived one.
        source: documents of the dense rate.
        note: condition of the dense rate.
    """

    target: str
    device: str
    dtype: str
    unit: Unit
    dense_flop_per_s: float
    sparse_flop_per_s: float | None
    boost_flop_per_s: float
    power_w: float | None
    origin: Origin
    source: str
    note: str = ""


def peak(device: str, dtype: str = "bf16") -> DevicePeak:
    """Return the peak rates of a device for an element type.

    Args:
        device: name as drivers print it (``"NVIDIA H100 80GB HBM3"``), or of a target.
        dtype: element type by any common name (``"bf16"``, ``"float16"``, ``"fp8"``). ``"f32"``
            excludes TF32, which is ``"tf32"``.

    Raises:
        TargetError: an unknown device, or one without a rate for the type.
        ParseError: an unknown element type.

    >>> peak("NVIDIA H100 80GB HBM3").dense_flop_per_s
    989400000000000.0
    """
    return _peak(load_machine(device), dtype)


def _peak(machine: Machine, dtype: str) -> DevicePeak:
    """Return the rates of the faster of matrix and vector unit for a type."""
    code = dtype_named(dtype).code
    # the table itself, not `Machine.entry`, which falls back to other types
    listed = [(u, machine.compute.get((u, code))) for u in (Unit.MATRIX, Unit.VECTOR)]
    rates = [(unit, entry) for unit, entry in listed if entry is not None]
    if not rates:
        units = (Unit.MATRIX, Unit.VECTOR)
        known = ", ".join(dict.fromkeys(d for u, d in machine.compute if u in units))
        hint = f"it has rates for {known}"
        raise TargetError(f"no peak rate of {machine.name} for {code}", hint=hint)
    unit, entry = max(rates, key=lambda rate: rate[1].nominal.value)
    dense: Rate = entry.nominal
    # no estimate uses sparsity, so it is only among the facts
    sparse = machine.facts.get(f"compute.{unit.value}.{code}.sparse_flop_per_s")
    power = machine.device("tdp_w")
    return DevicePeak(
        machine.name,
        machine.description,
        code,
        unit,
        dense_flop_per_s=dense.value,
        sparse_flop_per_s=None if sparse is None else sparse.value,
        boost_flop_per_s=entry.peak.value,
        power_w=None if power is None else power.value,
        origin=dense.origin,
        source=machine.cite(dense),
        note=dense.note,
    )


def mfu(
    flop: float, seconds: float, device: str | None = None, *, dtype: str = "bf16", count: int = 1
) -> float:
    """Return the model FLOP utilization: model FLOP per second over the dense peak.

    Args:
        flop: FLOP of the model in the measured time, without recomputation.
        seconds: measured time.
        device: name of the device; by default the GPU or TPU that this process uses.
        dtype: element type of the matrix products.
        count: number of devices that share the work.

    Raises:
        TargetError: an unknown device, no device, or one without a rate for the type.
        ValueError: a FLOP count below zero, or a time or count of zero or less.

    >>> round(mfu(1.56e15, 10.0, "NVIDIA A100-SXM4-80GB"), 3)
    0.5
    """
    if not (math.isfinite(flop) and flop >= 0):
        raise ValueError(f"flop is {flop}, must be a finite number of at least 0")
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"seconds is {seconds}, must be a finite number above 0")
    if count < 1:
        raise ValueError(f"count is {count}, must be at least 1")
    machine = current_machine() if device is None else load_machine(device)
    return flop / seconds / (_peak(machine, dtype).dense_flop_per_s * count)


def current_machine() -> Machine:
    """Return the target of the accelerator that this process uses, by PyTorch or JAX.

    Neither is imported: a process that has not imported them uses no accelerator.

    Raises:
        TargetError: no accelerator, an unknown one, or one with another number of
            multiprocessors than the target of its name.
    """
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        machine = load_machine(properties.name)
        # cards of several variants have one name in the driver and differ in multiprocessors
        count = properties.multi_processor_count
        if machine.slice is None and count != machine.sm_count:
            message = f"{properties.name} has {count} multiprocessors, {machine.name} has "
            hint = "name the variant of the device"
            raise TargetError(f"{message}{machine.sm_count}", hint=hint)
        return machine
    jax: Any = sys.modules.get("jax")
    if jax is not None and jax.default_backend() != "cpu":
        return load_machine(jax.devices()[0].device_kind)
    raise TargetError(
        "this process uses no GPU or TPU", hint='name the device, as "NVIDIA H100 80GB HBM3"'
    )
