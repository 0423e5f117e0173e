"""DeBERTa 2 and 3: parameters and work of the modules of transformers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perfc
from perfc.errors import ModelError
from perfc.frontend.checkpoints.json_file import loaded
from perfc.frontend.checkpoints.sources import located
from perfc.frontend.config import read_config
from perfc.frontend.config.facts import parameters
from perfc.ir.symbolic.evaluate import evaluate

NAME = "deberta-v3-base"


def test_parameters_are_those_of_the_module() -> None:
    # sum of numel() of DebertaV2ForMaskedLM, transformers 4.57
    assert parameters(read_config(NAME)).resident == 184_551_780


@pytest.mark.parametrize(("batch", "seq"), [(1, 64), (4, 128)])
def test_work_is_that_of_the_module(batch: int, seq: int) -> None:
    """Products of contents, of the table by each layer, and of both with each other."""
    report = perfc.analyze(NAME, "a100", batch=batch, seq=seq)
    hidden, inner, layers, rows, vocab = 768, 3072, 12, 512, 128_100
    tokens = batch * seq
    layer = tokens * (4 * hidden + 2 * inner) * hidden + 2 * rows * hidden * hidden
    layer += tokens * (2 * seq + 2 * rows) * hidden
    head = tokens * (hidden + vocab) * hidden
    assert evaluate(report.cost.work.mac, report.env) == layers * layer + head
    assert not report.cost.is_bound


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"relative_attention": False}, "without 'relative_attention'"),
        ({"pos_att_type": "c2p"}, "without c2p and p2c"),
        ({"conv_kernel_size": 3}, "with a convolution"),
    ],
)
def test_other_kinds_are_one_line(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**loaded(located(NAME)[0]), **changed}))
    with pytest.raises(ModelError, match=message):
        read_config(path)


def test_lists_and_positions_without_buckets_are_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    more = {"pos_att_type": ["p2c", "c2p"], "position_buckets": -1}
    path.write_text(json.dumps({**loaded(located(NAME)[0]), **more}))
    added = (2 * 512 - 512) * 768
    assert parameters(read_config(path)).resident == 184_551_780 + added
