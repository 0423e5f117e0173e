"""What the time of a launch of a step depends on: launches of a toy machine, computed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from perfc import testing
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.steps.columns import Columns, LinearColumns, columns, merged, tabulated
from perfc.analyzers.steps.features import SHARED, divides, log2, padded, tabulate
from perfc.analyzers.steps.launch import AMOUNTS, TRAITS, Launch
from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.analyzers.steps.setting import Precision, Setting

US = 1e-6


def launch(
    kind: LaunchKind, amounts: Mapping[str, float], traits: Mapping[str, float], times: float = 1.0
) -> Launch:
    return Launch(kind, 0, {name: (value,) for name, value in amounts.items()}, traits, times)


def scale_us(folder: Path, one: Launch, setting: Setting) -> float:
    found = tabulate(columns([one]), setting, Sheet(testing.machine(folder)))
    return float(found.scale_s[0]) / US


F16 = Setting(Precision.F16)


def test_a_scale_is_the_longest_of_products_bytes_and_operations_and_a_launch(
    tmp_path: Path,
) -> None:
    """100 Tflop/s, 1 TB/s and 10 Top/s: 1e9 products are 20 µs, 50 MB 50 µs, 1e9 operations 100."""
    even = {"n": 64.0, "k": 64.0}
    product = launch(LaunchKind.MATMUL, {"mac": 1e9, "read_bytes": 1e6}, even)
    assert scale_us(tmp_path, product, F16) == pytest.approx(20 + 2)
    stream = launch(LaunchKind.ELEMENTWISE, {"read_bytes": 30e6, "write_bytes": 20e6}, {})
    assert scale_us(tmp_path, stream, F16) == pytest.approx(50 + 2)
    # an exponential costs four
    special = launch(LaunchKind.ACTIVATION, {"alu": 2e8, "sfu": 2e8}, {})
    assert scale_us(tmp_path, special, F16) == pytest.approx(100 + 2)
    assert scale_us(tmp_path, product, Setting(Precision.F16, training=True)) == pytest.approx(66)


def test_products_are_padded_to_what_tensor_cores_multiply(tmp_path: Path) -> None:
    """9 columns are done as 16, a depth of 4 as 8; not more than four times as much in all."""
    padding = {(9.0, 64.0): 16 / 9, (64.0, 4.0): 2, (1.0, 64.0): 4, (0.0, 64.0): 1, (8.0, 8.0): 1}
    for (n, k), factor in padding.items():
        one = launch(LaunchKind.MATMUL, {"mac": 1e9}, {"n": n, "k": k})
        assert scale_us(tmp_path, one, F16) == pytest.approx(20 * factor + 2), (n, k)
    # a depthwise convolution runs on the vector unit, ten times slower, and is not padded
    apart = launch(LaunchKind.DEPTHWISE, {"mac": 1e9}, {"n": 1.0, "k": 9.0})
    assert scale_us(tmp_path, apart, F16) == pytest.approx(200 + 2)


def test_extents_pad_divide_and_have_logarithms() -> None:
    extents = np.array([0.0, 0.5, 1.0, 8.0, 12.0, 64.0])
    assert padded(extents).tolist() == pytest.approx([1, 1, 8, 1, 16 / 12, 1])
    assert divides(extents, 8).tolist() == [1, 0, 0, 1, 0, 1]
    assert log2(extents).tolist() == pytest.approx([0, 0, 0, 3, np.log2(12), 6])


def test_features_are_those_of_the_launch_and_of_what_all_share(tmp_path: Path) -> None:
    amounts = {
        "mac": 2.0**30,
        "alu": 100.0,
        "sfu": 50.0,
        "read_bytes": 600_000.0,
        "write_bytes": 400_000.0,
        "m": 300.0,
        "groups": 2.0,
    }
    traits = {
        "n": 200.0,
        "k": 128.0,
        "channels": 16.0,
        "inner": 4.0,
        "reduced": 32.0,
        "window": 9.0,
        "stride": 4.0,
        "permuted": 1.0,
        "read_bits": 16.0,
        "write_bits": 32.0,
        "operands": 3.0,
        "nodes": 5.0,
    }
    one = launch(LaunchKind.CONVOLUTION, amounts, traits, times=7.0)
    setting = Setting(Precision.AMP_F16, channels_last=True, version=(2, 4))
    table = tabulate(columns([one]), setting, Sheet(testing.machine(tmp_path)))
    found = dict(zip(table.names, table.values[0].tolist(), strict=True))
    # 1 MB is what L2 holds; 3 · 2 · 2 tiles on 10 multiprocessors
    expected = {
        "kind": LaunchKind.CONVOLUTION.number,
        "log2_m": np.log2(300),
        "log2_n": np.log2(200),
        "log2_k": 7,
        "log2_groups": 1,
        "window": 9,
        "stride": 4,
        "log2_channels": 4,
        "log2_inner": 2,
        "log2_reduced": 5,
        "permuted": 1,
        "read_bits": 16,
        "write_bits": 32,
        "operands": 3,
        "nodes": 5,
        "log2_intensity": 30 - np.log2(1e6),
        "log2_bytes": np.log2(1e6),
        "log2_mac": 30,
        "alu_per_byte": 1e-4,
        "sfu_per_byte": 5e-5,
        "written_share": 0.4,
        "n_by_8": 1,
        "k_by_8": 1,
        "n_by_64": 0,
        "log2_bytes_per_l2": 0,
        "log2_waves": np.log2(13 / 10),
        "device_tb_per_s": 1,
        "ridge_flop_per_byte": 100,
        "sm_count": 10,
        "channels_last": 1,
        "version": 2.04,
        "is_bf16": 0,
        "is_mixed": 1,
    }
    matrix_s, device_s = 2 * 2.0**30 / 1e14, 1e-6
    expected["log2_balance"] = np.log2((matrix_s + 1e-9) / (device_s + 1e-9))
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert table.names[-len(SHARED) :] == SHARED
    assert table.category.tolist() == [0]


def test_what_a_launch_does_not_state_is_none_or_one() -> None:
    found = columns([launch(LaunchKind.COPY, {}, {})])
    assert {n: c[0] for n, c in found.amounts.items() if c[0]} == {"groups": 1}
    assert {n: c[0] for n, c in found.traits.items() if c[0]} == {"window": 1, "stride": 1}


def test_amounts_lie_on_a_line_through_both_batches() -> None:
    """10 at batch 32 and 18 at 64: a quarter each; 2 without any, and never less than nothing."""
    one = Launch(LaunchKind.MATMUL, 0, {"mac": (10.0, 18.0), "m": (1.0, 9.0)}, {"n": 3.0}, 2.0)
    made = LinearColumns((32, 64), merged(tabulated([one, one], 2)))
    assert len(made.table) == 1
    for batch, mac, m in ((32, 10, 1), (64, 18, 9), (96, 26, 17), (0, 2, 0)):
        at: Columns = made.at(batch)
        assert (at.amounts["mac"][0], at.amounts["m"][0]) == pytest.approx((mac, m))
        assert (at.times[0], at.kind[0]) == (4, LaunchKind.MATMUL.number)
        assert at.traits["n"][0] == 3
    table = tabulated([one, one], 2)
    assert table.shape == (2, 2 + 2 * len(AMOUNTS) + len(TRAITS))
