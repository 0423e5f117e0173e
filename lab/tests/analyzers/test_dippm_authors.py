"""The authors' checkpoint of DIPPM, in the layout of their program."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from perfc import cli
from perfc.errors import ParseError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from perfc.analyzers.graph.encode import encode_module
from perfc.frontend import load
from perfc_lab.papers.dippm_authors import (
    ATTRIBUTES,
    KINDS,
    AuthorsNetwork,
    read_checkpoint,
    relay_nodes,
    static_features,
)

RESNET = "examples/models/resnet50.onnx.gz"
MILLIONS = 3.45
"""Parameters that the paper states."""


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A file as PyTorch Lightning writes it, of a small network."""
    torch.manual_seed(0)
    state = {name: 0.1 * torch.randn_like(t) for name, t in AuthorsNetwork(8).state_dict().items()}
    state["predictor.bias"] = torch.tensor([-900.0, -40.0, -700.0])
    path = tmp_path / "epoch=1.ckpt"
    torch.save({"epoch": 1, "state_dict": state}, path)
    return path


def test_the_network_has_the_papers_parameters_and_the_authors_names() -> None:
    network = AuthorsNetwork()
    assert round(sum(p.numel() for p in network.parameters()) / 1e6, 2) == MILLIONS
    names = set(network.state_dict())
    assert {"graph_conv_1.convs.0.lin_l.weight", "graph_conv_3.convs.1.lin_r.weight"} <= names
    assert {"fc_1.weight", "fc_3.bias", "predictor.weight"} <= names


def test_nodes_are_calls_with_stored_arguments() -> None:
    graph = encode_module("resnet50", load(RESNET), ())
    rows = relay_nodes(graph)
    convolutions = rows[rows[:, 1] == 1]
    assert len(convolutions) == 53
    first = convolutions[0]
    assert first[KINDS : KINDS + ATTRIBUTES].tolist() == [2, 2, 3, 3, 3, 3, 1, 1, 1, 64, 7, 7]
    assert first[-4:].tolist() == [64, 3, 7, 7]
    dense = rows[rows[:, 3] == 1]
    assert len(dense) == 1
    batch, giga_mac, conv, products, relu = static_features(graph, 4)
    assert (batch, conv, products) == (4, 53, 1)
    assert giga_mac == pytest.approx(4 * 4.089, rel=0.01)
    assert relu == 49


def test_a_checkpoint_becomes_weights_that_a_command_reads(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, card = read_checkpoint(checkpoint)
    assert cli.run(["train", "checkpoint", str(checkpoint), "-o", str(tmp_path / "w")]) == 0
    path = Path(capsys.readouterr().out.strip())
    arguments = ["predict", RESNET, "-t", "a100-sxm4-40gb", "--weights", str(path)]
    assert cli.run([*arguments, "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["predictor"] == made.name
    assert document["value"] == pytest.approx(900e-6, rel=0.2)
    assert document["other_quantities"]["energy_j"] == pytest.approx(4.0, rel=0.5)
    assert document["other_quantities"]["memory_bytes"] == pytest.approx(700e6, rel=0.2)
    assert document["mig_profile"] == "1g.5gb"
    assert card.rows == 0


def test_another_layout_and_a_program_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.ckpt"
    torch.save({"state_dict": {"fc_2.weight": torch.zeros(4, 4)}}, other)
    with pytest.raises(ParseError, match="not the layout of DIPPM"):
        read_checkpoint(other)
    hostile = tmp_path / "hostile.ckpt"
    hostile.write_bytes(pickle.dumps(np.zeros(3)))
    with pytest.raises(ParseError, match="no checkpoint"):
        read_checkpoint(hostile)
