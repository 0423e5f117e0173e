"""Check the invariants of modules that every pass relies on and must preserve."""

from __future__ import annotations

from collections.abc import Callable

from perfc.errors import ShapeError, VerifyError

from .. import (
    ABSENT,
    Dim,
    DType,
    Graph,
    Kind,
    Known,
    MapType,
    Module,
    Node,
    OptionalType,
    Poly,
    SequenceType,
    TensorType,
    Type,
    UnknownType,
    Value,
    interval,
)
from ..definition import arity_problem
from ..op import UNFORESEEN
from ..symbolic.dim import same_extents
from ..symbolic.fresh import numbering
from ..syntax.text import free_symbols
from ..tensors.types import MAX_ITEMS

MAX_DEPTH = 32
"""Maximum nesting of regions; passes recurse into regions, so that it protects their stack."""


def verify(module: Module, *, where: Callable[[Node], str] | None = None) -> None:
    """Check the invariants of ``module``.

    Each value is defined once, before it is used, with a unique name; types are well formed;
    known contents have their type's shape; symbols have one range each; operators accept their
    operands and their results do not contradict the declared types.

    Args:
        module: what to check.
        where: returns the position of a node in a file, for errors; by default its name.

    Raises:
        VerifyError: an invariant does not hold; ``ShapeError`` if an operator rejects its operands.
    """
    _symbols(module)
    checker = _Checker(where or (lambda node: ""))
    with numbering():
        checker.graph(module.graph, {}, set(), 0)


def _symbols(module: Module) -> None:
    """Check that each symbol has one range, which contains its default."""
    declared = {s.name: s for s in module.symbols}
    if len(declared) < len(module.symbols):
        raise VerifyError("a symbol is declared twice", where=f"module {module.name}")
    seen: dict[str, object] = {}
    # atoms are interned: two with the same key differ in their ranges
    for atom in free_symbols(module):
        if seen.setdefault(atom.key, atom) is not atom:
            raise VerifyError(f"symbol {atom.key} has two ranges", where=f"module {module.name}")
        decl = declared.get(atom.key)
        if decl is not None and (decl.lo, decl.hi) != (atom.lo, atom.hi):
            raise VerifyError(
                f"symbol {atom.key} is declared in {_range(decl.lo, decl.hi)} "
                f"and used in {_range(atom.lo, atom.hi)}",
                where=f"module {module.name}",
            )
    for s in module.symbols:
        hi = interval(s.hi)[1] if s.hi is not None else None
        if s.default < s.lo or (hi is not None and s.default > hi):
            raise VerifyError(f"default {s.default} of {s.name} is outside {_range(s.lo, s.hi)}")


def _range(lo: int, hi: Dim | None) -> str:
    """Return a range as the text form writes it: ``1..64``, ``1..`` without a limit."""
    return f"{lo}..{'' if hi is None else hi}"


class _Checker:
    """Checks a graph and its regions; ``where`` returns the position of a node, or ""."""

    def __init__(self, where: Callable[[Node], str]) -> None:
        self.where = where

    def error(self, node: Node, message: str, cls: type[VerifyError] = VerifyError) -> VerifyError:
        """Return an error at ``node``: at its position in a file, or at its name if it has none."""
        where = self.where(node)
        named = f"{node.op.mnemonic} {node.name}" if not where else node.op.mnemonic
        return cls(message, where=f"{where}: {named}" if where else named)

    def graph(self, graph: Graph, names: dict[str, Value], visible: set[Value], depth: int) -> None:
        """Check a graph or a region.

        Args:
            graph: what to check.
            names: values by name, of this graph and all outer ones; extended and restored.
            visible: the values of ``names``, which nodes may read.
            depth: number of outer graphs; 0 for that of the module.
        """
        if depth > MAX_DEPTH:
            raise VerifyError(f"regions nested deeper than {MAX_DEPTH}", where=f"@{graph.name}")
        defined: list[Value] = []

        def define(value: Value, what: str) -> None:
            """Check a new value and make it visible; ``what`` is its place for errors."""
            if value in visible or names.get(value.name, value) is not value:
                raise VerifyError(f"%{value.name} is defined twice", where=what)
            visible.add(value)
            names[value.name] = value
            defined.append(value)
            problem = type_problem(value.type) or known_problem(value)
            if problem:
                raise VerifyError(f"%{value.name}: {problem}", where=what)

        for value in graph.inputs:
            define(value, f"input of @{graph.name}")
        for value in graph.weights:
            if value.weight is None:
                raise VerifyError(f"%{value.name} is not a weight", where=f"@{graph.name}")
            define(value, f"weight of @{graph.name}")
        for node in graph.nodes:
            self._node(node, names, visible, depth)
            for result in node.results:
                # `error` alone writes the place of a node: make an error and cut off its message
                define(result, str(self.error(node, "results")).removesuffix(": results"))
        for value in graph.outputs:
            if value not in visible:
                raise VerifyError(f"%{value.name} is never defined", where=f"@{graph.name}")
        # values of a region are not visible after it, and another region may use their names
        if depth:
            for value in defined:
                visible.discard(value)
                del names[value.name]

    def _node(self, node: Node, names: dict[str, Value], visible: set[Value], depth: int) -> None:
        """Check operands, regions, and the types of results, against those that are inferred."""
        for value in node.inputs:
            if value is not None and value not in visible:
                message = f"%{value.name} is used before it is defined"
                raise self.error(node, message)
        for region in node.regions:
            self.graph(region, names, visible, depth + 1)
        problem = arity_problem(type(node.op), node.inputs, len(node.outputs))
        if problem:
            raise self.error(node, problem)
        # results of control flow follow from the regions, which `Op.infer` does not see
        if node.op.kind is Kind.CONTROL or node.regions:
            return
        try:
            inferred = node.op.infer(node.inputs)
        except ShapeError as error:
            raise self.error(node, error.message, ShapeError) from None
        except UNFORESEEN:
            # operators with undefined attributes: nothing is inferred, so nothing can differ
            return
        if len(node.outputs) > len(inferred):
            message = f"has {len(inferred)} results, {len(node.outputs)} are named"
            raise self.error(node, message)
        for value, type_ in zip(node.outputs, inferred, strict=False):
            if value is not None and type_ is not ABSENT and not compatible(value.type, type_):
                message = f"%{value.name} is declared {value.type}, but is {type_}"
                raise self.error(node, message, ShapeError)


def type_problem(type_: Type) -> str:
    """Return the error in a type; "" if there is none."""
    match type_:
        case TensorType(dtype=dtype, shape=shape):
            if not isinstance(dtype, DType):
                return f"element type {dtype!r} is not one"
            for d in shape or ():
                # `type`, since a bool is an instance of int
                if type(d) is not int and not isinstance(d, Poly):
                    return f"extent {d!r} is not one"
                hi = interval(d)[1]
                if hi is not None and hi < 0:
                    return f"extent {d} is negative"
            return ""
        case SequenceType(elem=elem, items=items) if items is not None:
            # an empty list is written as None
            if len(items) > MAX_ITEMS or not items:
                # the problem: no list has so many elements, or none, with a type for each
                return f"types of {len(items)} elements"
            return next((p for t in (elem, *items) if (p := type_problem(t))), "")
        case SequenceType(elem=elem) | OptionalType(elem=elem) | MapType(value=elem):
            return type_problem(elem)
        case UnknownType():
            return ""
        case _:
            return f"{type_!r} is not a type"


def known_problem(value: Value) -> str:
    """Return the error in a value's known content; "" if there is none."""
    content, type_ = value.known, value.type
    if content is None:
        return ""
    if not isinstance(content, Known):
        return "content"  # the problem: the known content is of another class than `Known`
    if isinstance(type_, SequenceType):
        is_listed = content.shape == (len(content.items),)
        is_listed &= all(item is None or isinstance(item, Known) for item in content.items)
        return "" if is_listed else f"{content} is no list of the contents of elements"
    if not isinstance(type_, TensorType):
        return "only tensors and sequences have known contents"
    count = 1
    for d in content.shape:
        count *= d
    if count != len(content.items):
        return f"{len(content.items)} known elements do not fill {list(content.shape)}"
    if type_.shape is not None and not same_extents(type_.shape, content.shape):
        return f"content of shape {list(content.shape)} in {type_}"
    for item in content.items:
        if isinstance(item, str) and type_.dtype not in (DType.STR, DType.UNKNOWN):
            return f"string {item!r} in {type_}"
        if isinstance(item, float) and type_.dtype.is_integer:
            return f"float {item} in {type_}"
        if isinstance(item, Known):
            return f"the content of another value in {type_}"
    return ""


def compatible(a: Type, b: Type) -> bool:
    """Return True if a value can have both types."""
    match a, b:
        case (UnknownType(), _) | (_, UnknownType()):
            return True
        case TensorType(), TensorType():
            if a.dtype is not b.dtype and DType.UNKNOWN not in (a.dtype, b.dtype):
                return False
            return a.shape is None or b.shape is None or same_extents(a.shape, b.shape)
        case SequenceType(elem=x), SequenceType(elem=y):
            return compatible(x, y)
        case OptionalType(elem=x), OptionalType(elem=y):
            return compatible(x, y)
        case MapType(), MapType():
            return a.key is b.key and compatible(a.value, b.value)
        # a tensor of which nothing is known stands for a value of any type
        case TensorType(shape=None, dtype=DType.UNKNOWN), _:
            return True
        case _, TensorType(shape=None, dtype=DType.UNKNOWN):
            return True
        case _:
            return False
