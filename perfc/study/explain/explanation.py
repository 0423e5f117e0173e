"""Explain the numbers of one node: filled formulas, rates with sources, and origins.

``perfc explain`` calls `explain` with a report and a name, and prints the `Explanation`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from perfc.api import Report
from perfc.ir import (
    ABSENT,
    Dim,
    Graph,
    Inputs,
    Kind,
    Node,
    Origin,
    Poly,
    Types,
    Value,
    evaluate,
    record,
    symbols,
    walk,
)
from perfc.ir.graphs.locate import NodeError, find_node
from perfc.ir.op import UNFORESEEN, attribute_text
from perfc.ir.syntax.names import symbol_name
from perfc.passes.fusion.kernel import HOST
from perfc.passes.roofline.cost import NodeCost, Tier
from perfc.view.pages.catalogue import OpDoc, documentation, module_file

from .ceilings import KernelPart, kernel_of, kernel_part
from .prediction import PredictionPart, prediction_part

_LETTER = re.compile(r"[A-Za-z_]\w*")
"""Variables of a formula."""
_KERNEL = re.compile(r"kernel[:# ]?([0-9]{1,9})")
"""Number of a kernel, as reports print it."""
_CLOSED = re.compile(r"\((\d+)//(\d+)\)")
"""Divisions of two numbers, once their variables are filled in."""


@record
class TensorOperand:
    """An operand or a result.

    Args:
        role: name of the operand in the operator's signature; empty for results and further ones.
        name: name of the value.
        type: element type and shape.
        nbytes: size; None if it is unknown.
        is_stored: True for a tensor of the file, such as a weight.
    """

    role: str
    name: str
    type: str
    nbytes: int | None
    is_stored: bool


@record
class Count:
    """A number counted on the graph.

    Args:
        name: ``mac``, ``alu``, ``read_bytes`` …
        formula: formula over the letters of the operator's docstring; empty without one.
        filled: formula with the numbers of this node.
        symbolic: formula over the symbols of the model; empty without symbols.
    """

    name: str
    formula: str
    filled: str
    value: int
    symbolic: str
    origin: Origin


@record
class SymbolUsed:
    """Value used for a symbolic extent.

    Args:
        value: the number.
        origin: given, assumed, or the lower limit of a data-dependent extent.
        label: name of the symbol, with its axis.
    """

    value: int
    origin: str
    label: str


@record
class Explanation:
    """Content of ``perfc explain`` for a node.

    ``index`` is the position of the node among the ``total`` nodes of the graph. ``extents`` are
    sizes by letter of the formulas, and ``counts`` are those of one of ``repeat`` executions.
    ``is_of_kernel`` is True if a kernel was requested: the node is then its heaviest. ``note`` says
    why a cost is missing or incomplete, and ``source`` is its innermost line of code.
    """

    model: str
    target: str
    runtime: str
    name: str
    index: int
    total: int
    op_type: str
    mnemonic: str
    defined_in: str
    doc: OpDoc
    attributes: Mapping[str, str]
    symbols: Mapping[str, SymbolUsed]
    operands: tuple[TensorOperand, ...]
    results: tuple[TensorOperand, ...]
    extents: Mapping[str, int]
    counts: tuple[Count, ...]
    repeat: int
    tier: Tier | None
    is_of_kernel: bool
    kernel: KernelPart | None
    prediction: PredictionPart | None
    note: str
    source: str


def explain(report: Report, wanted: str) -> Explanation:
    """Explain the numbers of a node, or of a kernel and its heaviest node.

    Args:
        report: an analysis.
        wanted: name of a node, one of its outputs, its position, part of its name, or
            ``kernel:30`` by kernel number.

    Raises:
        NodeError: if there is no such node or kernel.
    """
    # nodes of a backward pass are not in the file
    graph = (report.module if report.deployment.train else report.source).graph
    # a node may be called "kernel 7": its name comes first
    number = None if any(n.name == wanted for n in walk(graph)) else kernel_number(wanted)
    if number is None:
        index, requested = find_node(graph, wanted)
    else:
        index, requested = largest_node(report, graph, number)
    node = executed(report, requested)
    cost = report.cost.nodes.get(node) if node is not None else None
    shown = node or requested
    outs: Types = tuple(ABSENT if v is None else v.type for v in shown.outputs)
    extents = _extents(shown, outs, report.env)
    cls = type(shown.op)
    kernel_index = kernel_of(report, node) if number is None and node is not None else number
    kernel = kernel_part(report, kernel_index) if kernel_index is not None else None
    return Explanation(
        model=report.path,
        target=report.machine.name,
        runtime=report.kernels.runtime.name,
        name=requested.name,
        index=index,
        total=sum(1 for _ in walk(graph)),
        op_type=requested.loc.op_type or requested.op.mnemonic,
        mnemonic=shown.op.mnemonic,
        defined_in=module_file(type(requested.op)),
        doc=documentation(cls),
        attributes=_attributes(shown),
        symbols=_symbols(report, shown, cost),
        operands=tuple(_tensors(cls.signature.names, shown.inputs, report.env)),
        results=tuple(_tensors((), shown.outputs, report.env)),
        extents=extents,
        counts=tuple(_counts(shown, cost, extents, report.env)) if cost else (),
        repeat=int(evaluate(cost.repeat, report.env)) if cost else 1,
        tier=cost.tier if cost else None,
        is_of_kernel=number is not None,
        kernel=kernel,
        prediction=None if kernel is None else prediction_part(report, kernel.index),
        note=_note(report, node, cost),
        source=requested.loc.source,
    )


def kernel_number(wanted: str) -> int | None:
    """Parse ``kernel:30``; None for everything else.

    >>> kernel_number("kernel:30"), kernel_number("kernel 7"), kernel_number("30")
    (30, 7, None)
    """
    match = _KERNEL.fullmatch(wanted.strip().lower())
    return int(match[1]) if match else None


def largest_node(report: Report, graph: Graph, number: int) -> tuple[int, Node]:
    """Return the heaviest node of a kernel and its position in ``graph``.

    Raises:
        NodeError: if no kernel has this number.
    """
    kernels = report.roofline.kernels
    if number >= len(kernels):
        hint = f"kernel:0 to kernel:{len(kernels) - 1}" if kernels else "it has no kernels"
        raise NodeError(f"no kernel {number}", hint=hint)

    def size(node: Node) -> tuple[float, float]:
        cost = report.cost.nodes.get(node)
        if cost is None:
            return -1.0, -1.0  # below any cost, also of zero
        moved = cost.traffic.read_bytes + cost.traffic.write_bytes
        return float(evaluate(cost.work.mac, report.env)), float(evaluate(moved, report.env))

    kernel = kernels[number].kernel
    if kernel.helper is not None:
        # a helper has the name of the kernel that it serves, which has the nodes of the model
        name = kernel.anchor.name
        kernel = next(
            k.kernel for k in kernels if k.kernel.helper is None and k.kernel.anchor.name == name
        )
    largest = max(kernel.nodes, key=size)
    names = {v.name for v in largest.results}
    positions = list(enumerate(walk(graph)))
    # by identity, then by location and results, as passes rebuild nodes that they change
    same = ((i, n) for i, n in positions if n is largest)
    as_read = (
        (i, n)
        for i, n in positions
        if n.loc == largest.loc and {v.name for v in n.results} == names
    )
    # a node that a pass created is not in the file: use its position in the executed module
    created = ((i, n) for i, n in enumerate(walk(report.module.graph)) if n is largest)
    return next(chain(same, as_read, created))


def executed(report: Report, requested: Node) -> Node | None:
    """Return the node of the folded (and retyped) module for ``requested``; None if it is gone."""
    if requested in report.cost.nodes:
        return requested
    names = {v.name for v in requested.results}
    for node in walk(report.module.graph):
        if node.loc == requested.loc and {v.name for v in node.results} == names:
            return node
    return None


def _note(report: Report, node: Node | None, cost: NodeCost | None) -> str:
    """Return why a node has no cost or an incomplete one; "" if nothing is special."""
    if node is None or cost is None:
        return "does not run: its results are constant or unused; no cost"
    if node.regions:
        return "runs its subgraphs; only their nodes are counted"
    if node.op.kind in HOST:
        return "runs on the host, launches no kernel"
    if cost.tier in (Tier.BYTES, Tier.UNKNOWN):
        return f"coverage: {cost.tier.value}, so its counts are lower bounds"
    if node.op.kind is Kind.VIEW:
        return "a view: moves no data and takes no time"
    return ""


def _attributes(node: Node) -> dict[str, str]:
    """Return the attributes of an operator as text."""
    from dataclasses import fields

    return {f.name: attribute_text(getattr(node.op, f.name)) for f in fields(node.op)}


def _symbols(report: Report, node: Node, cost: NodeCost | None) -> dict[str, SymbolUsed]:
    """Return the symbols of a node's shapes and costs, with the sizes that were used."""
    dims: list[Dim] = []
    for v in (*node.inputs, *node.results):
        dims += (v and v.shape) or ()  # an operand may be absent, a shape unknown
    if cost is not None:
        # counts of vector operations and of written bytes are not searched: a symbol that only they
        # have is not listed
        dims += [cost.work.mac, cost.traffic.read_bytes, cost.repeat]
    used = {symbol_name(a.key): a for d in dims for a in symbols(d)}
    labels, shown = report.source.labels, dict[str, SymbolUsed]()
    for name, atom in sorted(used.items()):
        value, origin = report.env.get(name, atom.lo), str(Origin.BOUND)
        if name in report.env:
            origin = "given" if name in report.given else str(Origin.ASSUMED)
        shown[name] = SymbolUsed(value, origin, labels.get(name, name))
    return shown


def _tensors(
    roles: tuple[str, ...], values: Inputs, env: Mapping[str, int]
) -> Iterator[TensorOperand]:
    for i, v in enumerate(values):
        if v is None:
            continue
        role = roles[i] if i < len(roles) else ""
        yield TensorOperand(role, v.name, str(v.type), _nbytes(v, env), v.weight is not None)


def _nbytes(v: Value, env: Mapping[str, int]) -> int | None:
    nbytes = v.nbytes
    return None if nbytes is None else int(evaluate(nbytes, env))


def _extents(node: Node, outs: Types, env: Mapping[str, int]) -> dict[str, int]:
    try:
        extents = node.op.extents(node.inputs, outs)
    except UNFORESEEN:
        # as in the cost pass: an operator with operands outside of its definition
        return {}
    return {name: int(evaluate(d, env)) for name, d in extents.items()}


def _counts(
    node: Node, cost: NodeCost, extents: Mapping[str, int], env: Mapping[str, int]
) -> Iterator[Count]:
    work, traffic = cost.work, cost.traffic
    amounts: dict[str, Dim | None] = {
        "mac": work.mac,
        "effective_mac": work.effective_mac,
        "alu": work.alu,
        "sfu": work.sfu,
        "integer": work.integer,
        "read_bytes": traffic.read_bytes,
        "write_bytes": traffic.write_bytes,
    }
    unknown = cost.tier in (Tier.BYTES, Tier.UNKNOWN)
    for name, amount in amounts.items():
        if amount is None:
            continue
        is_bytes = name.endswith("_bytes")
        formula = node.op.formulas.get(name, "")
        value = int(evaluate(amount, env))
        is_open = any(symbol_name(a.key) not in env for a in symbols(amount))
        # a zero is shown only if it is a lower bound
        if not value and not unknown and not is_open:
            continue
        text = filled(formula, extents) if formula else ""
        if is_bytes and not formula:
            text = _sum_of_bytes(node, name, value, env)
        symbolic = str(amount) if isinstance(amount, Poly) else ""
        is_bound = unknown or is_open or (is_bytes and traffic.is_bound)
        origin = Origin.BOUND if is_bound else Origin.COUNTED
        yield Count(name, formula, text, value, symbolic, origin)


def _sum_of_bytes(node: Node, name: str, value: int, env: Mapping[str, int]) -> str:
    """Return the tensors' sizes as a sum if they make up the total; otherwise empty."""
    values = node.inputs if name == "read_bytes" else node.outputs
    distinct = dict.fromkeys(v for v in values if v is not None)
    sizes = [_nbytes(v, env) for v in distinct]
    if sum(s or 0 for s in sizes) != value or None in sizes:
        return ""
    return " + ".join(str(s) for s in sizes)


def filled(formula: str, extents: Mapping[str, int]) -> str:
    """Fill numbers into the letters of a formula and evaluate quotients of two numbers.

    >>> filled("k*(c//g)", {"k": 64, "c": 6, "g": 2})
    '64*3'
    """
    text = _LETTER.sub(lambda m: str(extents.get(m[0], m[0])), formula)
    return _CLOSED.sub(lambda m: str(int(m[1]) // int(m[2])) if int(m[2]) else m[0], text)
