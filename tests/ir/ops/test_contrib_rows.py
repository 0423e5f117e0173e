"""Operators of ONNX Runtime that are rows of data."""

from __future__ import annotations

import pytest

from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops import operator_for
from perfc.ir.symbolic.dim import Poly
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType


def value(*shape: int) -> Value:
    return Value("x", TensorType(DType.F16, shape))


def operator(name: str, **attributes: float) -> Op:
    cls = operator_for("com.microsoft", name)
    assert cls is not None
    return cls(**attributes)


HALVES = [(2, 3, 8), (2, 3, 8)]
ADAPTED = [(2, 3, 64), (5, 2, 16), (5, 2), (4, 2, 16), (4, 2), (5, 1, 16), (5, 1)]
MIXED = [(2, 24), (24,), (24, 4), (4, 24), (24, 3)]
ROTATED = [(2, 3, 4, 8), (8,), (1,), (10, 2), (10, 2)]
EXPERTS = [(2, 3, 8), (6, 4), (4, 16, 4), (4, 16, 4), (4, 8, 8)]


@pytest.mark.parametrize(
    ("op", "shapes", "result", "mac"),
    [
        (operator("SwiGLU"), HALVES[:1], "f16[2, 3, 4]", 0),
        (operator("SwiGLU"), HALVES, "f16[2, 3, 8]", 0),
        (operator("MatMulPacked"), [(2, 3, 8), (5, 4)], "f16[2, 3, 5]", 2 * 3 * 5 * 8),
        (operator("MoEPacked", k=2), EXPERTS, "f16[2, 3, 8]", 6 * 2 * 8 * 16 * 3),
        (operator("RouterGateUpProj", router_size=4), [(2, 8), (8, 20)], "f16[2, 4]", 320),
        (operator("RestorePadding"), [(5, 8), (2, 3)], "f16[2, 3, 8]", 0),
        (operator("TorchEmbedding"), [(9, 8), (2, 3)], "f16[2, 3, 8]", 0),
        (operator("MatMulNBitsQLoRA", N=5), ADAPTED, "f16[2, 3, 5]", 6 * (5 * 64 + 4 * 69)),
        (operator("HyperConnectionLowRankMix", num_branches=3), MIXED, "f16[2, 8]", 2 * 24 * 11),
        (operator("RMSNormRotary", rotary_embedding_dim=4), ROTATED, "bf16[2, 3, 32]", 0),
        (operator("RMSNormRotary", output_fp16=1, flatten_batch=1), ROTATED, "f16[1, 6, 32]", 0),
        (operator("DequantizeWithOrder", to=10), [(2, 3), ()], "f16[2, 3]", 0),
        (operator("BitmaskBiasDropout"), [(2, 40), (40,)], "f16[2, 40]", 0),
    ],
)
def test_shapes_and_products(op: Op, shapes: list[tuple[int, ...]], result: str, mac: int) -> None:
    ins = tuple(value(*s) for s in shapes)
    outs = op.infer(ins)
    work = op.work(ins, outs)
    assert str(outs[0]) == result
    assert work is not None
    assert work.mac == mac


def test_experts_are_read_as_one_token_touches_them() -> None:
    ins = tuple(value(*s) for s in EXPERTS)
    op = operator("MoEPacked", k=2)
    weights = 2 * (4 * 16 * 4 * 2 + 4 * 8 * 8) // 2
    assert op.traffic(ins, op.infer(ins)).read_bytes == 2 * (48 + 24) + weights


def test_tokens_without_padding_are_given_by_the_data() -> None:
    outs = operator("RemovePadding").infer((value(2, 3, 8), value(2)))
    first = outs[0]
    assert isinstance(first, TensorType)
    assert first.shape is not None
    assert isinstance(first.shape[0], Poly)
    assert [str(t) for t in outs[1:]] == ["i32[2, 3]", "i32[3]", "i32[1]"]


def test_what_no_operand_says_is_unknown_and_not_zero() -> None:
    op = operator("MatMulPacked")
    ins = (Value("a", TensorType(DType.F16, None)), value(5, 4))
    outs = op.infer(ins)
    assert str(outs[0]) == "f16[*]"
    assert op.work(ins, outs) is None


def results(name: str, operands: dict[int, Value], **attributes: float) -> list[str]:
    op = operator(name, **attributes)
    ins = tuple(operands.get(i) for i in range(len(op.signature.names)))
    outs = op.infer(ins)
    assert op.traffic(ins, outs).is_bound
    return [str(t) for t in outs]


def test_packed_weights_hold_as_many_elements_as_they_multiply() -> None:
    ins = tuple(value(*s) for s in ADAPTED)
    assert operator("MatMulNBitsQLoRA", N=5).logical_elements(ins) == {1: 320, 3: 256, 5: 20}
    experts = tuple(value(*s) for s in EXPERTS)
    assert operator("MoEPacked", k=2).logical_elements(experts)[2] == 4 * 16 * 8


def test_searches_are_as_long_as_they_are_allowed_to_be() -> None:
    def number(item: int) -> Value:
        return Value("n", TensorType(DType.I32, (1,)), Known((1,), (item,)))

    prompt = value(2, 5)
    assert results("GreedySearch", {0: prompt, 1: number(20)}) == ["i32[2, 20]"]
    beams = {0: prompt, 1: number(20), 3: number(4), 4: number(3), 5: value(1)}
    sequences, scores, steps = results("BeamSearch", beams)
    assert (sequences, scores) == ("i32[2, 3, 20]", "f16[2, 3]")
    assert steps.startswith("f16[15, 2, 4, ")


def test_states_in_place_are_not_written_whole() -> None:
    op = operator("ConvStateReplay")
    ins = tuple(value(1000) for _ in range(4))
    traffic = op.traffic(ins, op.infer(ins))
    assert (traffic.write_bytes, traffic.is_bound) == (0, True)


def test_choices_of_sparse_attention_have_the_width_that_attributes_give() -> None:
    operands = {0: value(2, 3, 64), 2: value(16), 7: value(2, 10, 16)}
    blocks = results("SparseAttentionIndexer", operands, token_budget=8, compress_ratio=4)
    assert blocks[:2] == ["i32[2, 3, 11]", "f16[2, 13, 16]"]
    entries = results("SparseAttentionIndexer", operands, index_topk=6, compress_ratio=4)
    assert entries[0] == "i32[2, 3, 6]"
    merged = {2: value(7)}
    chosen = results("PackedSparseAttentionIndexerMerge", merged, max_output_entries=5)
    assert chosen == ["i32[7, 5]", "i32[7]", "i32[7]"]


@pytest.mark.parametrize(
    ("name", "attributes", "first", "last"),
    [
        ("DepthToSpace", {"blocksize": 2}, (1, 8, 3, 5), (1, 3, 5, 8)),
        ("SpaceToDepth", {"blocksize": 2}, (1, 8, 4, 6), (1, 4, 6, 8)),
        ("LRN", {"size": 3}, (1, 8, 3, 5), (1, 3, 5, 8)),
        ("GlobalLpPool", {}, (1, 8, 3, 5), (1, 3, 5, 8)),
        ("LpPool", {"kernel_shape": (2, 2)}, (1, 8, 3, 5), (1, 3, 5, 8)),
    ],
)
def test_channels_last_are_counted_as_channels_second(
    name: str, attributes: dict[str, object], first: tuple[int, ...], last: tuple[int, ...]
) -> None:
    found = []
    for domain, shape in (("", first), ("com.ms.internal.nhwc", last)):
        cls = operator_for(domain, name)
        assert cls is not None
        op, ins = cls(**attributes), (value(*shape),)
        (out,) = op.infer(ins)
        assert isinstance(out, TensorType)
        assert out.shape is not None
        found.append((sorted(map(str, out.shape)), op.work(ins, (out,)), op.traffic(ins, (out,))))
        at = 1 if domain == "" else -1
        found[-1] = (out.shape[at], *found[-1])
    assert found[0] == found[1]


@pytest.mark.parametrize(("mixes", "alu"), [((), 48 * 2), (((2, 3, 3),), 48 * 7)])
def test_mixed_streams_take_a_product_of_matrices(
    mixes: tuple[tuple[int, ...], ...], alu: int
) -> None:
    op = operator("HyperConnectionPostMix")
    ins = tuple(value(*s) for s in ((2, 3, 8), (2, 8), (2, 3), *mixes))
    work = op.work(ins, op.infer(ins))
    assert work is not None
    assert work.alu == alu
