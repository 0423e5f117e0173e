"""Matrix products: amounts, the estimate by tiles, and the source of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.machine import list_machines, load_machine
from perfc_lab.tables import sources

from .synthetic import matmul_rows, write_table

KIND = class_of("matmul")


def columns(**extents: float | list[float]) -> dict[str, np.ndarray]:
    given = {"m": 256.0, "n": 4096.0, "k": 4096.0, **extents}
    count = max(len(v) if isinstance(v, list) else 1 for v in given.values())
    rows = {n: np.broadcast_to(np.asarray(v, float), (count,)).copy() for n, v in given.items()}
    return dict(complete(KIND, rows))


def scale_s(
    dtype: str = "bf16", target: str = "h100", **extents: float | list[float]
) -> np.ndarray:
    sheet = Sheet(load_machine(target))
    return KIND.scale_s(columns(**extents), dtype, sheet, Protocol.GRAPH)


def test_operands_are_counted_once_at_their_width() -> None:
    plain = KIND.amounts(columns(m=2, n=3, k=5, batch=7), "bf16")
    assert plain.mac[0] == 7 * 2 * 3 * 5
    assert plain.read_bytes[0] == 7 * 2 * (2 * 5 + 5 * 3)
    assert plain.write_bytes[0] == 7 * 2 * 2 * 3
    narrow = KIND.amounts(columns(m=2, n=4, k=6, weight_bits=4), "f16")
    assert narrow.read_bytes[0] == 2 * 2 * 6 + 6 * 4 / 2
    quantised = KIND.amounts(columns(m=2, n=4, k=6, input_bits=16), "f8e4m3")
    assert quantised.read_bytes[0] == 2 * 2 * 6 + 6 * 4
    assert quantised.write_bytes[0] == 2 * 2 * 4


@pytest.mark.parametrize("target", [t.name for t in list_machines() if t.kind == "cuda"])
def test_an_estimate_is_above_its_floor_and_grows_with_work(target: str) -> None:
    sheet = Sheet(load_machine(target))
    sizes = [1.0, 16.0, 64.0, 256.0, 1000.0, 4096.0, 16384.0]
    rows = columns(m=sizes)
    found = KIND.scale_s(rows, "f16", sheet, Protocol.GRAPH)
    assert (found >= KIND.floor_s(rows, "f16", sheet)).all()
    assert (np.diff(found) >= 0).all()


def test_one_row_more_than_a_wave_holds_takes_another_wave() -> None:
    within, beyond = scale_s(m=[128.0, 129.0], n=128 * 132, k=16384)
    assert beyond > 1.15 * within


def test_fewer_bits_of_weights_are_faster_when_memory_binds() -> None:
    sixteen, eight, four = (
        float(scale_s("f16", m=8, n=16384, k=16384, weight_bits=bits)[0]) for bits in (0, 8, 4)
    )
    assert sixteen > 1.7 * eight > 2.4 * four


def test_single_precision_is_without_tf32() -> None:
    single, tf32 = (float(scale_s(d, "a100", m=8192)[0]) for d in ("f32", "tf32"))
    assert single > 4 * tf32


def test_quantising_the_input_costs() -> None:
    assert scale_s("f8e4m3", input_bits=16)[0] > scale_s("f8e4m3")[0]


@pytest.mark.parametrize(
    ("dtype", "protocol", "extents", "name"),
    [
        ("bf16", Protocol.GRAPH, {}, "half"),
        ("f16", Protocol.EAGER, {}, "half"),
        ("bf16", Protocol.KERNELS, {}, "half, profiled"),
        ("f16", Protocol.KERNELS, {}, "half without bf16, profiled"),
        ("f8e4m3", Protocol.GRAPH, {}, "eight bits"),
        ("f8e4m3", Protocol.GRAPH, {"scale_block": 128}, "eight bits in blocks"),
        ("f4e2m1", Protocol.GRAPH, {"scale_block": 16}, "four bits"),
        ("f16", Protocol.GRAPH, {"weight_bits": 4}, "integer weights"),
        ("i8", Protocol.GRAPH, {"scale_block": 1}, "integer weights"),
    ],
)
def test_intervals_are_calibrated_by_type_and_timing(
    dtype: str, protocol: Protocol, extents: dict[str, float], name: str
) -> None:
    sheet = Sheet(load_machine("h100"))
    found = KIND.category(columns(m=[1.0, 4096.0], **extents), dtype, sheet, protocol)
    assert [KIND.categories[i] for i in found] == [name, name]


def test_features_are_finite_and_named_alike_on_every_machine() -> None:
    names = set()
    for listing in list_machines():
        sheet = Sheet(load_machine(listing.name))
        found = KIND.features(columns(m=[1.0, 1e6]), "bf16", sheet)
        assert all(np.isfinite(column).all() for column in found.values()), listing.name
        names.add(tuple(found))
    assert len(names) == 1
    assert set(KIND.increasing) <= set(names.pop())


def test_the_source_drops_what_is_flagged_and_names_old_versions(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    path = tmp_path / "aic_gemm.parquet"
    write_table(path)
    table = pd.read_parquet(path)
    table["version"] = table["version"].astype(str)
    first = table.index[table["device"] == "NVIDIA B200"]
    table.loc[first[:10], "host_bound"] = True
    table.loc[first[10:30], "version"] = "0.9"
    # as the published table has them
    words = dict.fromkeys(("device", "framework", "version", "dtype"), "category")
    table.astype(words).to_parquet(path)
    found = list(sources()["aic_gemm"].rows(tmp_path))
    assert sum(map(len, found)) == 890
    assert {(b.target, b.framework) for b in found} == {
        ("a100-sxm4-80gb", "one"),
        ("h100-sxm5-80gb", "one"),
        ("b200-sxm-180gb", "one"),
        ("b200-sxm-180gb", "one-0.9"),
    }
    expected = matmul_rows("a100-sxm4-80gb", 300)
    block = next(b for b in found if b.target == "a100-sxm4-80gb")
    assert np.allclose(block.time_s, expected.time_s, rtol=1e-5)
    assert block.dtype == "bf16"
