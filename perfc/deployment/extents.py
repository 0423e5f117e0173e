"""Find and bind the batch and sequence extents of a model, whatever their names in its file.

Exporters number symbols (``s72``, ``s70``) or write constants. ``batch`` is the first dimension of
the inputs and ``seq`` the second of token inputs, in every model without a symbol of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from perfc.errors import ParseError, ShapeError, suggestion
from perfc.frontend.lowering.roles import SymbolPlace
from perfc.ir import (
    UNKNOWN,
    Basis,
    Dim,
    Module,
    SymbolDecl,
    TensorType,
    Value,
    record,
    symbol,
    symbols,
    walk,
)
from perfc.ir.graphs.rewrite import Rewriter, require_range, with_graph
from perfc.ir.symbolic.evaluate import solved
from perfc.ir.symbolic.sizes import bound_type, sizes_of
from perfc.ir.syntax.names import symbol_name

BATCH = "batch"
SEQUENCE = "seq"
SHOWN_INPUTS = 6
"""Maximum number of inputs in a message."""


def is_batch(place: SymbolPlace) -> bool:
    """Return True if an extent counts examples."""
    return place.axis == 0


def is_token_axis(place: SymbolPlace) -> bool:
    """Return True if an extent counts the tokens of an integer input."""
    return place.axis == 1 and place.rank == 2 and not place.dtype.is_float


def is_embedded_axis(place: SymbolPlace) -> bool:
    """Return True if an extent counts tokens of an embedded input."""
    return place.axis == 1 and place.rank == 3 and place.dtype.is_float


AXES: Mapping[str, tuple[str, Basis, tuple[Callable[[SymbolPlace], bool], ...]]] = {
    BATCH: ("batch", Basis.BATCH, (is_batch,)),
    SEQUENCE: ("sequence", Basis.SEQUENCE, (is_token_axis, is_embedded_axis)),
}
"""By common name of an extent: its description, what the symbol counts, and predicates of axes.

The predicates are tried in order; the first that holds for an axis of some input names the symbol.
"""


@record
class NamedExtent:
    """Extent of a model for one name of ``AXES``.

    Args:
        extents: extent by its symbol; an extent may be a multiple of its symbol.
        fixed: inputs with a constant extent, with its position.
        size: that constant; 0 if there is none.
    """

    extents: Mapping[str, Dim] = field(default_factory=dict)
    fixed: tuple[tuple[Value, int], ...] = ()
    size: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the symbols that determine the extent."""
        return tuple(self.extents)

    def symbols_at(self, size: int, name: str) -> dict[str, int]:
        """Return the values of the symbols at a size of the extent.

        Raises:
            ParseError: the extent cannot have this size, such as one that is no multiple of 8.
        """
        sizes: dict[str, int] = {}
        for key, extent in self.extents.items():
            value = solved(extent, key, size)
            if value is None:
                what = f"{name} = {size} is not {extent} of the inputs"
                raise ParseError(what, hint="the model allows no other size")
            sizes[key] = value
        return sizes

    @property
    def is_there(self) -> bool:
        """Return True if the model has such an extent."""
        return bool(self.extents or self.fixed)


def places_of(module: Module) -> list[tuple[Value, SymbolPlace]]:
    """Return every extent of the inputs, in order."""
    return [
        (v, SymbolPlace(v.name, axis, v.shape, v.dtype))
        for v in module.graph.inputs
        if v.shape is not None
        for axis in range(len(v.shape))
    ]


def axis_of(module: Module, name: str) -> NamedExtent:
    """Return the extents of a model for one name of ``AXES``."""
    _, basis, predicates = AXES[name]
    all_places = places_of(module)
    matching: list[tuple[Value, SymbolPlace]] = []
    # token inputs come before embedded inputs: in a model with both, tokens are the sequence
    for predicate in predicates:
        matching = matching or [(v, p) for v, p in all_places if predicate(p)]
    if name == SEQUENCE:
        # masks and positions have the extents of their tokens
        matching = [(v, p) for v, p in matching if not p.is_companion] or matching
    usual = _symbolic(module, matching, (basis, Basis.NOTHING))
    if usual and _symbolic(module, matching, (basis,)):
        return usual
    # the axis that the role of its symbol names, wherever it is: the second of [time, batch, width]
    named_by_role = _symbolic(module, all_places, (basis,), is_plain=True)
    fixed = _fixed(all_places, matching, name) if matching else NamedExtent()
    return named_by_role or usual or fixed


def _symbolic(
    module: Module,
    matching: Sequence[tuple[Value, SymbolPlace]],
    counted: Sequence[Basis],
    *,
    is_plain: bool = False,
) -> NamedExtent | None:
    """Return the symbols in some extents that count one of ``counted``; None without such a symbol.

    ``is_plain`` leaves out multiples of symbols.
    """
    declared = {s.name: s for s in module.symbols}
    extents: dict[str, Dim] = {}
    for _, place in matching:
        extent = place.shape[place.axis]
        # in a multiple of a symbol, as 2 * batch, the product counts, whatever the symbol itself is
        key, *others = [a.key for a in symbols(extent)] or [""]
        if key not in declared or others:
            continue
        if declared[key].basis in counted if key == str(extent) else not is_plain:
            extents.setdefault(key, extent)
    # an extent that is tied to another one gets its size from the other; the first one stays if
    # all are tied to each other
    keys = [k for k in extents if not _follows(declared[k], [*extents])] or [*extents][:1]
    return NamedExtent({k: extents[k] for k in keys}) if keys else None


def _follows(declared: SymbolDecl, keys: Sequence[str]) -> bool:
    """Return True if a symbol is tied to an expression in which one of ``keys`` occurs."""
    return declared.tie is not None and any(a.key in keys for a in symbols(declared.tie))


def _fixed(
    every: Sequence[tuple[Value, SymbolPlace]],
    matching: Sequence[tuple[Value, SymbolPlace]],
    name: str,
) -> NamedExtent:
    """Return the extents of the inputs with the same constant as the first matching extent."""
    first = matching[0][1]
    size = first.shape[first.axis]
    if not isinstance(size, int):
        return NamedExtent()
    matches = [(v, p.axis) for v, p in every if _is_same(p, first, size, name)]
    return NamedExtent({}, tuple(matches), size)


def _is_same(place: SymbolPlace, first: SymbolPlace, size: int, name: str) -> bool:
    """Return True if an extent counts the same batch or tokens as the first matching extent."""
    if place.axis != first.axis or place.shape[place.axis] != size:
        return False
    if name == BATCH:
        # an input of one element broadcasts; any other vector of that size is part of the batch
        return place.rank > 1 or size > 1
    # besides tokens of that type, such as positions, masks have an element for each token
    return place.rank == first.rank and (place.is_mask or place.dtype == first.dtype)


def sized(module: Module, dims: Mapping[str, object]) -> tuple[Module, dict[str, int]]:
    """Bind sizes to the symbols of a module, and return them by symbol key.

    A constant in the place of a requested ``batch`` or ``seq`` becomes a symbol of that name, if
    the model remains valid.

    Args:
        module: module as read, without types of intermediate values.
        dims: sizes by name of a symbol, ``batch`` or ``seq``.

    Raises:
        ParseError: an unknown name, or a constant that the model does not allow to change.
    """
    given = sizes_of(dims)
    declared = {s.name for s in module.symbols}
    # names that are no symbols of the model
    for name in [n for n in given if n not in declared]:
        size = given.pop(name)
        axis = axis_of(module, name) if name in AXES else NamedExtent()
        if not axis.is_there:
            raise no_symbol(module, name)
        if size < 1:
            raise ParseError(f"{name} = {size} is no extent", where="--dim", hint="1 or more")
        if axis.fixed and size != axis.size:
            module = opened(module, name, axis, size)
            given[name] = size
        # a size that is given for a symbol itself has precedence
        given = {**axis.symbols_at(size, name), **given}
    return with_sizes(module, given), given


def with_sizes(module: Module, given: Mapping[str, int]) -> Module:
    """Return the module with the given sizes of its symbols.

    Raises:
        ParseError: a size that the model does not allow.
    """
    require_ranges(module, given)
    # a size that is given also replaces a tie to other symbols
    if all(
        s.default == given.get(s.name, s.default) and not (s.tie and s.name in given)
        for s in module.symbols
    ):
        return module
    changed = (
        replace(s, default=given[s.name], tie=None) if s.name in given else s
        for s in module.symbols
    )
    return replace(module, symbols=tuple(changed))


def require_ranges(module: Module, given: Mapping[str, int]) -> None:
    """Raise an error for a size by symbol key that the model does not allow.

    Raises:
        ParseError: there is one.
    """
    for s in module.symbols:
        require_range(s, given.get(s.name, s.lo))  # the lower bound itself is in the range


def opened(module: Module, name: str, axis: NamedExtent, size: int) -> Module:
    """Replace a constant of the inputs by a symbol.

    Raises:
        ParseError: the model is valid for that constant only.
    """
    from perfc.passes.inference.sizes import Sizes
    from perfc.passes.manager import Analyses

    words, basis, _ = AXES[name]
    rewriter = Rewriter(module.graph)
    # declared types are valid for the constant only: they are inferred again
    for node in walk(module.graph):
        for v in node.results:
            if v.type is not UNKNOWN:
                rewriter.redefine(v, Value(v.name, UNKNOWN, v.known))
    for v, position in axis.fixed:
        rewriter.redefine(v, _reshaped(v, position, symbol(name, 1)))
    result = replace(
        with_graph(module, rewriter.result()),
        symbols=(*module.symbols, SymbolDecl(name, size, lo=1, basis=basis)),
    )
    # the model is valid if shapes can be inferred, and no output has the constant in an axis of the
    # batch or of a sequence, one of the first two, as before
    before = _outputs(Analyses().apply(Sizes(), module))
    try:
        after = _outputs(Analyses().apply(Sizes((name,)), result))
        unchanged = [
            f"output {output}: {type_} stays as it is"
            for output, type_ in after
            if (output, type_) in before and axis.size in (type_.shape or ())[:2]
        ]
        why = next(iter(unchanged), "")
    except ShapeError as error:
        why = f"{error.where}: {error.message}" if error.where else error.message
    if why:
        raise ParseError(
            f"the model is exported at {words} {axis.size} and cannot be run at {size}: {why}",
            where=f"--{name}",
            hint=f"export it with a symbol as its {words}",
        )
    return result


def _reshaped(v: Value, position: int, extent: Dim) -> Value:
    """Return an input with another extent at one position."""
    assert isinstance(v.type, TensorType)
    assert v.type.shape is not None
    shape = (*v.type.shape[:position], extent, *v.type.shape[position + 1 :])
    return Value(v.name, TensorType(v.type.dtype, shape), v.known)


def _outputs(typed: Module) -> list[tuple[str, TensorType]]:
    """Return the output tensors of a module with constant extents."""
    env = typed.defaults()
    types = ((v.name, bound_type(v.type, env)) for v in typed.graph.outputs)
    return [(name, type_) for name, type_ in types if isinstance(type_, TensorType)]


def no_symbol(module: Module, name: str) -> ParseError:
    """Return the error for a name without an extent in the model."""
    known = [symbol_name(s.name) for s in module.symbols]
    words = AXES[name][0] if name in AXES else ""
    what = f"no {words} in the inputs of the model" if words else f"no symbol {name!r} in the model"
    present = [n for n in AXES if n not in known and axis_of(module, n).is_there]
    shown = described(module)
    hint = f"{suggestion(name, [*known, *present], '')} its inputs: {shown}".lstrip()
    return ParseError(what, hint=hint if shown else "it has no inputs")


def described(module: Module) -> str:
    """Describe the inputs, their extents and the meaning of symbols.

    For example ``input_ids[s72, s70]: batch s72, sequence s70``.
    """
    inputs = module.graph.inputs
    shown = [
        f"{v.name}[{', '.join(map(str, v.shape))}]"
        for v in inputs[:SHOWN_INPUTS]
        if v.shape is not None
    ]
    more = f" and {len(inputs) - SHOWN_INPUTS} more" if len(inputs) > SHOWN_INPUTS else ""
    words = named(module)
    return ", ".join(shown) + more + (f": {words}" if words else "")


def named(module: Module) -> str:
    """Describe the symbols for batch and sequence; "" if there are none."""
    declared = {s.name for s in module.symbols}
    parts: list[str] = []
    for name, (words, _, _) in AXES.items():
        keys = () if name in declared else axis_of(module, name).keys
        parts += [f"{words} {key}" for key in keys]
    return ", ".join(parts)


def keyed(module: Module, dims: Mapping[str, object]) -> dict[str, int] | None:
    """Return sizes by symbol key.

    None if a name refers to a constant, which requires reading the model again.
    """
    axes = stood_for(module, dims)
    if not all(axis.keys for axis in axes.values()):
        return None
    given = sizes_of({name: size for name, size in dims.items() if name not in axes})
    for name, size in sizes_of({name: dims[name] for name in axes}).items():
        given = {**axes[name].symbols_at(size, name), **given}
    return given


def stood_for(module: Module, dims: Mapping[str, object]) -> dict[str, NamedExtent]:
    """Return the extents of ``AXES`` in ``dims`` that are not symbol names of the model."""
    declared = {s.name for s in module.symbols}
    axes = {n: axis_of(module, n) for n in dims if n in AXES and n not in declared}
    return {name: axis for name, axis in axes.items() if axis.is_there}


def batch_symbol(source: Module) -> str | None:
    """Return the symbol that counts examples; None without one."""
    is_named = any(s.name == BATCH for s in source.symbols)
    return BATCH if is_named else next(iter(axis_of(source, BATCH).keys), None)
