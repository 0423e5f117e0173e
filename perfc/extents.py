"""The batch and the sequence of a model, whatever its file calls them.

Exporters count symbols up (``s72``, ``s70``) or write numbers. ``batch`` is the first extent of the
inputs and ``seq`` the second one of token inputs, in every model that has no symbol of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from perfc.errors import ParseError, ShapeError
from perfc.frontend.roles import Place, Roles
from perfc.ir.dim import Dim, Poly, symbol, symbols
from perfc.ir.graph import Basis, Module, SymbolDecl, Value, walk
from perfc.ir.names import symbol_name
from perfc.ir.record import record
from perfc.ir.rewrite import Rewriter, with_graph
from perfc.ir.sizes import bound_type, sizes_of
from perfc.ir.types import UNKNOWN, TensorType
from perfc.passes.manager import Analyses
from perfc.passes.sizes import Sizes

BATCH = "batch"
SEQUENCE = "seq"
SHOWN_INPUTS = 6
"""Inputs that a message names."""


def is_batch(place: Place) -> bool:
    """Whether an extent counts examples."""
    return place.axis == 0


def is_token_axis(place: Place) -> bool:
    """Whether an extent counts the tokens of an input of whole numbers."""
    return place.axis == 1 and place.rank == 2 and not place.dtype.is_float


def is_embedded_axis(place: Place) -> bool:
    """Whether an extent counts tokens that come as vectors."""
    return place.axis == 1 and place.rank == 3 and place.dtype.is_float


AXES: Mapping[str, tuple[str, Basis, tuple[Callable[[Place], bool], ...]]] = {
    BATCH: ("batch", Basis.BATCH, (is_batch,)),
    SEQUENCE: ("sequence", Basis.SEQUENCE, (is_token_axis, is_embedded_axis)),
}
"""Names that sizes may be given by: in words, what such symbols stand for, where they stand.

Of several places, the first that some input has counts.
"""


@record
class Axis:
    """What one name of ``AXES`` is in a model.

    Args:
        keys: symbols that are this extent.
        fixed: inputs whose extent is a number, with its position.
        size: that number; 0 where there is none.
    """

    keys: tuple[str, ...] = ()
    fixed: tuple[tuple[Value, int], ...] = ()
    size: int = 0

    @property
    def is_there(self) -> bool:
        """Whether the model has such an extent."""
        return bool(self.keys or self.fixed)


def places_of(module: Module) -> list[tuple[Value, Place]]:
    """Every extent of the inputs, in their order."""
    return [
        (v, Place(v.name, axis, v.type.shape, v.type.dtype))
        for v in module.graph.inputs
        if isinstance(v.type, TensorType) and v.type.shape is not None
        for axis in range(len(v.type.shape))
    ]


def roles_of(module: Module) -> Roles:
    """What the symbols of the inputs stand for."""
    places: dict[str, list[Place]] = {}
    for _, place in places_of(module):
        for atom in symbols(place.shape[place.axis]):
            places.setdefault(atom.key, []).append(place)
    return Roles(places, {s.name: s.lo for s in module.symbols})


def axis_of(module: Module, name: str) -> Axis:
    """The extents of a model that one name of ``AXES`` stands for."""
    _, basis, kinds = AXES[name]
    every = places_of(module)
    for is_such in kinds:
        found = [(v, p) for v, p in every if is_such(p)]
        if name == SEQUENCE:
            # masks and positions follow the tokens they go along with
            found = [(v, p) for v, p in found if not p.is_companion] or found
        if found:
            return _symbolic(module, found, basis) or _fixed(every, found, name)
    return Axis()


def _symbolic(module: Module, found: Sequence[tuple[Value, Place]], basis: Basis) -> Axis | None:
    """The symbols among some extents; None where the first extent is no symbol."""
    roles = roles_of(module)
    declared = {s.name: s for s in module.symbols}
    keys: list[str] = []
    for _, place in found:
        extent = place.shape[place.axis]
        key = str(extent) if isinstance(extent, Poly) else ""
        if key in declared and roles.basis(key) in (basis, Basis.NOTHING):
            keys.append(key)
    # what follows another extent gets its size from there
    free = [k for k in dict.fromkeys(keys) if not _follows(declared[k], keys)]
    return Axis(tuple(free or keys[:1])) if keys else None


def _follows(declared: SymbolDecl, keys: Sequence[str]) -> bool:
    return declared.tie is not None and any(a.key in keys for a in symbols(declared.tie))


def _fixed(
    every: Sequence[tuple[Value, Place]], found: Sequence[tuple[Value, Place]], name: str
) -> Axis:
    """Extents of the inputs that are all one number, the one of the first of them."""
    first = found[0][1]
    size = first.shape[first.axis]
    if not isinstance(size, int):
        return Axis()
    such = [(v, p.axis) for v, p in every if _is_same(p, first, size, name)]
    return Axis((), tuple(such), size)


def _is_same(place: Place, first: Place, size: int, name: str) -> bool:
    """Whether an extent is the batch, or counts the same tokens, as the first one does."""
    if place.axis != first.axis or place.shape[place.axis] != size:
        return False
    if name == BATCH:
        # an input of one element broadcasts; of any other number it goes along with the batch
        return place.rank > 1 or size > 1
    return place.rank == first.rank and (place.is_mask or place.dtype == first.dtype)


def sized(module: Module, dims: Mapping[str, object]) -> tuple[Module, dict[str, int]]:
    """The module with sizes for its symbols, and those sizes by the symbols' keys.

    A number that stands where ``batch`` or ``seq`` is asked for becomes a symbol of that name, if
    the model is then still one.

    Args:
        module: as it is read, types of intermediate values open.
        dims: sizes by name of a symbol, ``batch`` or ``seq``.

    Raises:
        ParseError: a name that is neither, or a number that the model does not let change.
    """
    given = sizes_of(dims)
    declared = {s.name for s in module.symbols}
    for name in [n for n in given if n not in declared]:
        size = given.pop(name)
        axis = axis_of(module, name) if name in AXES else Axis()
        if not axis.is_there:
            raise no_symbol(module, name)
        if size < 1:
            raise ParseError(f"{name} = {size} is no extent", where="--dim", hint="1 or more")
        if axis.fixed and size != axis.size:
            module = opened(module, name, axis, size)
            given[name] = size
        for key in axis.keys:
            given.setdefault(key, size)
    return with_sizes(module, given), given


def with_sizes(module: Module, given: Mapping[str, int]) -> Module:
    """The module with what is given as the sizes of its symbols."""
    if all(s.default == given.get(s.name, s.default) and not (s.tie and s.name in given)
           for s in module.symbols):  # fmt: skip
        return module
    changed = (
        replace(s, default=given[s.name], tie=None) if s.name in given else s
        for s in module.symbols
    )
    return replace(module, symbols=tuple(changed))


def opened(module: Module, name: str, axis: Axis, size: int) -> Module:
    """The module with a symbol in the place of a number of its inputs.

    Raises:
        ParseError: it holds for that number alone.
    """
    words, basis, _ = AXES[name]
    rewriter = Rewriter(module.graph)
    # declared types hold for the number
    for node in walk(module.graph):
        for v in node.results:
            if v.type is not UNKNOWN:
                rewriter.redefine(v, Value(v.name, UNKNOWN, v.known))
    for v, position in axis.fixed:
        rewriter.redefine(v, _reshaped(v, position, symbol(name, 1)))
    made = replace(
        with_graph(module, rewriter.result()),
        symbols=(*module.symbols, SymbolDecl(name, size, 1, basis=basis)),
    )
    before = _outputs(Analyses().apply(Sizes(), module))
    try:
        after = _outputs(Analyses().apply(Sizes((name,)), made))
        kept = [v for v in after if v in before and axis.size in (v[1].shape or ())[:2]]
        why = "".join(f"output {name}: {type_} stays as it is" for name, type_ in kept[:1])
    except ShapeError as error:
        why = f"{error.where}: {error.message}" if error.where else error.message
    if why:
        raise ParseError(
            f"the model is exported at {words} {axis.size} and cannot be run at {size}: {why}",
            where=f"--{name}", hint=f"export it with a symbol as its {words}",
        )  # fmt: skip
    return made


def _reshaped(v: Value, position: int, extent: Dim) -> Value:
    """An input with another extent at one position."""
    assert isinstance(v.type, TensorType)
    assert v.type.shape is not None
    shape = (*v.type.shape[:position], extent, *v.type.shape[position + 1 :])
    return Value(v.name, TensorType(v.type.dtype, shape), v.known)


def _outputs(typed: Module) -> list[tuple[str, TensorType]]:
    """The tensors that a module gives back, with numbers as their extents."""
    env = typed.defaults()
    types = ((v.name, bound_type(v.type, env)) for v in typed.graph.outputs)
    return [(name, type_) for name, type_ in types if isinstance(type_, TensorType)]


def no_symbol(module: Module, name: str) -> ParseError:
    """The error for a name that the model has nothing of."""
    known = [symbol_name(s.name) for s in module.symbols]
    words = AXES[name][0] if name in AXES else ""
    what = f"no {words} in the inputs of the model" if words else f"no symbol {name!r} in the model"
    there = [n for n in AXES if n not in known and axis_of(module, n).is_there]
    from difflib import get_close_matches

    close = get_close_matches(name, [*known, *there], 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    shown = described(module)
    return ParseError(what, hint=f"{hint}its inputs: {shown}" if shown else "it has no inputs")


def described(module: Module) -> str:
    """The inputs with their extents, and what the symbols of these are.

    As in ``input_ids[s72, s70]: batch s72, sequence s70``.
    """
    inputs = module.graph.inputs
    shown = [
        f"{v.name}[{', '.join(map(str, v.type.shape))}]"
        for v in inputs[:SHOWN_INPUTS]
        if isinstance(v.type, TensorType) and v.type.shape is not None
    ]
    more = f" and {len(inputs) - SHOWN_INPUTS} more" if len(inputs) > SHOWN_INPUTS else ""
    words = named(module)
    return ", ".join(shown) + more + (f": {words}" if words else "")


def named(module: Module) -> str:
    """The symbols of a model that are its batch and its sequence, in words; "" without any."""
    declared = {s.name for s in module.symbols}
    found: list[str] = []
    for name, (words, _, _) in AXES.items():
        keys = () if name in declared else axis_of(module, name).keys
        found += [f"{words} {key}" for key in keys]
    return ", ".join(found)


def keyed(module: Module, dims: Mapping[str, object]) -> dict[str, int] | None:
    """Sizes by the keys of the symbols that names stand for in a module.

    None where a name stands for a number, which only another reading of the model changes.
    """
    axes = stood_for(module, dims)
    if not all(axes.values()):
        return None
    given = sizes_of({name: size for name, size in dims.items() if name not in axes})
    sizes = sizes_of({name: dims[name] for name in axes})
    return {**{key: sizes[name] for name, keys in axes.items() for key in keys}, **given}


def stood_for(module: Module, dims: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Names of ``AXES`` among ``dims`` that the model has extents for and no symbol is called by.

    Each with the symbols it stands for; without any where the extent is a number.
    """
    declared = {s.name for s in module.symbols}
    axes = {n: axis_of(module, n) for n in dims if n in AXES and n not in declared}
    return {name: axis.keys for name, axis in axes.items() if axis.is_there}
