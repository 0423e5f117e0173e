"""Tensors saved by a training step, counted by hand from variables of PyTorch's autograd nodes.

Source: PyTorch 2.13, torch/csrc/autograd/generated/Functions.h.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfc.ir.graph import Module
from perfc.ir.syntax.parse import parse_module
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.memory.saved import Saved, SavedTable
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.rewriting.untie import Untie
from perfc.passes.training.train import Train
from tests.oracles import executed

PLAIN = Train(optimizer="", loss="mean")
LOSS = 4
"""Bytes of a number of f32."""


def step(text: str, recipe: Train = PLAIN) -> Module:
    am = Analyses()
    module = am.apply(Shapes(), parse_module(text))
    module = am.apply(Untie(), am.apply(Canonicalize(keeps_parameters=True), module))
    return am.apply(recipe, module)


def table(module: Module) -> SavedTable:
    return Analyses().get(Saved("eager"), module)


def kept(text: str, recipe: Train = PLAIN) -> set[str]:
    return {v.name for v in table(step(text, recipe)).storages}


def graph(*lines: str, ins: str = "%x: f32[2, 4, 6, 6]") -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"perfir 1\nmodule @m\ngraph @main({ins}) {{\n{body}}}\n"


CONV = "%w = weight : f32[4, 4, 1, 1]"


def test_an_average_pool_keeps_its_operand() -> None:
    text = graph(
        CONV,
        "%c = conv(%x, %w) : f32[2, 4, 6, 6]",
        "%y = average_pool(%c) {kernel_shape=[2, 2], strides=[2, 2]} : f32[2, 4, 3, 3]",
        "return %y",
    )
    assert kept(text) == {"x", "c"}


def test_a_maximum_pool_keeps_its_operand_and_its_indices() -> None:
    text = graph(
        CONV,
        "%c = conv(%x, %w) : f32[2, 4, 6, 6]",
        "%y = max_pool(%c) {kernel_shape=[2, 2], strides=[2, 2]} : f32[2, 4, 3, 3]",
        "return %y",
    )
    assert len(kept(text)) == 3
    assert kept(text) > {"x", "c"}


def test_a_convolution_keeps_its_operand_though_its_filters_are_frozen() -> None:
    text = graph(
        CONV,
        "%v = weight : f32[4, 4, 1, 1]",
        "%c = conv(%x, %w) : f32[2, 4, 6, 6]",
        "%d = conv(%c, %v) : f32[2, 4, 6, 6]",
        "return %d",
    )
    assert kept(text, replace(PLAIN, freeze=("v",))) == {"x", "c"}
    # nothing before it is trained, so that no gradient passes through it
    assert kept(text, replace(PLAIN, freeze=("w",))) == {"c"}


def test_elements_that_are_taken_keep_what_they_were_taken_of() -> None:
    text = graph(
        "%w = weight : f32[4, 4]",
        "%c = matmul(%x, %w) : f32[3, 4]",
        "%y = gather_elements(%c, %i) {axis=1} : f32[3, 2]",
        "return %y",
        ins="%x: f32[3, 4], %i: i64[3, 2]",
    )
    assert kept(text) == {"x", "c", "i"}


def test_rows_of_a_product_that_strides_cannot_say_are_kept_as_a_copy() -> None:
    text = graph(
        "%w = weight : f32[3, 3]",
        "%s = softmax(%x) {axis=-1} : f32[2, 3, 5]",
        "%b = weight : f32[2, 3, 5]",
        "%p = mul(%s, %b) : f32[2, 3, 5]",
        "%q = softmax(%p) {axis=-1} : f32[2, 3, 5]",
        "%t = transpose(%q) {perm=[0, 2, 1]} : f32[2, 5, 3]",
        "%y = matmul(%t, %w) : f32[2, 5, 3]",
        "return %y",
        ins="%x: f32[2, 3, 5]",
    )
    found = table(step(text))
    one = 2 * 3 * 5 * LOSS
    # the operand of the product with b, the softmax's result, and the copy of its other order
    assert {v.name for v in found.storages} == {"s", "q"}
    assert [v.name for v in found.copied] == ["t"]
    assert found.bytes_at({}) == 3 * one


def test_what_is_made_of_small_parameters_is_not_folded() -> None:
    text = graph(
        "%w = weight : f32[4] = [0.0, 0.0, 0.0, 0.0]",
        "%one = weight {constant=true} : f32[] = 1.0",
        "%s = add(%one, %w) : f32[4] = [1.0, 1.0, 1.0, 1.0]",
        "%y = mul(%x, %s) : f32[3, 4]",
        "return %y",
        ins="%x: f32[3, 4]",
    )
    found = step(text)
    assert len(found.graph.outputs) == 2
    assert {v.name for v in table(found).storages} == {"x"}


GROUPS = (
    "%g = weight {constant=true} : f32[2] = [1.0, 1.0]",
    "%z = weight {constant=true} : f32[2] = [0.0, 0.0]",
    "%to = weight {constant=true} : i64[3] = [0, 2, -1]",
    "%back = weight {constant=true} : i64[4] = [2, 4, 6, 6]",
    "%column = weight {constant=true} : i64[2] = [1, 2]",
    "%scale = weight : f32[4]",
    "%offset = weight : f32[4]",
    CONV,
    "%c = conv(%x, %w) : f32[2, 4, 6, 6]",
    "%r = reshape(%c, %to) : f32[2, 2, 72]",
    "%n = instance_norm(%r, %g, %z) : f32[2, 2, 72]",
    "%b = reshape(%n, %back) : f32[2, 4, 6, 6]",
    "%su = unsqueeze(%scale, %column) : f32[4, 1, 1]",
    "%ou = unsqueeze(%offset, %column) : f32[4, 1, 1]",
    "%m = mul(%b, %su) : f32[2, 4, 6, 6]",
    "%y = add(%m, %ou) : f32[2, 4, 6, 6]",
    "return %y",
)
HALF = "%half = weight {constant=true} : f32[] = 0.5"
NUMBERS = (
    HALF,
    "%one = weight {constant=true} : f32[] = 1.0",
    "%c1 = weight {constant=true} : f32[] = 0.7978845608",
    "%c2 = weight {constant=true} : f32[] = 0.044715",
)


def gelu(last: str) -> str:
    shape = "f32[3, 4]"
    return graph(
        "%w = weight : f32[4, 4]",
        *NUMBERS,
        f"%x = matmul(%in, %w) : {shape}",
        f"%a = mul(%x, %half) : {shape}",
        f"%b = mul(%x, %c1) : {shape}",
        f"%c = mul(%x, %c2) : {shape}",
        f"%d = mul(%c, {last}) : {shape}",
        f"%e = add(%d, %one) : {shape}",
        f"%f = mul(%b, %e) : {shape}",
        f"%g = tanh(%f) : {shape}",
        f"%h = add(%g, %one) : {shape}",
        f"%y = mul(%a, %h) : {shape}",
        "return %y",
        ins="%in: f32[3, 4]",
    )


def numbers(module: Module) -> list[np.ndarray]:
    """Loss and gradients, of numbers drawn by the names of stored tensors and inputs."""

    def drawn(name: str, shape: tuple[int, ...]) -> np.ndarray:
        draw = np.random.default_rng(sum(map(ord, name)))
        return draw.normal(size=shape).astype("f4")

    stored = {w.name: drawn(w.name, w.type.shape) for w in module.graph.weights if not w.known}
    feeds = {v.name: drawn(v.name, v.type.shape) for v in module.graph.inputs}
    return list(executed.run(module.graph, feeds, stored))


def twice_negated(text: str, mnemonic: str) -> str:
    """The same numbers with two signs behind an operator, so that no pattern is there."""
    line = next(x for x in text.splitlines() if f"= {mnemonic}(" in x)
    name, shape = line.split("=")[0].strip(), line.rpartition(": ")[2]
    lines = [
        line.replace(f"{name} ", "%first ", 1),
        f"  %second = neg(%first) : {shape}",
        f"  {name} = neg(%second) : {shape}",
    ]
    return text.replace(line, "\n".join(lines))


def compared(text: str, mnemonic: str) -> None:
    """Gradients are those of the operators as they are written."""
    found, written = step(text), step(twice_negated(text, mnemonic))
    assert mnemonic in [n.op.mnemonic for n in written.graph.nodes]
    assert mnemonic not in [n.op.mnemonic for n in found.graph.nodes]
    for own, other in zip(numbers(found), numbers(written), strict=True):
        np.testing.assert_allclose(own, other, rtol=2e-3, atol=1e-5)


def test_groups_written_as_instances_are_one_normalisation() -> None:
    found = step(graph(*GROUPS))
    assert [n.op.mnemonic for n in found.graph.nodes][:2] == ["conv", "group_norm"]
    assert {v.name for v in table(found).storages} == {"x", "c"}
    compared(graph(*GROUPS), "instance_norm")


def test_groups_whose_scale_is_stored_as_a_column_are_one_normalisation() -> None:
    lines = [x.replace("%su)", "%scale)").replace("%ou)", "%offset)") for x in GROUPS]
    columns = [x.replace("f32[4]", "f32[4, 1, 1]") if "weight : f32[4]" in x else x for x in lines]
    text = graph(*(x for x in columns if "unsqueeze" not in x))
    assert [n.op.mnemonic for n in step(text).graph.nodes][:4] == [
        "conv",
        "reshape",
        "reshape",
        "group_norm",
    ]
    assert {v.name for v in table(step(text)).storages} >= {"x", "c"}
    compared(text, "instance_norm")


def test_groups_without_a_scale_are_one_normalisation() -> None:
    text = graph(*GROUPS[:-4], "%y = neg(%b) : f32[2, 4, 6, 6]", "return %y")
    assert kept(text) == {"x", "c"}
    compared(text, "instance_norm")


def test_gelu_whose_cube_is_factored_out_keeps_its_operand_alone() -> None:
    assert kept(gelu("%x")) == {"in", "x"}
    compared(gelu("%x"), "tanh")
    other = step(gelu("%b"))
    assert "tanh" in [n.op.mnemonic for n in other.graph.nodes]


def test_equal_parts_of_a_sequence_are_parts() -> None:
    text = graph(
        "%w = weight : f32[4, 6]",
        "%size = weight {constant=true} : i64[] = 2",
        "%first = weight {constant=true} : i64[] = 0",
        "%last = weight {constant=true} : i64[] = 2",
        "%c = matmul(%x, %w) : f32[3, 6]",
        "%s = split_to_sequence(%c, %size) {axis=1} : seq<f32[3, 2]; 3>",
        "%a = sequence_at(%s, %first) : f32[3, 2]",
        "%b = sequence_at(%s, %last) : f32[3, 2]",
        "%y = mul(%a, %b) : f32[3, 2]",
        "return %y",
        ins="%x: f32[3, 4]",
    )
    found = step(text)
    assert "split" in [n.op.mnemonic for n in found.graph.nodes]
    assert not any("sequence" in n.op.mnemonic for n in found.graph.nodes)
    assert len(numbers(found)) == 2
