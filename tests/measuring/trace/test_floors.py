"""Work and lower bounds of operators of traces, against sizes counted by hand and by PyTorch."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.ir.tensors.types import DType
from perfc.machine import load_machine
from perfc.measuring.trace.facts import Argument, OperatorCall, TensorArgument
from perfc.measuring.trace.floors import OperatorFloor, floor_of
from perfc.measuring.trace.formats import kineto, read_trace
from perfc.measuring.trace.summary import summarized
from perfc.measuring.trace.work.costs import work_of
from perfc.measuring.trace.work.operators import signature_of, signatures

from . import samples

DATASET = Path(__file__).parents[3] / "datasets" / "h200" / "traces"
BF16, HALF = "c10::BFloat16", "c10::Half"
OPAQUE = "CatArrayBatchedCopy_contig<at::native::OpaqueType<2u>, unsigned int, 4, 64, 64>"
TF32_KERNEL = "cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4"
FACTS = {"Tensor": "rlwxikgabcqvjNOtW", "numbers": "CTMBDHdsKSPLG"}
"""Roles by the type of the argument in PyTorch."""
NAMES = {
    "C": "causal",
    "S": "stride",
    "P": "padding",
    "L": "dilation",
    "T": "transposed",
    "M": "mask",
    "B": "beta",
    "D": "dtype",
    "K": "kernel",
    "d": "dim",
    "s": "size",
}
"""Part of the names of arguments in PyTorch by role."""


def bounded(
    name: str, *arguments: Argument, target: str = "h100", kernels: tuple[str, ...] = ("kernel",)
) -> OperatorFloor:
    floor = floor_of(OperatorCall(name, arguments), load_machine(target), kernels)
    assert floor is not None, name
    return floor


def tensor(*sizes: int, dtype: str = "float", held: int | None = None) -> TensorArgument:
    return TensorArgument(dtype, sizes, held)


N = 1 << 28
QUERY = tensor(2, 8, 512, 64, dtype=BF16)
IMAGE, FILTERS = tensor(32, 256, 14, 14, dtype=HALF), tensor(512, 256, 3, 3, dtype=HALF)
ONES = ((1, 1), (1, 1), (1, 1))
PRODUCT = 2 * 32 * 512 * 14 * 14 * 256 * 9


@pytest.mark.parametrize(
    ("name", "arguments", "nbytes", "flop"),
    [
        ("aten::gelu", [tensor(N)], 8 * N, 5 * N),
        ("aten::rsqrt", [tensor(N)], 8 * N, N),
        ("aten::silu", [tensor(N, dtype=BF16)], 4 * N, 5 * N),
        ("aten::addcmul_", [tensor(N)] * 3, 16 * N, 2 * N),
        ("aten::_softmax", [tensor(8, 512), -1, False], 8 * 8 * 512, 3 * 8 * 512),
        ("aten::div", [tensor(N, dtype="long int"), 2], 12 * N, N),
        ("aten::mul", [tensor(8, N), tensor(N), None], 4 * (16 * N + N), 8 * N),
        ("aten::add", [tensor(N, dtype=BF16), tensor(dtype="double"), 1], 4 * N + 8, N),
        ("aten::where", [tensor(N, dtype="bool", held=8), tensor(N), tensor()], 8 * N + 12, N),
        ("aten::copy_", [tensor(64, 8, N), tensor(64, 8, N, held=64 * N)], 4 * 64 * 9 * N, 0),
        ("aten::sum", [tensor(8, 512), (1,), False, None], 4 * 8 * 513, 8 * 512),
        ("aten::cat", [(TensorArgument("", (N,)),) * 2, 0], 8 * N, 0),
        ("aten::fill_", [tensor(N), 0], 4 * N, 0),
        ("aten::tanh_backward", [tensor(N)] * 2, 12 * N, 2 * N),
        ("aten::tril", [tensor(8, 8), 0], 4 * 64, 0),
        ("aten::upsample_nearest2d", [tensor(1, 2, 4, 4), (8, 8)], 4 * 128, 0),
        ("aten::native_dropout", [tensor(N), 0.1, True], 9 * N, 2 * N),
        ("aten::mm", [tensor(8, 4), tensor(4, 2)], 4 * (32 + 8 + 16), 2 * 64),
        ("aten::linear", [tensor(3, 8, 4), tensor(2, 4), tensor(2)], 4 * (96 + 8 + 2 + 48), 432),
        ("aten::baddbmm", [tensor(2, 8, 8), tensor(2, 8, 4), tensor(2, 4, 8), 0, 0.5], 1024, 1024),
        (
            "aten::_scaled_mm",
            [
                tensor(64, 32, dtype="c10::Float4_e2m1fn_x2"),
                tensor(32, 16, dtype="c10::Float4_e2m1fn_x2"),
                tensor(4),
                tensor(4),
                None,
                None,
                15,
            ],
            32 * 80 + 32 + 2 * 64 * 16,
            2 * 64 * 16 * 64,
        ),
        (
            "aten::convolution",
            [IMAGE, FILTERS, None, *ONES, False, (0, 0), 1],
            2 * (32 * 14 * 14 * 768 + 512 * 256 * 9),
            PRODUCT,
        ),
        (
            "aten::convolution_backward",
            [
                tensor(32, 512, 14, 14, dtype=HALF),
                IMAGE,
                FILTERS,
                (0,),
                *ONES,
                False,
                (0, 0),
                1,
                (True, True, False),
            ],
            2 * (32 * 14 * 14 * 1024 + 2 * 512 * 256 * 9),
            2 * PRODUCT,
        ),
        (
            "aten::convolution_backward",
            [tensor(32, 512, 14, 14, dtype=HALF), IMAGE, FILTERS, *[None] * 8],
            2 * (32 * 14 * 14 * 768 + 512 * 256 * 9),
            PRODUCT,
        ),
        (
            "aten::convolution_backward",
            [
                tensor(1, 8, 4, 4),
                tensor(1, 4, 8, 8),
                tensor(8, 4, 1, 1),
                None,
                *[(2, 2)] * 3,
                False,
                (0, 0),
                1,
                (False, True, False),
            ],
            4 * (8 * 16 + 4 * 16 + 32),
            2 * 8 * 16 * 4,
        ),
        (
            "aten::max_pool2d_with_indices",
            [tensor(1, 2, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1)],
            4 * 32 + 12 * 8,
            32,
        ),
        (
            "aten::_scaled_dot_product_flash_attention",
            [QUERY, QUERY, QUERY, 0.0, False],
            4 * 2 * 2 * 8 * 512 * 64,
            4 * 2 * 8 * 512 * 512 * 64,
        ),
        (
            "aten::_scaled_dot_product_flash_attention",
            [QUERY, QUERY, QUERY, 0.0, True],
            4 * 2 * 2 * 8 * 512 * 64,
            4 * 2 * 8 * (512 * 513 // 2) * 64,
        ),
        (
            "flash_attn::_flash_attn_forward",
            [tensor(2, 512, 8, 64, dtype=BF16)] * 3 + [0.0, 0.125, False],
            4 * 2 * 2 * 8 * 512 * 64,
            4 * 2 * 8 * 512 * 512 * 64,
        ),
        (
            "flash_attn::_flash_attn_forward",
            [tensor(2, 512, 8, 64, dtype=BF16)] * 3 + [0.0, 0.125, True, 127, 0],
            4 * 2 * 2 * 8 * 512 * 64,
            None,
        ),
        ("vllm::unified_attention_with_output", [QUERY] * 4, 2 * 2 * 2 * 8 * 512 * 64, None),
        (
            "aten::embedding",
            [tensor(N, 64), tensor(8, 4, dtype="long int")],
            8 * 32 + 8 * 32 * 64,
            0,
        ),
        ("aten::_fused_adamw_", [(TensorArgument("", (N,)),)] * 4, 2 * 7 * N, 14 * N),
        (
            "_C::fused_add_rms_norm",
            [tensor(8, 64), tensor(8, 64), tensor(64)],
            4 * 4 * 8 * 64 + 4 * 64,
            3 * 8 * 64,
        ),
        (
            "aten::_cudnn_rnn",
            [tensor(7, 2, 16), (tensor(64, 16), tensor(64, 8), tensor(64))],
            4 * (7 * 2 * 16 + 64 * 24),
            2 * 7 * 2 * 64 * 24,
        ),
        (
            "triton_poi_fused_add_mul_0",
            [tensor(8, 64), tensor(64), tensor(8, 192), 512],
            4 * 1088,
            None,
        ),
        (
            "_C::rotary_embedding",
            [
                tensor(8, dtype="long int"),
                tensor(8, 512),
                tensor(8, 128),
                64,
                tensor(4096, 32),
                True,
            ],
            8 * 8 + 4 * 8 * 640,
            3 * 8 * 320,
        ),
    ],
)
def test_an_operator_passes_its_operands_once(
    name: str, arguments: list[Argument], nbytes: int, flop: int | None
) -> None:
    """Bytes are those in memory; lists have the type of the kernel, here of two bytes."""
    floor = bounded(name, *arguments, kernels=(OPAQUE,))
    assert (floor.nbytes, floor.flop) == (nbytes, flop)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("aten::cat", [(TensorArgument("", (8,)),), 0]),
        ("aten::cat", [tensor(8), (tensor(8),), 0]),
        ("aten::add", [tensor(8, dtype="c10::New"), tensor(8)]),
        ("aten::mm", [tensor(8, 8, dtype="unsigned char")] * 2),
        ("aten::mm", [tensor(8, 8), tensor(4, 8)]),
        ("aten::relu", []),
        ("aten::add", [1, 2]),
        ("add", [tensor(8), tensor(8)]),
        ("mine::add", [tensor(8), tensor(8)]),
        ("triton_poi_fused_cat_0", [tensor(8), tensor(8), 8]),
    ],
)
def test_unknown_types_and_operators_have_no_bound(name: str, arguments: list[Argument]) -> None:
    call = OperatorCall(name, tuple(arguments))
    assert floor_of(call, load_machine("h100"), ("kernel",)) is None


def test_any_arguments_have_a_bound_that_is_a_number_or_none() -> None:
    """Traces may be damaged: extents of 0, below 0 or huge, and arguments of other types."""
    draw, machine = random.Random(1), load_machine("h100")

    def any_tensor() -> TensorArgument:
        sizes = (draw.choice((0, 1, 3, 64, -1, 1 << 40)) for _ in range(draw.randint(0, 5)))
        return TensorArgument(draw.choice(("float", HALF, "bool", "", "new")), tuple(sizes))

    def any_argument() -> Argument:
        number = draw.choice((0, 1, -1, 1 << 40, True, 0.5))
        numbers = tuple(draw.choice((0, 1, 3, -1)) for _ in range(draw.randint(0, 4)))
        return draw.choice((any_tensor(), any_tensor(), None, number, numbers, (any_tensor(),)))

    for name in list(signatures()) * 10:
        arguments = tuple(any_argument() for _ in range(draw.randint(0, 12)))
        floor = floor_of(OperatorCall(name, arguments), machine, (OPAQUE,), 1e-5)
        if floor is not None:
            assert 0 <= floor.floor_s < math.inf
            assert min(floor.nbytes, floor.flop or 0.0) >= 0


def test_tf32_is_known_by_the_kernel_or_by_its_speed() -> None:
    a, b = tensor(2048, 1024), tensor(1024, 4864)
    named = bounded("aten::mm", a, b, target="a100", kernels=(TF32_KERNEL,))
    plain = bounded("aten::mm", a, b, target="a100", kernels=("ampere_sgemm_128x64_nn",))
    assert named.floor_s == pytest.approx(2 * 2048 * 1024 * 4864 / 156e12, rel=0.01)
    assert (named.tf32, plain.tf32) == (True, False)
    assert plain.floor_s == pytest.approx(8 * named.floor_s, rel=0.01)
    call = OperatorCall("aten::mm", (a, b))
    fast = floor_of(call, load_machine("a100"), ("gemm",), plain.floor_s * 0.9)
    assert fast is not None
    assert fast.tf32, "faster than f32 can be"
    for name in (
        "sm80_xmma_gemm_f32f32_tf32f32_f32",
        "cutlass_80_tensorop_gemm",
        "a_s1688gemm",
        "Cijk_Ailk_Bljk_S_MX_B_HA",
        "a_xf32_gemm",
        "ampere_s16816gemm",
    ):
        assert bounded("aten::mm", a, b, target="a100", kernels=("memset", name)).tf32
    half = OperatorCall("aten::mm", (tensor(64, 64, dtype=HALF),) * 2)
    assert not bounded(half.operator, *half.arguments, kernels=(TF32_KERNEL,)).tf32


def test_an_operator_of_which_only_a_fill_was_recorded_has_no_bound() -> None:
    total = OperatorCall("aten::sum", (tensor(N), None, False))
    assert floor_of(total, load_machine("h100"), ("Memset (Device)",)) is None
    assert bounded("aten::zero_", tensor(N), kernels=("Memset (Device)",)).nbytes == 4 * N


def test_a_kernel_that_multiplies_directly_has_no_gain_of_minimal_filtering() -> None:
    arguments = (IMAGE, FILTERS, None, *ONES, False, (0, 0), 1)
    shares = [
        bounded("aten::convolution", *arguments, kernels=(name,)).floor_s
        for name in ("sm80_xmma_fprop_implicit_gemm_f16", "kernel", "winograd_nonfused", "fft2d")
    ]
    direct, unknown, filtered, transformed = (s / shares[0] for s in shares)
    assert direct == 1
    assert unknown == filtered == pytest.approx(1 / 4)
    assert transformed < filtered


def test_a_bound_above_the_time_is_withheld_counted_and_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    norm, product, *_ = samples.STEPS[1], (*samples.STEPS[0][:5], 300.0, 1.0)
    path = tmp_path / "trace.json"
    path.write_text(samples.text_of(samples.kineto([norm, product])))
    made = summarized(read_trace(path))
    assert [k.kernel for k in made.withheld] == [samples.GEMM]
    assert [k.kernel for k in made.bounded] == [samples.NORM]
    assert cli.run(["trace", str(path)]) == 0
    assert "1 operator without: its lower bound is above its time" in capsys.readouterr().out
    assert cli.run(["trace", str(path), "--output-format", "json"]) == 0
    made_json = json.loads(capsys.readouterr().out)
    assert made_json["withheld"] == 1
    limits = {k["kernel"]: (k["limit"], k["floor_s"]) for k in made_json["kernels"]}
    assert limits[samples.GEMM] == ("withheld", None)


def test_products_of_one_shape_are_one_row_in_every_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(samples.text_of(samples.kineto()))
    made = {}
    for form in ("text", "json", "csv"):
        assert cli.run(["trace", str(path), "--output-format", form, "--top", "all"]) == 0
        made[form] = capsys.readouterr().out
    (product,) = json.loads(made["json"])["products"]
    shape = {"dtype": "bf16", "batch": 1, "m": 4096, "n": 4096, "k": 4096}
    assert (product["shape"], product["count"]) == (shape, 2)
    assert product["flop_per_s"] == pytest.approx(2 * 2 * 4096**3 / 461.5e-6)
    assert "matrix products by shape" in made["text"]
    operators = {o["operator"]: o for o in json.loads(made["json"])["operators"]}
    assert operators["aten::mm"]["flop_per_s"] == product["flop_per_s"]
    assert operators["aten::mm"]["executions"] == 2
    assert sum(o["time_s"] for o in operators.values()) == pytest.approx(621.75e-6)
    row = next(csv.DictReader(io.StringIO(made["csv"])))
    assert [row[name] for name in shape] == ["bf16", "1", "4096", "4096", "4096"]
    assert float(row["flop_per_s"]) == pytest.approx(product["flop_per_s"])
    assert float(row["floor_share"]) == pytest.approx(product["floor_share"])
    assert float(row["bytes_per_s"]) == pytest.approx(2 * 3 * 2 * 4096**2 / 461.5e-6)


@pytest.mark.parametrize("path", sorted(DATASET.glob("*.json.gz")), ids=lambda p: p.name)
def test_no_floor_is_above_the_measured_in_traces_of_the_repository(path: Path) -> None:
    made = summarized(read_trace(path))
    assert not made.withheld
    assert sum(k.operator_ns for k in made.bounded) > 0.99 * made.kernel_ns


def test_expanded_operands_are_those_in_memory() -> None:
    args = {
        "Input Dims": [[8, 8, 128], [8, 8, 128], []],
        "Input type": [BF16, BF16, "Scalar"],
        "Input Strides": [[1024, 128, 1], [128, 0, 1], []],
        "Concrete Inputs": ["", "", "False"],
    }
    call = kineto.call_of("aten::copy_", args)
    assert call.arguments == (
        tensor(8, 8, 128, dtype=BF16),
        tensor(8, 8, 128, dtype=BF16, held=1024),
        False,
    )
    assert bounded(call.operator, *call.arguments).nbytes == 2 * (8192 + 1024)
    members = {name: [values[:2], []] for name, values in args.items() if name.endswith("s")}
    listed = kineto.call_of("aten::cat", members | {"Input type": ["TensorList", "Scalar"]})
    floor = bounded(listed.operator, *listed.arguments, kernels=(OPAQUE,))
    assert floor.nbytes == 2 * (8192 + 1024) + 2 * 2 * 8192


def test_roles_are_those_of_the_arguments_in_pytorch() -> None:
    """A role of a tensor, or of a number by its name, is where one schema of PyTorch has it."""
    torch = pytest.importorskip("torch")
    schemas: dict[str, list[Any]] = {}
    for schema in torch._C._jit_get_all_schemas():
        schemas.setdefault(schema.name.rstrip("_"), []).append(schema)
    wrong = [
        name
        for name, signature in signatures().items()
        if name in schemas and not any(fits(signature.roles, s.arguments) for s in schemas[name])
    ]
    assert not wrong
    known = [name for name in signatures() if name.startswith("aten::")]
    assert sum(name in schemas for name in known) > 0.98 * len(known)


def fits(roles: str, arguments: list[Any]) -> bool:
    for role, argument in zip(roles, arguments, strict=False):
        is_tensor = "Tensor" in str(argument.type)
        is_number = "number" in str(argument.type)
        if role in FACTS["Tensor"] and not is_tensor and not (role == "r" and is_number):
            return False
        if role in FACTS["numbers"] and is_tensor:
            return False
        if role in NAMES and NAMES[role] not in argument.name:
            return False
    return len(roles) <= len(arguments)


def test_results_have_the_types_of_pytorch() -> None:
    """Bytes of element-wise operators are those of PyTorch's results on no device."""
    torch = pytest.importorskip("torch")
    words = {
        torch.bool: "bool",
        torch.uint8: "unsigned char",
        torch.int64: "long int",
        torch.float16: HALF,
        torch.bfloat16: BF16,
        torch.float32: "float",
        torch.float64: "double",
        torch.int32: "int",
    }
    sizes: tuple[tuple[int, ...], ...] = ((4, 6), (6,), ())
    for name in ("add", "mul", "div", "eq", "maximum"):
        for first in words:
            for second in words:
                for shape in sizes:
                    a = torch.empty((4, 6), dtype=first, device="meta")
                    b = torch.empty(shape, dtype=second, device="meta")
                    result = getattr(torch, name)(a, b)
                    given = [TensorArgument(words[t.dtype], tuple(t.shape)) for t in (a, b)]
                    check(name, given, [a, b], result)
    for name in ("sqrt", "exp", "sigmoid", "relu", "isnan", "div", "mul"):
        for first in words:
            a = torch.empty((4, 6), dtype=first, device="meta")
            scalars = [2.5] if name in ("div", "mul") else []
            if name == "relu" and first is torch.bool:
                continue
            result = getattr(torch, name)(a, *scalars)
            check(name, [TensorArgument(words[first], (4, 6)), *scalars], [a], result)


def check(name: str, given: list[Any], operands: list[Any], result: Any) -> None:
    """Compare bytes; a double without axes may be a number of Python, which counts as float."""
    signature = signature_of(f"aten::{name}")
    assert signature is not None
    work = work_of(OperatorCall(f"aten::{name}", tuple(given)), signature, ())
    assert work is not None
    assert work.counts.read_bytes == sum(t.nbytes for t in operands)
    is_wrapped = any(str(t.dtype) == "torch.float64" and not t.shape for t in operands)
    if is_wrapped and str(result.dtype) == "torch.float64" and work.dtype is not DType.F64:
        assert work.counts.write_bytes == result.nbytes / 2
    else:
        assert work.counts.write_bytes == result.nbytes, (name, given)
