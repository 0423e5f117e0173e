"""A training step of a configuration is one step in every command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc.analyzers.runs.run_law import law_on
from perfc.cli import run
from perfc.distributed.costs.work import LanguageWork
from perfc.distributed.step import step_cost
from perfc.distributed.training import Training
from perfc.frontend.config import lower, read_config
from perfc.frontend.config.lowering.step import ForwardStep
from perfc.frontend.config.model import LanguageModel, TokenEmbedding
from perfc.frontend.config.precision import training_precision
from perfc.machine import load_machine
from perfc.machine.parallel import ALONE
from perfc.view.report.memory_sections.footprint import footprint

from .shipped_models import shipped_models

TARGET, SEQ = "a100-sxm4-80gb", 128
SAMPLES = 3
"""No power of two: those are estimated together."""


def families() -> list[str]:
    """Return the shipped model with the fewest layers of each family that `perfc plan` takes."""
    best: dict[str, tuple[int, str]] = {}
    for name, model in shipped_models().items():
        stacks = model.stacks
        is_text = len(stacks) == 1 and isinstance(stacks[0].embedding, TokenEmbedding)
        if is_text:
            size = len(stacks[0].layers), name
            best[model.family] = min(best.get(model.family, size), size)
    return sorted(name for _, name in best.values())


def cut(model: LanguageModel) -> LanguageModel:
    """Return the model with one layer of each kind."""
    stack = model.stacks[0]
    return replace(model, stacks=(replace(stack, layers=tuple(dict.fromkeys(stack.layers))),))


@pytest.mark.parametrize("name", families())
def test_the_graph_of_a_family_and_its_parts_are_one_step(name: str) -> None:
    machine = load_machine(TARGET)
    precision, model = training_precision("bf16", machine.takes), cut(read_config(name))
    module = lower(model, ForwardStep.TRAINING, precision, writes_out=False)
    report = perfc.analyze(
        module,
        TARGET,
        train="adamw",
        runtime="trainer",
        dtype="bf16",
        master_weights=True,
        batch=SAMPLES,
        seq=SEQ,
    )
    work = LanguageWork(model, precision, "trainer", str(machine.path))
    training = Training(seq=SEQ, batch=SAMPLES, micro_batch=SAMPLES)
    cost = step_cost(work, ALONE, training, law=law_on(machine, "bf16"))
    assert report.roofline.floor_s == pytest.approx(cost.floor_s, rel=0.01)
    assert report.prediction.total.time_s == pytest.approx(cost.time_s, rel=0.02)
    nbytes = footprint(report).total_bytes
    assert nbytes == pytest.approx(cost.memory.total, rel=0.02)


def answered(folder: Path, *words: str) -> dict[str, Any]:
    """Return the JSON document of a command on one A100."""
    path = folder / "answer.json"
    code = run([*words, "-t", TARGET, "--seq", "128", "--output-format", "json", "-o", str(path)])
    assert code == 0
    document: dict[str, Any] = json.loads(path.read_text())
    return document


@pytest.mark.parametrize("name", ["gpt2", "mpnet-base"])
@pytest.mark.parametrize("dtype", ["", "f32"])
def test_every_command_has_the_same_step(name: str, dtype: str, tmp_path: Path) -> None:
    typed = ("--dtype", dtype) if dtype else ()
    one = ("--train", "adamw", "--batch", "4", *typed)
    many = ("--gpus", "1", "--global-batch", "4", "--micro-batch", "4", *typed)
    analyzed = answered(tmp_path, "analyze", name, *one)
    fitted = answered(tmp_path, "fit", name, *one)["choices"][0]
    compared = answered(tmp_path, "compare", name, *one)["rows"][0]
    cost = answered(tmp_path, "compare", name, *one, "--steps", "1")["rows"][0]
    planned = answered(tmp_path, "plan", name, "--checkpointing", "none", *many)["best"]
    curve = answered(tmp_path, "plan", name, "--curve", *many)["points"][0]["cost"]
    times_s = [
        analyzed["verdict"]["expected"]["mid"],
        fitted["time_s"],
        compared["time_s"],
        cost["time_s"]["mid"],
        planned["time_s"],
        curve["time_s"],
    ]
    assert times_s == pytest.approx([times_s[0]] * len(times_s), rel=0.01)
    floors_s = [s["floor_s"] for s in (analyzed["verdict"], compared, planned, curve)]
    assert floors_s == pytest.approx([floors_s[0]] * len(floors_s), rel=0.01)
    nbytes = [analyzed["memory"]["device"]["total_bytes"], fitted["memory"]["total_bytes"]]
    nbytes += [compared["memory_bytes"]]
    nbytes += [sum(step["memory"].values()) for step in (planned, curve)]
    assert nbytes == pytest.approx([nbytes[0]] * len(nbytes), rel=0.02)


def test_the_bound_of_a_published_step_is_below_it(tmp_path: Path) -> None:
    """MPT-350m by llm-foundry on A100, 32 samples of 2,048 tokens: 1,115 ms."""
    settings = {
        "model_type": "mpt",
        "d_model": 1024,
        "n_heads": 16,
        "n_layers": 24,
        "max_seq_len": 2048,
        "vocab_size": 50368,
        "attn_config": {"alibi": True},
    }
    (tmp_path / "config.json").write_text(json.dumps(settings))
    report = perfc.analyze(str(tmp_path), TARGET, train="adamw", batch=32, seq=2048)
    assert report.roofline.floor_s < 1.115
    assert report.prediction.total.time_s == pytest.approx(1.115, rel=0.07)


NANOCHAT = {
    "model_type": "nemotron",
    "vocab_size": 65536,
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_hidden_layers": 20,
    "num_attention_heads": 10,
    "head_dim": 128,
    "hidden_act": "relu2",
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
}


def test_a_named_runtime_runs_its_own_attention_and_pointwise_kernels(tmp_path: Path) -> None:
    """Nanochat of 20 layers by torch.compile on eight A100: 0.989 s a step (one report)."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(NANOCHAT))
    options: dict[str, Any] = {"batch": 256, "micro_batch": 32, "seq": 2048, "train": "muon"}
    options |= {"parallel": {"dp": 8, "zero": 1}, "checkpointing": "none"}
    of_runs, compiled = (
        perfc.plan(path, 8, "dgx-a100", runtime=name, **options).best for name in ("", "inductor")
    )
    assert of_runs is not None
    assert compiled is not None
    assert compiled.floor_s < compiled.low_s < 0.989 < compiled.high_s
    assert compiled.time_s == pytest.approx(0.989, rel=0.16)
    assert compiled.time_s < 0.8 * of_runs.time_s
    recorded = perfc.plan(path, 8, "dgx-a100", runtime="inductor-cudagraph", **options).best
    assert recorded is not None
    assert recorded.time_s == pytest.approx(compiled.time_s)
    # pointwise kernels of published runs were PyTorch's, their attention an older one
    eager = perfc.plan(path, 8, "dgx-a100", runtime="eager", **options).best
    assert eager is not None
    assert 1.2 * compiled.time_s < 0.9 * of_runs.time_s < eager.time_s < of_runs.time_s
