"""A faster sheet is no slower machine: rates that the physics of a kernel does not read, twice."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from perfc.analyzers.artefacts import artefact
from perfc.analyzers.estimators.predictor import predict, select
from perfc.analyzers.features.classes import classes
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.machine import Machine, load_machine
from perfc.machine.schema import parse

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Columns

MACHINES = ("l40s", "mi210", "jetson-agx-orin-64gb")
SLOWER = 1.01
"""No estimate may grow by more where a rate doubles that neither scale nor floor reads."""
KNOWN: Mapping[str, float] = {
    "attention_prefill": 1.03,
    "causal_convolution": 1.06,
    "latent_attention": 1.09,
    "linear_attention": 1.13,
    "matmul": 1.12,
    "mixed_attention": 1.03,
    "normalization": 1.04,
    "tokenwise": 1.05,
}
"""Forests that do: how far, at most; none may become worse. Trees of absolute errors set their
leaves anew after they are grown under a constraint. The large forests were grown without one for
what their scale does not read: bandwidth of memory where operands stay in L2."""
RATE = re.compile(r"(peak_|pin_|sustained_)?\w*(flop_per|op_per|bytes_per|bandwidth)\w* = ")
EXTENTS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "attention_decode": {
        "batch": (1, 64),
        "cached_len": (512, 8192),
        "heads": (32,),
        "kv_heads": (8,),
        "head_dim": (128,),
    },
    "attention_prefill": {
        "batch": (1, 16),
        "query_len": (128, 4096),
        "kv_len": (8192,),
        "heads": (32,),
        "kv_heads": (8,),
        "head_dim": (128,),
    },
    "convolution": {
        "batch": (1, 64),
        "in_channels": (64, 256),
        "out_channels": (128,),
        "in_h": (56,),
        "in_w": (56,),
        "out_h": (56,),
        "out_w": (56,),
        "kernel_h": (1,),
        "kernel_w": (1,),
    },
    "elementwise": {
        "elements": (1e5, 1e7),
        "read_bytes": (4e5, 4e7),
        "write_bytes": (4e5, 4e7),
        "sfu": (0, 1e7),
    },
    "experts": {
        "tokens": (1, 64, 4096),
        "hidden": (4096,),
        "inner": (1536,),
        "chosen": (8,),
        "experts": (128,),
    },
    "batched_matmul": {"batch": (16, 128), "m": (1, 64, 4096), "n": (128, 512), "k": (128, 512)},
    "causal_convolution": {
        "batch": (1, 64),
        "query_len": (1, 512),
        "channels": (2048, 8192),
    },
    "linear_attention": {
        "batch": (1, 64),
        "query_len": (1, 512),
        "heads": (32,),
        "key_heads": (16,),
        "key_dim": (128,),
        "value_dim": (128,),
    },
    "tokenwise": {"tokens": (1, 64, 4096), "read_bytes": (1e5, 1e8), "write_bytes": (1e5, 1e8)},
    "latent_attention": {
        "batch": (1, 64),
        "query_len": (1,),
        "kv_len": (512, 8192),
        "heads": (16, 128),
        "head_dim": (576,),
        "value_dim": (512,),
    },
    "mixed_attention": {
        "query_len": (128, 2048),
        "kv_len": (2048, 8192),
        "decodes": (8, 64),
        "cached_len": (512, 4096),
        "heads": (32,),
        "kv_heads": (8,),
        "head_dim": (128,),
    },
    "matmul": {"m": (1, 64, 4096), "n": (768, 16384), "k": (768, 16384)},
    "matmul_f32": {"m": (1, 64, 4096), "n": (768, 16384), "k": (768, 16384)},
    "normalization": {"rows": (64, 1024, 262144), "cols": (128, 768, 16384)},
    "softmax": {"rows": (64, 1024, 262144), "cols": (128, 768, 16384)},
}


def grid(class_name: str) -> Columns:
    """Every combination of extents."""
    axes = EXTENTS[class_name]
    values = np.array(list(itertools.product(*axes.values())), float)
    return {name: values[:, i] for i, name in enumerate(axes)}


def rates(machine: Machine) -> list[str]:
    """Tables of a target that hold rates."""
    return sorted(
        {key.rpartition(".")[0] for key in machine.facts if key.startswith(("compute", "memory"))}
    )


def doubled(machine: Machine, table: str) -> Machine:
    """The same machine, twice as fast in the rates of one table of its file."""
    lines, at = [], ""
    for line in machine.path.read_text(encoding="utf-8").splitlines():
        at = line[1:-1] if line.startswith("[") else at
        if at == table and RATE.match(line):
            value = re.search(r"value = ([\d._e+]+)", line)
            assert value is not None
            twice = f"value = {2 * float(value[1].replace('_', '')):.12g}"
            line = line.replace(value[0], twice)
        lines.append(line)
    made, problems = parse("\n".join(lines).encode(), Path(machine.path))
    assert made is not None, problems
    return made


def slower(class_name: str, machine: Machine, dtype: str, protocol: Protocol) -> float:
    """The most that any estimate grows where a rate doubles that its physics does not read."""
    kind = class_of(class_name)
    rows = complete(kind, grid(class_name))

    def physics(one: Machine) -> Any:
        sheet = Sheet(one)
        return np.stack(
            [kind.scale_s(rows, dtype, sheet, protocol), kind.floor_s(rows, dtype, sheet)]
        )

    before, own = predict(class_name, rows, dtype, machine, protocol).time_s, physics(machine)
    worst = 1.0
    for table in rates(machine):
        fast = doubled(machine, table)
        same = np.isclose(physics(fast), own, rtol=1e-12).all(axis=0)
        if same.any():
            after = predict(class_name, rows, dtype, fast, protocol).time_s
            worst = max(worst, float((after / before)[same].max()))
    return worst


@pytest.mark.parametrize("class_name", EXTENTS)
def test_doubling_a_rate_that_physics_does_not_read_makes_nothing_slower(class_name: str) -> None:
    worst = 1.0
    for name in MACHINES:
        machine = load_machine(name)
        for dtype, protocol in itertools.product(("f32", "bf16"), Protocol):
            card = select(class_name, dtype, protocol).card
            if dtype in card.dtypes and protocol in card.protocols:
                worst = max(worst, slower(class_name, machine, dtype, protocol))
    assert worst <= KNOWN.get(class_name, SLOWER)


def test_a_sheet_that_is_twice_as_fast_everywhere_is_read_so() -> None:
    machine = load_machine("t4")
    fast = doubled(machine, "memory.device")
    assert Sheet(fast).device_bytes_per_s == 2 * Sheet(machine).device_bytes_per_s
    assert Sheet(fast).matrix_flop_per_s("f16") == Sheet(machine).matrix_flop_per_s("f16")


def test_every_shipped_forest_of_kernels_is_asked() -> None:
    cards = [artefact.read_card(path) for path in artefact.SHIPPED.glob("*.json")]
    kernels = {card.name for card in cards if card.class_name in classes()}
    assert kernels - {"collective"} == set(EXTENTS)
