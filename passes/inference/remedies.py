"""Sizes that go together: what to change where inference with numbers ends, and how to say so."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from perfc.errors import ShapeError
from perfc.ir import (
    Basis,
    Dim,
    Env,
    Module,
    Node,
    Numbers,
    Poly,
    SymbolDecl,
    evaluate,
    interval,
    record,
    symbols,
)
from perfc.ir.graph import assumed
from perfc.ir.symbolic.dim import AtomKind
from perfc.ir.symbolic.sizes import MAX_EXTENT
from perfc.ir.syntax.names import symbol_name

from .sizing import Refusal, Settled, Sizing, extents_of

MOST_CHANGES = 256
"""Maximum changes of symbols, one after the other, before the search gives up."""
LARGEST = 1 << 24
"""Largest extent that is assumed where a symbol has no limit: it ends the doubling of a size."""
NEAR = 16
"""Number of next larger sizes that are tried one by one, before doubling: a size that must be a
multiple, as of heads, is usually among them."""
MOST_NAMED = 6
"""Maximum symbols that an error names, so that it stays one line."""
MOST_ITEMS = 64
"""Maximum elements of a content that are searched for extents: shapes have few, tables many."""
UNTOLD = (Basis.NOTHING, Basis.LEAST)
"""Bases of sizes of which nothing but a lower limit is known: these symbols change first."""

Change: TypeAlias = "tuple[SymbolDecl, ...]"
"""Symbols with other values assumed for them."""


@record
class Remedies:
    """Changes assumed sizes until all go together.

    Args:
        sizing: sizing of the module.
        given: symbols whose values stay.
    """

    sizing: Sizing
    given: Mapping[str, int]

    def mended(self, declared: Sequence[SymbolDecl]) -> Settled | Refusal:
        """Return values that go together, or where inference ends with the last that were tried."""
        symbols_by_name = {s.name: s for s in declared}
        for _ in range(MOST_CHANGES):
            env = assumed(symbols_by_name.values(), self.given)
            # empty extents come first: inference stops at them, whatever else does not fit
            change = self.filling(symbols_by_name, env)
            if not change:
                if self.sizing.holds_at(env):
                    return Settled(tuple(symbols_by_name.values()), env, None)
                outcome = self.sizing.attempt(env)
                if isinstance(outcome, Module):
                    return Settled(tuple(symbols_by_name.values()), env, outcome)
                change = self.fitting(symbols_by_name, outcome)
                if not change:
                    return outcome
            symbols_by_name.update((s.name, s) for s in change)
        # the last change counts if it is enough
        env = assumed(symbols_by_name.values(), self.given)
        outcome = self.sizing.attempt(env)
        if isinstance(outcome, Module):
            return Settled(tuple(symbols_by_name.values()), env, outcome)
        return outcome

    def filling(self, symbols_by_name: Mapping[str, SymbolDecl], env: Env) -> Change:
        """Return the symbol to enlarge so that extents which are empty or negative are neither."""
        at = Numbers(env)
        self.sizing.steps += len(self.sizing.formulas)
        short = [
            p for p in self.sizing.formulas if at(p) < 1 and self.is_short(p, symbols_by_name, env)
        ]
        for p in short:
            # each trial of a size takes steps; without any left, no symbol is tried
            for s in self.changeable(symbols_by_name, (p,)) if not self.sizing.is_exhausted else ():
                # one size for all short extents of the symbol, or for this one alone
                related = [q for q in short if s.name in names_in(q)]
                for goals in (related, [p]):
                    # defaults hold the values of this turn of the loops
                    def is_enough(n: int, s: SymbolDecl = s, goals: list[Poly] = goals) -> bool:
                        trial = Numbers(self.changed(symbols_by_name, (sized(s, n, Basis.LEAST),)))
                        return all(trial(q) >= 1 for q in goals)

                    size = least(is_enough, env[s.name], most(s))
                    if size is not None:
                        return (sized(s, size, Basis.LEAST),)
        return ()

    def is_short(self, p: Poly, symbols_by_name: Mapping[str, SymbolDecl], env: Env) -> bool:
        """Return True if an extent below 1 needs larger sizes.

        It may be 0 in two cases. The user gave one of its symbols as 0. Or it contains a minimum or
        maximum, as a slice that begins behind the end, and the meaning of its symbols is known, so
        that their sizes are plausible.
        """
        names = names_in(p)
        free = [symbols_by_name[n] for n in names if n not in self.given]
        if not free or any(self.given.get(n) == 0 for n in names):
            return False
        if evaluate(p, env) < 0 or not is_limited(p):
            return True
        return any(s.basis in UNTOLD for s in free)

    def changed(self, symbols_by_name: Mapping[str, SymbolDecl], change: Change) -> dict[str, int]:
        """Return the values of all symbols after a change, which others may be tied to."""
        self.sizing.steps += len(symbols_by_name)
        return assumed({**symbols_by_name, **{s.name: s for s in change}}.values(), self.given)

    def changeable(
        self, symbols_by_name: Mapping[str, SymbolDecl], dims: Collection[Dim]
    ) -> list[SymbolDecl]:
        """Return the symbols in ``dims`` that may change, those of which least is known first."""
        names = {n for d in dims for n in names_in(d)}
        free = [s for s in symbols_by_name.values() if s.name in names and s.name not in self.given]
        free.reverse()  # of equally known symbols, the last one first
        return sorted(free, key=lambda s: s.basis not in UNTOLD)

    def fitting(self, symbols_by_name: Mapping[str, SymbolDecl], refusal: Refusal) -> Change:
        """Return a change with which inference gets beyond the node that refused."""
        # an input is refused, not a node
        if refusal.position < 0:
            return ()

        def is_better(change: Change) -> bool:
            if self.sizing.is_exhausted:
                return False
            outcome = self.sizing.attempt(self.changed(symbols_by_name, change))
            return isinstance(outcome, Module) or outcome.position > refusal.position

        env = refusal.env
        _, typed_node = self.sizing.nodes[refusal.position]
        dims = dims_of(typed_node)
        free = self.changeable(symbols_by_name, dims)
        # without a symbol at the node, any symbol may be the cause
        if not free:
            free = [s for s in symbols_by_name.values() if s.name not in self.given]
        for s in equalities(free, dims, env, self.sizing.is_closed):
            if is_better((s,)):
                return (s,)
        for group in groups_of(free, env):
            size, limit = env[group[0].name], min(map(most, group))

            def enlarged(n: int, group: Change = group) -> Change:
                return tuple(sized(s, n, Basis.FITTING) for s in group)

            def is_enough(n: int, enlarged: Callable[[int], Change] = enlarged) -> bool:
                return is_better(enlarged(n))

            near = range(size + 1, min(size + NEAR, limit) + 1)
            larger = next((n for n in near if is_enough(n)), None)
            if larger is None:
                larger = least(is_enough, size, limit)
            if larger is not None:
                return enlarged(larger)
        return ()


def sized(s: SymbolDecl, size: int, basis: Basis) -> SymbolDecl:
    """Return a symbol with another assumed value, independent of other symbols."""
    return replace(s, default=size, tie=None, basis=basis)


def groups_of(free: Sequence[SymbolDecl], env: Env) -> Iterator[Change]:
    """Yield each symbol, then each group of symbols with the same meaning and value."""
    groups: dict[tuple[Basis, int], list[SymbolDecl]] = {}
    # one symbol at a time, then those of one meaning together
    for s in free:
        yield (s,)
        groups.setdefault((s.basis, env[s.name]), []).append(s)
    for group in groups.values():
        if len(group) > 1:
            yield tuple(group)


def names_in(d: Dim) -> set[str]:
    """Return the symbols in an extent."""
    return {a.key for a in symbols(d)}


def most(s: SymbolDecl, limit: int = LARGEST) -> int:
    """Return the largest value that is tried for a symbol."""
    hi = None if s.hi is None else interval(s.hi)[1]
    return limit if hi is None else min(hi, limit)


def is_limited(d: Dim) -> bool:
    """Return True if an extent contains a minimum or a maximum."""
    return isinstance(d, Poly) and any(
        a.kind in (AtomKind.MIN, AtomKind.MAX) or any(map(is_limited, a.args)) for a in d.atoms()
    )


def least(is_enough: Callable[[int], bool], size: int, most: int) -> int | None:
    """Return the least extent above ``size`` that is enough; None if none up to ``most`` is.

    If an extent is enough, all larger extents must be enough.
    """
    # doubling and bisection need few tries: each may infer the whole model
    low, high = size, max(size, 1) * 2
    while high <= most and not is_enough(high):
        low, high = high, high * 2
    if high > most:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def dims_of(node: Node) -> list[Dim]:
    """Return the extents of a node's operands and results, and those that its operands contain."""
    result: dict[Dim, None] = {}
    for v in (*node.inputs, *node.results):
        if v is not None:
            result.update(dict.fromkeys(extents_of(v.type)))
            if v.known is not None:
                items = v.known.items[:MOST_ITEMS]
                result.update(dict.fromkeys(i for i in items if isinstance(i, Poly)))
    return list(result)


def equalities(
    free: Sequence[SymbolDecl],
    dims: Sequence[Dim],
    env: Env,
    is_closed: Callable[[Dim], bool],
) -> Iterator[SymbolDecl]:
    """Yield each symbol with each value that makes two of the extents ``dims`` equal."""
    closed = [d for d in dims if is_closed(d)]
    for s in free:
        for d in closed:
            if s.name not in names_in(d):
                continue
            # near its value an extent is nearly always linear in a symbol; verified below
            value = evaluate(d, env)
            slope = evaluate(d, {**env, s.name: env[s.name] + 1}) - value
            for other in closed:
                if slope == 0 or s.name in names_in(other):
                    continue
                steps, rest = divmod(evaluate(other, env) - value, slope)
                size = env[s.name] + steps
                if rest or not steps or not max(s.lo, 1) <= size <= most(s, MAX_EXTENT):
                    continue
                if evaluate(d, {**env, s.name: size}) == evaluate(other, env):
                    yield replace(s, default=size, tie=tie_of(s, d, other), basis=Basis.FITTING)


def tie_of(s: SymbolDecl, d: Dim, other: Dim) -> Dim | None:
    """Return the formula of ``s`` for which ``d`` equals ``other``.

    None unless ``d`` is a sum with ``s`` itself as one term, and ``s`` occurs nowhere else in it.
    """
    if not isinstance(d, Poly):
        return None
    linear = [term for term in d.terms if [a.key for a in term[0]] == [s.name]]
    if [coefficient for _, coefficient in linear] != [1]:
        return None
    # d = s + rest equals other where s = other - rest
    tie = other - (d - Poly(tuple(linear)))
    return tie if isinstance(tie, Poly) and s.name not in names_in(tie) else None


def contradiction(sizing: Sizing, refusal: Refusal, given: Mapping[str, int]) -> ShapeError:
    """Return the error of sizes that do not go together: which, where, and what would do."""
    error, env = refusal.error, refusal.env
    node = sizing.nodes[refusal.position][1] if refusal.position >= 0 else None
    # an empty result explains more than the error further down that it leads to
    short = None if node is None else emptied(node, env)
    names = involved(sizing, [] if node is None else dims_of(node), refusal)
    shown = ", ".join(
        f"{symbol_name(n)} = {env[n]}{'' if n in given else ' (assumed)'}"
        for n in names[:MOST_NAMED]
    )
    if short is None:
        verb = "does not fit" if len(names) == 1 else "do not go together"
        message = f"{shown} {verb}: {error.message}"
    else:
        verb = "leaves" if len(names) == 1 else "leave"
        message = f"{shown} {verb} {short[0]} with extent {short[1]}"
    return ShapeError(message, where=error.where, hint=advice(sizing, names, env, given))


def involved(sizing: Sizing, dims: Sequence[Dim], refusal: Refusal) -> list[str]:
    """Return the symbols of the extents that an error names; else those of the node, or all."""
    # the list of operands behind the cause has numbers of extents that do fit
    message, _, _ = refusal.error.message.partition("; operands")
    numbers = {int(digits) for digits in re.findall(r"-?\b\d{1,18}\b", message)}
    env = {n: v for n, v in refusal.env.items() if n in sizing.names}
    closed = [d for d in dims if isinstance(d, Poly) and names_in(d) <= env.keys()]
    in_message = {n for d in closed if evaluate(d, env) in numbers for n in names_in(d)}
    names = in_message or {n for d in closed for n in names_in(d)}
    return [n for n in env if not names or n in names]


def emptied(node: Node, env: Env) -> tuple[str, int] | None:
    """Return the first result of a node that has an extent below 1, and that extent."""
    for v in node.results:
        for d in extents_of(v.type):
            if isinstance(d, Poly) and names_in(d) <= env.keys():
                extent = evaluate(d, env)
                # an extent of 0 is allowed if one of its symbols is 0
                has_zero = 0 in [env[n] for n in names_in(d)]
                if extent < (0 if has_zero else 1):
                    return v.name, extent
    return None


def shortened(
    sizing: Sizing, names: Collection[str], given: Mapping[str, int]
) -> tuple[str, int] | None:
    """Return the symbol whose given size is too large for the model, and the largest that fits.

    A sequence longer than the table of positions is such a size. None if several sizes are given,
    or if halving the size never makes it fit, as where it must equal another.
    """
    chosen = [n for n in names if n in given]
    if len(chosen) != 1:
        return None
    name = chosen[0]

    def fits(size: int) -> bool:
        env = assumed(sizing.read.symbols, {**given, name: size})
        return not sizing.is_exhausted and isinstance(sizing.attempt(env), Module)

    # a size that fits, by halving; the largest one, by bisection above it
    size = given[name] // 2
    while size > NEAR and not fits(size):
        size //= 2
    if size <= NEAR:
        return None
    beyond = least(lambda n: not fits(n), size, given[name])
    return name, (given[name] if beyond is None else beyond) - 1


def advice(sizing: Sizing, names: Collection[str], env: Env, given: Mapping[str, int]) -> str:
    """Return sizes that fit, as text, in place of those that do not."""
    smaller = shortened(sizing, names, given)
    if smaller is not None:
        return f"{symbol_name(smaller[0])} = {smaller[1]} would do"
    others = {n: v for n, v in given.items() if n not in names}
    declared = [
        replace(s, default=given[s.name], tie=None, basis=Basis.NOTHING) if s.name in given else s
        for s in sizing.read.symbols
    ]
    settled = Remedies(sizing, others).mended(declared)
    if not isinstance(settled, Settled):
        return "give other sizes: --dim NAME=N"
    changed = [
        s for s in settled.declared if s.name in names and settled.env[s.name] != env.get(s.name)
    ]
    sizes = settled.env
    parts = [
        f"{symbol_name(s.name)} {'at least' if s.basis is Basis.LEAST else '='} {sizes[s.name]}"
        for s in changed
    ]
    return f"{', '.join(parts)} would do" if parts else "give other sizes: --dim NAME=N"
