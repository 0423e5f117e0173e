"""Page of operators, from their docstrings and formulas, and coverage of ONNX."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from perfc.ir import ABSENT, Dim, DType, Op, TensorType, Types, Value, record, symbol, symbols
from perfc.ir.ops.elementwise.elementwise import Elementwise
from perfc.ir.symbolic.fresh import numbering

from .catalogue import documentation, find_operator, module_file, operators

_OPERANDS = re.compile(r"(\w+(?:,\s*\w+)*)\[([^\]]*)\]")
"""Names and extents of operands in the section of shapes: ``x, y[n, c]``."""
_AS = re.compile(r"as (\w+)\b")
"""Reference to the shapes of another operator: ``as relu``."""
BODIES = ("has_function", "has_context_dependent_function")
"""Fields of an ONNX schema that defines an operator by others."""
UNITS = ("mac", "alu", "sfu", "integer")
"""Counts of work, by the unit that does it: matrix, vector, special functions, integers."""


@record
class Example:
    """Application of an operator to operands with symbolic extents.

    ``operator`` is the instance with its attributes; ``numbers`` are nonzero formulas by name.
    """

    operator: str
    operands: Mapping[str, str]
    result: str
    numbers: Mapping[str, str]


def example(cls: type[Op]) -> Example | None:
    """Return the operator on operands shaped as in its docstring; None if that is not enough."""
    shapes = documentation(cls).sections.get("Shapes", "")
    # an operator may refer to another, and that one to a third; four times at most, as two might
    # refer to each other
    for _ in range(4):
        other = _AS.match(shapes)
        parent = find_operator(other[1]) if other else None
        if parent is None:
            break
        shapes = documentation(parent).sections.get("Shapes", "")
    for operands in _operands(cls, shapes):
        result = _apply(cls, operands)
        if result is not None:
            return result
    return None


def _operands(cls: type[Op], shapes: str) -> Iterator[dict[str, tuple[Dim, ...]]]:
    """Yield extents of operands to try: those of the docstring, then n x c x d.

    The latter are for all operands of an element-wise operator, then for the first operand alone.
    """
    # an operator with groups has one group by default
    fixed: dict[str, Dim] = {"g": 1} if hasattr(cls, "group") else {}
    operands: dict[str, tuple[Dim, ...]] = {}
    for names, text in _OPERANDS.findall(shapes.partition("->")[0]):
        extents = _extents(text, fixed)
        for name in re.split(r",\s*", names):
            if extents is not None and name in cls.signature.names:
                operands[name] = extents
    if operands:
        yield operands
    n, c, d = symbol("n"), symbol("c"), symbol("d")
    if not cls.signature.names:
        return
    yield dict.fromkeys(cls.signature.names, (n, c, d)) if issubclass(cls, Elementwise) else {}
    yield {cls.signature.names[0]: (n, c, d)}


def _extents(text: str, fixed: Mapping[str, Dim]) -> tuple[Dim, ...] | None:
    """Parse extents such as ``n, c, 2 * h``; None if they are more than sums and products."""
    try:
        tree = ast.parse(f"({text.replace('...', '')},)", mode="eval").body
    except SyntaxError:
        return None
    assert isinstance(tree, ast.Tuple)
    extents = [_dim(e, fixed) for e in tree.elts]
    return None if None in extents else tuple(d for d in extents if d is not None)


def _dim(tree: ast.expr, fixed: Mapping[str, Dim]) -> Dim | None:
    match tree:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return fixed.get(name, symbol(name))
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _dim(left, fixed), _dim(right, fixed)
            if a is None or b is None:
                return None
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv():
                    return a // b
    return None


def _apply(cls: type[Op], shapes: Mapping[str, tuple[Dim, ...]]) -> Example | None:
    """Return the operator on operands of these extents; None if it cannot be counted there."""
    last = max((i for i, name in enumerate(cls.signature.names) if name in shapes), default=-1)
    ins = tuple(
        Value(name, TensorType(DType.F32, shapes[name])) if name in shapes else None
        for name in cls.signature.names[: last + 1]
    )
    # this padding does not change extents, so that formulas stay short
    given = {"auto_pad": "SAME_UPPER"} if "auto_pad" in cls.__dataclass_fields__ else {}
    try:
        op = cls(**given)
        with numbering():
            inferred = op.infer(ins)
        # an example has the first result only; further results are optional
        outs: Types = (inferred[0], *[ABSENT] * (len(inferred) - 1))
        work, traffic = op.work(ins, outs), op.traffic(ins, outs)
    except Exception:  # operators that need more than symbolic floats have no example
        return None
    result = outs[0]
    if work is None or traffic.is_bound or not isinstance(result, TensorType) or not result.shape:
        return None
    given_symbols = {a.key for dims in shapes.values() for d in dims for a in symbols(d)}
    counted = {**{u: getattr(work, u) for u in UNITS}, "read_bytes": traffic.read_bytes}
    counted["write_bytes"] = traffic.write_bytes
    dims = [*result.shape, *counted.values()]
    # symbols that inference made up would not say anything to a reader
    if any(a.key not in given_symbols for d in dims for a in symbols(d)):
        return None
    numbers = {name: str(d) for name, d in counted.items() if d != 0}
    operands = {v.name: str(v.type) for v in ins if v is not None}
    return Example(str(op), operands, str(result), numbers)


def describe(cls: type[Op]) -> Iterator[str]:
    """Yield the lines of one operator in Markdown."""
    doc = documentation(cls)
    yield f"## {cls.mnemonic}"
    yield ""
    yield doc.summary.replace("``", "`")  # docstrings quote as reStructuredText
    yield ""
    yield f"- **ONNX**: {', '.join(f'`{name}`' for name in cls.onnx.split())}"
    yield f"- **Kind**: {cls.kind.value}, in `{module_file(cls)}`"
    for name, text in doc.sections.items():
        yield f"- **{name}**: {text}".replace("``", "`")
    if cls.formulas:
        formulas = ", ".join(f"`{unit} = {text}`" for unit, text in cls.formulas.items())
        yield f"- **Formulas**: {formulas}"
    shown = example(cls)
    if shown is not None and shown.numbers:
        operands = ", ".join(f"`{n}: {t}`" for n, t in shown.operands.items())
        numbers = ", ".join(f"`{unit} = {text}`" for unit, text in shown.numbers.items())
        # the text of an operator without attributes, which stand in braces, is the name above
        application = f"`{shown.operator}` of " if "{" in shown.operator else ""
        yield f"- **Example**: {application}{operands} → `{shown.result}`: {numbers}"
    yield ""


_INTRODUCTION = """\
# Operators

Generated by `perfc dev ops --markdown` from the docstrings in `ir/ops`; do not edit.

Each operator says how it infers shapes, what it computes by unit, which bytes it has to move, and
where that is from. Letters are explained in [notation.md](notation.md). An *example* applies the
operator to operands with symbolic extents in f32 and prints what it counts.
`perfc dev ops --coverage` compares this list with the operators of the installed onnx;
`perfc explain MODEL NODE` fills in the formulas for a node of a model.
"""


def page() -> str:
    """Return the page ``docs/ops.md``."""
    lines = [_INTRODUCTION]
    lines += ["| operator | ONNX | kind |", "| --- | --- | --- |"]
    for cls in operators():
        names = ", ".join(cls.onnx.split())
        lines.append(f"| [{cls.mnemonic}](#{cls.mnemonic}) | {names} | {cls.kind.value} |")
    lines.append("")
    for cls in operators():
        lines += describe(cls)
    return "\n".join(lines).rstrip() + "\n"


@record
class DomainCoverage:
    """Operators of one domain of the installed onnx: supported, expanded and missing."""

    domain: str
    supported: tuple[str, ...]
    expanded: tuple[str, ...]
    missing: tuple[str, ...]


def coverage() -> tuple[DomainCoverage, ...]:
    """Return the support of every operator of the installed onnx."""
    import onnx

    operators()  # imports all operators, which enter themselves into `BY_ONNX`
    from perfc.ir.op import BY_ONNX

    by_domain: dict[str, tuple[list[str], list[str], list[str]]] = {}
    for schema in onnx.defs.get_all_schemas():
        supported, expanded, missing = by_domain.setdefault(schema.domain, ([], [], []))
        key = f"{schema.domain}::{schema.name}" if schema.domain else schema.name
        # constants become stored tensors when a file is read
        if key in BY_ONNX or schema.name == "Constant":
            supported.append(schema.name)
        elif any(getattr(schema, has) for has in BODIES):
            expanded.append(schema.name)
        else:
            missing.append(schema.name)
    return tuple(
        DomainCoverage(domain, *(tuple(sorted(names)) for names in by_domain[domain]))
        for domain in sorted(by_domain)
    )
