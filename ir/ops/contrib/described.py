"""Operators defined only by data: a table row each, with shapes as documented."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from perfc.common.fitted import data_next_to

from ... import (
    ABSENT,
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Op,
    Parts,
    Shape,
    TensorType,
    Traffic,
    Types,
    count,
    dim_sum,
    each_once,
    element_count,
    frozen,
    has,
    known,
    tensor,
)
from ...cost import formula_value
from ...symbolic.fresh import data_extent
from ...tensors.types import dtype_of

# name, mark, axes in brackets; of a result the source of its type, mark, axes
_OPERAND = re.compile(r"(\w+)([?*+]?)(?:\[([^\]]*)\])?")
_RESULT = re.compile(r"([^\s\[?]+)(\??)(?:\[([^\]]*)\])?")


@frozen
class Described(Op):
    """An operator whose shapes and work are written as text over letters.

    Shapes:  as in the row; ``...`` stands for leading axes, unbound letters depend on data.
    Work:    the row's formulas over letters, attributes, e elements of the first result, and
             ``rows`` of ``...``; else unknown.
    Traffic: each operand and result once, or the row's ``parts``; results updated in place are a
             bound.
    Source:  onnxruntime contrib_defs.cc and its siblings, version 1.32.
    """

    patterns: ClassVar[tuple[str, ...]] = ()
    """Axes of each operand, "" if the row does not give them."""
    made: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """Per result: the source of its element type, ``?`` if it is updated in place, and its axes.

    The source is the position of an operand whose type it has, the name of an element type, or a
    formula, such as the name of an attribute, whose value is ONNX's number of the type.
    """
    numbers: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes."""
    parts: ClassVar[Mapping[int, str]] = {}
    """Minimum bytes read of operands, over variables and w, the bytes of the whole operand."""
    logical: ClassVar[Mapping[int, str]] = {}
    """Elements of operands whose storage is packed, over variables."""

    def bound(self, ins: Inputs) -> tuple[dict[str, Dim], Shape | None]:
        """Return variables with their extents, and the axes of ``...``."""
        letters: dict[str, Dim] = {
            f"has_{n}": int(has(ins, i)) for i, n in enumerate(self.signature.names)
        }
        # attributes that are whole numbers are variables too; other ones cannot be extents
        letters |= {n: v for n in type(self).numbers if isinstance(v := getattr(self, n), int)}
        leading: Shape | None = None
        for i, pattern in enumerate(self.patterns):
            shape, names = tensor(ins, i).shape, pattern.split(",") if pattern else []
            has_leading = len(names) > 0 and names[0] == "..."
            names = names[has_leading:]  # without the three dots
            # "=t": the content of a one-element operand is the extent t, unless it is unknown
            if pattern.startswith("="):
                dims = getattr(known(ins, i), "dims", ())
                letters |= {pattern[1:]: d for d in dims if d is not None and len(dims) == 1}
            if not pattern or pattern.startswith("=") or shape is None or len(shape) < len(names):
                continue
            n_leading = len(shape) - len(names)
            if has_leading and leading is None:
                leading = shape[:n_leading]
            # a shape of another rank than its pattern binds nothing
            if has_leading or not n_leading:
                # the first operand that has a letter binds it: earlier values replace the new ones
                letters |= dict(zip(names, shape[n_leading:], strict=True)) | letters
        if leading is not None:
            letters |= {"rows": element_count(leading), "rank": len(leading)}
        return letters, leading

    def infer(self, ins: Inputs) -> Types:
        letters, leading = self.bound(ins)
        return tuple(
            TensorType(
                _dtype(source, ins, letters),
                tensor(ins, int(source)).shape if axes == "=" else _shape(axes, letters, leading),
            )
            for source, _, axes in self.made
        )

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # letters that only missing operands have are 0, so that their terms vanish
        absent = [p for i, p in enumerate(self.patterns) if not has(ins, i)]
        without: dict[str, Dim] = dict.fromkeys(_letters(" ".join(absent)), 0)
        letters = {**without, **self.bound(ins)[0], "e": count(outs[0])}
        # work with an unbound letter is unknown
        used = _letters(" ".join(self.formulas.values()))
        return {name: letters[name] for name in used} if used <= letters.keys() else {}

    def read_parts(self, ins: Inputs) -> Parts:
        if not self.parts:
            return {}
        letters, _ = self.bound(ins)
        sizes = {i: tensor(ins, i).nbytes or 0 for i, v in enumerate(ins) if v is not None}
        return {
            i: _value(self.parts[i], {**letters, "w": w}) if i in self.parts else w
            for i, w in sizes.items()
        }

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        results = zip(self.made, outs, strict=False)
        is_updated = any(mark for _, mark, _ in self.made)
        whole = each_once(ins, tuple(ABSENT if mark else out for (_, mark, _), out in results))
        read = dim_sum(self.read_parts(ins).values()) if self.parts else whole.read_bytes
        # an operator without formulas may run a subgraph, which moves more
        is_bound = whole.is_bound or is_updated or not self.is_counted
        return Traffic(read, whole.write_bytes, is_bound)

    def logical_elements(self, ins: Inputs) -> Parts:
        letters, _ = self.bound(ins)
        known_texts = {i: t for i, t in self.logical.items() if _letters(t) <= letters.keys()}
        return {i: _value(t, letters) for i, t in known_texts.items() if has(ins, i)}


def _letters(text: str) -> set[str]:
    """Return the names in a formula or in axes."""
    return set(re.findall(r"[A-Za-z_]\w*", text)) - {"min"}


def _dtype(source: str, ins: Inputs, letters: Extents) -> DType:
    """Return the element type that a source in ``made`` stands for."""
    if source.isdigit():
        return tensor(ins, int(source)).dtype
    # any other text is a formula over letters that gives ONNX's number of the type
    return DType[source] if source in DType.__members__ else dtype_of(_value(source, letters))


def _value(text: str, letters: Extents) -> Dim:
    """Return the value of a formula.

    With an unbound letter it is 0 where bytes are computed, else a data-dependent extent.
    """
    try:
        return formula_value(text, letters)
    except (NameError, ZeroDivisionError):
        # only `read_parts` binds w, so w marks a formula of bytes read, which are a minimum: 0. A
        # division by an extent or attribute that is 0 has no value either
        return 0 if "w" in letters else data_extent()


def _shape(axes: str, letters: Extents, leading: Shape | None) -> Shape | None:
    """Return the shape of a result with these axes, None if its rank is unknown."""
    if axes == "*":
        return None
    names = [a for a in axes.split(",") if a]
    if names[:1] != ["..."]:
        return tuple(_value(n, letters) for n in names)
    return None if leading is None else (*leading, *(_value(n, letters) for n in names[1:]))


def described(file: str, module: str) -> tuple[type[Op], ...]:
    """Return the operators of the TOML file next to a module, one row each.

    A row is named by the ONNX operator, with its domain; it has

    - ``mnemonic``: name in the text form; the first key, as an index of operators searches for it;
    - ``operands``: names separated by blanks, with mark and axes: ``X[...,k] bias?[n]``; ``=t``
      stands for content that is the extent t;
    - ``results``: operand or element type of each, with axes: ``0[...,n] I32[b]``; ``=`` stands
      for the shape of that operand, ``*`` for any;
    - ``does``: first line of the docstring;
    - ``kind``: kind of kernel; opaque by default;
    - ``parts``: minimum bytes read of operands;
    - ``logical``: elements of packed operands;
    - ``formulas``: work by unit, also over ``rank`` of ``...`` and ``has_name`` of operands; none
      if it is unknown, or if data only move;
    - ``attributes``: defaults of the attributes.

    Args:
        file: the module's file.
        module: its name.
    """
    return tuple([_described(source, module, row) for source, row in data_next_to(file).items()])


def _described(source: str, module: str, row: Mapping[str, Any]) -> type[Op]:
    """Return the operator of one row; ``source`` is its ONNX name with the domain."""
    terms = _OPERAND.findall(row["operands"])
    attributes, formulas = row.get("attributes", {}), row.get("formulas", {})
    kind = Kind[row.get("kind", "opaque").upper()]
    version = ", onnxruntime 1.32" if source.startswith("com.") else " of PyTorch"
    body = {
        "__module__": module,
        "__doc__": f"{row['does']}.\n\n    Source:  {source}{version}.",
        "__annotations__": {
            n: "Natural" if isinstance(v, int) else "float" for n, v in attributes.items()
        },
        **attributes,
        "mnemonic": row["mnemonic"],
        "onnx": source,
        "operands": " ".join(name + mark for name, mark, _ in terms),
        "patterns": tuple(axes for _, _, axes in terms),
        "made": tuple(_RESULT.findall(row["results"])),
        "numbers": tuple(attributes),
        **{k: {int(i): text for i, text in row.get(k, {}).items()} for k in ("parts", "logical")},
        "kind": kind,
        "formulas": formulas,
        "is_counted": bool(formulas) or kind is Kind.MOVEMENT,
    }
    return frozen(type(source.rpartition("::")[2], (Described,), body))
