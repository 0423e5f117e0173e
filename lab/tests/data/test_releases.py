"""Releases of other authors' data sets: small files in the published layouts become data sets."""

from __future__ import annotations

import io
import os
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from perfc import cli
from perfc.analyzers.graph.dataset import load
from perfc.analyzers.graph.predictor import TrainingBudget, predictor
from perfc.analyzers.graph.rows import Quantity
from perfc_lab.data.releases import members, reading
from perfc_lab.data.releases.torch_graphs import TRAPPM_OPS
from perfc_lab.data.source import FetchError
from perfc_lab.papers.reproduction.published import RowSelection, built, every_table

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
nx = pytest.importorskip("networkx")


def saved(x: np.ndarray, static: list[float], y: list[float]) -> bytes:
    """Return bytes of a graph of two nodes, as the authors' programs save it."""
    from torch_geometric.data import Data

    data = Data(x=torch.tensor(x), edge_index=torch.tensor([[0], [1]]), y=y)
    data.static = torch.tensor(static)
    torch.save(data, out := io.BytesIO())
    return out.getvalue()


def dippm(scale: float = 1.0) -> bytes:
    """Return a convolution of 3 by 3 and a dense layer, batch 8: 2.5 ms, 1.5 J, 3,000 MB."""
    x = np.zeros((2, 32), np.float32)
    x[0, 1] = x[1, 3] = 1
    x[0, 16:28] = [2, 2, 1, 1, 1, 1, 1, 1, 1, 64, 3, 3]
    x[0, 28:], x[1, 28:30] = [64, 3, 3, 3], [10, 64]
    return saved(x, [8, 1.5 * scale, 1, 1, 0], [2.5 * scale, 1.5 * scale, 3000])


def trappm() -> bytes:
    """Return a convolution and a ReLU, batch 4: 25 ms, 2,048 MiB and 250 W of a step."""
    x = np.zeros((2, 113))
    x[0, TRAPPM_OPS.index("Conv")] = x[1, TRAPPM_OPS.index("Relu")] = 1
    x[0, 98:102], x[:, 104:108] = [4, 3, 32, 32], [4, 16, 32, 32]
    x[0, 110:] = [1e6, 448, 5e5]
    return saved(x, [4, 0, 0, 0, 0, 2, 1, 1e6, 448, 5e5], [2048, 250, 0, 0, 25, 0, 0, 0, 0, 0])


def perfseer() -> dict[str, bytes]:
    """Return a graph and its labels."""
    graph = nx.DiGraph()
    memory = {
        "batch_size": 2,
        "bytes": "4096",
        "weight_size": 108,
        "output_size": 512,
        "input_channels": 3,
        "input_w": 8,
        "input_h": 4,
        "output_channels": 16,
    }
    args = {"conv_kernel_size": 3, "conv_stride": 1, "conv_padding": 1, "conv_groups": 1}
    graph.add_node(
        "a", feature={"type": "Conv", "args": args, "flops": 1000, "memory_info": memory}
    )
    graph.add_node("b", feature={"type": "Relu", "args": {}, "flops": 10, "memory_info": memory})
    graph.add_edge("a", "b")
    labels = {"train": "1.5|50|1|900|90|2|1000", "infer": "0.5|25|1|500|80|2|600"}
    return {"cg/net_1.pkl": pickle.dumps(graph), "label/net_1.txt": str(labels).encode()}


def tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_a_release_of_dippm_trains_pmgns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {f"PT/data_{i}.pt": dippm(1 + i / 4) for i in range(8)}
    path = tar(tmp_path / "dataset_v1.tar", files)
    assert cli.run(["data", "import", str(path), "-o", str(tmp_path / "graphs")]) == 0
    assert "dippm: 8 rows of 8 graphs on a100-sxm4-40gb" in capsys.readouterr().out
    data = load(tmp_path / "graphs", "dippm")
    row = next(r for r in data.rows if r.graph == "data_0")
    assert (row.batch, row.time_s, row.energy_j, row.memory_bytes) == (8, 0.0025, 1.5, 3e9)
    ops = data.graph(row).ops
    facts = ops.at(8)
    assert ops.ops == ("conv", "gemm")
    assert [facts[n][0] for n in ("kernel_h", "stride_w", "pad_h", "out_1")] == [3, 2, 2, 64]
    assert facts["mac"].sum() == pytest.approx(1.5e9)
    assert facts["weight_elements"].tolist() == [64 * 27, 640]
    model = predictor("pmgns")
    model.fit(data, data, TrainingBudget(0, 20.0, scale=0.05, epochs=2), lambda _: None)
    assert np.isfinite(model.predict(data)).all()
    # `perfc eval papers` then has tables of these rows
    released = {t.key for t in every_table() if t.rows is RowSelection.DIPPM}
    assert released == {t.key for t in built(every_table(), tmp_path / "graphs")} - {
        t.key for t in built(every_table(), tmp_path)
    }


def test_a_release_of_trappm_has_two_gpus(tmp_path: Path) -> None:
    folder = tmp_path / "trappm"
    for name in ("A100/densenet121_4.pt", "V100/densenet121_4.pt"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(trappm())
    (imported,) = reading.import_release(folder, tmp_path / "graphs", lambda _: None)
    assert imported.targets == ["a100-sxm4-40gb", "v100-sxm2-16gb"]
    row = load(tmp_path / "graphs", "trappm").rows[0]
    assert (row.architecture, row.batch, row.time_s) == ("densenet121", 4, 0.025)
    assert (row.value(Quantity.MEMORY), row.power_w) == (2048 << 20, 250)
    assert row.setting.training
    ops = imported.graph(row).ops
    facts = ops.at(4)
    assert ops.ops == ("conv", "relu")
    assert [facts[n][0] for n in ("in_1", "out_1", "mac", "weight_elements")] == [3, 16, 1e6, 448]


def test_a_release_of_perfseer_has_steps_and_inference(tmp_path: Path) -> None:
    with zipfile.ZipFile(path := tmp_path / "dataset.zip", "w") as archive:
        for name, content in perfseer().items():
            archive.writestr(name, content)
    (imported,) = reading.import_release(path, tmp_path / "graphs", lambda _: None)
    step, inference = load(tmp_path / "graphs", "perfseer").rows
    assert (step.setting.training, inference.setting.training) == (True, False)
    # a sample's milliseconds become seconds of a batch of two
    assert [step.time_s, inference.time_s] == pytest.approx([0.003, 0.001])
    assert (step.memory_bytes, inference.sm_active) == (1000 << 20, 0.25)
    ops = imported.graph(step).ops
    facts, tensors = ops.at(2), ops.edges_at(2)
    assert ops.ops == ("conv", "relu")
    assert ops.edges.tolist() == [[0], [1]]
    assert [facts[n][0] for n in ("kernel_w", "pad_h", "mac", "read_bytes")] == [3, 2, 500, 4096]
    assert (tensors["nbytes"][0], tensors["extent_1"][0]) == (512, 16)


def tpu_program(**changed: np.ndarray) -> bytes:
    """Return a product of two batches and a convolution of 3 by 3, as TpuGraphs stores programs."""
    x = np.zeros((5, 140), np.float32)
    x[:, 13] = 1
    for node, extents in enumerate([(2, 8, 16), (2, 16, 4), (2, 8, 4), (3, 3, 4, 8), (2, 6, 2, 8)]):
        x[node, 21 : 21 + len(extents)], x[node, 28] = extents, np.prod(extents)
    x[4, 37:39], x[4, 99] = (3, 3), 2
    arrays = {
        "node_feat": x,
        "node_opcode": np.array([63, 63, 34, 63, 26], np.uint8),
        "edge_index": np.array([[2, 0], [2, 1], [4, 2], [4, 3]]),
        "config_runtime": np.array([5_000, 2_500]),
    }
    np.savez(out := io.BytesIO(), **arrays | changed)
    return out.getvalue()


def test_programs_of_tpugraphs_are_rows_of_a_tpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = tpu_program(node_feat=np.zeros((5, 139)))
    astray = tpu_program(edge_index=np.array([[2, 7]]))
    pickled = tpu_program(config_runtime=np.array([{}], object))
    files = {
        "tile/xla/train/a.npz": tpu_program(),
        "b.npz": wide,
        "c.npz": astray,
        "d.npz": pickled,
    }
    path = tar(tmp_path / "tpu.tar", files)
    assert cli.run(["data", "import", str(path), "-o", str(tmp_path / "graphs")]) == 1
    said = capsys.readouterr()
    assert "tpugraphs: 1 rows of 1 graphs on tpu-v3" in said.out
    assert said.err.count("left out") == 3
    data = load(tmp_path / "graphs", "tpugraphs")
    (row,) = data.rows
    assert (row.architecture, row.time_s, row.setting.compiled) == ("a", 2.5e-6, True)
    facts = data.graph(row).ops.at(1)
    assert data.graph(row).ops.ops[2:] == ("matmul", "parameter", "conv")
    # 2 x 8 x 4 elements of 16 products each; 2 x 6 x 2 x 8 of 3 x 3 x 4
    assert facts["mac"].tolist() == [0, 0, 1024, 0, 192 * 36]
    assert facts["read_bytes"].tolist() == [0, 0, 4 * (256 + 128), 0, 4 * (64 + 288)]
    assert data.graph(row).ops.edges.T.tolist() == [[0, 2], [1, 2], [2, 4], [3, 4]]


class Bomb:
    """Runs a command where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch exploded",)


def test_programs_in_a_release_are_left_out_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"x": Bomb()}, out := io.BytesIO())
    files = {"a.pt": out.getvalue(), "b.pkl": pickle.dumps(Bomb()), "../../c.pt": dippm()}
    tar(tmp_path / "bad.tar", files)
    assert cli.run(["data", "import", "bad.tar", "-o", "graphs"]) == 1
    said = capsys.readouterr()
    assert "dippm: 1 rows of 1 graphs" in said.out
    assert said.err.count("left out") == 2
    assert not (tmp_path / "exploded").exists()
    # a name that leads out of a folder is a text: its graph lies in the data set's
    assert {p.name for p in (tmp_path / "graphs").rglob("*.npz")} == {"c.npz"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.tar", "graphs"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (saved(np.zeros((2, 31)), [8] * 5, [1.0] * 3), "not of 32 or 113 numbers"),
        (saved(np.zeros((2, 32)), [8] * 4, [1.0] * 3), "no batch and MACs"),
        (saved(np.full((2, 32), -1.0), [8] * 5, [1.0] * 3), "negative or no size"),
        (saved(np.zeros((1, 32)), [8] * 5, [1.0] * 3), "an edge to an operator"),
        (b"not torch", "no data of torch.save"),
    ],
)
def test_files_that_are_no_graph_are_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(FetchError, match="no network with labels") as caught:
        reading.import_release(
            tar(tmp_path / "a.tar", {"a.pt": content}), tmp_path / "graphs", lambda _: None
        )
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_parts_that_are_shared_do_not_grow(tmp_path: Path) -> None:
    value: object = [1.0, 1.0]
    for _ in range(60):
        value = [value, value]
    deep = {"x": value, "edge_index": [[0], [1]], "static": [1.0], "y": [1.0]}
    torch.save(deep, nested := io.BytesIO())
    row = torch.ones(1 << 16)
    views = {**deep, "x": [row for _ in range(1 << 10)]}
    torch.save(views, many := io.BytesIO())
    graph = nx.DiGraph()
    graph.add_nodes_from(range(2000), feature={})
    shared: dict[int, dict[object, object]] = {i: {} for i in range(2000)}
    graph._adj.update(dict.fromkeys(range(2000), shared))
    files = {"a.pt": nested.getvalue(), "b.pt": many.getvalue(), "c.pkl": pickle.dumps(graph)}
    left_out: list[str] = []
    assert list(reading.runs_of(tar(tmp_path / "a.tar", files), left_out)) == []
    said = ("no table of numbers", "no table of numbers", "more operators or tensors")
    assert len(left_out) == len(said)
    assert all(text in line for text, line in zip(said, left_out, strict=True)), left_out


def test_links_and_large_members_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.pt").write_bytes(dippm())
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.pt").symlink_to(tmp_path / "secret.pt")
    assert list(members.members_of(tmp_path / "folder", reading.SUFFIXES)) == []
    monkeypatch.setattr(members, "MOST_BYTES", 10)
    with pytest.raises(FetchError, match="larger than 10 bytes"):
        list(members.members_of(tar(tmp_path / "a.tar", {"a.pt": dippm()}), reading.SUFFIXES))
    with pytest.raises(FetchError, match="no tar, zip or folder"):
        list(members.members_of(_text(tmp_path), reading.SUFFIXES))


def _text(folder: Path) -> Path:
    (path := folder / "a.txt").write_text("no archive", encoding="utf-8")
    return path
