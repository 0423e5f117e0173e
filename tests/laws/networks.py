"""Random networks in text form, through the doors that users have."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

from hypothesis import strategies as st

from perfc import cli, testing
from perfc.ir import Module

WIDTHS = (4, 16, 64)
ROWS = 8
ELEMENTWISE = ("relu", "sigmoid", "tanh", "softmax")
RUNTIMES = ("eager", "ort", "tensorrt", "inductor")
TARGETS = ("a100", "t4", "xeon-gold-6226")


@dataclass(frozen=True)
class Network:
    """Lines of a module, in an order in which each reads earlier ones; the last is the output."""

    lines: tuple[str, ...]

    @property
    def module(self) -> Module:
        """Return the network with a symbolic number of rows."""
        return testing.module("%x: f32[n, 16]", *self.lines, n=ROWS)

    def renamed(self) -> Network:
        """Return the network with other names of all intermediate values."""
        return Network(tuple(re.sub(r"%v(\d+)", r"%other\1", line) for line in self.lines))

    def reordered(self, keys: Sequence[int]) -> Network:
        """Return the network in the order of the smallest keys whose operands are made."""
        *waiting, last = [*enumerate(self.lines[:-1]), (0, self.lines[-1])]
        made, lines = {"%x"}, list[str]()
        while waiting:
            ready = [row for row in waiting if {*operands(row[1])} <= made]
            one = min(ready, key=lambda row: (keys[row[0] % len(keys)], row[0]))
            waiting.remove(one)
            lines.append(one[1])
            made.add(one[1].partition(" ")[0])
        return Network((*lines, last[1]))


def operands(line: str) -> list[str]:
    """Return the names that a line reads."""
    return re.findall(r"%\w+", line.partition("=")[2])


@st.composite
def networks(draw: st.DrawFn, most: int = 6) -> Network:
    """Return networks of products, sums and functions, with residuals and fan-out."""
    widths, lines = {"%x": 16}, list[str]()
    for number in range(draw(st.integers(1, most))):
        value = draw(st.sampled_from(sorted(widths)))
        width, name = widths[value], f"%v{number}"
        other = draw(st.sampled_from(sorted(v for v in widths if widths[v] == width)))
        match draw(st.sampled_from(("product", "sum", *ELEMENTWISE))):
            case "product":
                into = draw(st.sampled_from(WIDTHS))
                lines.append(f"%w{number} = weight : f32[{width}, {into}]")
                call, width = f"matmul({value}, %w{number})", into
            case "sum":
                call = f"add({value}, {other})"
            case function:
                call = f"{function}({value})"
        lines.append(f"{name} = {call} : f32[n, {width}]")
        widths[name] = width
    # all values that nothing reads are used, so that no node is dead
    loose = [v for v in widths if not any(v in operands(line) for line in lines)]
    sums = [f"%s{i} = reduce_sum({v}) {{keepdims=1}} : f32[1, 1]" for i, v in enumerate(loose)]
    names = [line.partition(" ")[0] for line in sums]
    joined = f"%y = concat({', '.join(names)}) {{axis=0}} : f32[{len(names)}, 1]"
    return Network((*lines, *sums, joined))


def printed(*arguments: str, code: int | None = 0) -> Any:
    """Return the JSON that a command prints; its exit code is checked if one is given."""
    out = StringIO()
    with redirect_stdout(out):
        isolated = [] if "--config" in arguments else ["--isolated"]
        found = cli.run([*arguments, "--output-format", "json", *isolated])
    assert code is None or found == code
    return json.loads(out.getvalue())


def without(tree: object, names: frozenset[str]) -> object:
    """Return a tree of JSON without some fields, such as names and places."""
    match tree:
        case Mapping():
            return {k: without(v, names) for k, v in tree.items() if k not in names}
        case list() | tuple():
            return [without(v, names) for v in tree]
        case _:
            return tree
