"""Build single kernels by their extents, and analyze each as a model of one node.

This is ``perfc.op`` and ``perfc op``. Extents, their texts and defaults are rows of the data file
next to this one; a kind has an operator and operand shapes in `FORMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal, overload

from perfc.common.fitted import data_next_to
from perfc.deployment import Deployment, DeploymentKeywords
from perfc.errors import ParseError
from perfc.ir import (
    UNKNOWN,
    DType,
    Graph,
    Loc,
    Module,
    Node,
    Op,
    SymbolDecl,
    TensorType,
    Value,
    record,
    symbol,
)
from perfc.ir.ops import operator

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.study.collective import Collectives

Extents = Mapping[str, int]
"""Sizes by name."""
Shapes = tuple[tuple[str | int, ...] | None, ...]


@record
class KernelExtent:
    """Extent of a kernel.

    Args:
        words: description.
        default: default value; None if required.
    """

    words: str
    default: int | None = None


@record
class KernelKind:
    """A kind of kernel.

    Args:
        title: description.
        extents: extents by name.
        make: returns the operator for the extents and the named function.
        shapes: returns operand shapes of names and numbers; None for an omitted operand.
        usual: required extents with typical values, for examples.
        functions: values of ``function``, the default first; empty if there is only one.
    """

    title: str
    extents: Mapping[str, KernelExtent]
    make: Callable[[Extents, str], Op]
    shapes: Callable[[Extents, str], Shapes]
    usual: Extents
    functions: tuple[str, ...] = field(default=())


def _matmul(e: Extents, function: str) -> Shapes:
    """Return two matrices, or two batches of them. A name in a shape becomes a symbol."""
    if e["batch"] == 1:
        return ("m", "k"), ("k", "n")
    return ("batch", "m", "k"), ("batch", "k", "n")


def _conv(e: Extents, function: str) -> Shapes:
    """Return images and filters of a convolution, whose channels divide into groups."""
    per_group = e["channels"] // e["groups"]
    if e["channels"] % e["groups"] or e["filters"] % e["groups"]:
        what = f"{e['channels']} channels and {e['filters']} filters"
        raise ParseError(f"{what} do not divide into {e['groups']} groups", where="--groups")
    return (
        ("batch", e["channels"], "height", "width"),
        (e["filters"], per_group, e["kernel"], e["kernel"]),
    )


def _make_conv(e: Extents, function: str) -> Op:
    """Return a convolution with half the kernel as padding: the image does not shrink."""
    # exact for odd kernels, as nearly all are
    pad, size = e["kernel"] // 2, e["kernel"]
    return operator("conv")(
        group=e["groups"], kernel_shape=(size, size), strides=(e["stride"],) * 2, pads=(pad,) * 4
    )  # type: ignore[call-arg]


def _attention(e: Extents, function: str) -> Shapes:
    """Return queries, keys and values; 0 key heads or keys are as many as of queries."""
    kv_heads = e["kv_heads"] or e["heads"]
    if e["heads"] % kv_heads:
        raise ParseError(f"{e['heads']} heads do not share {kv_heads} keys", where="--kv-heads")
    # a given number of keys, as in decoding, is another symbol than seq
    keys: tuple[str | int, ...] = ("batch", kv_heads, "keys" if e["keys"] else "seq", e["head_dim"])
    return ("batch", e["heads"], "seq", e["head_dim"]), keys, keys


def _norm(e: Extents, function: str) -> Shapes:
    """Return rows, a scale and, but for an RMS norm, a bias."""
    scale: Shapes = (("columns",),) if function == "rms_norm" else (("columns",), ("columns",))
    return ("rows", "columns"), *scale


def _experts(e: Extents, function: str) -> Shapes:
    """Return tokens, router scores and both weights; the bias between them is omitted."""
    if e["chosen"] > e["experts"]:
        raise ParseError(f"a token cannot choose {e['chosen']} of {e['experts']}", where="--chosen")
    # a gated expert has a gate and an up matrix, stored as one
    up = (2 if function == "gated" else 1) * e["inner"]
    first, second = (e["experts"], up, e["hidden"]), (e["experts"], e["hidden"], e["inner"])
    return ("tokens", e["hidden"]), ("tokens", e["experts"]), first, None, second


def _make_experts(e: Extents, function: str) -> Op:
    """Return experts of which each token chooses some."""
    name = "swiglu" if function == "gated" else "relu"
    return operator("moe")(k=e["chosen"], activation_type=name)  # type: ignore[call-arg]


BINARY = frozenset({"add", "mul", "sub", "div"})
"""Elementwise functions of two operands."""
FORMS: Mapping[str, tuple[Callable[[Extents, str], Op], Callable[[Extents, str], Shapes]]] = {
    "matmul": (lambda e, f: operator("matmul")(), _matmul),
    "conv": (_make_conv, _conv),
    "attention": (
        lambda e, f: operator("attention")(is_causal=int(f == "causal")),  # type: ignore[call-arg]
        _attention,
    ),
    "experts": (_make_experts, _experts),
    "softmax": (
        lambda e, f: operator("softmax")(axis=-1),  # type: ignore[call-arg]
        lambda e, f: (("rows", "columns"),),
    ),
    "norm": (lambda e, f: operator(f)(axis=-1), _norm),  # type: ignore[call-arg]
    "elementwise": (
        lambda e, f: operator(f)(),
        lambda e, f: (("elements",),) * (2 if f in BINARY else 1),
    ),
}
"""Operator and operands of each kind, by its extents and function."""
KERNELS: Mapping[str, KernelKind] = {
    name: KernelKind(
        row["title"],
        {extent: KernelExtent(**words) for extent, words in row["extents"].items()},
        *FORMS[name],
        row["usual"],
        tuple(row.get("functions", ())),
    )
    for name, row in data_next_to(__file__).items()
}
"""Kinds of kernels by name; collectives are in `perfc.study.collective`."""
LARGEST = 1 << 40
"""Maximum extent; a larger one is a typing error."""


def module_of(kind: str, extents: Mapping[str, int | None], function: str = "") -> Module:
    """Build a model of one node, with symbolic extents where formulas support them.

    Args:
        kind: one of ``KERNELS``.
        extents: extents by name; None if not given.
        function: one of the kind's functions; "" for the default.

    Raises:
        ParseError: an unknown kind, function or extent, or a missing or invalid extent.
    """
    kernel = KERNELS.get(kind)
    if kernel is None:
        raise ParseError(f"no kernel {kind[:32]!r}", hint=f"there are {', '.join(KERNELS)}")
    variant = function or (kernel.functions[0] if kernel.functions else "")
    if variant and variant not in kernel.functions:
        functions = ", ".join(kernel.functions) or "none"
        raise ParseError(f"no function {variant[:32]!r} of {kind}", hint=f"there are {functions}")
    e = checked(kind, kernel, extents)
    names: dict[str, SymbolDecl] = {}
    inputs: list[Value | None] = []
    op, shapes = kernel.make(e, variant), kernel.shapes(e, variant)
    # names of operands without the marks of optional and variadic operands
    operands = [name.rstrip("?*+") for name in op.operands[: len(shapes)]]
    for name, shape in zip(operands, shapes, strict=True):
        if shape is None:
            inputs.append(None)
            continue
        for extent in shape:
            # names stay symbols, so that formulas have letters; numbers are fixed
            if isinstance(extent, str):
                names.setdefault(extent, SymbolDecl(extent, e[extent], 1))
        dims = tuple(symbol(d, 1) if isinstance(d, str) else d for d in shape)
        inputs.append(Value(name, TensorType(DType.F32, dims)))
    # a node is named after a function that is an operator, as add and rms_norm; those of attention
    # are attributes
    title = variant if kernel.functions and kind != "attention" else kind
    result = Value("Y", UNKNOWN)
    node = Node(op, tuple(inputs), (result,), loc=Loc(title, title))
    given = tuple(v for v in inputs if v is not None)
    return Module(Graph(title, given, (result,), (node,)), tuple(names.values()))


def checked(kind: str, kernel: KernelKind, extents: Mapping[str, int | None]) -> dict[str, int]:
    """Return every extent of a kind, with defaults.

    Raises:
        ParseError: as ``module_of``.
    """
    for name in extents:
        if name not in kernel.extents:
            known = ", ".join(kernel.extents)
            raise ParseError(f"{kind} has no extent {name[:32]!r}", hint=f"it has {known}")
    sizes: dict[str, int] = {}
    for name, extent in kernel.extents.items():
        value = extents.get(name)
        where = f"--{name.replace('_', '-')}"
        if value is None and extent.default is None:
            raise ParseError(f"{kind} needs {name}: {extent.words}", where=where)
        size = extent.default if value is None else value
        if isinstance(size, bool) or not isinstance(size, int):
            raise ParseError(f"{size!r} is no whole number", where=where)
        # a default may be 0, for "as another extent"; a given extent may not
        if not (1 if value is not None else 0) <= size <= LARGEST:
            raise ParseError(f"{name} = {size} is no extent", where=where, hint="1 to 2^40")
        sizes[name] = size
    return sizes


COLLECTIVE = "collective"
"""Kind of a collective, which runs on several devices."""


@overload
def op(
    kind: Literal["collective"],
    target: str | None = None,
    *,
    deployment: Deployment | None = None,
    extents: Mapping[str, int] | None = None,
    **keywords: Any,
) -> Collectives: ...


@overload
def op(
    kind: Literal["matmul", "conv", "attention", "experts", "softmax", "norm", "elementwise"],
    target: str | None = None,
    *,
    function: str = "",
    deployment: Deployment | None = None,
    extents: Mapping[str, int] | None = None,
    **keywords: Any,
) -> Report: ...


@overload
def op(kind: str, target: str | None = None, **keywords: Any) -> Report | Collectives: ...


def op(
    kind: str,
    target: str | None = None,
    *,
    function: str = "",
    deployment: Deployment | None = None,
    extents: Mapping[str, int] | None = None,
    **keywords: Any,
) -> Report | Collectives:
    """Analyze one kernel: ``perfc.op("matmul", "h100", m=4096, n=4096, k=4096, dtype="bf16")``.

    Overheads of a runtime between the kernels of a model are not included. A ``collective`` runs
    among devices of one kind; its extents are ``operation``, ``bytes``, ``ranks`` and ``nodes``,
    and its target may name several kinds, ``a100,h200``, with one row each.

    Args:
        kind: ``matmul``, ``conv``, ``attention``, ``experts``, ``softmax``, ``norm``,
            ``elementwise`` or ``collective``.
        target: name or file of the target (default: ``a100``).
        function: variant, such as ``rms_norm`` of ``norm``, or ``causal``.
        deployment: how the kernel is run, as one value.
        extents: extents by name, in addition to keywords.
        keywords: extents and fields of a ``Deployment``, as in ``perfc.analyze``; the element
            type is f32 unless ``dtype`` is given.

    Raises:
        PerfcError: an unknown kernel or extent, or as ``perfc.analyze``.

    >>> op("matmul", "h100", m=4096, n=4096, k=4096, dtype="bf16").cost.work.mac
    k*m*n
    >>> op("collective", "h100", operation="all-gather", bytes=1 << 24, ranks=8).ranks
    8
    """
    from perfc.api import analyze
    from perfc.deployment.fields import KERNELS as BY_KERNELS

    # batch and seq are extents of kernels here, not of a deployment
    of_run = {*DeploymentKeywords.__optional_keys__} - {"batch", "seq"}
    how: Any = {name: value for name, value in keywords.items() if name in of_run}
    rest = {name: value for name, value in keywords.items() if name not in of_run}
    sizes = {**(extents or {}), **rest}
    if kind == COLLECTIVE:
        from perfc.study.collective import collective_of

        if function:
            raise ParseError(f"no function {function[:32]!r} of {kind}", hint="there are none")
        return collective_of(target, (deployment or Deployment()).with_values(how), sizes)
    module = module_of(kind, sizes, function)
    given = (deployment or Deployment()).with_values(how)
    return analyze(module, target, deployment=alone(given), predictor=BY_KERNELS)


def alone(how: Deployment) -> Deployment:
    """Return how a kernel is run without the host of a model, unless its launch is given."""
    return how if how.host_launch is not None else replace(how, host_launch=0.0)
