"""The operator contract: a `frozen` class that knows its shapes, its work and its traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ..errors import ShapeError
from .cost import NO_TRAFFIC, NO_WORK, UNITS, Traffic, Work, dim_sum, work_of
from .definition import Operands, range_problem
from .dim import Dim
from .graph import Inputs
from .known import Known
from .record import frozen
from .types import DType, SequenceType, TensorType, Type, element_count

if TYPE_CHECKING:
    from .gradients.adjoint import Adjoint, Gradients
    from .gradients.tape import Tape
    from .graph import Value
    from .problem import Problem

Types: TypeAlias = "tuple[Type, ...]"
Folded: TypeAlias = "tuple[Known | None, ...]"


class Kind(Enum):
    """What class of kernel an operator is, for fusion and for efficiency."""

    MATMUL = "matmul"
    CONV = "conv"
    ATTENTION = "attention"
    RECURRENT = "recurrent"
    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    SOFTMAX = "softmax"
    NORMALIZATION = "normalization"
    POOL = "pool"
    MOVEMENT = "movement"
    VIEW = "view"
    GATHER = "gather"
    QUANTIZE = "quantize"
    SORT = "sort"
    RANDOM = "random"
    SHAPE = "shape"
    CONTROL = "control"
    COLLECTIVE = "collective"
    CONTAINER = "container"
    SIGNAL = "signal"
    STRING = "string"
    OPTIMIZER = "optimizer"
    CLASSICAL = "classical"
    OPAQUE = "opaque"

    __hash__ = object.__hash__


REGISTRY: dict[str, type[Op]] = {}
"""Operator classes by mnemonic."""

BY_ONNX: dict[str, type[Op]] = {}
"""Operator classes by ONNX name: ``Conv``, ``com.microsoft::FusedConv``."""


@frozen
class Op:
    """An operator with its attributes as fields, named and defaulted as in ONNX.

    A subclass declares what it is called, what it reads, and defines ``infer`` and what else is
    not the default. Methods are pure: they see types and known contents, never data.
    """

    mnemonic: ClassVar[str] = ""
    """Name in the text form, unique."""
    onnx: ClassVar[tuple[str, ...]] = ()
    """ONNX operators it stands for, with ``domain::`` before those outside the standard domain."""
    operands: ClassVar[tuple[str, ...]] = ()
    """Names of the inputs. An attribute of that name (older opsets) becomes a constant input.
    In a class body a name that ends in ``?`` may be left out, one in ``*`` stands for any number
    of inputs, in ``+`` for at least one; the class keeps the names without these marks."""
    signature: ClassVar[Operands] = Operands()
    """The operands with their marks read."""
    least_results: ClassVar[int] = 1
    """Outputs that a node must name."""
    is_closed: ClassVar[bool] = True
    """Whether its domain gives each form a version, so that nothing may be added to this one."""
    kind: ClassVar[Kind] = Kind.ELEMENTWISE
    formulas: ClassVar[Mapping[str, str]] = {}
    """``mac``, ``alu``, ``sfu``, ``integer``, ``read_bytes``, ``write_bytes`` over ``extents``.
    ``{alu}`` in the docstring stands for ``alu = …``, so that a formula is written only here."""

    is_commutative: ClassVar[bool] = False
    """Whether the order of its operands tells nothing."""
    least_regions: ClassVar[int] = 0
    """Subgraphs that a node must have."""
    is_counted: ClassVar[bool] = True
    """Whether types tell what it computes; else its work is None."""
    macs_in: ClassVar[DType | None] = None
    """Element type of the macs where it is always another than that of the first operand."""
    typed_by: ClassVar[tuple[int, ...]] = (0,)
    """Operands that tell the element type of the result, the best first."""
    result: ClassVar[DType | None] = None
    """Element type of the result where it is always the same."""

    def __init_subclass__(cls) -> None:
        """Read the marks of its operands, complete the docstring and register the class.

        A name twice is an error.
        """
        if cls.__doc__ and "{" in cls.__doc__:
            for unit, formula in cls.formulas.items():
                cls.__doc__ = cls.__doc__.replace(f"{{{unit}}}", f"{unit} = {formula}")
        if "operands" in cls.__dict__:
            cls.signature = Operands.of(cls.operands)
            cls.operands = cls.signature.names
        if "onnx" in cls.__dict__:
            in_standard = any(not name.startswith("com.") for name in cls.onnx)
            cls.is_closed = in_standard or not cls.onnx
        if "mnemonic" in cls.__dict__:
            known = REGISTRY.setdefault(cls.mnemonic, cls)
            # `dataclass(slots=True)` and reloads build the class again under the same name
            if known.__qualname__ != cls.__qualname__ or known.__module__ != cls.__module__:
                raise TypeError(f"operator {cls.mnemonic!r} is defined twice")
            for name in cls.__dict__.get("onnx", ()):
                BY_ONNX[name] = cls

    def __post_init__(self) -> None:
        """Refuse attributes outside their range.

        Raises:
            ValueError: naming the attribute.
        """
        problem = range_problem(self)
        if problem:
            raise ValueError(problem)

    def infer(self, ins: Inputs) -> Types:
        """Types of all outputs the operator can have.

        Raises:
            ShapeError: the operands cannot go together.
        """
        raise NotImplementedError(f"{type(self).__name__}.infer")

    def is_exactly(self, *classes: type[Op]) -> bool:
        """Whether it is of one of these very classes, retyped or not, and of none of theirs."""
        return REGISTRY.get(self.mnemonic) in classes

    def result_dtype(self, ins: Inputs) -> DType:
        """Element type of the result, by default as ``result`` and ``typed_by`` say."""
        return self.result or first_dtype(ins, *self.typed_by)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        """Contents of the outputs where they follow from known contents or from shapes."""
        return ()

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        """Operations by unit, by default ``formulas`` at ``extents``.

        None where nobody knows (never zero for unknown): where it ``is_counted`` in no case, or
        where there are formulas, but no extents.
        """
        if not self.is_counted:
            return None
        if self.formulas.keys().isdisjoint(UNITS):
            return NO_WORK
        letters = self.extents(ins, outs)
        return work_of(self.formulas, letters, self.mac_dtype(ins)) if letters else None

    def mac_dtype(self, ins: Inputs) -> DType | None:
        """Element type of the macs where it is not that of the first operand."""
        return self.macs_in

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        """Compulsory bytes; by default each operand and each result once."""
        if self.kind is Kind.VIEW:
            return NO_TRAFFIC
        return each_once(ins, outs)

    def read_parts(self, ins: Inputs) -> Mapping[int, Dim]:
        """Bytes read of operands by position, where it is not all of each.

        Empty where each is read whole, or the first one alone in part.
        """
        return {}

    def logical_elements(self, ins: Inputs) -> Mapping[int, Dim]:
        """Elements of operands by position whose stored elements hold several, or padding."""
        return {}

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        """The letters of ``formulas`` with this node's numbers; by default ``e``, the elements."""
        return {"e": count(outs[0])} if self.formulas else {}

    def problem(self, ins: Inputs, outs: Types) -> Problem | None:
        """Extents by name, None where they are not known or it is none of those problems."""
        return None

    def gradient(self, at: Adjoint) -> Gradients | None:
        """Gradients of operands by position, in operators; what is left out has none.

        None where there is no rule. By default the function called as the mnemonic in the file of
        the family's name in ``ir/gradients``.
        """
        from .gradients import rule_of

        rule = rule_of(type(self))
        return None if rule is None else rule(at)

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> tuple[Value | None, ...] | None:
        """The results in standard operators, of an operator that no ONNX has; else None."""
        return None

    def __str__(self) -> str:
        shown = ", ".join(
            f"{f.name}={attribute_text(getattr(self, f.name))}"
            for f in fields(self)
            if getattr(self, f.name) != f.default
        )
        return f"{self.mnemonic} {{{shown}}}" if shown else self.mnemonic


def attribute_text(value: object) -> str:
    """An attribute as the text form writes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case DType():
            return f'"{value.code}"'
        case Enum():
            return f'"{value.value}"'
        case tuple():
            return f"[{', '.join(attribute_text(v) for v in value)}]"
        case str():
            import json

            return json.dumps(value)
        case bytes():
            import json

            return json.dumps(value.decode("utf-8", "replace"))
        case None:
            return "none"
        case _:
            return repr(value)


UNRANKED = TensorType(DType.UNKNOWN, None)
ABSENT = TensorType(DType.UNKNOWN, (0,))
"""Stands for an output that the node does not ask for, where types are listed by position."""


def has(ins: Inputs, index: int) -> bool:
    """Whether the optional input ``index`` is given."""
    return index < len(ins) and ins[index] is not None


def tensor(ins: Inputs, index: int) -> TensorType:
    """Type of input ``index``; an unranked tensor where it is missing or not a tensor."""
    value = ins[index] if index < len(ins) else None
    if value is not None and isinstance(value.type, TensorType):
        return value.type
    return UNRANKED


def first_dtype(ins: Inputs, *indices: int) -> DType:
    """The first element type that is known among these inputs."""
    types = (tensor(ins, i).dtype for i in indices)
    return next((d for d in types if d is not DType.UNKNOWN), DType.UNKNOWN)


def known(ins: Inputs, index: int) -> Known | None:
    """Content of input ``index`` where it is a tensor's and known."""
    value = ins[index] if index < len(ins) else None
    return None if value is None or isinstance(value.type, SequenceType) else value.known


def known_ints(ins: Inputs, index: int) -> tuple[int, ...] | None:
    """Content of input ``index`` as plain integers, None where any is not known or symbolic."""
    content = known(ins, index)
    return None if content is None else content.ints


def count(type_: Type) -> Dim:
    """Elements of a tensor; 0 where the shape is not known (callers mark the result a bound)."""
    if isinstance(type_, TensorType) and type_.shape is not None:
        return element_count(type_.shape)
    return 0


def each_once(ins: Inputs, outs: Types) -> Traffic:
    """Every distinct input read once and every output written once."""
    sizes: list[Dim] = []
    is_bound = False
    for value in dict.fromkeys(v for v in ins if v is not None):
        nbytes = value.type.nbytes if isinstance(value.type, TensorType) else None
        is_bound |= nbytes is None
        sizes.append(nbytes or 0)
    written: list[Dim] = []
    for out in outs:
        if out is ABSENT:
            continue
        nbytes = out.nbytes if isinstance(out, TensorType) else None
        is_bound |= nbytes is None
        written.append(nbytes or 0)
    return Traffic(dim_sum(sizes), dim_sum(written), is_bound)


def normal_axis(axis: int, rank: int, what: str = "axis") -> int:
    """``axis`` counted from the front.

    Raises:
        ShapeError: it is outside ``-rank..rank-1``.
    """
    if not -rank <= axis < rank:
        raise ShapeError(f"{what} {axis} is outside rank {rank}")
    return axis + rank if axis < 0 else axis
