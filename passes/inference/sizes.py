"""Numbers for every symbol: they go together, leave no extent negative, and formulas hold there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from perfc.ir import (
    Dim,
    Env,
    Known,
    Module,
    OptionalType,
    Poly,
    SequenceType,
    TensorType,
    Type,
    UnknownType,
    Value,
    frozen,
    walk,
)
from perfc.ir.symbolic.sizes import bound_type

from .. import Analysis, Transform
from ..manager import Analyses
from .shapes import Recording
from .sizing import Refusal, Settled, Sizing

MOST_KEPT = 8
"""Maximum symbols that are tried one by one as formulas, where formulas of all do not hold.

Each trial infers the whole module once more.
"""


@frozen
class Sizes(Transform):
    """Shape inference with symbolic extents, checked by inference with the values of all symbols.

    It is an error if values contradict each other or the model, or make an extent negative. Values
    that the user did not give are changed until there is no error. If a formula is less precise
    than the number, or differs from it, as few symbols as possible are replaced by their values.

    Args:
        given: symbols whose values the user gave, so that they are not changed.
        formulas: symbols that stay in every formula, even where a number would be more precise.
    """

    given: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the module with every value typed, and values of its symbols that go together.

        Raises:
            ShapeError: operands of a node cannot go together, at these sizes or at any.
        """
        recording = Recording()
        typed = am.apply(recording, module)
        if not module.symbols:
            return typed
        sizing = Sizing(module, typed, recording.applications)
        given = {s.name: s.default for s in module.symbols if s.name in self.given}
        return numbered(sizing, settled(sizing, given), self.formulas)


@frozen
class Formulas(Analysis[Sizing]):
    """Sizing of a module that is typed already, cached for repeated inference at other sizes."""

    def run(self, module: Module, am: Analyses) -> Sizing:
        """Return the sizing of the typed module, which also stands for the module as read."""
        return Sizing(module, module)


def settled(sizing: Sizing, given: Mapping[str, int]) -> Settled:
    """Return the values of all symbols: as given, else as assumed or as the model requires.

    Raises:
        ShapeError: the given values contradict each other or the model, or no assumed values are
            consistent.
    """
    # most models go together at their default sizes, without a search
    env = sizing.read.defaults(given)
    if sizing.is_filled(env) and sizing.holds_at(env):
        return Settled(sizing.read.symbols, env, None)
    from .remedies import Remedies, contradiction

    # the budget of the search begins here
    sizing.steps = 0
    outcome = Remedies(sizing, given).mended(sizing.read.symbols)
    if isinstance(outcome, Refusal):
        raise contradiction(sizing, outcome, given)
    return outcome


def with_numbers(module: Module, typed: Module, given: Mapping[str, int]) -> Module:
    """Return a module typed with numbers for some symbols, or ``typed`` if its formulas agree.

    Args:
        module: the module as read.
        typed: the module with types in formulas.
        given: the numbers.

    Raises:
        ShapeError: the numbers contradict each other or the model.
    """
    sizing = Sizing(module, typed)
    numeric = sizing.attempt(given)
    if isinstance(numeric, Refusal):
        from .remedies import contradiction

        raise contradiction(sizing, numeric, given)
    return typed if holds(typed, numeric, given) else numeric


def numbered(sizing: Sizing, values: Settled, formulas: Collection[str] = ()) -> Module:
    """Return the typed module, with numbers for the symbols whose formulas do not hold."""
    numeric, env = values.numeric, values.env
    if numeric is None or holds(sizing.typed, numeric, env):
        return replace(sizing.typed, symbols=values.declared)
    bound = {n: v for n, v in env.items() if n not in formulas}
    result = numeric if len(bound) == len(env) else sizing.attempt(bound)
    # with numbers for all symbols the module is right; one symbol after the other becomes free
    for name in list(bound)[:MOST_KEPT]:
        fewer = {n: v for n, v in bound.items() if n != name}
        trial = sizing.attempt(fewer) if fewer else sizing.typed
        if isinstance(trial, Module) and holds(trial, numeric, env):
            bound, result = fewer, trial
    module = result if isinstance(result, Module) else sizing.typed
    declared = tuple(replace(s, is_bound=s.name in bound) for s in values.declared)
    return replace(module, symbols=declared)


def holds(typed: Module, numeric: Module, env: Env) -> bool:
    """Return True if formulas at ``env`` equal the result of inference with numbers.

    Control flow is also compared by the contents that decide it. With a symbol of 0, types must be
    equal: empty operands are special cases of operators, which formulas may not know.
    """
    is_exact = 0 in env.values()
    memo: dict[tuple[Type, Type], bool] = {}
    # both graphs have the same nodes in the same order
    for left, right in zip(walk(typed.graph), walk(numeric.graph), strict=True):
        for a, b in zip(left.outputs, right.outputs, strict=True):
            if a is None or b is None:
                continue
            pair = a.type, b.type
            if pair not in memo:
                memo[pair] = agrees(bound_type(a.type, env), b.type, is_exact=is_exact)
            if not memo[pair]:
                return False
        # numbers may decide a branch or a trip count that formulas leave open
        if left.regions and not all(map(as_well_known, left.inputs, right.inputs)):
            return False
    return True


def as_well_known(formula: Value | None, number: Value | None) -> bool:
    """Return True if as many elements of a content are known with symbols as with numbers."""
    return known_items(formula) >= known_items(number)


def known_items(v: Value | None) -> int:
    """Return the number of known elements of a value."""
    content: Known | None = None if v is None else v.known
    return 0 if content is None else sum(i is not None for i in content.items)


def agrees(a: Type, b: Type, *, is_exact: bool) -> bool:
    """Return True if ``a`` is consistent with ``b`` and at least as specific.

    With ``is_exact`` it must not be more specific either.
    """
    match a, b:
        case TensorType(), TensorType():
            if a.shape is None or b.shape is None:
                return b.shape is None
            return len(a.shape) == len(b.shape) and all(
                agrees_in(x, y, is_exact=is_exact) for x, y in zip(a.shape, b.shape, strict=True)
            )
        case SequenceType(), SequenceType():
            fits = b.length is None or agrees_in(a.length, b.length, is_exact=is_exact)
            # types of single items are compared as far as both sequences have them
            items = zip(a.items or (), b.items or (), strict=False)
            parts = ((a.elem, b.elem), *items)
            return fits and all(agrees(x, y, is_exact=is_exact) for x, y in parts)
        case OptionalType(elem), OptionalType(other):
            return agrees(elem, other, is_exact=is_exact)
        case _:
            return a == b or isinstance(b, UnknownType)


def agrees_in(a: Dim | None, b: Dim, *, is_exact: bool) -> bool:
    """Return True if extent ``a`` agrees with ``b`` in the sense of `agrees`."""
    if isinstance(b, Poly):
        return not is_exact or isinstance(a, Poly)
    return a == b
