"""Base class of operators: attributes as fields, and methods for shapes, work and traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeGuard, TypeVar

from ..errors import ShapeError
from .cost import NO_TRAFFIC, NO_WORK, UNITS, Extents, Parts, Traffic, Work, dim_sum, work_of
from .definition import Operands, range_problem
from .graph import Inputs, Results, Value
from .record import frozen
from .symbolic.dim import Dim
from .tensors.known import Known
from .tensors.types import DType, SequenceType, Shape, TensorType, Type, element_count

if TYPE_CHECKING:
    from .gradients.adjoint import Adjoint, Gradients
    from .gradients.tape import Tape
    from .problem import Problem

Types: TypeAlias = "tuple[Type, ...]"
"""Types of the results of an operator by position."""
Folded: TypeAlias = "tuple[Known | None, ...]"
"""Known contents of results by position; may be shorter than the results."""


class Kind(Enum):
    """Class of kernel of an operator, for fusion and for efficiency."""

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

    __hash__ = object.__hash__  # members are unique; `Enum` hashes by name, which is slower


REGISTRY: dict[str, type[Op]] = {}
"""Operator classes by mnemonic."""

BY_ONNX: dict[str, type[Op]] = {}
"""Operator classes by ONNX name: ``Conv``, ``com.microsoft::FusedConv``."""


@frozen
class Op:
    """An operator with its attributes as fields, named and defaulted as in ONNX.

    A subclass declares its names and operands, and defines ``infer`` and whatever differs from
    the defaults. Methods are pure: they read types and known contents, never data.
    """

    mnemonic: ClassVar[str] = ""
    """Name in the text form, unique."""
    onnx: ClassVar[str] = ""
    """ONNX operators it represents, with blanks between, and ``domain::`` before those outside the
    default domain."""
    operands: ClassVar[str] = ""
    """Names of the inputs, with blanks between. An attribute of the same name (older opsets)
    becomes a constant input. A name ending in ``?`` is optional, one in ``*`` stands for any number
    of inputs, in ``+`` for at least one."""
    signature: ClassVar[Operands] = Operands()
    """The operands with their marks parsed."""
    least_results: ClassVar[int] = 1
    """Minimum number of outputs of a node."""
    is_closed: ClassVar[bool] = True
    """True if more inputs than ``operands`` are an error, as in the domain ``ai.onnx``, whose
    versions list all; operators of ``com.…`` domains get new inputs without a new version."""
    kind: ClassVar[Kind] = Kind.ELEMENTWISE
    formulas: ClassVar[Mapping[str, str]] = {}
    """``mac``, ``alu``, ``sfu``, ``integer``, ``read_bytes``, ``write_bytes`` over ``extents``.
    ``{alu}`` in the docstring stands for ``alu = …``, so that a formula is written only here."""

    is_commutative: ClassVar[bool] = False
    """True if the order of operands does not matter."""
    is_choosing: ClassVar[bool] = False
    """True if data choose which parts of its other operands it reads, perhaps always the same."""
    least_regions: ClassVar[int] = 0
    """Minimum number of subgraphs of a node."""
    is_counted: ClassVar[bool] = True
    """True if types determine its operations; else its work is None."""
    macs_in: ClassVar[DType | None] = None
    """Element type of the MACs if it never follows the first operand."""
    typed_by: ClassVar[tuple[int, ...]] = (0,)
    """Operands that determine the element type of the result, in order of preference."""
    result: ClassVar[DType | None] = None
    """Element type of the result if it is always the same."""

    def __init_subclass__(cls) -> None:
        """Read the marks of its operands, complete the docstring and register the class.

        A mnemonic registered twice is an error.
        """
        # under `python -OO` there are no docstrings
        if cls.__doc__ and "{" in cls.__doc__:
            for unit, formula in cls.formulas.items():
                cls.__doc__ = cls.__doc__.replace(f"{{{unit}}}", f"{unit} = {formula}")
        # `cls.__dict__` holds what the class itself declares: inherited operands are parsed
        # already, and an inherited name belongs to the base class
        if "operands" in cls.__dict__:
            cls.signature = Operands.of(cls.operands)
        if "onnx" in cls.__dict__:
            # operators without an ONNX name are defined here alone, so that their list is complete
            in_standard = any(not name.startswith("com.") for name in cls.onnx.split())
            cls.is_closed = in_standard or not cls.onnx
        if "mnemonic" in cls.__dict__:
            known = REGISTRY.setdefault(cls.mnemonic, cls)
            # decorators that return a new class, and reloads, define a class again by its name
            if known.__qualname__ != cls.__qualname__ or known.__module__ != cls.__module__:
                raise TypeError(f"operator {cls.mnemonic!r} is defined twice")
            for name in cls.__dict__.get("onnx", "").split():
                BY_ONNX[name] = cls

    def __post_init__(self) -> None:
        """Check attributes against their ranges.

        Raises:
            ValueError: an attribute is out of range; the message names it.
        """
        problem = range_problem(self)
        if problem:
            raise ValueError(problem)

    def infer(self, ins: Inputs) -> Types:
        """Return types of all outputs the operator can have, by default one like operand 0.

        Its element type is ``result_dtype``.

        Raises:
            ShapeError: the operands are incompatible.
        """
        first, dtype = tensor(ins, 0), self.result_dtype(ins)
        return (first if dtype is first.dtype else TensorType(dtype, first.shape),)

    def is_exactly(self, *classes: type[Op]) -> bool:
        """Return True if its mnemonic is that of one of these classes, not of a subclass of them.

        Classes that share a mnemonic, such as a retyped copy of an operator, are the same here.
        """
        return REGISTRY.get(self.mnemonic) in classes

    def result_dtype(self, ins: Inputs) -> DType:
        """Return the element type of the result, by default from ``result`` and ``typed_by``."""
        return self.result or first_dtype(ins, *self.typed_by)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        """Return contents of the outputs that follow from known contents or from shapes."""
        return ()

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        """Return operations per unit, by default ``formulas`` evaluated with ``extents``.

        None if unknown (zero never means unknown): if ``is_counted`` is False, or
        if there are formulas but no extents.
        """
        if not self.is_counted:
            return None
        if self.formulas.keys().isdisjoint(UNITS):
            return NO_WORK
        # `extents` is empty if an extent is unknown, and so is the work
        letters = self.extents(ins, outs)
        return work_of(self.formulas, letters, self.mac_dtype(ins)) if letters else None

    def mac_dtype(self, ins: Inputs) -> DType | None:
        """Return the element type of the MACs if it differs from the first operand's, else None."""
        return self.macs_in

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        """Return compulsory bytes; by default each operand and each result once."""
        if self.kind is Kind.VIEW:
            return NO_TRAFFIC
        return each_once(ins, outs)

    def read_parts(self, ins: Inputs) -> Parts:
        """Return bytes read of the operands that are read in part, by position.

        Empty if each is read completely, or if only the first one is read in part.
        """
        return {}

    def operand_name(self, index: int) -> str:
        """Return the name of an operand; repeated operands have the name of the last one."""
        names = self.signature.names
        return names[min(index, len(names) - 1)] if names else ""

    def logical_elements(self, ins: Inputs) -> Parts:
        """Return logical elements, by position, of operands that are stored packed or padded."""
        return {}

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        """Return values for the variables of ``formulas``; by default ``e``, the elements."""
        return {"e": count(outs[0])} if self.formulas else {}

    def problem(self, ins: Inputs, outs: Types) -> Problem | None:
        """Return the extents that predictors of kernels read, as one of `perfc.ir.problem`.

        None if they are unknown or if no class of problems fits the operator.
        """
        return None

    def gradient(self, at: Adjoint) -> Gradients | None:
        """Return gradients of operands by position, as operators; a missing operand has none.

        None if there is no rule. By default the function named as the mnemonic in the module of
        the same family in ``ir/gradients``.
        """
        from .gradients import rule_of

        rule = rule_of(type(self))
        return None if rule is None else rule(at)

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results | None:
        """Return the results in standard operators if ONNX lacks this operator, else None."""
        return None

    def __str__(self) -> str:
        shown = ", ".join(
            f"{f.name}={attribute_text(getattr(self, f.name))}"
            for f in fields(self)
            if getattr(self, f.name) != f.default
        )
        return f"{self.mnemonic} {{{shown}}}" if shown else self.mnemonic


def attribute_text(value: object) -> str:
    """Return an attribute in the text form."""
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
            import json  # here and below: few operators have texts, and the import takes time

            return json.dumps(value)
        case bytes():
            import json

            return json.dumps(value.decode("utf-8", "replace"))
        case None:
            return "none"
        case _:
            return repr(value)


UNRANKED = TensorType(DType.UNKNOWN, None)
"""Type of a missing operand, or of one that is no tensor."""
ABSENT = TensorType(DType.UNKNOWN, (0,))
"""Placeholder for an unused output in lists of types by position; compared by identity, since a
real result may have this type."""
UNFORESEEN = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
"""Errors that methods of an operator raise on an attribute or operand that no definition foresees.
Callers catch them and report the result as unknown."""


Operator = TypeVar("Operator", bound=Op)


def exactly(op: Op, kind: type[Operator]) -> TypeGuard[Operator]:
    """Return `Op.is_exactly` for one class, as a guard that type checkers understand."""
    return op.is_exactly(kind)


def with_attributes(kind: type[Operator], op: Op) -> Operator:
    """Return an operator of class ``kind`` with the attributes of ``op`` that the class has too."""
    return kind(**{f.name: getattr(op, f.name) for f in fields(kind) if hasattr(op, f.name)})


def has(ins: Inputs, index: int) -> bool:
    """Return True if the optional input ``index`` is given."""
    return index < len(ins) and ins[index] is not None


def given(ins: Inputs, *at: int) -> list[Value]:
    """Return the inputs at these positions, which the operator requires."""
    required = [v for i in at if (v := ins[i]) is not None]
    # a missing one would move those after it
    assert len(required) == len(at)
    return required


def tensor(ins: Inputs, index: int) -> TensorType:
    """Return the type of input ``index``; an unranked tensor if it is missing or not a tensor."""
    value = ins[index] if index < len(ins) else None
    if value is not None and isinstance(value.type, TensorType):
        return value.type
    return UNRANKED


def shape_at(ins: Inputs, index: int) -> Shape | None:
    """Return the shape of input ``index``, None if its rank is unknown or it is no tensor."""
    return tensor(ins, index).shape


def single(dtype: DType, shape: Shape | None) -> Types:
    """Return the types of an operator whose one result is a tensor."""
    return (TensorType(dtype, shape),)


def first_dtype(ins: Inputs, *indices: int) -> DType:
    """Return the first known element type among these inputs."""
    types = (tensor(ins, i).dtype for i in indices)
    return next((d for d in types if d is not DType.UNKNOWN), DType.UNKNOWN)


def known(ins: Inputs, index: int) -> Known | None:
    """Return the content of input ``index`` if it is a tensor with known content."""
    value = ins[index] if index < len(ins) else None
    return None if value is None or isinstance(value.type, SequenceType) else value.known


def known_ints(ins: Inputs, index: int) -> tuple[int, ...] | None:
    """Return the content of input ``index`` as integers, None if any is unknown or symbolic."""
    content = known(ins, index)
    return None if content is None else content.ints


def count(type_: Type) -> Dim:
    """Return the number of elements of a tensor; 0 if its shape is unknown.

    Callers then set ``is_bound``: their count is a lower bound.
    """
    if isinstance(type_, TensorType) and type_.shape is not None:
        return element_count(type_.shape)
    return 0


def each_once(ins: Inputs, outs: Types) -> Traffic:
    """Return the compulsory traffic: every distinct input read once, every output written once.

    A tensor of unknown size counts 0 bytes, and the traffic is then a lower bound (``is_bound``).
    """
    sizes: list[Dim] = []
    is_bound = False
    # an operand that is given twice, as in x * x, is read once
    for value in dict.fromkeys(v for v in ins if v is not None):
        nbytes = value.nbytes
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


def first_counted(_op: object, ins: Inputs, outs: Types) -> Extents:
    """Return ``e``, the elements of the first operand; some classes use it as `extents`."""
    return {"e": count(tensor(ins, 0))}


def normal_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Return ``axis`` counted from the front.

    Raises:
        ShapeError: it is outside ``-rank..rank-1``.
    """
    if not -rank <= axis < rank:
        raise ShapeError(f"{what} {axis} is outside rank {rank}")
    return axis + rank if axis < 0 else axis
