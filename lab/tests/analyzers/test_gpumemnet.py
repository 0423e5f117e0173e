"""GPUMemNet's MLPs: rows without a time, graphs from a list of layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.dataset import load
from perfc.analyzers.graph.rows import Quantity
from perfc_lab.datasets import dataset
from perfc_lab.datasets.gpumemnet import MIB, TABLE, network, parse

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

LAYERS = "[('linear', 32, 2080), ('ReLU', 32, 0), ('linear', 10, 330)]"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    line = {
        "arch": "pyramid",
        "inputs": 64,
        "layers": LAYERS,
        "batch": 8,
        "max_gpu_memory_mib": 1479,
        "sm_active": 0.25,
    }
    lines = [line, line | {"inputs": 128, "sm_active": 0.0}]
    pd.DataFrame(lines).to_parquet(tmp_path / TABLE)
    return tmp_path


def test_rows_have_memory_and_activity_and_no_time(folder: Path) -> None:
    said = dataset("gpumemnet").build(folder, folder / "out", lambda line: None)
    assert not said.left_out
    data = load(folder / "out", "gpumemnet")
    assert len(data) == 2
    assert len(data.measured(Quantity.TIME)) == 0
    assert data.measured(Quantity.MEMORY).values(Quantity.MEMORY).tolist() == [1479 * MIB] * 2
    assert data.measured(Quantity.SM_ACTIVE).values(Quantity.SM_ACTIVE).tolist() == [0.25]
    macs = sorted(graph.ops.at(8)["mac"].sum() for graph in data.graphs.values())
    assert macs == [8 * (64 * 32 + 32 * 10), 8 * (128 * 32 + 32 * 10)]


@pytest.mark.parametrize(
    "text", ["", "[]", "[('linear', -1, 0)]", "__import__('os')", "[('linear',)]", "(" * 300]
)
def test_what_is_no_list_of_layers_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="no layers of an MLP"):
        parse(text)


def test_an_unknown_layer_is_refused() -> None:
    with pytest.raises(DataError, match="'lstm'"):
        network(4, "[('lstm', 8, 0)]")
