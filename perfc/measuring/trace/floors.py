"""Lower bounds of operators of a trace, from their shapes by the analysis of models.

An operator becomes a program of one node in the form of ``torch.export``, which the reader of
exported programs lowers; the roofline of that model is the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from perfc.errors import PerfcError
from perfc.ir.record import record
from perfc.machine import Machine, load_machine

from .facts import Argument, DeviceFacts, OperatorCall, TensorArgument

if TYPE_CHECKING:
    from perfc.analyzers.features.lowering import Lowered

MOST_ELEMENTS = 1 << 40
_DTYPES: Mapping[str, int] = {
    "unsigned char": 1, "signed char": 2, "short": 3, "int": 4, "long int": 5, "long": 5,
    "c10::Half": 6, "float": 7, "double": 8, "bool": 12, "c10::BFloat16": 13,
    "c10::Float8_e4m3fn": 29, "c10::Float8_e5m2": 30, "c10::Float8_e4m3fnuz": 31,
    "c10::Float8_e5m2fnuz": 32, "uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5,
    "float16": 6, "bfloat16": 13, "float8e4m3fn": 29, "float8e5m2": 30,
}  # fmt: skip
"""``ScalarType`` of the schema by Kineto's or onnxruntime's word."""
FLOATS = frozenset({6, 7, 8, 13})

_WITHOUT_RESULT = """
mm self mat2
bmm self mat2
_scaled_mm self mat2
matmul self other
linear input weight bias
addmm self mat1 mat2 beta alpha
baddbmm self batch1 batch2 beta alpha
convolution input weight bias stride padding dilation transposed output_padding groups
_convolution input weight bias stride padding dilation transposed output_padding groups
conv2d input weight bias stride padding dilation groups
cudnn_convolution self weight padding stride dilation groups
miopen_convolution self weight bias padding stride dilation groups
embedding weight indices padding_idx
index_select self dim index
gather self dim index
sum self dim keepdim
mean self dim keepdim
amax self dim keepdim
cumsum self dim
cat tensors dim
max_pool2d_with_indices self kernel_size stride padding dilation ceil_mode
avg_pool2d self kernel_size stride padding ceil_mode
_adaptive_avg_pool2d self output_size
"""
_WITH_RESULT = """
_scaled_dot_product_flash_attention query key value dropout_p is_causal return_debug_mask scale
_scaled_dot_product_efficient_attention query key value attn_bias compute_log_sumexp dropout_p is_causal scale
_scaled_dot_product_cudnn_attention query key value attn_bias compute_log_sumexp dropout_p is_causal return_debug_mask scale
_scaled_dot_product_flash_attention_for_cpu query key value dropout_p is_causal attn_mask scale
native_layer_norm input normalized_shape weight bias eps
_fused_rms_norm input normalized_shape weight eps
native_group_norm input weight bias N C HxW group eps
native_batch_norm input weight bias running_mean running_var training momentum eps
cudnn_batch_norm input weight bias running_mean running_var training exponential_average_factor epsilon
_softmax self dim
_log_softmax self dim
add self other
sub self other
mul self other
div self other
pow self exponent
maximum self other
minimum self other
where condition self other
masked_fill self mask value
addcmul self tensor1 tensor2
relu self
gelu self
silu self
sigmoid self
tanh self
exp self
log self
sqrt self
rsqrt self
neg self
abs self
cos self
sin self
erf self
reciprocal self
clamp self min max
clamp_min self min
hardtanh self min_val max_val
leaky_relu self negative_slope
hardswish self
hardsigmoid self
"""  # noqa: E501
"""Operators with the names of their arguments in order.
Source: aten/src/ATen/native/native_functions.yaml of PyTorch."""
_SAME = {"_scaled_mm": "mm", "miopen_convolution": "cudnn_convolution"}
"""Operators with the cost of another one."""
_ONNX: Mapping[str, str] = {
    "MatMul": "matmul", "FusedMatMul": "matmul", "Gemm": "addmm", "Conv": "convolution",
    "FusedConv": "convolution", "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div",
    "Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Erf": "erf", "Exp": "exp",
    "Sqrt": "sqrt", "Neg": "neg", "Abs": "abs", "Softmax": "_softmax", "Gelu": "gelu",
}  # fmt: skip
"""ATen operators by the ONNX operator of the same work."""
MOST_DIFFERENT = 0.1
"""Relative difference of the memory that a driver reports and that of the target."""
COPIES = frozenset({"copy", "clone", "contiguous", "_to_copy"})


@record
class OperatorFloor:
    """Work and lower bound of one call of an operator.

    Args:
        flop: operations.
        nbytes: compulsory bytes.
        floor_s: lower bound of its time on the target.
        limit: part of the hardware that sets the bound.
        lowered: class and extents of its kernel; None for one of no class, or for several kernels.
    """

    flop: float
    nbytes: float
    floor_s: float
    limit: str
    lowered: Lowered | None = None


@cache
def _signatures() -> Mapping[str, tuple[tuple[str, ...], bool]]:
    made: dict[str, tuple[tuple[str, ...], bool]] = {}
    for text, has_result in ((_WITHOUT_RESULT, False), (_WITH_RESULT, True)):
        for line in text.split("\n"):
            name, *arguments = line.split() or [""]
            made[name] = tuple(arguments), has_result
    return made


def floor_of(call: OperatorCall, machine: Machine, *, tf32: bool = False) -> OperatorFloor | None:
    """Return the work and the lower bound of a call; None for an operator without a formula.

    Args:
        call: operator with its arguments.
        machine: target.
        tf32: whether its kernel rounds float32 operands to TF32.
    """
    from perfc.analyzers.features.lowering import lower
    from perfc.api import analyze
    from perfc.deployment.fields import KERNELS
    from perfc.frontend.formats import ReadOptions
    from perfc.frontend.lowering import lowered
    from perfc.frontend.lowering.emitter import FAULTS
    from perfc.frontend.pt2.program import translated

    program = program_of(call)
    if program is None:
        return None
    try:
        module = lowered(translated(program, {}), ReadOptions())
        report = analyze(module, str(machine.path), predictor=KERNELS, tf32=tf32)
    except (PerfcError, RecursionError, *FAULTS):
        return None
    bounds = report.roofline
    kernels = bounds.kernels
    if not kernels:
        return None
    longest = max(kernels, key=lambda k: k.floor_s)
    limit = max(longest.floor, key=longest.floor.__getitem__, default=None)
    counts = [k.counts for k in kernels]
    is_copy = plain_name(call) in COPIES
    return OperatorFloor(
        0.0 if is_copy else float(sum(c.flop for c in counts)),
        float(sum(c.nbytes for c in counts)),
        math.fsum(k.floor_s for k in kernels), limit.value if limit else "",
        lower(kernels[0], bounds.env_of(0)) if len(kernels) == 1 else None,
    )  # fmt: skip


def program_of(call: OperatorCall) -> dict[str, Any] | None:
    """Return a call as a program of the schema of ``torch.export``; None if it is not known."""
    call = as_aten(call)
    plain = plain_name(call)
    if not plain or any(math.prod(t.sizes) > MOST_ELEMENTS for t in tensors_of(call)):
        return None
    if plain in COPIES:
        return copy_program(call)
    signature = _signatures().get(plain)
    if signature is None:
        return None
    names, has_result = signature
    arguments = list(zip(names, call.arguments, strict=False))
    result = result_of(plain, call.arguments) if has_result else None
    return one_node(_SAME.get(plain, plain), arguments, result)


def as_aten(call: OperatorCall) -> OperatorCall:
    """Return an operator of ONNX with the name and the order of arguments of ATen."""
    name = _ONNX.get(call.operator)
    arguments = call.arguments
    if name is None:
        return call
    if name == "_softmax":
        arguments = (*arguments[:1], -1)
    elif name == "addmm" and len(arguments) > 1:
        first, second, bias = (*arguments, None)[:3]
        if not isinstance(first, TensorArgument) or not isinstance(second, TensorArgument):
            return call
        if second.sizes[:1] != first.sizes[-1:]:
            second = TensorArgument(second.dtype, second.sizes[::-1])
        is_biased = isinstance(bias, TensorArgument)
        name, arguments = (name, (bias, first, second)) if is_biased else ("mm", (first, second))
    return OperatorCall(f"aten::{name}", arguments)


def plain_name(call: OperatorCall) -> str:
    """Return the name of an ATen operator without the underscore of its in-place form."""
    space, _, name = call.operator.partition("::")
    return name.rstrip("_") if space == "aten" else ""


def copy_program(call: OperatorCall) -> dict[str, Any] | None:
    """Return a copy as a conversion, or as a negation, which reads and writes the same bytes."""
    given = [a for a in call.arguments if isinstance(a, TensorArgument)]
    if not given or math.prod(given[0].sizes) != math.prod(given[-1].sizes):
        return None
    goal, source = given[0], given[-1]
    if goal.dtype != source.dtype:
        return one_node("copy", [("self", goal), ("src", source)], goal)
    return one_node("neg", [("self", source)], source)


def result_of(name: str, arguments: Sequence[Argument]) -> TensorArgument | None:
    """Return the type of the first result: of attention by its values, else broadcast."""
    given = [a for a in arguments if isinstance(a, TensorArgument)]
    if "attention" in name and len(given) >= 3:
        query, _, value = given[:3]
        return TensorArgument(query.dtype, (*query.sizes[:-1], *value.sizes[-1:]))
    if "norm" in name:
        return given[0] if given else None
    if not given:
        return None
    rank = max(len(t.sizes) for t in given)
    padded = [(1,) * (rank - len(t.sizes)) + t.sizes for t in given]
    sizes = tuple(max(axis) if min(axis) else 0 for axis in zip(*padded, strict=True))
    ranked = [t for t in given if t.sizes] or given
    dtype = next((t.dtype for t in ranked if _DTYPES.get(t.dtype) in FLOATS), ranked[0].dtype)
    return TensorArgument(dtype, sizes)


def tensors_of(call: OperatorCall) -> Iterator[TensorArgument]:
    """Yield all tensors among the arguments of a call."""
    for argument in call.arguments:
        if isinstance(argument, TensorArgument):
            yield argument
        elif isinstance(argument, tuple):
            yield from (a for a in argument if isinstance(a, TensorArgument))


def one_node(
    name: str, arguments: Sequence[tuple[str, Argument]], result: TensorArgument | None
) -> dict[str, Any]:
    """Return a program of one operator.

    Raises:
        KeyError: an element type that is not known.
    """
    metas: dict[str, Any] = {}
    usual = next((a.dtype for _, a in arguments if isinstance(a, TensorArgument)), "float")

    def tensor(given: TensorArgument) -> dict[str, Any]:
        label = f"x{len(metas)}"
        metas[label] = meta_of(given, usual)
        return {"name": label}

    inputs = [{"name": n, "arg": union_of(a, tensor)} for n, a in arguments]
    specs = [{"user_input": {"arg": {"as_tensor": {"name": label}}}} for label in metas]
    if result is not None:
        metas["y"] = meta_of(result, usual)
    made = {"as_tensor": {"name": "y"}}
    node = {"target": f"torch.ops.aten.{name}", "inputs": inputs, "outputs": [made], "metadata": {}}
    graph = {"tensor_values": metas, "sym_int_values": {}, "nodes": [node]}
    signature = {"input_specs": specs, "output_specs": [{"user_output": {"arg": made}}]}
    return {
        "schema_version": {"major": 8},
        "graph_module": {"graph": graph, "signature": signature},
    }


def meta_of(given: TensorArgument, usual: str) -> dict[str, Any]:
    """Return the type of a tensor in the schema; ``usual`` is that of lists of tensors."""
    dtype = _DTYPES.get(given.dtype or usual, _DTYPES.get(usual, 7))
    return {"sizes": [{"as_int": size} for size in given.sizes], "dtype": dtype}


def union_of(given: Argument, tensor: Any) -> dict[str, Any]:
    """Return an argument as a union of the schema."""
    match given:
        case TensorArgument():
            return {"as_tensor": tensor(given)}
        case bool():
            return {"as_bool": given}
        case int():
            return {"as_int": given}
        case float():
            return {"as_float": given}
        case tuple() if given and isinstance(given[0], TensorArgument):
            return {"as_tensors": [tensor(t) for t in given]}
        case tuple():
            return {"as_ints": list(given)}
        case _:
            return {"as_none": []}


def target_of(facts: DeviceFacts) -> Machine | None:
    """Return the target that the facts of a device name; None if none does.

    A device without a name is identified by its architecture, units and memory.
    """
    names = [facts.name, facts.name.removeprefix("AMD ").partition(" VF")[0]]
    for name in filter(None, names):
        try:
            return load_machine(name)
        except PerfcError:
            continue
    if not facts.sm_count or not facts.memory_bytes:
        return None
    from perfc.machine import list_machines

    arch = "{}{}".format(*facts.capability)
    near: list[tuple[float, Machine]] = []
    for listing in list_machines():
        machine = load_machine(listing.name)
        memory = machine.level("device")
        is_arch = machine.arch == f"sm_{arch}" or machine.arch.startswith(f"gfx{arch}")
        if is_arch and machine.sm_count == facts.sm_count and memory is not None:
            near.append((abs(memory.capacity_bytes / facts.memory_bytes - 1), machine))
    best = min(near, key=lambda n: n[0], default=None)
    return best[1] if best is not None and best[0] < MOST_DIFFERENT else None
