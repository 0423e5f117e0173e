"""Types as a runtime reports them, and the verdict on a predicted type.

Nothing in this file asks perfc anything: the element widths, the byte counts and the rules by
which a prediction is called wrong are written here a second time, on purpose.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

STRING = 8
# Width in bits of each ONNX element type, by its number in onnx.proto; a string has none.
BITS = {
    1: 32,
    2: 8,
    3: 8,
    4: 16,
    5: 16,
    6: 32,
    7: 64,
    9: 8,
    10: 16,
    11: 64,
    12: 32,
    13: 64,
    14: 64,
    15: 128,
    16: 16,
    17: 8,
    18: 8,
    19: 8,
    20: 8,
    21: 4,
    22: 4,
    23: 4,
    24: 8,
    25: 2,
    26: 2,
}


@dataclass(frozen=True)
class Symbol:
    """A dimension that is not a number: its text, the names in it, its value for given names."""

    text: str
    names: frozenset[str] = frozenset()
    at: Callable[[Mapping[str, int]], int | None] = field(
        default=lambda _: None, compare=False, repr=False
    )
    low: int | None = None
    high: int | None = None


class Env(dict[str, int]):
    """Values of symbols met so far; ``declared`` names those of the model's own inputs."""

    def __init__(self, declared: Mapping[str, int]) -> None:
        super().__init__(declared)
        self.declared = frozenset(declared)


Dim = int | Symbol | None


@dataclass(frozen=True)
class Tensor:
    """A tensor; `elem` is the ONNX element type, `shape` None when not even the rank is known."""

    elem: int
    shape: tuple[Dim, ...] | None
    nbytes: int | None = None


@dataclass(frozen=True)
class Sequence:
    """A sequence of `elem`; None when nothing is known of its elements."""

    elem: Type | None


@dataclass(frozen=True)
class Optional:
    """An optional `elem`."""

    elem: Type | None


@dataclass(frozen=True)
class Map:
    """A map from a key type to `value`."""

    key: int
    value: Type | None


Type = Tensor | Sequence | Optional | Map


class Verdict(StrEnum):
    """What a prediction is worth, best first."""

    COMPLETE = "complete"
    FORMULA = "formula"
    BOUNDED = "symbolic"
    UNKNOWN = "unknown"
    FAILED = "failed"
    WRONG = "wrong"


@dataclass(frozen=True)
class Judgement:
    """A verdict and, for anything but complete, the reason."""

    verdict: Verdict
    why: str = ""


def elem_of(array: object) -> int:
    """ONNX element type of a NumPy array or scalar, ml_dtypes included."""
    from onnx import helper

    dtype = getattr(array, "dtype", None)
    if dtype is None:
        dtype = np.asarray(array).dtype
    if dtype.kind in "OSUT":
        return STRING
    return int(helper.np_dtype_to_tensor_dtype(dtype))


def type_of(value: object) -> Type:
    """Type of a run-time value: NumPy array or scalar, TensorProto, list, dict or None."""
    if value is None:
        return Optional(None)
    if hasattr(value, "data_type") and hasattr(value, "dims"):
        return Tensor(int(value.data_type), tuple(value.dims))
    if isinstance(value, dict):
        keys, items = list(value), list(value.values())
        key = STRING if keys and isinstance(keys[0], str) else 7
        return Map(key, type_of(items[0]) if items else None)
    if isinstance(value, (list, tuple)):
        return Sequence(merge([type_of(v) for v in value]))
    shape = tuple(int(d) for d in np.shape(value))
    return Tensor(elem_of(value), shape)


def merge(types: list[Type]) -> Type | None:
    """The type all elements of a sequence share; dims that differ are None."""
    if not types:
        return None
    first = types[0]
    if not all(isinstance(t, Tensor) for t in types):
        return first
    shapes = [t.shape for t in types if isinstance(t, Tensor)]
    if any(s is None or len(s) != len(shapes[0] or ()) for s in shapes):
        return Tensor(first.elem, None) if isinstance(first, Tensor) else first
    dims = tuple(d[0] if len(set(d)) == 1 else None for d in zip(*shapes, strict=True))  # type: ignore[arg-type]
    return Tensor(first.elem, dims) if isinstance(first, Tensor) else first


def nbytes(tensor: Tensor) -> int | None:
    """Bytes of a tensor of known shape, sub-byte elements packed and rounded up once."""
    if tensor.shape is None or tensor.elem not in BITS:
        return None
    n = 1
    for d in tensor.shape:
        if not isinstance(d, int):
            return None
        n *= d
    return (n * BITS[tensor.elem] + 7) // 8


def judge(predicted: Type | None, truth: Type, env: Env) -> Judgement:
    """Verdict on one prediction; `env` collects what each symbol must be, over one model.

    A symbolic dimension is wrong only if it contradicts the truth: one symbol that would have to
    be two numbers, or a formula whose symbols are all known and that gives another number.
    """
    match predicted, truth:
        case None, _:
            return Judgement(Verdict.UNKNOWN, "type unknown")
        case Tensor(), Tensor():
            return _judge_tensor(predicted, truth, env)
        case (Sequence(a), Sequence(b)) | (Optional(a), Optional(b)):
            return _judge_element(a, b, env)
        case Map(k, a), Map(j, b):
            if k != j:
                return Judgement(Verdict.WRONG, f"map key {k}, is {j}")
            return _judge_element(a, b, env)
        # Runtimes hand an optional's content out bare, so the truth may lack the wrapper.
        case Optional(a), _:
            return _judge_element(a, truth, env)
    return Judgement(Verdict.WRONG, f"{show(predicted)}, is {show(truth)}")


def _judge_element(a: Type | None, b: Type | None, env: Env) -> Judgement:
    if a is None:
        return Judgement(Verdict.UNKNOWN if b is not None else Verdict.COMPLETE, "element unknown")
    if b is None:
        return Judgement(Verdict.COMPLETE)
    found = judge(a, b, env)
    # An element type is complete when kind and dtype are right: lengths may differ by element.
    if found.verdict in (Verdict.FORMULA, Verdict.BOUNDED, Verdict.UNKNOWN):
        return Judgement(Verdict.COMPLETE)
    return found


def _judge_tensor(p: Tensor, t: Tensor, env: Env) -> Judgement:
    said = f"{show(p)}, is {show(t)}"
    if p.elem != t.elem and p.elem != 0:
        return Judgement(Verdict.WRONG, "dtype: " + said)
    if p.shape is None or t.shape is None:
        return Judgement(Verdict.UNKNOWN, "rank unknown")
    if len(p.shape) != len(t.shape):
        return Judgement(Verdict.WRONG, "rank: " + said)
    for a, b in zip(p.shape, t.shape, strict=True):
        if isinstance(a, int) and isinstance(b, int) and a != b:
            return Judgement(Verdict.WRONG, "shape: " + said)
        if isinstance(a, Symbol) and isinstance(b, int) and _contradicts(a, b, env):
            return Judgement(Verdict.WRONG, f"symbol {a.text} cannot be {b}: " + said)
    if p.elem == 0:
        return Judgement(Verdict.UNKNOWN, "dtype unknown")
    if not all(isinstance(d, int) for d in p.shape):
        exact = all(_is_exact(a, b, env) for a, b in zip(p.shape, t.shape, strict=True))
        return Judgement(Verdict.FORMULA if exact else Verdict.BOUNDED, said)
    if p.nbytes is not None and p.elem != STRING and p.nbytes != nbytes(p):
        return Judgement(Verdict.WRONG, f"bytes {p.nbytes}, is {nbytes(p)}")
    return Judgement(Verdict.COMPLETE)


def _is_exact(dim: Dim, value: Dim, env: Env) -> bool:
    """A number, or a formula in the model's own symbols that gives the executed extent."""
    if not isinstance(dim, Symbol):
        return isinstance(dim, int)
    return dim.names <= env.declared and dim.at(env) == value


def _contradicts(dim: Symbol, value: int, env: Env) -> bool:
    if (dim.low is not None and value < dim.low) or (dim.high is not None and value > dim.high):
        return True
    if dim.names == {dim.text}:
        return env.setdefault(dim.text, value) != value
    if dim.names and dim.names <= env.keys():
        got = dim.at(env)
        return got is not None and got != value
    return False


def judge_all(
    predicted: Mapping[str, Type | None],
    truths: Mapping[str, Type],
    declared: Mapping[str, int] | None = None,
) -> dict[str, Judgement]:
    """Judge every value of one model; plain symbols first, so that formulas can be checked.

    ``declared`` maps the symbols of the model's inputs to what they were when it ran. A formula in
    them alone that gives the executed extent is a verdict of its own, not counted as complete: it
    is all there is to know, but a number was asked for.
    """
    env: Env = Env(declared or {})
    order = sorted(truths, key=lambda n: _formulas(predicted.get(n)))
    return {name: judge(predicted.get(name), truths[name], env) for name in order}


def _formulas(t: Type | None) -> int:
    if not isinstance(t, Tensor) or t.shape is None:
        return 0
    return sum(isinstance(d, Symbol) and d.names != {d.text} for d in t.shape)


def show(t: Type | None) -> str:
    """One short line for a type."""
    match t:
        case None:
            return "?"
        case Tensor(elem, shape):
            if shape is None:
                return f"{elem}[...]"
            dims = (
                d.text if isinstance(d, Symbol) else "?" if d is None else str(d) for d in shape
            )
            return f"{elem}[{','.join(dims)}]"
        case Map(key, value):
            return f"map<{key},{show(value)}>"
        case Sequence(elem) | Optional(elem):
            return f"{type(t).__name__.lower()}<{show(elem)}>"


@dataclass
class Tally:
    """Counts of verdicts, in all and by operator, with the first reasons kept."""

    total: Counter[Verdict] = field(default_factory=Counter)
    by_op: dict[str, Counter[Verdict]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: dict[tuple[str, Verdict], list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, op: str, case: str, found: Judgement) -> None:
        """Count one judgement."""
        self.total[found.verdict] += 1
        self.by_op[op][found.verdict] += 1
        if found.verdict is not Verdict.COMPLETE:
            self.reasons[op, found.verdict].append(f"{case}: {found.why}")

    def share(self, *verdicts: Verdict) -> float:
        """Share of the outputs that have one of these verdicts."""
        n = sum(self.total.values())
        return sum(self.total[v] for v in verdicts) / n if n else 0.0

    def bad(self) -> int:
        """Outputs that are wrong or that no answer was given for."""
        return self.total[Verdict.WRONG] + self.total[Verdict.FAILED]

    def line(self) -> str:
        """The counts on one line."""
        n = sum(self.total.values())
        parts = [f"{v.value} {self.total[v]}" for v in Verdict]
        return f"{n} outputs: {', '.join(parts)} ({100 * self.share(Verdict.COMPLETE):.2f} % right)"

    def table(self, shown: Iterable[Verdict], examples: int = 2) -> str:
        """One row an operator that has any of the shown verdicts, with examples."""
        shown = tuple(shown)
        rows = []
        for op in sorted(self.by_op):
            counts = self.by_op[op]
            if not any(counts[v] for v in shown):
                continue
            rows.append(f"{op:32}" + "".join(f"{v.value} {counts[v]:<5}" for v in Verdict))
            for v in shown:
                rows += [f"    {v.value}: {r}" for r in self.reasons[op, v][:examples]]
        return "\n".join(rows)
