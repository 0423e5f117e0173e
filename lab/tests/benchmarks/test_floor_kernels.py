"""The check of floors against measured kernels finds one that is faster than its floor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import floor_kernels as check
from perfc.analyzers.features.rows import Protocol
from perfc.machine import load_machine
from perfc_lab.data.rows import Rows
from perfc_lab.tables import deepbench

FLOP = 2 * 4096**3
PEAK = 8.1e12  # of a T4 in f32


def block(time_s: float) -> Any:
    extent = np.array([4096.0])
    return Rows(
        "matmul_f32",
        "t4",
        "f32",
        Protocol.KERNELS,
        "",
        {"m": extent, "n": extent, "k": extent},
        np.array([time_s]),
    )


def test_a_kernel_faster_than_the_machine_can_be_is_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    slow, fast = check.closest(block(FLOP / PEAK * 1.1)), check.closest(block(FLOP / PEAK / 1.1))
    assert (slow.above, fast.above) == (0, 1)
    assert slow.share == pytest.approx(1 / 1.1, rel=0.02)
    assert check.report("toy", [slow], top=1)
    assert not check.report("toy", [slow, fast], top=1)
    assert "2 rows, 1 faster than their floor" in capsys.readouterr().out


def test_old_sheets_have_targets_of_which_nothing_is_learned() -> None:
    for target in deepbench.OLD_TARGETS.values():
        assert load_machine(target).vendor == "AMD"
    assert not deepbench.OLD_TARGETS.keys() & deepbench.TARGETS.keys()
