"""GELU and attention that exporters write out are what PyTorch runs, saves and differentiates."""

from __future__ import annotations

from collections import Counter

import pytest

from perfc.ir.ops.attention.attention import Attention
from perfc.ir.ops.elementwise.activation import Gelu
from tests.oracles import executed

from .test_kept import NUMBERS, compared, graph, kept, step

INS = "%in: f32[3, 4]"
X = ("%w = weight : f32[4, 4]", "%x = matmul(%in, %w) : f32[3, 4]")
ERF = (
    *NUMBERS,
    "%root = weight {constant=true} : f32[] = 1.4142135",
    "%less = weight {constant=true} : f32[] = 0.70710678",
)
GELUS = {
    "half last": (
        "%d = div(%x, %root)",
        "%e = erf(%d)",
        "%p = add(%e, %one)",
        "%m = mul(%x, %p)",
        "%y = mul(%m, %half)",
    ),
    "half first": (
        "%d = mul(%x, %less)",
        "%e = erf(%d)",
        "%p = add(%one, %e)",
        "%m = mul(%x, %half)",
        "%y = mul(%m, %p)",
    ),
    "half inside": (
        "%d = mul(%less, %x)",
        "%e = erf(%d)",
        "%p = add(%e, %one)",
        "%m = mul(%half, %p)",
        "%y = mul(%m, %x)",
    ),
    "tanh": (
        "%s = mul(%x, %x)",
        "%q = mul(%x, %s)",
        "%k = mul(%c2, %q)",
        "%t = add(%x, %k)",
        "%d = mul(%c1, %t)",
        "%e = tanh(%d)",
        "%p = add(%one, %e)",
        "%m = mul(%x, %p)",
        "%y = mul(%half, %m)",
    ),
}


def gelu(lines: tuple[str, ...], last: str = "%y") -> str:
    shaped = [f"{line} : f32[3, 4]" for line in lines]
    return graph(*X, *ERF, *shaped, f"return {last}", ins=INS)


def mnemonics(text: str) -> Counter[str]:
    return Counter(n.op.mnemonic for n in step(text).graph.nodes)


@pytest.mark.parametrize("form", GELUS)
def test_a_gelu_keeps_its_operand_alone(form: str) -> None:
    text = gelu(GELUS[form])
    assert mnemonics(text)["gelu"] == 1
    assert kept(text) == {"in", "x"}
    compared(text, "tanh" if form == "tanh" else "erf")
    [node] = [n for n in step(text).graph.nodes if isinstance(n.op, Gelu)]
    assert node.op.approximate == ("tanh" if form == "tanh" else "none")
    assert node.loc.op_type == "Gelu"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("div(%x, %root)", "div(%x, %half)"),
        ("add(%e, %one)", "add(%e, %half)"),
        ("mul(%m, %half)", "mul(%m, %root)"),
        ("mul(%x, %p)", "mul(%e, %p)"),
        ("mul(%m, %half)", "mul(%m, %e)"),
    ],
)
def test_what_is_no_gelu_stays(old: str, new: str) -> None:
    text = gelu(GELUS["half last"])
    assert old in text
    assert mnemonics(text.replace(old, new))["erf"] == 1


def test_a_gelu_whose_parts_are_read_elsewhere_stays() -> None:
    text = gelu((*GELUS["half last"], "%z = add(%y, %e)"), "%z")
    assert mnemonics(text)["erf"] == 1
    out = gelu(GELUS["half last"], "%y, %p")
    assert mnemonics(out)["erf"] == 1


def test_a_cube_that_is_a_power_is_gelu_where_the_exporter_names_it() -> None:
    three = "%three = weight {constant=true} : f32[] = 3.0"
    lines = ("%q = pow(%x, %three)", *GELUS["tanh"][2:])
    text = gelu(lines).replace("  %x = matmul", f"  {three}\n  %x = matmul")
    assert mnemonics(text)["tanh"] == 1
    last = "%y = mul(%half, %m) : f32[3, 4]"
    named = text.replace(last, f'{last} loc("node_gelu")')
    assert mnemonics(named)["gelu"] == 1
    compared(named, "tanh")
    assert mnemonics(named.replace("= 3.0", "= 2.0"))["tanh"] == 1


HEADS = "f32[2, 3, 5, 4]"
TURNED = "f32[2, 3, 4, 5]"
PAIRS = "f32[2, 3, 5, 5]"
THREE = f"%q = concat(%one_q, %one_q, %one_q) {{axis=1}} : {HEADS}"


def attention(
    *between: str, scale: str = "0.70710678", mask: str = "weight {constant=true}", last: str = "%y"
) -> str:
    """Scaled products with the mask ``%m`` at hand; ``%a`` goes into the softmax."""
    return graph(
        "%wq = weight : f32[4, 4]",
        "%wv = weight : f32[4, 4]",
        f"%s = weight {{constant=true}} : f32[] = {scale}",
        f"%m = {mask} : f32[5, 5]",
        f"%q = matmul(%in, %wq) : {HEADS}",
        f"%v = matmul(%in, %wv) : {HEADS}",
        f"%t = transpose(%in) {{perm=[0, 1, 3, 2]}} : {TURNED}",
        f"%qs = mul(%q, %s) : {HEADS}",
        f"%ks = mul(%t, %s) : {TURNED}",
        f"%c = matmul(%qs, %ks) : {PAIRS}",
        *(between or (f"%a = neg(%c) : {PAIRS}",)),
        f"%p = softmax(%a) : {PAIRS}",
        f"%y = matmul(%p, %v) : {HEADS}",
        f"return {last}",
        ins=f"%in: {HEADS}",
    )


@pytest.fixture
def newest_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX has attention as one operator from opset 23 on."""
    monkeypatch.setattr(executed, "OPSET", 23)


PLAIN = (
    attention(f"%a = mul(%c, %one) : {PAIRS}")
    .replace(f"  %a = mul(%c, %one) : {PAIRS}\n", "")
    .replace("softmax(%a)", "softmax(%c)")
)
MASKED = attention(f"%a = add(%c, %m) : {PAIRS}")


@pytest.mark.usefixtures("newest_attention")
@pytest.mark.parametrize("text", [PLAIN, MASKED])
def test_attention_keeps_its_operands_and_its_result(text: str) -> None:
    assert mnemonics(text)["attention"] == mnemonics(text)["attention_grad"] == 1
    assert {"q", "v", "in"} <= kept(text)
    assert not {"p", "c", "qs", "ks"} & kept(text)
    compared(text, "softmax")
    [node] = [n for n in step(text).graph.nodes if isinstance(n.op, Attention)]
    assert node.op.scale is None


@pytest.mark.usefixtures("newest_attention")
def test_another_scale_is_kept() -> None:
    text = PLAIN.replace("0.70710678", "0.5")
    [node] = [n for n in step(text).graph.nodes if isinstance(n.op, Attention)]
    assert node.op.scale == pytest.approx(0.25)
    compared(text, "softmax")


@pytest.mark.usefixtures("newest_attention")
def test_keys_that_are_made_with_their_tokens_last_are_shown_anew() -> None:
    turned = f"%u = neg(%t) : {TURNED}"
    text = PLAIN.replace("  %ks = mul(%t, %s)", f"  {turned}\n  %ks = mul(%u, %s)")
    assert mnemonics(text)["attention"] == 1
    compared(text, "softmax")


def test_heads_that_read_one_key_are_fused() -> None:
    text = PLAIN.replace("%q = matmul(%in, %wq)", "%one_q = matmul(%in, %wq)")
    text = text.replace(HEADS, "f32[2, 1, 5, 4]").replace(TURNED, "f32[2, 1, 4, 5]")
    text = text.replace("  %v = ", f"  {THREE}\n  %v = ")
    for line in ("%qs = mul(%q, %s)", "%y = matmul(%p, %v)"):
        assert f"{line} : f32[2, 1, 5, 4]" in text
        text = text.replace(f"{line} : f32[2, 1, 5, 4]", f"{line} : {HEADS}")
    assert mnemonics(text)["attention"] == 1


@pytest.mark.parametrize(
    "text",
    [
        MASKED.replace("%m = weight {constant=true}", "%m = weight"),
        PLAIN.replace("matmul(%qs, %ks)", "matmul(%qs, %t)"),
        PLAIN.replace("softmax(%c)", "softmax(%c) {axis=2}"),
        PLAIN.replace("return %y", "return %y, %p"),
        PLAIN.replace("return %y", "return %y, %c"),
        attention(f"%a = neg(%c) : {PAIRS}"),
    ],
    ids=["trained mask", "one scale", "another axis", "probabilities", "scores", "other"],
)
def test_what_no_fused_kernel_computes_stays(text: str) -> None:
    assert mnemonics(text)["softmax"] == 1
    assert mnemonics(text)["attention"] == 0
