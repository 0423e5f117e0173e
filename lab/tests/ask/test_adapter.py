"""A tiny graph and language model, as it is made, words answers: nothing of it is believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfc import cli

pytest.importorskip("transformers")
pytest.importorskip("peft")
pytest.importorskip("torch_geometric")

RESNET = "examples/models/resnet50.onnx.gz"


def stages(folder: Path) -> Path:
    """What stages 0 to 2 leave, before they learned anything."""
    from perfc_lab.papers.gnn_llm.checkpoints import DECODER, ENCODER, Stages, adapted_file
    from perfc_lab.papers.gnn_llm.features import GraphFeatures
    from perfc_lab.papers.gnn_llm.language_model import fresh_decoder, make_tokenizer
    from perfc_lab.papers.gnn_llm.presets import SMOKE
    from perfc_lab.papers.gnn_llm.projection import Readout
    from perfc_lab.papers.gnn_llm.stages import adaptable, adapted_state

    from ..analyzers.graph_rows import measurements

    learned = Stages.start(folder, SMOKE, None, 0)
    shape = learned.preset.decoder
    make_tokenizer(["The graph contains 1 nodes"], shape).save_pretrained(folder / DECODER)
    fresh_decoder(shape, 0).save_pretrained(folder / DECODER)
    graphs = measurements().graphs
    features = GraphFeatures.of(graphs, sorted(graphs)[:4])
    learned.keep_standards(features.nodes, features.sums)
    network = adaptable(learned, Readout.SUMS)
    learned.keep(ENCODER, network.encoder.state_dict())
    learned.keep(adapted_file(Readout.SUMS), adapted_state(network))
    return folder


def test_an_untrained_adapter_adds_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["ask", RESNET, "how many parameters?", "is it accurate?", "-t", "a100"]
    assert cli.run([*call, "--output-format", "json"]) == 1
    alone = json.loads(capsys.readouterr().out)
    assert cli.run([*call, "--output-format", "json", "--adapter", str(stages(tmp_path))]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == alone
    assert "note: the adapter wrote no number that the report holds" in err


def test_a_folder_without_stages_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["ask", RESNET, "latency", "--adapter", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "no stages" in err
