"""Training steps of configurations: every token has scores, which cost work and memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perfc
from perfc.fit import fitted
from perfc.ir.evaluate import evaluate
from perfc.passes.saved import Saved

LLAMA = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True,
    "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip
T5 = {
    "model_type": "t5", "vocab_size": 2048, "d_model": 64, "d_ff": 256, "d_kv": 16,
    "num_layers": 2, "num_heads": 4, "torch_dtype": "float32",
}  # fmt: skip


def step(folder: Path, stated: dict[str, object], **how: object) -> perfc.Report:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(stated))
    return perfc.analyze(str(folder), "h100", train="adamw", runtime="eager", **how)  # type: ignore[arg-type]


def saved(report: perfc.Report) -> int:
    return report.analyses.get(Saved("eager"), report.module).bytes_at(report.env)


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
    assert 6 * many < few < 9 * many


def test_a_prompt_that_is_served_has_scores_of_its_last_token(tmp_path: Path) -> None:
    trained = step(tmp_path, {**LLAMA, "vocab_size": 2000}, batch=2, seq=512)
    served = perfc.analyze(str(tmp_path), "h100", batch=2, seq=512)
    assert served.module.graph.outputs[0].type.shape[0] != 1024  # type: ignore[union-attr, index]
    again = served.under(train="adamw", runtime="eager")
    assert saved(again) == saved(trained)
    head = 2 * 511 * 2000 * 64
    assert int(evaluate(trained.cost.work.mac, trained.env)) > 3 * head


@pytest.mark.parametrize(("given", "target"), [({}, 256), ({"target": 64}, 64)])
def test_a_decoder_behind_an_encoder_has_as_many_tokens_unless_given(
    given: dict[str, int], target: int, tmp_path: Path
) -> None:
    report = step(tmp_path, T5, dims={"batch": 2, "seq": 256, **given})
    assert report.env["target"] == target
    served = perfc.analyze(str(tmp_path), "h100", dims={"batch": 2, "seq": 256})
    assert served.env["target"] == 1
