"""Work of operators of a trace: operations and bytes, from the types and extents of arguments.

However many kernels an operator ran as, it reads its operands at least once, writes its results
once, and does the operations of its definition. `work_of` chooses the cost model of an operator in
``MODELS``; letters in the models are roles of arguments, which `operators.TABLE` explains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from perfc.ir import DType
from perfc.ir.tensors.types import BY_CODE

from ..facts import Argument, OperatorCall, TensorArgument
from .call_work import CallWork, counts_of
from .operands import SCALAR_TYPES, CallOperands, OperandTensor, UnknownOperandError, promoted
from .operators import OperatorSignature
from .windows import convolved, gradients, pooled

GRADIENTS = 2.5
"""Products of attention's gradients over its products forward: five for two, as the scores are
computed again. Source: Dao et al., FlashAttention (2022), Algorithm 4."""


def streamed(o: CallOperands) -> CallWork:
    """Return the work of an operator that passes its operands once."""
    # r is read, l is a list that is read, w is written, x is read and written
    read, written = o.with_roles("rlx"), [*o.with_roles("wx"), *results_of(o)]
    if not read and not written:
        raise UnknownOperandError("no tensor")
    numel = float(max(t.numel for t in (*read, *written)))
    full = [t for t in read if t.numel == numel]  # operands that are not broadcast
    counts = counts_of(read, written, alu=numel * o.signature.alu, sfu=numel * o.signature.sfu)
    # the class of the predictor sees one tensor as rows along its last axis
    first = (written or read)[0]
    columns = float(first.sizes[-1] or 1) if first.sizes else 1.0
    extents = {
        "rows": numel / columns,
        "cols": columns,
        "operands": float(len(read)),
        "tensor_operands": float(len(full)),
        "elements": numel,
        "tokens": numel / columns,
        "read_bytes": counts.read_bytes,
        "write_bytes": counts.write_bytes,
        "alu": counts.alu,
        "sfu": counts.sfu,
    }
    is_class = numel and counts.write_bytes and o.signature.is_counted
    dtype = first.dtype if first.dtype.is_float else DType.F32
    return CallWork(counts, dtype, o.signature.model, extents if is_class else None)


def results_of(o: CallOperands) -> Iterator[OperandTensor]:
    """Yield the results of an operator that passes its operands once."""
    read = o.with_roles("r")
    for text in o.signature.results:
        sign, _, dtype = text.partition(":")
        match sign:
            case "^" | "f" | "b":  # broadcast operands, as they are, real, or as truth values
                if not read:
                    raise UnknownOperandError(sign)
                scalars = [a for a in o.call.arguments if isinstance(a, int | float)]
                type_ = promoted(read, scalars, is_real=sign == "f")
                sizes = broadcast([t.sizes for t in read])
                results = [OperandTensor(DType.BOOL if sign == "b" else type_, sizes)]
            case "=":  # recorded
                if o.result is None:
                    raise UnknownOperandError("=")
                results = [o.result]
            case "/":  # the operand without the axes d
                results = [OperandTensor(read[0].dtype, reduced(read[0].sizes, o.value("d")))]
            case "s":  # the recorded extents; batch and channels of the image stay
                source = o.tensors(0)[0]
                ends = o.extents("s", len(source.sizes) - 2)
                results = [OperandTensor(source.dtype, (*source.sizes[:2], *ends))]
            case place:  # like the argument at this index
                results = [OperandTensor(t.dtype, t.sizes, t.packed) for t in o.tensors(int(place))]
        yield from (replace(t, dtype=BY_CODE[dtype]) if dtype else t for t in results)


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the extents of the result of operands that are repeated along axes of extent 1."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    return tuple(max(axis) if min(axis) else 0 for axis in zip(*padded, strict=True))


def reduced(sizes: tuple[int, ...], axes: Argument) -> tuple[int, ...]:
    """Return the extents without some axes; without all of them if none are given."""
    given = axes if isinstance(axes, tuple) else (axes,)
    gone = {a % len(sizes) for a in given if type(a) is int and sizes}
    return tuple(s for at, s in enumerate(sizes) if gone and at not in gone)


def product(o: CallOperands) -> CallWork:
    """Return the work of a matrix product; the depth follows from the result if it is recorded."""
    # a and b are the factors, t is b transposed
    a, second, recorded = o.one("a"), o.with_roles("bt"), o.result
    if recorded is not None:
        is_vector = bool(second) and len(second[0].sizes) == 1
        # the result of a matrix times a vector has no axis of columns
        *outer, n = (*recorded.sizes, 1) if is_vector else recorded.sizes
        rows = math.prod(outer)
        # a stored factor that the runtime packed is not in its profile
        k = math.prod(second[0].sizes[-2:]) // n if second else a.numel // rows
        b = second[0] if second else OperandTensor(a.dtype, (k, n))
    else:
        b = o.one("bt")
        k, n = (1, *b.sizes)[-2:] if len(b.sizes) > 1 else (*b.sizes, 1)
        if "t" in o.signature.roles:
            k, n = n, k
        # two 4-bit numbers in an element count as two along the depth
        k, outer = k * b.packed, [*broadcast([a.sizes[:-2], b.sizes[:-2]]), *a.sizes[-2:-1]]
        rows = math.prod(outer)
        if k != a.sizes[-1] * a.packed:
            raise UnknownOperandError("extents that do not fit")
    # with one right factor for all, the products are a single one with the rows of all
    is_shared = len(b.sizes) <= 2
    m = rows if is_shared else outer[-1]
    dtype = max((a.dtype, b.dtype), key=lambda d: d.bits)
    if not dtype.is_float and dtype is not DType.I8:
        raise UnknownOperandError("packed integers")
    # D is the type of the result, O the result; c is added, unless B is 0
    number = o.value("D")
    type_ = BY_CODE.get(SCALAR_TYPES[number]) if type(number) is int else None
    result = (*o.with_roles("O"), OperandTensor(type_ or dtype, (rows, n)))[0]
    added = o.with_roles("c") if "B" not in o.signature.roles or o.value("B") else []
    counts = counts_of(
        [a, b, *added, *o.with_roles("r")],
        [result],
        mac=float(rows * n * k),
        alu=float(rows * n * len(added)),
    )
    extents = {"m": m, "n": n, "k": k, "batch": rows / max(m, 1)}
    return CallWork(counts, dtype, "matmul", {name: float(e) for name, e in extents.items()})


def attended(o: CallOperands) -> CallWork:
    """Return the work of attention; only its bytes if lengths or windows leave out pairs."""
    query, key, value = (o.one(role) for role in "qkv")
    batch = math.prod(query.sizes[:-3])
    heads, queries, depth = query.sizes[-3:]
    kv_heads, keys, _ = key.sizes[-3:]
    # operands of these are [batch, tokens, heads, depth], of others [batch, heads, tokens, depth]
    if o.signature.model == "tokens":
        (queries, heads), (keys, kv_heads) = (heads, queries), (kv_heads, keys)
    causal = o.value("C") if "C" in o.signature.roles else None
    # a causal mask, which also gives the fewest pairs if the trace does not record one: query i
    # reads i keys, so 1 + 2 + … + few, and queries beyond the keys read all of them
    few = min(queries, keys)
    pairs = few * (few + 1) // 2 + (queries - few) * keys
    pairs = queries * keys if causal is False else pairs
    mac = float(batch * heads * pairs * (depth + value.sizes[-1]))
    window = o.value("Z")  # the ends of a window; negative numbers stand for none
    ends = window if isinstance(window, tuple) else (window,)
    # lengths of sequences and windows leave out pairs whose number is not recorded
    is_partial = o.with_roles("N") or any(isinstance(e, int) and e >= 0 for e in ends)
    is_counted = not is_partial and causal is not None
    result = OperandTensor(query.dtype, (*query.sizes[:-1], value.sizes[-1]))
    is_backward = o.signature.is_backward
    counts = counts_of(
        [query, key, value, *o.with_roles("r")],
        [OperandTensor(t.dtype, t.sizes) for t in (query, key, value)] if is_backward else [result],
        mac=0.0 if is_partial else mac * (GRADIENTS if is_backward else 1),
    )
    if is_backward or not is_counted:
        return CallWork(counts, query.dtype, is_counted=is_counted)
    extents = {
        "batch": batch,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": depth,
        "value_dim": value.sizes[-1],
    }
    if queries > 1:
        name = "attention_prefill"
        extents |= {"query_len": queries, "kv_len": keys, "causal": bool(causal)}
    else:
        name, extents["cached_len"] = "attention_decode", keys - 1
    row = {name: float(e) for name, e in extents.items()}
    return CallWork(counts, query.dtype, name, row)


def gathered(o: CallOperands) -> CallWork:
    """Return the work of rows, or of elements, that indices choose, perhaps one several times."""
    # rows or elements of w at the indices j, along the axis d
    table, indices = o.one("w"), o.one("j")
    if o.result is not None:
        counts = counts_of([indices, o.result], [o.result])
        return CallWork(counts, table.dtype, is_chosen=True)
    axis = o.value("d") if "d" in o.signature.roles else 0
    if type(axis) is not int:
        raise UnknownOperandError("d")
    size = table.sizes[axis] if o.signature.model == "rows" else max(table.numel, 1)
    rows = OperandTensor(table.dtype, (indices.numel, table.numel // max(size, 1)))
    return CallWork(counts_of([indices, rows], [rows]), table.dtype, is_chosen=True)


def rotated(o: CallOperands) -> CallWork:
    """Return the work of a rotation of queries and keys in place, as far as heads are rotated."""
    # t has cosines and sines, as many numbers in a row as a head of extent H has rotated ones
    head, table = o.value("H"), o.one("t")
    if type(head) is not int:
        raise UnknownOperandError("H")
    share = min(table.sizes[-1] / head, 1.0)
    tensors = o.with_roles("x")
    part = [OperandTensor(t.dtype, (int(t.numel * share),)) for t in tensors]
    # x cos + y sin of each element: two products and a sum
    alu = 3.0 * sum(t.numel for t in part)
    return CallWork(counts_of([*o.with_roles("r"), *part], part, alu=alu), part[0].dtype)


def recurred(o: CallOperands) -> CallWork:
    """Return the work of recurrent layers: each matrix meets the input of every step once."""
    # a is the input of all steps, W a list of matrices and vectors
    source, place = o.one("a"), o.signature.roles.index("W")
    given = o.call.arguments[place]
    matrices = [
        OperandTensor(source.dtype, t.sizes)
        for t in (given if isinstance(given, tuple) else ())
        if isinstance(t, TensorArgument) and len(t.sizes) == 2
    ]
    if not matrices:
        raise UnknownOperandError("W")
    # gradients take a product for the input and one for the matrix
    times = 2 if o.signature.is_backward else 1
    steps = math.prod(source.sizes[:-1])
    mac = float(times * steps * sum(m.numel for m in matrices))
    return CallWork(counts_of([source, *matrices], [], mac=mac), source.dtype)


def generated(o: CallOperands) -> CallWork:
    """Return the work of a generated kernel, which touches each pointer once for every element."""
    extents = [a for a in o.call.arguments if type(a) is int]
    # the last arguments are the extents: one of a pointwise kernel, two of a reduction
    axes = 1 if o.call.operator.startswith("triton_poi") else 2
    numel = math.prod(extents[-axes:])
    tensors = [t for at in range(len(o.call.arguments)) for t in o.tensors(at)]
    if not tensors or not extents:
        raise UnknownOperandError("*")
    parts = [t if t.numel <= numel else OperandTensor(t.dtype, (numel,), t.packed) for t in tensors]
    return CallWork(counts_of(parts, []), DType.F32, is_counted=False)


MODELS: Mapping[str, Callable[[CallOperands], CallWork]] = {
    "elementwise": streamed,
    "normalization": streamed,
    "softmax": streamed,
    "product": product,
    "convolution": convolved,
    "gradients": gradients,
    "pool": pooled,
    "attention": attended,
    "tokens": attended,
    "rows": gathered,
    "elements": gathered,
    "rotary": rotated,
    "recurrent": recurred,
    "fused": generated,
}
"""Cost models by the sections of the table of operators."""


def work_of(
    call: OperatorCall, signature: OperatorSignature, kernels: Sequence[str]
) -> CallWork | None:
    """Return the work of a call; None if the trace lacks an extent or a type that it needs.

    Args:
        call: operator with its arguments.
        signature: that of the operator.
        kernels: names of its kernels.
    """
    try:
        work = MODELS[signature.model](CallOperands(call, signature, kernels))
    except (LookupError, TypeError, ValueError, ArithmeticError):
        return None  # arguments of a trace may be any, also such that fit no formula
    counts = work.counts
    if min(counts.floor_mac, counts.read_bytes, counts.write_bytes) < 0:
        return None  # a window beyond its image
    return work if signature.is_counted else replace(work, is_counted=False)
