"""Parse types of values, known contents and attributes of operators in the text form."""

from __future__ import annotations

import math

from ..symbolic.dim import Dim, Poly
from ..tensors.known import MAX_ELEMENTS, Item, Known
from ..tensors.types import (
    BY_CODE,
    MAX_ITEMS,
    UNKNOWN,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
)
from .lexer import Lexer

WORDS: dict[str, object] = {
    "true": True,
    "false": False,
    "none": None,
    "inf": math.inf,
    "nan": math.nan,
}
"""Values of words; negative infinity is read after its sign (`Terms._number`)."""


class Terms(Lexer):
    """Reads types, contents and attributes of the text form."""

    __slots__ = ()

    def typed(self) -> tuple[Type, Known | None]:
        """Read a type, and the content after ``=``."""
        type_ = self.value_type()
        if not self.eat("="):
            return type_, None
        start = self.start
        items: list[Item] = []
        shape = self._items(items, start)
        # an empty content is printed as ``[]`` for any extents, such as [0, 3]: the type has them
        if not items and isinstance(type_, TensorType) and type_.shape is not None:
            extents = tuple(d for d in type_.shape if isinstance(d, int))
            if len(extents) == len(type_.shape) and 0 in extents:
                shape = extents
        return type_, Known(shape, tuple(items))

    def _items(self, items: list[Item], start: int) -> tuple[int, ...]:
        """Add the elements of nested brackets to ``items``; return their shape."""
        if not self.eat("["):
            if len(items) >= MAX_ELEMENTS:
                raise self.error(f"more than {MAX_ELEMENTS} elements", start)
            items.append(self._item())
            return ()
        self.enter()
        rows: list[tuple[int, ...]] = []
        while not self.eat("]"):
            rows.append(self._items(items, start))
            if rows[-1] != rows[0]:
                raise self.error("rows differ in length", start)
            if not self.at("]"):
                self.expect(",")
        self.depth -= 1
        return (len(rows), *(rows[0] if rows else ()))

    def _item(self) -> Item:
        """Read one element; ``_`` stands for an unknown one."""
        if self.eat("_"):
            return None
        start = self.start
        value = self.value()
        if isinstance(value, bool | int | float | str | Poly):
            return value
        raise self.error("expected an element", start)

    def value_type(self) -> Type:
        """Read ``f16[N, 3]``, ``seq<…>``, ``opt<…>``, ``map<…>`` or ``?``."""
        self.enter()
        result: Type
        start = self.start
        # ``?[N]`` is a tensor of an unknown element type, ``?`` a value of any type
        if self.eat("?"):
            result = self._tensor(DType.UNKNOWN) if self.at("[") else UNKNOWN
        else:
            code = self.take("name", "a type")
            if code in BY_CODE:
                result = self._tensor(BY_CODE[code])
            elif code not in ("seq", "opt", "map"):
                raise self.error(f"no type {code}", start)
            else:
                self.expect("<")
                result = self._container(code)
                self.expect(">")
        self.depth -= 1
        return result

    def _container(self, code: str) -> Type:
        """Read what stands between the angle brackets of a container."""
        match code:
            case "seq":
                return self._sequence(self.value_type())
            case "opt":
                return OptionalType(self.value_type())
            case _:
                start, key = self.start, self.advance()
                if key not in BY_CODE:
                    raise self.error(f"no element type {key}", start)
                self.expect(",")
                return MapType(BY_CODE[key], self.value_type())

    def _sequence(self, elem: Type) -> SequenceType:
        """Read what may follow the element type, such as ``; 2; f32[3], f32[4]``.

        First the length, ``?`` if unknown, then the types of the first elements.
        """
        length: Dim | None = None
        items: list[Type] = []
        if self.eat(";") and not self.eat("?"):
            length = self.dim()
        start = self.start
        if self.eat(";"):
            items.append(self.value_type())
            while self.eat(","):
                items.append(self.value_type())
        if len(items) > MAX_ITEMS:
            raise self.error(f"more than {MAX_ITEMS} types of elements", start)
        return SequenceType(elem, length, tuple(items) or None)

    def _tensor(self, dtype: DType) -> TensorType:
        """Read a shape in brackets; ``[*]`` is one of unknown rank."""
        self.expect("[")
        if self.eat("*"):
            self.expect("]")
            return TensorType(dtype, None)
        shape: list[Dim] = []
        while not self.eat("]"):
            shape.append(self.dim())
            if not self.at("]"):
                self.expect(",")
        return TensorType(dtype, tuple(shape))

    def braces(self) -> dict[str, object]:
        """Read ``{name=value, …}``, or nothing if there is none."""
        fields: dict[str, object] = {}
        if not self.eat("{"):
            return fields
        while not self.eat("}"):
            start, name = self.start, self.take("name", "a field or '}'")
            if name in fields:
                raise self.error(f"{name} is given twice", start)
            self.expect("=")
            fields[name] = self.value()
            if not self.at("}"):
                self.expect(",")
        return fields

    def value(self) -> object:
        """Read a field of an operator, or a fact."""
        if self.kind == "string":
            return self.string()
        if self.kind == "number" and not self.token.isdigit():
            return float(self.advance())
        if self.eat("["):
            return self._tuple()
        if self.kind == "name" and self.token in WORDS:
            return WORDS[self.advance()]
        if self.kind == "name" and self.token in ("known", "type", "bytes"):
            return self._compound(self.advance())
        return self._number()

    def _number(self) -> object:
        """Read an extent, or a float after a sign."""
        if self.at("-"):
            after = self.peek()
            # a number with a point or an exponent is a float; -3 is an extent
            if after in ("inf", "nan") or (after[:1].isdigit() and not after.isdigit()):
                self.advance()
                return -float(self.advance())
        return self.dim()

    def _tuple(self) -> tuple[object, ...]:
        """Read values until ``]``."""
        self.enter()
        parts: list[object] = []
        while not self.eat("]"):
            parts.append(self.value())
            if not self.at("]"):
                self.expect(",")
        self.depth -= 1
        return tuple(parts)

    def _compound(self, word: str) -> object:
        """Read ``type(f32[N])``, ``bytes("00ff")`` or ``known(2)[1, N]`` after the word."""
        self.expect("(")
        result: object
        if word == "type":
            result = self.value_type()
        elif word == "bytes":
            start = self.start
            try:
                result = bytes.fromhex(self.string())
            except ValueError:
                raise self.error("bytes are hexadecimal", start) from None
        else:
            # it reads the closing parenthesis, after which the elements follow
            return self._known()
        self.expect(")")
        return result

    def _known(self) -> Known:
        """Read a content as an attribute: the shape, ``)``, and the elements.

        The elements are one list in row-major order, or nested lists.
        """
        start = self.start
        shape: list[int] = []
        while not self.eat(")"):
            shape.append(self.integer())
            if not self.at(")"):
                self.expect(",")
        items: list[Item] = []
        self._items(items, start)
        if math.prod(shape) != len(items) or min(shape, default=0) < 0:
            raise self.error(f"{len(items)} elements do not fill {shape}", start)
        return Known(tuple(shape), tuple(items))
