"""Classes of the graph: immutable values in single assignment, nodes with an operator, modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from .record import cached_entity, entity, record
from .symbolic.dim import Dim, symbols
from .symbolic.evaluate import evaluate
from .tensors.known import Known
from .tensors.types import DType, Shape, TensorType, Type

if TYPE_CHECKING:
    from .op import Op


@record
class Weight:
    """Properties of a stored tensor besides its type; never its data.

    Args:
        nbytes: bytes by the file or by the type, None if neither is known; 0 for a table that a
            kernel computes as it reads it.
        digest: SHA-256 of type and content if the content was small enough to read, else "".
        location: external file of the content, "" if it is inside the model.
        is_parameter: True for an initializer, False for a constant that an exporter wrote into a
            node.
        is_state: True for optimizer state, including master weights.
        shares: name of the stored tensor of which it is a view in another layout; "" if it has
            memory of its own.
        is_resident: True if it is in memory though no operator reads it.
    """

    nbytes: int | None = None
    digest: str = ""
    location: str = ""
    is_parameter: bool = True
    is_state: bool = False
    shares: str = ""
    is_resident: bool = False


@entity
class Value:
    """A tensor, sequence or optional; equality is identity.

    ``known`` is the content if it is known before execution; ``weight`` marks stored tensors.
    """

    name: str
    type: Type
    known: Known | None = None
    weight: Weight | None = None

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"

    @property
    def is_real(self) -> bool:
        """Return True if this is a tensor of real numbers."""
        return self.dtype.is_float

    @property
    def is_parameter(self) -> bool:
        """Return True for a stored tensor that is a parameter."""
        return self.weight is not None and self.weight.is_parameter

    @property
    def dtype(self) -> DType:
        """Return the element type; UNKNOWN if it is no tensor."""
        return self.type.dtype if isinstance(self.type, TensorType) else DType.UNKNOWN

    @property
    def shape(self) -> Shape | None:
        """Return the extents; None if it is no tensor or its rank is unknown."""
        return self.type.shape if isinstance(self.type, TensorType) else None

    @property
    def numel(self) -> Dim | None:
        """Return the number of elements; None if it is no tensor or its rank is unknown."""
        return self.type.numel if isinstance(self.type, TensorType) else None

    @property
    def nbytes(self) -> Dim | None:
        """Return the size of a tensor in memory; None if unknown."""
        return self.type.nbytes if isinstance(self.type, TensorType) else None


Inputs: TypeAlias = "tuple[Value | None, ...]"
"""Operands by position; None where an optional one is left out."""
Results: TypeAlias = Inputs


class Phase(Enum):
    """Part of a training step that a node belongs to."""

    FORWARD = "forward"
    LOSS = "loss"
    RECOMPUTE = "recompute"
    """Forward work done again because its results were not saved."""
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"

    __hash__ = object.__hash__  # members are unique; `Enum` hashes by name, which is slower


CHECKPOINTED = "torch/utils/checkpoint.py"
"""File of the first frame of recomputed nodes; its line number counts calls of checkpointing."""


@record
class Loc:
    """Origin of a node: its name and operator in the model file.

    Args:
        name: name in the model file, or with the path of its module in the program.
        op_type: operator in the model file.
        is_expanded: True for a node that is a part of a node of the file, such as one of a function
            body.
        phase: part of a training step; nodes of a model file are in the forward pass.
        frames: lines of code that construct its module and that call it, outermost first, such as
            ``pkg/model.py:42``.
        in_file: name in the model file if ``name`` is another one; else "".
    """

    name: str = ""
    op_type: str = ""
    is_expanded: bool = False
    phase: Phase = Phase.FORWARD
    frames: tuple[str, ...] = ()
    in_file: str = ""

    @property
    def source(self) -> str:
        """Return the innermost line of code of the node; "" if unknown."""
        return self.frames[-1] if self.frames else ""

    @property
    def checkpoint(self) -> str:
        """Return the call of activation checkpointing that the node is in; "" for none."""
        first = self.frames[0] if self.frames else ""
        return first if first.startswith(CHECKPOINTED) else ""

    @property
    def stored_name(self) -> str:
        """Return the name in the model file."""
        return self.in_file or self.name

    @property
    def call(self) -> str:
        """Return the name of the call of a PyTorch program whose part the node may be."""
        module, slash, name = self.name.rpartition("/")
        return module + slash + name.partition(".")[0]


NOWHERE = Loc()
"""Origin of a node that stands for nothing in a model file."""


@entity
class Node:
    """One application of an operator; an omitted input or an unused output is None.

    ``results`` are the outputs without unused ones; ``regions`` are subgraphs of control flow.
    """

    op: Op
    inputs: Inputs
    outputs: Results
    regions: tuple[Graph, ...] = ()
    loc: Loc = NOWHERE
    results: tuple[Value, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # computed once, as passes read the results of every node many times
        used = self.outputs
        if None in used:
            used = tuple([v for v in used if v is not None])
        object.__setattr__(self, "results", used)

    @property
    def name(self) -> str:
        """Return the name in the model file, or else the name of the first output."""
        if self.loc.name:
            return self.loc.name
        return self.results[0].name if self.results else ""


@cached_entity
class Graph:
    """Nodes in topological order between inputs and outputs; values of an outer graph may be used.

    ``weights`` are the stored tensors defined in this graph.
    """

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...] = ()
    weights: tuple[Value, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    @cached_property
    def producers(self) -> dict[Value, Node]:
        """Return the node that produces each value; inputs and weights have none."""
        return {v: node for node in self.nodes for v in node.results}

    @cached_property
    def weight_types(self) -> tuple[Type, ...]:
        """Return the types of the weights, each once."""
        return tuple(dict.fromkeys([v.type for v in self.weights]))

    @cached_property
    def free(self) -> frozenset[Value]:
        """Return the values that the graph and its regions use but do not define."""
        # an output may be a value of the outer graph that no node of this one reads
        used, defined = set(self.outputs), {*self.inputs, *self.weights}
        for node in self.nodes:
            used.update([v for v in node.inputs if v is not None], *[r.free for r in node.regions])
            defined.update(node.results)
        return frozenset(used - defined)

    @cached_property
    def users(self) -> dict[Value, tuple[Node, ...]]:
        """Return the nodes that read each value, including reads from inside a region."""
        seen: dict[Value, list[Node]] = {}
        for node in self.nodes:
            # each node once, even if it reads a value twice
            read = {*node.inputs, *captured(node)} if node.regions else dict.fromkeys(node.inputs)
            for v in read:
                if v is None:
                    continue
                if v in seen:
                    seen[v].append(node)
                else:
                    seen[v] = [node]
        return {v: tuple(nodes) for v, nodes in seen.items()}


def captured(node: Node) -> set[Value]:
    """Return the values that the regions of ``node`` use but do not define."""
    return {v for region in node.regions for v in region.free}


class Basis(Enum):
    """Reason for the value that is assumed for a symbol."""

    BATCH = "batch"
    SEQUENCE = "sequence"
    CACHE = "cache"
    IMAGE = "image"
    LATENT = "latent image"
    SOUND = "a second of sound"
    LEAST = "least that leaves no extent empty"
    FITTING = "fits the other extents"
    NOTHING = "nothing is known of it"

    __hash__ = object.__hash__  # members are unique; `Enum` hashes by name, which is slower

    def labelled(self, name: str) -> str:
        """Return a symbol's name with its axis, unless the name contains it: ``batch s72``."""
        is_axis = self in (Basis.BATCH, Basis.SEQUENCE)
        # three letters are enough to see the axis in a name: ``seq_len``
        names_axis = self.value[:3] in name.lower()
        return f"{self.value} {name}" if is_axis and not names_axis else name


@record
class SymbolDecl:
    """A symbol of the module: its range, and the value assumed if none is given.

    Args:
        name: its name in expressions.
        default: the assumed value.
        lo: minimum value.
        hi: maximum value, None if unbounded.
        basis: reason for the default.
        tie: the default in terms of other symbols, ``past + seq``; None if independent.
        is_bound: True if types contain the number instead of the symbol, so that formulas are valid
            only for this number.
    """

    name: str
    default: int
    lo: int = 1
    hi: Dim | None = None
    basis: Basis = Basis.NOTHING
    tie: Dim | None = None
    is_bound: bool = False

    @property
    def label(self) -> str:
        """Return the name with the axis it stands for: ``batch s72``."""
        return self.basis.labelled(self.name)


@record
class ModelOrigin:
    """The model file of a module.

    Args:
        path: path or name of the model.
        digest: SHA-256 of its content.
        producer: name and version of the exporter.
        ir_version: version of the format.
        opsets: operator sets, with their versions.
        side_files: other files from which small contents were read.
        assumed: approximation by which the model was read; "" if it was read exactly.
        trainer: deployment fields that the trainer of a program configures.
    """

    path: str = ""
    digest: str = ""
    producer: str = ""
    ir_version: int = 0
    opsets: tuple[tuple[str, int], ...] = ()
    side_files: tuple[str, ...] = ()
    assumed: str = ""
    trainer: tuple[tuple[str, str | int], ...] = ()

    @property
    def is_program(self) -> bool:
        """Return True for a program of PyTorch, whose nodes are named by their calls."""
        return self.producer.startswith("torch.export")


@cached_entity
class Module:
    """A model: one graph, the symbols of its types, and its origin."""

    graph: Graph
    symbols: tuple[SymbolDecl, ...] = ()
    origin: ModelOrigin = field(default_factory=ModelOrigin)

    @property
    def name(self) -> str:
        """Return the graph's name."""
        return self.graph.name

    @property
    def labels(self) -> dict[str, str]:
        """Return the display names of symbols: ``{"s72": "batch s72"}``."""
        return {s.name: s.label for s in self.symbols}

    def defaults(self, given: Mapping[str, int] | None = None) -> dict[str, int]:
        """Return values of symbols: those ``given``, else defaults, which may depend on others.

        See `assumed`.
        """
        return assumed(self.symbols, given or {})


def assumed(declared: Iterable[SymbolDecl], given: Mapping[str, int]) -> dict[str, int]:
    """Return values of symbols: those ``given``, else the defaults.

    The default of a tied symbol follows the values of the symbols in its tie.

    >>> from perfc.ir.symbolic.dim import symbol
    >>> past = SymbolDecl("past", 128)
    >>> total = SymbolDecl("total", 256, tie=symbol("past") + 128)
    >>> assumed((total, past), {"past": 7})
    {'total': 135, 'past': 7}
    """
    values: dict[str, int] = {}
    unresolved: list[SymbolDecl] = []
    for s in declared:
        values[s.name] = given.get(s.name, s.default)
        if s.tie is not None and s.name not in given:
            unresolved.append(s)
    # ties may depend on other tied symbols: in each round those follow whose symbols are resolved
    open_names = {s.name for s in unresolved}
    while unresolved:
        ready = [s for s in unresolved if open_names.isdisjoint(a.key for a in symbols(s.tie or 0))]
        for s in ready:
            # a difference of given values may be below the range of the symbol
            values[s.name] = max(evaluate(s.tie or 0, values), s.lo)
        open_names.difference_update(s.name for s in ready)
        # no progress: the rest is tied in a cycle, and such symbols keep their defaults
        unresolved = [s for s in unresolved if s.name in open_names] if ready else []
    return values


def walk(graph: Graph) -> Iterator[Node]:
    """Yield every node of ``graph`` and of the regions below it, outermost first."""
    for node in graph.nodes:
        yield node
        for region in node.regions:
            yield from walk(region)
