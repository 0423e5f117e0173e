"""The bandwidth that a board keeps up: between its memory and its multiprocessors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfc.analyzers.features.sheet import MEMORY_SHARE, PORT_BYTES, EffectiveSheet, Sheet
from perfc.analyzers.steps.columns import columns
from perfc.analyzers.steps.features import tabulate
from perfc.analyzers.steps.launch import AMOUNTS, TRAITS, Launch
from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.machine import load_machine


@pytest.mark.parametrize("name", ["rtx3090", "t4", "h100", "mi100", "epyc-7763"])
def test_it_lies_between_memory_and_ports(name: str) -> None:
    sheet = Sheet(load_machine(name))
    ports = PORT_BYTES * sheet.sm_count * sheet.clock_hz * sheet.base_clock_share
    low, high = sorted((sheet.device_bytes_per_s, ports))
    assert low <= EffectiveSheet(sheet.machine).device_bytes_per_s <= high


def test_twice_the_bandwidth_is_not_twice_as_fast() -> None:
    machine = load_machine("rtx4090")
    memory = machine.level("device")
    assert memory is not None
    doubled = replace(memory, nominal=replace(memory.nominal, value=2 * memory.nominal.value))
    levels = tuple(doubled if level is memory else level for level in machine.memory)
    before = EffectiveSheet(machine).device_bytes_per_s
    after = EffectiveSheet(replace(machine, memory=levels)).device_bytes_per_s
    assert after / before == pytest.approx(2**MEMORY_SHARE)


def test_floors_do_not_know_it() -> None:
    machine = load_machine("rtx-pro-6000-max-q")
    amounts = dict.fromkeys(AMOUNTS, 0.0) | {"read_bytes": 1e9, "least_read_bytes": 1e9}
    moved = Launch(
        LaunchKind.COPY, 0, {n: (v,) for n, v in amounts.items()}, dict.fromkeys(TRAITS, 0.0), 1.0
    )
    setting = Setting(Precision.F16)
    stated, kept = (
        tabulate(columns([moved]), setting, each(machine)) for each in (Sheet, EffectiveSheet)
    )
    assert np.array_equal(stated.floor_s, kept.floor_s)
    assert not np.array_equal(stated.scale_s, kept.scale_s)
