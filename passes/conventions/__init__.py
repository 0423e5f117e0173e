"""Conventions of other FLOP counters: which operators each counts, and how, as data.

One file a counter, ``NAME.toml``. Formulas are in ``mac``, the multiply-accumulates of the node,
and in ``x`` and ``y``, the elements of its first operand and of its first result:

- ``tool``, ``source``: the package and version, the files that its rules are from;
- ``unit``: the unit of its figure;
- ``product``: operations of a product, convolution, recurrence or attention;
- ``activation_product``: the same where no operand is a weight, as in attention;
- ``sees_fused_attention``: whether it counts ``scaled_dot_product_attention``;
- ``convolution_bias``, ``linear_bias``: operations of adding a bias;
- ``operators``: operations by ONNX name; a table where they depend on an attribute, ``by``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path

from perfc.errors import PassError
from perfc.ir import Dim, Inputs, Kind, Node, Op, TensorType, Value, dim_sum, record
from perfc.ir.cost import formula_value
from perfc.ir.ops.elementwise.activation import Sigmoid
from perfc.ir.ops.elementwise.elementwise import Add, Mul
from perfc.ir.ops.normalization.reduce import ReduceMean
from perfc.ir.ops.normalization.softmax import Softmax

from ..roofline.cost import CostTable, NodeCost

FOLDER = Path(__file__).parent
"""Folder of the conventions, one TOML file each."""
NOTHING = "0"
"""Formula of an operator that a counter leaves out."""


@record
class Convention:
    """Counting convention of one tool; fields as in the module's documentation."""

    name: str
    tool: str
    source: str
    unit: str
    product: str
    sees_fused_attention: bool
    activation_product: str = ""
    convolution_bias: str = NOTHING
    linear_bias: str = NOTHING
    operators: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)

    def formula(self, names: Iterable[str], op: Op) -> str:
        """Return the formula of the first of ``names`` in ``operators``; "0" if there is none."""
        for name in names:
            rule = self.operators.get(name)
            if isinstance(rule, str):
                return rule
            if rule is not None:
                return rule.get(str(getattr(op, rule["by"], "")), NOTHING)
        return NOTHING


@record
class Tally:
    """Operations of a model in another tool's convention.

    Args:
        by_operator: operations by ONNX name, biases included.
        attention: operations of products of two activations, and of the softmax between them.
    """

    by_operator: Mapping[str, Dim]
    attention: Dim

    @property
    def total(self) -> Dim:
        """Return all operations."""
        return dim_sum(self.by_operator.values())


def conventions() -> tuple[str, ...]:
    """Return the names of all conventions."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def convention(name: str) -> Convention:
    """Return the convention of a tool.

    Raises:
        PassError: no such convention.
    """
    if name not in conventions():
        names = ", ".join(conventions())
        raise PassError(f"no convention {name!r}", where="--count-as", hint=f"there are {names}")
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return Convention(name=name, **data)


def tally(table: CostTable, rules: Convention) -> Tally:
    """Return the operations of every counted node of ``table`` as ``rules`` count them."""
    counter = _Counter(rules)
    for node, cost in table.nodes.items():
        counter.add(node, cost)
    return Tally(counter.by_operator, dim_sum(counter.attention))


class _Counter:
    """Adds up nodes in the order in which they run.

    ``stored`` has results that follow from stored tensors alone, ``products`` results of products,
    ``softmax`` the operations of each softmax by its result, ``sigmoid_of`` operands of sigmoids.
    """

    def __init__(self, rules: Convention) -> None:
        self.rules = rules
        self.by_operator: dict[str, Dim] = {}
        self.attention: list[Dim] = []
        self.stored: set[Value] = set()
        self.products: set[Value] = set()
        self.softmax: dict[Value, Dim] = {}
        self.sigmoid_of: dict[Value, Value] = {}

    def add(self, node: Node, cost: NodeCost) -> None:
        """Count one node."""
        operands = [v for v in node.inputs if v is not None]
        if operands and all(self.is_stored(v) for v in operands):
            self.stored.update(v for v in node.outputs if v is not None)
            return
        mac = cost.work.mac
        is_attention = mac != 0 and not any(self.is_stored(v) for v in operands)
        count = self.operations(node, mac, is_attention=is_attention) * cost.repeat
        if count != 0:
            # of several ONNX names, by version or domain, the first
            name = (node.op.onnx or node.op.mnemonic).split()[0]
            self.by_operator[name] = self.by_operator.get(name, 0) + count
        if mac != 0:
            self.products.update(v for v in node.outputs if v is not None)
        if is_attention:
            # a softmax belongs to attention only if a product of activations reads its result
            self.attention.append(count)
            self.attention.extend(self.softmax.pop(v, 0) for v in operands)
        match node.op, node.outputs:
            case Softmax(), (Value() as result, *_):
                self.softmax[result] = count
            case Sigmoid(), (Value() as result, *_):
                self.sigmoid_of[result] = operands[0]
            case _:
                pass

    def operations(self, node: Node, mac: Dim, *, is_attention: bool) -> Dim:
        """Return the operations of one execution."""
        rules = self.rules
        letters = {"mac": mac, "x": _elements(node.inputs), "y": _elements(node.outputs)}
        if mac == 0:
            if isinstance(node.op, Add) and self.is_bias(node):
                return formula_value(rules.linear_bias, letters)
            # an exporter writes SiLU out; the tool counts it as one module, "Swish"
            names = ("Swish",) if self.is_swish(node) else _names(node)
            return formula_value(rules.formula(names, node.op), letters)
        if is_attention:
            return formula_value(rules.activation_product or rules.product, letters)
        # an operator without a rule for its name counts as a product
        formula = rules.formula(node.op.onnx.split(), node.op)
        count = formula_value(rules.product if formula == NOTHING else formula, letters)
        # the third operand of Conv and Gemm is the bias
        if len(node.inputs) > 2 and node.inputs[2] is not None:
            match node.op.kind:
                case Kind.CONV:
                    count = count + formula_value(rules.convolution_bias, letters)
                case Kind.MATMUL:
                    count = count + formula_value(rules.linear_bias, letters)
                case _:
                    pass
        return count

    def is_stored(self, value: Value) -> bool:
        """Return True if the file stores a value, or everything it is computed from."""
        return value.weight is not None or value.known is not None or value in self.stored

    def is_swish(self, node: Node) -> bool:
        """Return True if a product is Swish (SiLU) written out as ``x * sigmoid(x)``."""
        match node.op, node.inputs:
            case Mul(), (Value() as a, Value() as b):
                return self.sigmoid_of.get(b) is a or self.sigmoid_of.get(a) is b
            case _:
                return False

    def is_bias(self, node: Node) -> bool:
        """Return True if an addition adds a stored tensor to the result of a product."""
        operands = [v for v in node.inputs if v is not None]
        return any(map(self.is_stored, operands)) and any(v in self.products for v in operands)


def _names(node: Node) -> Sequence[str]:
    """Return ONNX names of an operator; exporters write global pooling as a mean."""
    match node.op, node.inputs:
        case ReduceMean() as op, (Value(type=TensorType(shape=(_, _, _, _, *_) as shape)), *_):
            if op.axes(node.inputs, len(shape)) == tuple(range(2, len(shape))):
                return ("GlobalAveragePool",)
    return node.op.onnx.split()


def _elements(values: Inputs) -> Dim:
    """Return the elements of the first value; 0 if it is missing or its shape unknown."""
    first = values[0] if values else None
    if first is None or not isinstance(first.type, TensorType):
        return 0
    return first.type.numel or 0
