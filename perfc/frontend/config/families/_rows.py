"""Read families that are rows of data: which keys, which mixer in which layer, which norms.

`decoders.toml` says what a row holds. A row is merged into that of the family it is ``like``.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from functools import cache, partial
from typing import Any

from perfc.errors import suggestion

from ..keys import LARGEST, MOST_LAYERS, Keys
from ..model import (
    Attention,
    Branch,
    DeltaNet,
    Experts,
    Indexer,
    LatentAttention,
    Layer,
    Mamba,
    Mamba2,
    Mlp,
    Norm,
    NormKind,
    OutputHead,
    PerLayerEmbedding,
    PerLayerInput,
    QueryKeyNorm,
    Residual,
    ResidualStreams,
    ShortConvolution,
    Stack,
    TokenEmbedding,
)
from ._expressions import KeyScope, names_of, words_of
from ._layers import ACTIVATIONS, KINDS, kinds_of

HERE = os.path.dirname(__file__)
PARTS: Mapping[str, type] = {
    c.__name__: c
    for c in (
        Attention,
        LatentAttention,
        DeltaNet,
        ShortConvolution,
        PerLayerInput,
        Mlp,
        Experts,
        Mamba,
        Mamba2,
    )
}
"""Classes of mixers that the entry ``is`` of a table names."""
INNER: Mapping[str, type] = {"Mlp | None": Mlp, "Indexer | None": Indexer}
"""Classes of parts of mixers, by the annotation of their field."""
LITERAL = frozenset(
    {"about", "like", "defaults", "names", "is", "kind", "kinds", "source", "without"}
)
"""Entries of rows that are no expressions."""
INSIDE = ("text_config", "language_config", "llm_config", "thinker_config")
"""Keys of the configuration of a language model inside another, the outermost last."""
BOUND = frozenset({"i", "layer", "count", "hidden", "this"})
"""Names in expressions that are no keys."""
Row = Mapping[str, Any]
"""A family, or a table of one, as a data file has it."""


@cache
def _tables() -> Mapping[str, Row]:
    """Return the rows of all data files; names with an underscore are no families."""
    tables: dict[str, Row] = {}
    for file in sorted(os.listdir(HERE)):
        if file.endswith(".toml"):
            with open(os.path.join(HERE, file), "rb") as source:
                tables.update(tomllib.load(source))
    return tables


@cache
def rows() -> Mapping[str, Row]:
    """Return the rows of all families, each with entries inherited through ``like``."""
    tables = _tables()
    return {name: _whole(name, tables) for name in tables if not name.startswith("_")}


def wrappers() -> Mapping[str, str]:
    """Return the families that wrap a language model, with the family of the language model."""
    return _tables()["_wrappers"]


def inside(keys: Keys) -> Keys | None:
    """Return the configuration inside one that wraps a language model's; None if there is none."""
    return next(filter(None, map(keys.inner, INSIDE)), None)


def _whole(name: str, read: Mapping[str, Row]) -> Row:
    """Return a row merged over the row that it is ``like``."""
    row = read[name]
    return merged(_whole(row["like"], read), row) if "like" in row else row


def merged(base: Row, row: Row) -> Row:
    """Return ``base`` with the entries of ``row``; tables in both are merged too."""
    result = dict(base)
    for key, value in row.items():
        are_tables = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if are_tables else value
    return result


@cache
def keys_of(family: str) -> frozenset[str]:
    """Return the keys that a row reads."""
    row = rows()[family]
    parts = [text for entry in row["residuals"] for text in entry["parts"]]
    used = {word for text in parts for word in words_of(text)}
    # a row may inherit a mixer that none of its layers uses: keys of that mixer are not read
    left_out = {n for n, e in row.items() if isinstance(e, dict) and "is" in e and n not in used}
    shown = {name: entry for name, entry in row.items() if name not in left_out}
    names_read = {n for text in _expressions(shown) for n in names_of(text)}
    if "layer_kind" in row:  # `kinds` reads it, no expression does
        names_read.add("layer_types")
    names = row.get("names", {})
    return frozenset(names.get(name, name) for name in names_read) - BOUND


def _expressions(entry: object) -> Iterator[str]:
    """Yield the expressions in an entry of a row, at any depth."""
    match entry:
        case str():
            yield entry
        case list():
            for item in entry:
                yield from _expressions(item)
        case dict():
            for name, item in entry.items():
                if name not in LITERAL:
                    yield from _expressions(item)


def reader_of(family: str) -> Callable[[Keys], tuple[Stack, ...]]:
    """Return the function that reads configurations of a family."""
    return partial(_read, family)


def _read(family: str, keys: Keys) -> tuple[Stack, ...]:
    """Return the stacks of a configuration; all keys of the row count as read."""
    result = _RowReader(keys, rows()[family]).stacks()
    # also keys of branches that were not evaluated
    keys.read |= keys_of(family)
    return result


class _RowReader:
    """Builds the stacks of one configuration.

    Args:
        keys: the configuration.
        row: the row of its family.
    """

    def __init__(self, keys: Keys, row: Row) -> None:
        self.keys, self.row = keys, row
        self.scope = KeyScope(keys, row.get("names", {}), row.get("defaults", {}))
        self.hidden = self.whole(row["hidden"])
        self.scope.bound["hidden"] = self.hidden
        self.distinct: dict[object, Any] = {}  # one object for equal parts

    def stacks(self) -> tuple[Stack, ...]:
        """Return the decoder.

        Raises:
            ModelError: a key is absent, wrong, or says what the row does not model.
        """
        row, scope = self.row, self.scope
        count = scope.bound["count"] = self.whole(row["layers"], least=0)
        for message, test in dict(row.get("refuse", ())).items():
            if scope.of(test):
                # {expression} in a message is filled in
                refusal = re.sub(r"\{(.+?)\}", lambda m: str(scope.of(m[1])), message)
                raise self.keys.unsupported(refusal)
        if count > MOST_LAYERS:
            # the error has the name of the configuration's key, which may differ from the row's
            name = next(names_of(row["layers"]))
            name = row.get("names", {}).get(name, name)
            raise self.keys.wrong(name, count, f"at most {MOST_LAYERS}")
        norm = self.norm()
        given = {"vocab": row["vocab"], "width": self.hidden, **row.get("embedding", {})}
        # no field of the class: the norm of the model's rows follows the embedding
        has_norm = given.pop("has_norm", False)
        embedding = self.part(TokenEmbedding, given, "embedding")
        embedding = replace(embedding, norm=norm) if has_norm else embedding
        last = norm if scope.of(row.get("has_last_norm", True)) else None
        head = self.part(OutputHead, {"width": row["vocab"], **row["head"]}, row["vocab"])
        layers = self.layers(count, norm)
        return (
            Stack(
                "layers",
                self.hidden,
                embedding,
                layers,
                norm=last,
                heads=(head,),
                is_decoder=True,
                per_layer=self.optional(PerLayerEmbedding, "per_layer", "width"),
                streams=self.optional(ResidualStreams, "streams", "count"),
            ),
        )

    def optional(self, part: type, name: str, extent: str) -> Any:
        """Return a part of the stack; None where the row or the configuration has none."""
        table = self.row.get(name)
        if table is None or not self.scope.of(table[extent]):
            return None
        return self.part(part, table, name)

    def norm(self) -> Norm:
        """Return the normalization of rows of the model's width."""
        table = dict(self.row["norm"])
        norm_kind = NormKind(table.pop("kind"))
        flags = {name: bool(self.scope.of(value)) for name, value in table.items()}
        return Norm(norm_kind, self.hidden, **flags)

    def layers(self, count: int, norm: Norm) -> tuple[Layer, ...]:
        """Return the layers; equal ones are one object."""
        bound = self.scope.bound
        distinct: dict[Layer, Layer] = {}
        made: dict[tuple[str, int], Layer] = {}
        # without the number of a layer in its expressions, layers of one kind are equal
        rest = {name: entry for name, entry in self.row.items() if name != "layer_kind"}
        is_numbered = any("i" in names_of(text) for text in _expressions(rest))
        for i, layer_kind in enumerate(kinds := self.kinds(count)):
            bound |= {"i": i, "layer": layer_kind}
            if (layer_kind, i * is_numbered) in made:
                continue
            layer = tuple(self.residual(entry, norm) for entry in self.row["residuals"])
            # a layer may lack a part, as an MLP; its residual is then empty
            layer = tuple(r for r in layer if r.branches)
            made[layer_kind, i * is_numbered] = distinct.setdefault(layer, layer)
        return tuple([made[kind, i * is_numbered] for i, kind in enumerate(kinds)])

    def kinds(self, count: int) -> tuple[str, ...]:
        """Return the kind of each layer, which the configuration may list."""
        pattern = self.row.get("layer_kind")
        if pattern is None:
            return ("full_attention",) * count
        if self.keys.get("layer_types") is not None:
            known = frozenset(self.row.get("kinds", KINDS))
            return kinds_of(self.keys, count, known, has_spare=self.row.get("spare_kinds", False))
        result = []
        for i in range(count):
            self.scope.bound["i"] = i
            result.append(self.scope.of(pattern))
        return tuple(result)

    def residual(self, entry: Row, norm: Norm) -> Residual:
        """Return the residual of an entry in the layer that is bound.

        The entry ``norms`` has places: before, each (branch), after (each branch), sum, last.
        """
        places = self.scope.of(entry.get("norms", self.row["norms"])).split()
        parts = [self.scope.of(name) for name in entry["parts"]]
        norm_at = dict.fromkeys(places, norm)
        branches = tuple(
            Branch(self.mixer(name), norm_at.get("each"), norm_at.get("after"))
            for name in parts
            if name
        )
        return Residual(branches, norm_at.get("before"), norm_at.get("last"), norm_at.get("sum"))

    def mixer(self, name: str) -> Any:
        """Return the mixer that a table of the row describes."""
        table = self.row.get(name)
        if table is None:
            raise self.keys.unsupported(f"no layer {name[:20]!r} in the family")
        return self.part(PARTS[table["is"]], table, name)

    def part(self, part: type, table: Row, name: str) -> Any:
        """Return a mixer, or a part of one, from a table."""
        values: dict[str, Any] = {}
        outer = self.scope.bound.get("this")
        self.scope.bound["this"] = values
        # in the order of the class: an expression may use fields before it, as ``this.name``
        for field in fields(part):
            entry = table.get(field.name)
            if isinstance(entry, dict):
                # the first entry of a table decides whether the part exists: 0 or null for none
                first = next(iter(entry.values()))
                inner = INNER[str(field.type)]
                values[field.name] = self.part(inner, entry, name) if self.scope.of(first) else None
            elif entry is not None:
                default = None if field.default is MISSING else field.default
                values[field.name] = self.field(str(field.type), entry, default)
        self.scope.bound["this"] = outer
        result = part(**values)
        if isinstance(result, Attention):
            self.keys.divided(result.heads, result.kv_heads, "groups of key heads")
            if result.rotary_dim > result.head_dim:
                share = result.rotary_dim / result.head_dim
                raise self.keys.wrong("partial_rotary_factor", share, "a share of a head")
        # equal mixers are one object, so that equal layers are lowered once
        return self.distinct.setdefault(result, result)

    def field(self, kind: str, entry: object, default: object) -> object:
        """Return the value of a field, as the annotation of the class requires.

        Raises:
            ModelError: the value is of another type.
        """
        match kind:
            case "int":
                # 0, for none, is valid only if the class has a default or the row ends in ``| 0``
                if default is not None or "| 0" in str(entry):
                    return self.whole(entry, least=0, default=0)
                return self.whole(entry)
            case "bool":
                result = self.scope.of(entry)
                if result is None or isinstance(result, bool):
                    return bool(default if result is None else result)
                raise self.wrong(entry, result, "true or false")
            case "Activation" | "Activation | None":
                return self.named(entry, ACTIVATIONS)
            case "QueryKeyNorm":
                return QueryKeyNorm[str(self.scope.of(entry)).upper()]
            case "NormKind":
                return NormKind(self.scope.of(entry))
        raise AssertionError(kind)

    def named(self, entry: object, table: Mapping[str, Any]) -> Any:
        """Return the item of a table that an expression names."""
        result = self.scope.of(entry)
        if isinstance(result, str) and result in table:
            return table[result]
        what = f"no activation {str(result)[:40]!r}"
        raise self.keys.unsupported(what, suggestion(str(result), table))

    def whole(self, entry: object, least: int = 1, default: int | None = None) -> int:
        """Return a whole number of ``least`` or more.

        Raises:
            ModelError: the value is no such number.
        """
        result = self.scope.of(entry)
        if result is None:
            if default is not None:
                return default
            raise self.scope.missing(next(iter(names_of(str(entry)))))
        is_number = isinstance(result, int | float) and not isinstance(result, bool)
        if not is_number or result != result // 1:
            raise self.wrong(entry, result, "a whole number")
        if not least <= result <= LARGEST:
            raise self.wrong(entry, result, f"{least} to {LARGEST}")
        return int(result)

    def wrong(self, entry: object, result: object, wanted: str) -> Exception:
        """Build the error for an expression whose value is of another kind."""
        names = [n for n in names_of(str(entry)) if n not in self.scope.bound]
        name = next((n for n in names if self.scope.value(n) is not None), "?")
        return self.keys.wrong(self.scope.names.get(name, name), result, wanted)
