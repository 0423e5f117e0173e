"""Parse modules from the text that :mod:`perfc.ir.syntax.text` prints, with errors by position."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from perfc.errors import ModelError, ParseError, suggestion

from .. import (
    NOWHERE,
    Dim,
    Graph,
    Known,
    Loc,
    ModelOrigin,
    Module,
    Node,
    Phase,
    SymbolDecl,
    Type,
    Value,
    Weight,
    symbol,
)
from ..attributes import build
from ..ops import mnemonics, operator
from .lexer import line_starts, parse_dim, position_in
from .names import symbol_name
from .terms import Terms
from .text import VERSION

__all__ = ["Parsed", "parse", "parse_dim", "parse_module", "read"]

MAX_CHARS = 64 << 20
"""Maximum length of a text; a model of 100,000 nodes takes a third of this."""


@dataclass(frozen=True, eq=False)
class Parsed:
    """A module with the facts in its text and the positions of its nodes.

    Args:
        module: the module.
        facts: facts (``!`` lines) by the analysis that produced them, by node, then by name.
        text: the whole text.
        path: its path, for errors.
        starts: offset in the text at which each node begins.
    """

    module: Module
    facts: dict[str, dict[Node, dict[str, object]]]
    text: str
    path: str
    starts: Mapping[Node, int]

    @cached_property
    def _lines(self) -> list[int]:
        return line_starts(self.text)

    def where(self, node: Node) -> str:
        """Return ``file:line:column`` of a node, "" if it was not in the text."""
        offset = self.starts.get(node)
        return "" if offset is None else f"{self.path}:{position_in(self._lines, offset)}"


def parse_module(text: str, path: str = "text") -> Module:
    """Parse the module in ``text``.

    Raises:
        ParseError: with file, line and column.
    """
    return parse(text, path).module


def parse(text: str, path: str = "text") -> Parsed:
    """Parse the module in ``text``, its facts, and the positions of its nodes.

    Raises:
        ParseError: with file, line and column.
    """
    if len(text) > MAX_CHARS:
        raise ParseError(f"longer than {MAX_CHARS} characters", where=path)
    parser = _Parser(text, path)
    module = parser.module()
    return Parsed(module, parser.facts, text, path, parser.starts)


def read(path: str) -> Parsed:
    """Parse the module in the file at ``path``; ``-`` is standard input.

    Raises:
        ModelError: the file cannot be read.
        ParseError: with file, line and column.
    """
    try:
        if path == "-":
            return parse(sys.stdin.read(MAX_CHARS + 1), "<stdin>")
        with open(path, encoding="utf-8") as stream:
            return parse(stream.read(MAX_CHARS + 1), path)
    except OSError as error:
        raise ModelError(error.strerror or "cannot be read", where=path) from None
    except UnicodeDecodeError:
        raise ModelError("is not text in UTF-8", where=path) from None


@dataclass
class _Parser:
    """A parser by recursive descent, for one text.

    Args:
        text: the whole text.
        path: its path, for errors.
        lex: the tokens, read one after the other.
        symbols: declared symbols by printed name; ``lex`` resolves names in extents with it.
        scopes: values by name, of the innermost graph last.
        facts: as in `Parsed`.
        starts: as in `Parsed`.
    """

    text: str
    path: str
    lex: Terms = field(init=False)
    symbols: dict[str, Dim] = field(default_factory=dict)
    scopes: list[dict[str, Value]] = field(default_factory=list)
    facts: dict[str, dict[Node, dict[str, object]]] = field(default_factory=dict)
    starts: dict[Node, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lex = Terms(self.text, self.path, self.symbols)

    def module(self) -> Module:
        """Parse the whole text."""
        lex = self.lex
        lex.expect("perfir")
        if lex.token != str(VERSION):
            raise lex.error(f"text form {lex.token} is not known", hint=f"this is {VERSION}")
        lex.advance()
        lex.expect("module")
        name = lex.ref("@", "a name like @model")
        origin = self._origin()
        declared: list[SymbolDecl] = []
        while lex.at("dim") or lex.at("extent"):
            self._symbol(declared)
        start = lex.start
        lex.expect("graph")
        if lex.ref("@", "@main") != "main":
            raise lex.error("the outermost graph is @main", start)
        graph = self._graph(name)
        if lex.kind != "end":
            lex.unexpected("the end")
        return Module(graph, tuple(declared), origin)

    def _symbol(self, declared: list[SymbolDecl]) -> None:
        """Parse ``dim N in 1..64 = 8``, or ``extent u1 in 0..N``, which has no default."""
        lex = self.lex
        is_dim = lex.advance() == "dim"
        start = lex.start
        key = lex.take("name", "a symbol")
        if key in self.symbols:
            raise lex.error(f"symbol {key} is declared twice", start)
        lex.expect("in")
        lo = lex.integer()
        lex.expect("..")
        # a range without an upper limit ends at the next word or at ``=``
        is_open = any(lex.at(t) for t in ("=", "dim", "extent", "graph"))
        hi = None if is_open else lex.dim()
        try:
            parsed = symbol(symbol_name(key), lo, hi)
        except ValueError:
            raise lex.error(f"bad escape in the symbol {key}", start) from None
        # text has one spelling of each symbol, so that printing it again changes nothing
        if str(parsed) != key:
            raise lex.error(f"symbol {key} is written {parsed}", start)
        self.symbols[key] = parsed
        if is_dim:
            lex.expect("=")
            declared.append(SymbolDecl(key, lex.integer(), lo, hi))

    def _origin(self) -> ModelOrigin:
        """Parse where the module was read from, in braces."""
        start = self.lex.start
        printed = self.lex.braces()
        # one number is the version of ONNX's default domain, ""
        opset = printed.pop("opset", ())
        opsets = (("", opset),) if isinstance(opset, int) else opset
        # only the path is printed by another name
        names = {n: n for n in ("digest", "producer", "ir_version")} | {"source": "path"}
        for key in printed:
            if key not in names:
                raise self.lex.error(f"a module has no {key}", start)
        fields = {names[k]: v for k, v in printed.items()}
        return build(ModelOrigin, {**fields, "opsets": opsets}, self._fail(start, "module"))

    def _fail(self, start: int, what: str) -> Callable[[str, str], ParseError]:
        """Return the function by which `build` makes errors, here at ``start``."""
        return lambda message, hint: self.lex.error(f"{what}: {message}", start, hint)

    def _graph(self, name: str) -> Graph:
        """Parse inputs, statements and outputs, from the parenthesis after the name."""
        lex = self.lex
        lex.enter()
        self.scopes.append({})
        lex.expect("(")
        inputs: list[Value] = []
        while not lex.eat(")"):
            start, value_name = lex.start, lex.ref("%", "an input or ')'")
            lex.expect(":")
            inputs.append(self._define(value_name, start, *self.lex.typed()))
            if not lex.at(")"):
                lex.expect(",")
        lex.expect("{")
        nodes: list[Node] = []
        weights: list[Value] = []
        while not lex.eat("return"):
            self._statement(nodes, weights)
        outputs: list[Value] = []
        while lex.kind == "ref":
            start = lex.start
            outputs.append(self._use(lex.ref("%", "a value"), start))
            if not lex.eat(","):
                break
        lex.expect("}")
        self.scopes.pop()
        lex.depth -= 1
        return Graph(name, tuple(inputs), tuple(outputs), tuple(nodes), tuple(weights))

    def _define(
        self, name: str, start: int, type_: Type, known: Known | None, weight: Weight | None = None
    ) -> Value:
        """Add a value to the innermost scope; an error if an outer one has its name."""
        if any(name in scope for scope in self.scopes):
            raise self.lex.error(f"%{name} is defined twice", start)
        value = self.scopes[-1][name] = Value(name, type_, known, weight)
        return value

    def _use(self, name: str, start: int) -> Value:
        """Return the value of this name in the innermost scope that has one."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise self.lex.error(f"%{name} is used before it is defined", start)

    def _statement(self, nodes: list[Node], weights: list[Value]) -> None:
        """Parse a weight, a node, or facts about the previous node."""
        lex = self.lex
        start = lex.start
        if lex.eat("!"):
            if not nodes:
                raise lex.error("facts stand below a node", start)
            table = self.facts.setdefault(lex.take("name", "an analysis"), {})
            table[nodes[-1]] = self.lex.braces()
            return
        # the name of each result with its position in the text, None for an unused result ``_``
        results: list[tuple[str, int] | None] = []
        while lex.kind == "ref" or lex.at("_"):
            result_start = lex.start
            results.append(None if lex.eat("_") else (lex.ref("%", "a value"), result_start))
            if not lex.eat(","):
                lex.expect("=")
                break
        node_start = lex.start
        mnemonic = lex.take("name", "a node or 'return'")
        if mnemonic == "weight":
            if len(results) != 1 or results[0] is None:
                raise lex.error("a weight defines one value", start)
            weights.append(self._weight(*results[0]))
        else:
            nodes.append(self._node(results, mnemonic, node_start))
            self.starts[nodes[-1]] = node_start

    def _weight(self, name: str, start: int) -> Value:
        """Parse a weight after the word ``weight``, and define it."""
        printed = self.lex.braces()
        self.lex.expect(":")
        type_, known = self.lex.typed()
        fields: dict[str, object] = {
            "is_parameter": printed.pop("constant", False) is False,
            "is_state": printed.pop("state", False) is True,
            "is_resident": printed.pop("resident", False) is True,
        }
        for key, value in printed.items():
            if key not in ("bytes", "digest", "location", "shares"):
                raise self.lex.error(f"a weight has no {key}", start)
            fields["nbytes" if key == "bytes" else key] = value
        weight = build(Weight, fields, self._fail(start, "weight"))
        return self._define(name, start, type_, known, weight)

    def _node(self, results: list[tuple[str, int] | None], mnemonic: str, start: int) -> Node:
        """Parse a node after its mnemonic; ``results`` are names with positions, None for ``_``."""
        lex = self.lex
        try:
            cls = operator(mnemonic)
        except KeyError:
            raise lex.error(
                f"no operator {mnemonic}", start, suggestion(mnemonic, mnemonics(), "")
            ) from None
        lex.expect("(")
        inputs: list[Value | None] = []
        while not lex.eat(")"):
            operand_start = lex.start
            operand = None if lex.eat("_") else self._use(lex.ref("%", "an operand"), operand_start)
            inputs.append(operand)
            if not lex.at(")"):
                lex.expect(",")
        op = build(cls, self.lex.braces(), self._fail(start, mnemonic))
        outputs: list[Value | None] = []
        for i, result in enumerate(results):
            lex.expect("," if i else ":")
            if result is None:
                lex.expect("_")
                outputs.append(None)
            else:
                outputs.append(Value(result[0], *self.lex.typed()))
        loc = self._loc() if lex.eat("loc") else NOWHERE
        regions: list[Graph] = []
        if lex.eat("{"):
            while not lex.eat("}"):
                lex.expect("graph")
                regions.append(self._graph(lex.ref("@", "a name like @body")))
        # the results are defined after the regions, which cannot use the results of their node
        for result, value in zip(results, outputs, strict=True):
            if result is not None and value is not None:
                name, result_start = result
                if any(name in scope for scope in self.scopes):
                    raise lex.error(f"%{name} is defined twice", result_start)
                self.scopes[-1][name] = value
        return Node(op, tuple(inputs), tuple(outputs), tuple(regions), loc)

    def _loc(self) -> Loc:
        """Parse ``("name", "op type", expanded, phase, at "frame", in_file "path")``."""
        lex = self.lex
        lex.expect("(")
        name, op_type, is_expanded, phase = lex.string(), "", False, Phase.FORWARD
        frames: list[str] = []
        in_file = ""
        if lex.eat(","):
            op_type = lex.string()
        while lex.eat(","):
            if lex.eat("at"):
                frames.append(lex.string())
                continue
            if lex.eat("in_file"):
                in_file = lex.string()
                continue
            named_phase = next((p for p in Phase if lex.eat(p.value)), None)
            if named_phase is None:
                lex.expect("expanded")
                is_expanded = True
            phase = named_phase or phase
        lex.expect(")")
        return Loc(name, op_type, is_expanded, phase, tuple(frames), in_file)
