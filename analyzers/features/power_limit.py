"""Rate of large products on matrix units within a board's power limit.

A board lowers its clock until its products take no more power than the limit. ``FLOP_PER_JOULE``
has the operations per joule of 16-bit products by compute capability, which stands for the design
and the process of a multiprocessor. FP32 products on lanes have a separate limit
(`lanes.power_share`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir import bits_of

from . import physics

if TYPE_CHECKING:
    from .classes import Array
    from .sheet import Sheet

_FITTED = constants_next_to(__file__)
FLOP_PER_JOULE: Mapping[float, float] = {
    float(capability): rate for capability, rate in _FITTED["flop_per_joule"].by_name.items()
}
"""Operations per joule of products in 16 bits at the board's power limit, by compute capability."""
AMD_FLOP_PER_JOULE: Mapping[str, float] = _FITTED["amd_flop_per_joule"].by_name
"""Operations per joule of such products by AMD's architectures, which have no base clock."""
POWER_PER_SM_W: Mapping[float, float] = {
    float(capability): watts for capability, watts in _FITTED["power_per_sm_w"].by_name.items()
}
"""Power limit per multiprocessor of the board that gave ``FLOP_PER_JOULE``, by capability."""
VOLTAGE_EXPONENT = _FITTED["voltage_exponent"].number
"""Exponent of the energy of an operation in the power per multiprocessor."""
NARROWER: Mapping[int, float] = {
    int(bits): ratio for bits, ratio in _FITTED["narrower"].by_name.items()
}
"""Products per joule relative to products in 16 bits, by the bits of the factors."""
TF32 = _FITTED["tf32_per_joule"].number
"""Products per joule in TF32 relative to products in 16 bits."""
ORDER = 4.0
"""Order of the norm that combines the limits of units and of power. A board near both limits
reaches neither: two equal limits give 0.84 of either."""


def matrix_flop_per_s(dtype: str, sheet: Sheet) -> float:
    """Return the sustained rate of products: the rated rate of the units within the power limit.

    The fastest tenth of large products under a profiler reaches 0.92 to 1.10 times this rate on
    nine boards, and 0.64 to 0.99 times the rated one (`lab/notes/products.md`).

    >>> from perfc.machine import load_machine
    >>> from perfc.analyzers.features.sheet import Sheet
    >>> boards = [Sheet(load_machine(name)) for name in ("rtx-a6000", "rtx3090")]
    >>> [f"{matrix_flop_per_s('bf16', board) / 1e12:.0f}" for board in boards]
    ['114', '70']
    """
    # the sheet caches the results, as features of every product read them
    known = sheet.sustained
    if dtype not in known:
        rates = physics.matrix_flop_per_s(dtype, sheet), flop_per_s(dtype, sheet)
        # (r1^-p + r2^-p)^(-1/p): the smaller rate, and less where both are near
        known[dtype] = float(sum(rate**-ORDER for rate in rates) ** (-1 / ORDER))
    return known[dtype]


def flop_per_s(dtype: str, sheet: Sheet) -> float:
    """Return the rate of products that the power limit allows; infinite without a known limit.

    NVIDIA's boards never run below their base clock because of power.

    >>> from perfc.machine import load_machine
    >>> from perfc.analyzers.features.sheet import Sheet
    >>> f"{flop_per_s('f16', Sheet(load_machine('t4'))) / 1e12:.1f}"
    '23.9'
    """
    # TF32 is stored in 32 bits, so bits do not identify it
    gain = TF32 if dtype == "tf32" else NARROWER.get(bits_of(dtype))
    amd = AMD_FLOP_PER_JOULE.get(sheet.machine.arch)
    per_joule = flop_per_joule(sheet) if amd is None else amd
    if gain is None or per_joule is None or sheet.power_w <= 0:
        return np.inf
    # rate at the base clock, below which no board of NVIDIA runs
    least = sheet.base_clock_share * sheet.matrix_flop_per_s(dtype) if amd is None else 0.0
    return max(gain * per_joule * sheet.power_w, least)


def flop_per_joule(sheet: Sheet) -> float | None:
    """Return the operations per joule of the newest measured design up to this generation.

    A board with less power per multiprocessor than the measured one runs at a lower voltage, so
    that an operation takes less energy. The result is None if no design of the same major
    capability was measured.

    >>> from perfc.machine import load_machine
    >>> from perfc.analyzers.features.sheet import Sheet
    >>> boards = [Sheet(load_machine(name)) for name in ("l40s", "l4")]
    >>> [f"{(flop_per_joule(board) or 0) / 1e12:.2f}" for board in boards]
    ['0.62', '0.87']
    """
    series = int(sheet.generation)
    measured = [g for g in FLOP_PER_JOULE if int(g) == series and g <= sheet.generation]
    if not measured:
        return None
    newest = max(measured)
    # at most 1: a board with more power than the measured one counts as running at its voltage
    share = sheet.power_w / sheet.sm_count / POWER_PER_SM_W[newest]
    return float(FLOP_PER_JOULE[newest] * min(share, 1.0) ** -VOLTAGE_EXPONENT)


def products_s(mac: Array, dtype: str, sheet: Sheet) -> Array:
    """Return the time of multiply-adds at the board's power limit; 0 if the limit is unknown."""
    time_s: Array = 2 * mac / flop_per_s(dtype, sheet)
    return time_s
