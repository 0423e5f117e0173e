"""Analyses of both sides of a diff, with equal sizes for symbols of different names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from perfc.api import Report, analyze
from perfc.deployment import Deployment
from perfc.deployment.extents import stood_for
from perfc.deployment.reading import read
from perfc.errors import ParseError, PerfcError
from perfc.ir import Module, Poly, TensorType
from perfc.ir.syntax.names import symbol_key, symbol_name

from ..code.model import CodeModel
from .revision import opened


@dataclass(frozen=True)
class SideSetting:
    """Setting of one side.

    Args:
        model: a file, a file at a revision, or a PyTorch module.
        deployment: deployment; its extents may use symbol names of the other model.
        values: contents of inputs that determine shapes.
    """

    model: str | CodeModel
    deployment: Deployment = field(default_factory=Deployment)
    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def dims(self) -> Mapping[str, int]:
        """Return the values of symbolic extents."""
        return self.deployment.dims

    @contextmanager
    def opened(self) -> Iterator[str | Module]:
        """Open the model as a path within the context, or as the module that PyTorch exports.

        Raises:
            PerfcError: as `revision.opened` and `CodeModel.read`.
        """
        if isinstance(self.model, CodeModel):
            with self.named(str(self.model)):
                module = self.model.read(self.dims)
            yield module
            return
        with opened(self.model) as path:
            yield path

    def read(self, path: str | Module) -> Module:
        """Read the module of the file at ``path``.

        Raises:
            PerfcError: if it cannot be read.
        """
        with self.named(path):
            return read(path)[0]

    def report(self, path: str | Module, dims: Mapping[str, int]) -> Report:
        """Analyze the file at ``path``.

        Raises:
            PerfcError: as for ``perfc.analyze``, with the model as the user named it.
        """
        with self.named(path):
            by_name = {symbol_name(key): size for key, size in dims.items()}
            deployment = replace(self.deployment, dims=by_name)
            return analyze(path, deployment=deployment, values=self.values)

    @contextmanager
    def named(self, path: str | Module) -> Iterator[None]:
        """Let errors name the model as the user did, even if ``path`` is a copy of it."""
        name = str(self.model)
        try:
            yield
        except PerfcError as error:
            if isinstance(path, str) and path != name:
                error.where = error.where.replace(path, name)
                error.message = error.message.replace(path, name)
            if name not in str(error):
                error.where = f"{name}: {error.where}" if error.where else name
            raise


def both(old: SideSetting, new: SideSetting) -> tuple[Report, Report]:
    """Analyze both sides.

    Symbols at the same position of an input are the same extent under different names and get the
    same value.

    Raises:
        ParseError: if neither model has a given symbol.
        PerfcError: as for ``perfc.analyze``.
    """
    with old.opened() as first, new.opened() as second:
        # a size may be given by the name that its symbol has in the other file: such sizes are
        # resolved once the symbols of both are known
        modules = old.read(first), new.read(second)
        twins = same_symbols(*modules)
        back = {b: a for a, b in twins.items()}
        for_old = wanted(old.dims, modules[0], back)
        for_new = wanted(new.dims, modules[1], twins)
        declared = {s.name for m in modules for s in m.symbols}
        for module, side in zip(modules, (old, new), strict=True):
            declared |= stood_for(module, side.dims).keys()
        for name in sorted({*old.dims, *new.dims}):
            if symbol_key(name) not in declared:
                names = ", ".join(sorted(declared))
                hint = f"their symbols: {names}" if names else "they have no symbols"
                raise ParseError(f"no symbol {name!r} in either model", where="--dim", hint=hint)
        left = old.report(first, for_old)
        right = new.report(second, for_new)
        assumed = {a: b for a, b in twins.items() if a not in for_old and b not in for_new}
        # twins without a given size may have unlike default sizes: both get the larger one, which
        # leaves no extent empty on either side
        raised_old = {a: right.env[b] for a, b in assumed.items() if left.env[a] < right.env[b]}
        raised_new = {b: left.env[a] for a, b in assumed.items() if left.env[a] > right.env[b]}
        if raised_old:
            left = old.report(first, {**for_old, **raised_old})
        if raised_new:
            right = new.report(second, {**for_new, **raised_new})
    return left, right


def wanted(dims: Mapping[str, int], module: Module, names: Mapping[str, str]) -> dict[str, int]:
    """Return ``dims`` under the symbol names of ``module``.

    Names are, in order of precedence: its symbols, general names of axes (as "batch") that it has
    under another symbol, and symbols of the other model, of which ``names`` gives the twin here.
    """
    symbols = {s.name for s in module.symbols}
    given = {symbol_key(name): value for name, value in dims.items()}
    sizes = {name: value for name, value in given.items() if name in symbols}
    for name, axis in stood_for(module, dims).items():
        size = given.pop(name)
        sizes |= axis.symbols_at(size, name) or {name: size}
    for name, value in given.items():
        twin = names.get(name)
        if name not in symbols and twin in symbols and twin not in sizes:
            sizes[twin] = value
    return sizes


def same_symbols(old: Module, new: Module) -> dict[str, str]:
    """Return the new symbol by the old one at the same axis of the same input.

    Inputs are the same by name; by index if names differ and both models have equally many.
    """
    old_inputs, new_inputs = old.graph.inputs, new.graph.inputs
    by_name = {v.name: v for v in new_inputs}
    if all(v.name in by_name for v in old_inputs):
        pairs = [(v, by_name[v.name]) for v in old_inputs]
    elif len(old_inputs) == len(new_inputs):
        pairs = list(zip(old_inputs, new_inputs, strict=True))
    else:
        pairs = [(v, by_name[v.name]) for v in old_inputs if v.name in by_name]
    twins: dict[str, str] = {}
    for a, b in pairs:
        if not isinstance(a.type, TensorType) or not isinstance(b.type, TensorType):
            continue
        if a.type.rank == b.type.rank:
            for x, y in zip(a.type.shape or (), b.type.shape or (), strict=True):
                name, twin = name_of(x), name_of(y)
                # each symbol has one partner
                if name and twin and twin not in twins.values():
                    twins.setdefault(name, twin)
    return twins


def name_of(extent: object) -> str:
    """Return the name of an extent that is a plain symbol; otherwise empty."""
    return str(extent) if isinstance(extent, Poly) and str(extent).isidentifier() else ""
