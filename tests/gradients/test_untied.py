"""Stored tensors that an exporter merged are each module's own in a training step."""

from __future__ import annotations

import pytest

from perfc.passes.training.train import Train

from .test_kept import graph, step

OUTSIDE = 'weight {location="stripped"} : f32[4, 4]'
SHAPE = "f32[3, 4]"


def chain(first: str, second: str, weight: str = OUTSIDE, kind: str = "matmul") -> str:
    """Two operators of one tensor, named as torch.onnx names them."""
    return graph(
        f"%w = {weight}",
        f'%a = matmul(%x, %w) : {SHAPE} loc("{first}")',
        f'%y = {kind}(%a, %w) : {SHAPE} loc("{second}")',
        "return %y",
        ins=f"%x: {SHAPE}",
    )


def parameters(text: str) -> list[str]:
    """Return the parameters of the training step, each with a separate gradient."""
    module = step(text)
    stored = [w for w in module.graph.weights if w.weight is not None and w.weight.is_parameter]
    assert len(module.graph.outputs) == 1 + len(stored)
    return [w.name for w in stored]


MODULES = ("/blocks.0/fc/MatMul", "/blocks.1/fc/MatMul")


def test_modules_that_were_equal_have_their_own() -> None:
    assert parameters(chain(*MODULES)) == ["w", "blocks.1.fc.weight"]
    added = [n for n in step(chain(*MODULES)).graph.nodes if n.op.mnemonic == "add"]
    assert not added


@pytest.mark.parametrize(
    ("names", "weight"),
    [
        (("/fc/MatMul", "/fc/MatMul_1"), OUTSIDE),
        (("node_MatMul_1", "node_MatMul_2"), OUTSIDE),
        (MODULES, "weight : f32[4, 4]"),
        (MODULES, 'weight {digest="ab", location="stripped"} : f32[4, 4]'),
    ],
    ids=["called twice", "no paths", "in the file", "contents known"],
)
def test_what_may_be_one_tensor_stays_one(names: tuple[str, str], weight: str) -> None:
    text = chain(*names, weight=weight)
    assert parameters(text) == ["w"]
    assert "add" in [n.op.mnemonic for n in step(text).graph.nodes]


def embedded(name: str) -> str:
    """A table of words that is the last matrix too, turned by an operator between."""
    return graph(
        '%w = weight {location="stripped"} : f32[9, 4]',
        f'%e = gather(%w, %i) : {SHAPE} loc("/embed/Gather")',
        '%t = transpose(%w) {perm=[1, 0]} : f32[4, 9] loc("/head/Transpose")',
        f'%y = matmul(%e, %t) : f32[3, 9] loc("{name}")',
        "return %y",
        ins="%i: i64[3]",
    )


def test_a_tied_embedding_stays_tied() -> None:
    assert parameters(embedded("/head/MatMul")) == ["w"]


def vectors(second: str) -> str:
    """A vector that two operators of different kinds read."""
    return graph(
        '%b = weight {location="stripped"} : f32[4]',
        "%w = weight : f32[4, 4]",
        f'%a = matmul(%x, %w) : {SHAPE} loc("/fc/MatMul")',
        f'%c = add(%a, %b) : {SHAPE} loc("/fc/Add")',
        f'%y = mul(%c, %b) : {SHAPE} loc("{second}")',
        "return %y",
        ins=f"%x: {SHAPE}",
    )


def test_a_vector_of_two_modules_is_two_whatever_reads_it() -> None:
    assert sorted(parameters(vectors("/scale/Mul"))) == ["b", "scale.weight", "w"]
    assert sorted(parameters(vectors("/fc/Mul"))) == ["b", "w"]


def test_constants_of_an_exporter_are_not_trained() -> None:
    text = chain("/a/MatMul", "/b/Mul", "weight : f32[4, 4]").replace(
        "%y = matmul(%a, %w)", '%y = mul(%a, %"/act/Constant_1_output_0")'
    )
    number = '%"/act/Constant_1_output_0" = weight : f32[] = 3.0'
    text = text.replace("  %a = matmul", f"  {number}\n  %a = matmul")
    module = step(text)
    assert len(module.graph.outputs) == 2


def test_a_module_is_frozen_by_its_own_name() -> None:
    text = chain(*MODULES).replace("%w", "%blocks.0.fc.weight")
    assert parameters(text) == ["blocks.0.fc.weight", "blocks.1.fc.weight"]
    frozen = step(text, Train(optimizer="", loss="mean", freeze=("blocks.1.*",)))
    assert len(frozen.graph.outputs) == 2
