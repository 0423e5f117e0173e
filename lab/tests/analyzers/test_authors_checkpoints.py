"""The authors' checkpoints of DIPPM and TraPPM, in the layouts of their programs."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfc import cli
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.errors import ParseError, PerfcError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch import Tensor, nn
from torch_geometric.nn import GraphSAGE, SAGEConv

from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.predictor import TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.frontend import load
from perfc_lab.papers import checkpoints, onnx_profile, relay
from perfc_lab.papers.checkpoints import read_checkpoint

RESNET = "examples/models/resnet50.onnx.gz"
WIDTH = 8
ATTRIBUTES = slice(relay.KINDS, relay.KINDS + relay.ATTRIBUTES)


class Published(nn.Module):
    """Layers by the authors' names; three graph layers are DIPPM's, two a regressor of TraPPM."""

    def __init__(self, graph_layers: Mapping[str, nn.Module], read: int, dense: int, out: int):
        super().__init__()
        self.convolutions, self.dense = list(graph_layers), dense
        for name, layer in graph_layers.items():
            setattr(self, name, layer)
        for i in range(dense):
            setattr(self, f"fc_{i + 1}", nn.Linear(read if i == 0 else WIDTH, WIDTH))
        self.predictor = nn.Linear(WIDTH, out)

    def forward(self, x: Tensor, edges: Tensor, whole: Tensor) -> Tensor:
        for name in self.convolutions:
            x = torch.relu(getattr(self, name)(x, edges))
        out = torch.cat([x.sum(dim=0), whole])
        for i in range(self.dense):
            out = torch.relu(getattr(self, f"fc_{i + 1}")(out))
        return -nn.functional.logsigmoid(self.predictor(out))


class Encoder(nn.Module):
    """TraPPM's encoder by its authors' names."""

    def __init__(self) -> None:
        super().__init__()
        widths = (113, 2 * WIDTH, WIDTH, WIDTH, WIDTH)
        for i in range(4):
            setattr(self, f"conv{i + 1}", SAGEConv(widths[i], widths[i + 1]))
            setattr(self, f"bn{i + 1}", nn.BatchNorm1d(widths[i + 1]))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        for i in range(1, 5):
            x = torch.relu(getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x, edges)))
        return x


def dippm() -> Published:
    torch.manual_seed(0)
    layers = {
        f"graph_conv_{i + 1}": GraphSAGE(w, WIDTH, num_layers=2, normalize=True)
        for i, w in enumerate((32, WIDTH, WIDTH))
    }
    return Published(layers, WIDTH + 5, 3, 3).eval()


def regressor(seed: int) -> Published:
    torch.manual_seed(seed)
    layers = {
        f"graph_conv_{i + 1}": SAGEConv(w, WIDTH, normalize=True)
        for i, w in enumerate((113, WIDTH))
    }
    return Published(layers, 2 * WIDTH + 6, 2, 1).eval()


@pytest.fixture(scope="module")
def graph() -> ModelGraph:
    return encode_module("resnet50", load(RESNET), ())


def saved(path: Path, state: Mapping[str, Any]) -> Path:
    torch.save(dict(state), path)
    return path


def one_row(graph: ModelGraph, batch: int, *, training: bool) -> Measurements:
    setting = Setting(Precision.F32, version=(2, 0), training=training)
    row = GraphRow("g", "g", setting, "a100-sxm4-40gb", batch, float("nan"))
    return Measurements("d", {"g": graph}, (row,))


def test_dippm_gives_what_the_authors_layers_give(graph: ModelGraph, tmp_path: Path) -> None:
    network = dippm()
    path = saved(tmp_path / "a.ckpt", {"epoch": 1, "state_dict": network.state_dict()})
    made, card = read_checkpoint([path])
    x = torch.from_numpy(relay.relay_nodes(graph)).float()
    chain = torch.stack([torch.arange(len(x) - 1), torch.arange(1, len(x))])
    static = torch.tensor(relay.static_features(graph, 4))
    with torch.no_grad():
        time, energy, memory = network(x, chain, static).tolist()
    data = one_row(graph, 4, training=False)
    assert made.predict(data)[0] == pytest.approx(1e-6 * time, rel=1e-4)
    others = {q: float(v[0]) for q, v in made.other_quantities(data).items()}
    assert others[Quantity.ENERGY] == pytest.approx(0.1 * energy, rel=1e-4)
    assert others[Quantity.MEMORY] == pytest.approx(1e6 * memory, rel=1e-4)
    assert (card.rows, card.modes) == (0, ("eager",))


def test_trappm_gives_what_the_authors_layers_give(graph: ModelGraph, tmp_path: Path) -> None:
    torch.manual_seed(3)
    encoder = Encoder()
    encoder.bn1.running_mean += 1.0
    encoder.eval()
    paths = [
        saved(tmp_path / "auto.pth", {f"encoder.{n}": t for n, t in encoder.state_dict().items()})
    ]
    networks = {"Train_Gpu_Power_W": regressor(1), "Train_Step_Time": regressor(2)}
    for label, network in networks.items():
        paths.append(saved(tmp_path / f"fold_1_{label}.pth", network.state_dict()))
    made, card = read_checkpoint(paths)
    x = torch.from_numpy(onnx_profile.node_table(graph, 4)).float()
    edges = torch.from_numpy(onnx_profile.edge_index(graph))
    static = torch.tensor(onnx_profile.static_features(graph, 4))
    with torch.no_grad():
        whole = torch.cat([encoder(x, edges).sum(dim=0), static])
        power, time = (float(n(x, edges, whole)) for n in networks.values())
    data = one_row(graph, 4, training=True)
    assert made.predict(data)[0] == pytest.approx(1e-3 * time, rel=1e-3)
    others = {q: float(v[0]) for q, v in made.other_quantities(data).items()}
    assert others == {Quantity.POWER: pytest.approx(power, rel=1e-3)}
    assert card.runs == (("a100-sxm4-40gb", "f32", "training", "torch 2.0"),)


def test_nodes_are_calls_with_stored_arguments(graph: ModelGraph) -> None:
    rows = relay.relay_nodes(graph)
    convolutions = rows[rows[:, 1] == 1]
    assert len(convolutions) == 53
    first = convolutions[0]
    assert first[ATTRIBUTES].tolist() == [2, 2, 3, 3, 3, 3, 1, 1, 1, 64, 7, 7]
    assert first[-4:].tolist() == [64, 3, 7, 7]
    dense = rows[rows[:, 3] == 1]
    assert len(dense) == 1
    # batch normalizations, and the bias of the dense layer
    assert len(rows) == 53 + 53 + 2
    batch, giga_mac, conv, products, relu = relay.static_features(graph, 4)
    assert (batch, conv, products) == (4, 53, 1)
    assert giga_mac == pytest.approx(4 * 4.089, rel=0.01)
    assert relu == 49


@pytest.mark.parametrize(
    ("op", "weights", "elements", "place", "shape"),
    [
        ("matmul", [192, 768], 192 * 768, 10, [768, 192]),
        ("add", [], 768, 5, [768, 0]),
        ("add", [1, 197, 192], 197 * 192, 11, [1, 197]),
        ("mul", [], 1, 0, []),
        ("reshape", [], 3, 0, []),
    ],
)
def test_calls_of_a_transformer(
    op: str, weights: list[int], elements: int, place: int, shape: list[int]
) -> None:
    fact = dict.fromkeys(relay.FACTS, 0.0) | {"weights": 1.0, "weight_elements": float(elements)}
    fact |= {"has_bias": float(not weights)}
    fact |= {f"weight_{i}": float(extent) for i, extent in enumerate(weights)}
    calls = list(relay._calls(op, fact))
    assert [(call.index(1.0), call[28:30]) for call in calls] == ([(place, shape)] if place else [])


def test_a_profile_counts_as_onnx_tool(graph: ModelGraph) -> None:
    table = onnx_profile.node_table(graph, 4)
    kinds = dict(zip(onnx_profile.NODES.columns, table.T, strict=True))
    first = int(np.argmax(kinds["is Conv"]))
    outputs = 4 * 64 * 112 * 112
    assert kinds["mac"][first] == outputs * (3 * 7 * 7 + 1)
    assert kinds["parameters"][first] == 64 * 3 * 7 * 7
    assert kinds["memory"][first] == 4 * (64 * 3 * 7 * 7 + outputs)
    pool = int(np.argmax(kinds["is MaxPool"]))
    assert kinds["mac"][pool] == 9 * 4 * 64 * 56 * 56
    assert kinds["is Relu"].sum() == 49
    static = onnx_profile.static_features(graph, 4)
    assert np.mean(static) == pytest.approx(0, abs=1e-9)
    assert np.std(static, ddof=1) == pytest.approx(1)


def test_a_checkpoint_becomes_weights_that_a_command_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = {name: 0.1 * torch.randn_like(t) for name, t in dippm().state_dict().items()}
    state["predictor.bias"] = torch.tensor([-20_000.0, -40.0, -1_500.0])
    file = saved(tmp_path / "epoch=1.ckpt", {"epoch": 1, "state_dict": state})
    assert cli.run(["train", "checkpoint", str(file), "-o", str(tmp_path / "w")]) == 0
    path = Path(capsys.readouterr().out.strip())
    arguments = ["analyze", "-q", RESNET, "-t", "a100-sxm4-40gb", "--weights", str(path)]
    assert cli.run([*arguments, "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["predictor"] == "dippm-authors"
    assert document["value"] == pytest.approx(20e-3, rel=0.2)
    assert document["other_quantities"]["energy_j"] == pytest.approx(4.0, rel=0.5)
    assert document["other_quantities"]["memory_bytes"] == pytest.approx(1_500e6, rel=0.2)
    assert document["mig_profile"] == "1g.5gb"


def test_another_layout_and_a_program_are_refused(tmp_path: Path) -> None:
    other = saved(tmp_path / "other.ckpt", {"state_dict": {"fc_2.weight": torch.zeros(4, 4)}})
    with pytest.raises(ParseError, match="not the layout of DIPPM") as caught:
        read_checkpoint([other])
    assert "PerfSeer's authors publish no network" in str(caught.value.hint)
    hostile = tmp_path / "hostile.ckpt"
    hostile.write_bytes(pickle.dumps(np.zeros(3)))
    with pytest.raises(ParseError, match="no checkpoint"):
        read_checkpoint([hostile])


def test_weights_of_a_wide_network_are_not_made_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = {name: torch.zeros(1) for name in dippm().state_dict()}
    state["fc_2.weight"] = torch.zeros(1_000_000, 1)
    state["fc_2.bias"] = torch.zeros(1_000_000)
    with pytest.raises(ParseError, match="weights of other shapes"):
        read_checkpoint([saved(tmp_path / "wide.ckpt", state)])
    state["fc_2.weight"] = torch.zeros(1).expand(1 << 20, 1 << 20)
    with pytest.raises(ParseError, match="more numbers"):
        read_checkpoint([saved(tmp_path / "expanded.ckpt", state)])
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.ckpt"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data/0", bytes(checkpoints.MOST_BYTES + 1))
    assert bomb.stat().st_size < 1 << 12
    with pytest.raises(ParseError, match="more numbers"):
        read_checkpoint([bomb])


def test_files_of_no_one_network_are_refused(tmp_path: Path) -> None:
    time = saved(tmp_path / "fold_1_Train_Step_Time.pth", regressor(1).state_dict())
    with pytest.raises(ParseError, match="not one network") as caught:
        read_checkpoint([time])
    assert "autoenc_343.pth" in str(caught.value.hint)
    encoder = {f"encoder.{n}": t for n, t in Encoder().state_dict().items()}
    auto = saved(tmp_path / "autoenc_343.pth", encoder)
    again = saved(tmp_path / "fold_2_Train_Step_Time.pth", regressor(1).state_dict())
    with pytest.raises(ParseError, match="two regressors"):
        read_checkpoint([auto, time, again])
    unnamed = saved(tmp_path / "regressor.pth", regressor(1).state_dict())
    with pytest.raises(ParseError, match="states no quantity"):
        read_checkpoint([auto, unnamed])


def test_authors_weights_are_not_trained(graph: ModelGraph, tmp_path: Path) -> None:
    made, _ = read_checkpoint([saved(tmp_path / "a.ckpt", dippm().state_dict())])
    data = one_row(graph, 4, training=False)
    with pytest.raises(PerfcError, match="authors' weights"):
        made.fit(data, data, TrainingBudget(), lambda _: None)
