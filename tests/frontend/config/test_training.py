"""Training steps of configurations: every token has scores, which cost work and memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.ir.graph import Phase
from perfc.ir.ops.normalization.softmax import Softmax
from perfc.ir.symbolic.evaluate import evaluate
from perfc.passes.memory.saved import Saved
from perfc.study.fit import fitted
from perfc.view.report import Verdict

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
    "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16",
}
T5 = {
    "model_type": "t5",
    "vocab_size": 2048,
    "d_model": 64,
    "d_ff": 256,
    "d_kv": 16,
    "num_layers": 2,
    "num_heads": 4,
    "torch_dtype": "float32",
    "is_gated_act": False,
}


def step(folder: Path, stated: dict[str, object], **how: object) -> perfc.Report:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(stated))
    return perfc.analyze(str(folder), "h100", **{"train": "adamw", "runtime": "eager", **how})  # type: ignore[arg-type]


def saved(report: perfc.Report) -> int:
    return report.analyses.get(Saved("eager"), report.module).bytes_at(report.env)


def forward_macs(report: perfc.Report) -> int:
    before = (Phase.FORWARD, Phase.LOSS)
    nodes = [n for n in report.module.graph.nodes if n.loc.phase in before]
    costs = [report.cost.nodes[n].work for n in nodes]
    return sum(int(evaluate(w.mac, report.env)) for w in costs if w is not None)


def test_scores_of_every_token_are_computed_and_their_logarithms_kept(tmp_path: Path) -> None:
    few, many = (
        step(tmp_path / str(v), {**LLAMA, "vocab_size": v}, batch=2, seq=512) for v in (2000, 16000)
    )
    tokens, more = 2 * 512, 16000 - 2000
    # the product with the table forward, and twice backward
    whole = [int(evaluate(r.cost.work.mac, r.env)) for r in (few, many)]
    assert whole[1] - whole[0] == 3 * tokens * more * 64
    # logarithms of scores in 32 bits, as PyTorch keeps them
    assert saved(many) - saved(few) == tokens * more * 4


def test_a_vocabulary_eight_times_as_large_leaves_room_for_fewer_samples(tmp_path: Path) -> None:
    found = [
        fitted(step(tmp_path / str(v), {**LLAMA, "vocab_size": v}, seq=4096), is_auto=True)
        for v in (32000, 256000)
    ]
    few, many = (f.batch for f in found)
    assert few is not None
    assert many is not None
    assert 5 * many < few < 12 * many


def test_the_first_screen_says_what_fit_says(tmp_path: Path) -> None:
    report = step(tmp_path, {**LLAMA, "vocab_size": 32000}, batch=2, seq=512)
    need = Verdict.of(report).memory
    (first, *_) = fitted(report, is_auto=False).choices
    assert need.total_bytes == first.footprint.total_bytes
    assert need.fits == first.fits
    assert need.total_bytes > saved(report)


def test_passes_by_hand_train_every_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "vocab_size": 2000}))
    words = ["opt", str(tmp_path / "config.json"), "-p", "shapes,train"]
    cli.run([*words, "--dim", "batch=2", "--dim", "seq=64"])
    text = capsys.readouterr().out
    assert "last_tokens" not in text
    assert "f32[batch*seq, 2000]" in text


def test_a_prompt_that_is_served_has_scores_of_its_last_token(tmp_path: Path) -> None:
    trained = step(tmp_path, {**LLAMA, "vocab_size": 2000}, batch=2, seq=512)
    served = perfc.analyze(str(tmp_path), "h100", batch=2, seq=512)
    assert served.module.graph.outputs[0].type.shape[0] != 1024  # type: ignore[union-attr, index]
    again = served.with_(train="adamw", runtime="eager")
    assert saved(again) == saved(trained)
    head = 2 * 511 * 2000 * 64
    assert int(evaluate(trained.cost.work.mac, trained.env)) > 3 * head


@pytest.mark.parametrize("more", [{}, {"model_type": "mixtral", "num_local_experts": 4}])
def test_a_plan_keeps_what_a_step_of_one_device_keeps(
    more: dict[str, object], tmp_path: Path
) -> None:
    report = step(
        tmp_path, {**LLAMA, "vocab_size": 2000, **more}, batch=2, seq=512, runtime="trainer"
    )
    found = perfc.plan(
        str(tmp_path), 1, "h100", batch=2, seq=512, micro_batch=2, checkpointing="none"
    ).best
    assert found is not None
    assert found.memory.activations == pytest.approx(saved(report), rel=0.02)
    masked = 2 * 2 * 4 * (512 * 511 // 2) * 2 * 16
    assert found.model_flop // 6 == forward_macs(report) - masked


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_a_step_has_the_type_of_the_stored_weights(name: str, tmp_path: Path) -> None:
    stated = {**LLAMA, "vocab_size": 2000, "torch_dtype": name}
    wide = 2 if name == "float32" else 1
    report = step(tmp_path, stated, batch=2, seq=512)
    stored = sum(w.type.nbytes for w in report.source.graph.weights if w.weight.is_parameter)  # type: ignore[union-attr, misc]
    mlp, attention = 3 * 64 * 256, 64 * (64 + 2 * 32 + 64)
    assert stored == wide * 2 * (2000 * 64 + 2 * (mlp + attention + 2 * 64) + 64)


def test_layers_are_written_out_in_training_and_fused_when_served(tmp_path: Path) -> None:
    """What PyTorch 2.13 keeps of one layer of transformers 5.24, by hand."""
    two, four = (
        step(tmp_path, {**LLAMA, "vocab_size": 2000, "num_hidden_layers": n}, batch=2, seq=512)
        for n in (2, 4)
    )
    # norms: f32, narrowed, scaled rows, a root, its inverse; rotated queries, keys, values, result;
    # a gate, its activation, what it multiplies, and the product
    each = 2 * (8 * 64 + 8) + 2 * (2 * 64 + 2 * 32) + 4 * 2 * 256
    assert saved(four) - saved(two) == 2 * 1024 * each
    served = perfc.analyze(str(tmp_path), "h100", batch=2, seq=512)
    assert "reciprocal" not in {n.op.mnemonic for n in served.source.graph.nodes}
    assert "reciprocal" in {n.op.mnemonic for n in two.source.graph.nodes}


@pytest.mark.parametrize(("given", "target"), [({}, 256), ({"target": 64}, 64)])
def test_a_decoder_behind_an_encoder_has_as_many_tokens_unless_given(
    given: dict[str, int], target: int, tmp_path: Path
) -> None:
    report = step(tmp_path, T5, dims={"batch": 2, "seq": 256, **given})
    assert report.env["target"] == target
    served = perfc.analyze(str(tmp_path), "h100", dims={"batch": 2, "seq": 256})
    assert served.env["target"] == 1


GEMMA2 = {**LLAMA, "model_type": "gemma2", "head_dim": 16, "sliding_window": 128}


@pytest.mark.parametrize(
    ("stated", "runtime", "written"),
    [
        ({**LLAMA, "vocab_size": 2000}, "eager", 0),
        ({**LLAMA, "vocab_size": 2000}, "eager-unfused", 2),
        ({**GEMMA2, "vocab_size": 2000}, "eager", 2),
        # the layers of both stacks, whose bias is trained, and not those that read the encoder
        (T5, "eager", 4),
        (T5, "eager-unfused", 6),
    ],
)
def test_attention_without_a_kernel_keeps_its_probabilities(
    stated: dict[str, object], runtime: str, written: int, tmp_path: Path
) -> None:
    fused = step(tmp_path, stated, batch=2, seq=256)
    report = fused.with_(runtime=runtime)
    found = [
        n
        for n in report.module.graph.nodes
        if isinstance(n.op, Softmax) and n.loc.name.endswith(".attention.unfused")
    ]
    assert len(found) == written
    kept = report.analyses.get(Saved("eager"), report.module)
    shares = [n.results[0] for n in found]
    assert {*kept.storages, *kept.copied}.issuperset(shares)
    assert all(int(evaluate(v.type.nbytes, report.env)) == 2 * 4 * 256**2 * 4 for v in shares)  # type: ignore[union-attr, arg-type]
    # as many products, fused or not: all pairs are multiplied
    assert forward_macs(report) == forward_macs(fused)


def test_half_precision_is_no_change_of_a_model_in_half_precision(tmp_path: Path) -> None:
    titles = []
    for dtype in ("bfloat16", "float32"):
        path = tmp_path / f"{dtype}.json"
        path.write_text(json.dumps({**T5, "torch_dtype": dtype}))
        report = perfc.analyze(path, "a100", batch=4)
        titles.append([c.title for c in fitted(report, is_auto=False, predict=False).choices])
    assert titles == [["as given"], ["as given", "--dtype bf16"]]


def test_a_configuration_has_the_name_of_its_folder(tmp_path: Path) -> None:
    (folder := tmp_path / "my-t5").mkdir()
    (folder / "config.json").write_text(json.dumps(T5))
    assert repr(perfc.analyze(folder / "config.json", "a100", batch=4)).startswith("my-t5 on ")
