"""Kernels that choose the next token: what they compute, and what they add to a step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfc.errors import ParseError
from perfc.frontend.config import (
    ForwardStep,
    Parallel,
    Sampling,
    ServingPrecision,
    lower,
    read_config,
    token_predictor,
)
from perfc.ir.graph import Module
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost
from perfc.serving import llm

NAME = "llama-3.2-1b"
VOCAB = 128256


def shaped(
    sampling: Sampling | None, tensor: int = 1, step: ForwardStep = ForwardStep.DECODE
) -> Module:
    model = replace(read_config(NAME), sampling=sampling)
    return Analyses().apply(
        Shapes(), lower(model, step, ServingPrecision(), Parallel(tensor=tensor))
    )


def mnemonics(module: Module) -> list[str]:
    """Operators behind the head, in order."""
    names = [node.op.mnemonic for node in module.graph.nodes]
    at = max(i for i, n in enumerate(module.graph.nodes) if n.results[0].name.endswith(".head"))
    return names[at + 1 :]


def test_a_step_ends_with_tokens_where_they_are_sampled() -> None:
    assert mnemonics(shaped(None)) == []
    assert mnemonics(shaped(Sampling.GREEDY)) == ["cast", "argmax"]
    drawn = mnemonics(shaped(Sampling.RANDOM))
    assert drawn == ["cast", "mul", "softmax", "random_uniform_like", "div", "argmax"]
    truncated = mnemonics(shaped(Sampling.TOP_P))
    assert [n for n in truncated if n in ("top_k", "cumsum")] == ["top_k", "cumsum"]
    assert len(truncated) == len(drawn) + 6


@pytest.mark.parametrize("sampling", list(Sampling))
@pytest.mark.parametrize("step", [ForwardStep.PREFILL, ForwardStep.DECODE, ForwardStep.MIXED])
def test_there_is_a_token_for_each_sequence(sampling: Sampling, step: ForwardStep) -> None:
    module = shaped(sampling, step=step)
    token = module.graph.outputs[0].type
    scores = shaped(None, step=step).graph.outputs[0].type
    assert isinstance(token, TensorType)
    assert isinstance(scores, TensorType)
    assert scores.shape is not None
    assert token.shape == scores.shape[:1]
    assert token.dtype is DType.I64


def test_ranks_gather_scores_and_probabilities_have_32_bits() -> None:
    module = shaped(Sampling.RANDOM, tensor=4)
    assert mnemonics(module)[0] == "all_gather"
    (wide,) = [n.results[0].type for n in module.graph.nodes if n.op.mnemonic == "softmax"]
    assert isinstance(wide, TensorType)
    assert wide.dtype is DType.F32
    assert wide.shape is not None
    assert wide.shape[1] == VOCAB


def test_the_work_is_that_of_the_vocabulary() -> None:
    am = Analyses()
    module = am.apply(Shapes(), lower(replace(read_config(NAME), sampling=Sampling.RANDOM)))
    costs = am.get(Cost(), module).nodes
    (softmax,) = [c.work for n, c in costs.items() if n.op.mnemonic == "softmax"]
    assert evaluate(softmax.alu, {"batch": 3, "seq": 64}) == 4 * 3 * VOCAB


def test_sampling_takes_time_that_is_named() -> None:
    options = {"isl": 64, "osl": 8, "concurrency": 64, "has_parts": True}
    found = {
        name: llm(NAME, "h100", sampling=name, **options)  # type: ignore[arg-type]
        for name in ("", "greedy", "random", "top-p")
    }
    times = [report.steps[-1].time_s for report in found.values()]
    assert times == sorted(times)
    assert len(set(times)) == 4
    for name, report in found.items():
        assert all(step.time_s > step.floor_s for step in report.steps)
        assert any("sorting the vocabulary" in n for n in report.notes) is (name == "top-p")
        assert ("sampling" in {p.what for p in report.steps[-1].parts}) is bool(name)


def test_a_name_that_is_none_is_one_line() -> None:
    with pytest.raises(ParseError, match="no 'top-q'"):
        llm(NAME, "h100", sampling="top-q")


def test_what_drafts_ends_with_its_own_scores() -> None:
    model = replace(read_config("deepseek-v3"), sampling=Sampling.TOP_P)
    assert token_predictor(model).sampling is None
