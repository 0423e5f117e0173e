"""Data of the report page as JSON: numbers of the views and layout of the graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.common.plain_text import printable
from perfc.ir.graphs.blocks import split
from perfc.view.chart import Chart, chart, marks_of, roofs_of
from perfc.view.chart.chart import AxisLimits
from perfc.view.chart.lines import lines_of
from perfc.view.chart.marks import MarkPoint
from perfc.view.report import Views, document
from perfc.view.report.formats.document import Amount, Cell, Name, Table
from perfc.view.report.formats.text import elided, is_numeric, scales_of, titled
from perfc.view.report.sections.kernels import groups

from .layers import Edge, drawing
from .modules import ModuleTree, tree
from .wiring import Wiring, wiring

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.ir import Value

LONGEST = 300
"""Maximum number of characters of a name from an untrusted file."""

Json = dict[str, object]


def payload(report: Report, views: Views) -> Json:
    """Return the data of one report; ``views`` are those of ``report``."""
    wires = wiring(report)
    return {
        "title": text(document(views, ()).title),
        "label": text(label(views)),
        "time_s": total_s(views),
        "kernels_s": kernels_s(views),
        "floor_s": views.summary.floor_s.value,
        "kernels": {**kernels(views), "served": report.kernels.served},
        "roofline": roofline(report, views),
        "memory": memory(views),
        "graph": graph(report, wires),
    }


def total_s(views: Views) -> float | None:
    """Return the predicted time of the run, or that at measured rates without a prediction."""
    amount = views.summary.roofline_time_s if views.prediction is None else views.prediction.time_s
    return amount.value


def kernels_s(views: Views) -> float:
    """Return the sum of the kernels; the run may differ."""
    return math.fsum(k.time_s for k in views.kernels)


def label(views: Views) -> str:
    """Return the file name of the model."""
    return (views.assumptions.path or views.assumptions.graph).replace("\\", "/").split("/")[-1]


def text(name: str) -> str:
    """Return a printable name of limited length."""
    # a name in an untrusted file may have megabytes: it is cut first, as the rest takes time
    return elided(printable(name[: 8 * LONGEST]), LONGEST)


def kernels(views: Views) -> Json:
    """Return every kernel in execution order, with the table's columns and its ceilings."""
    sections = document(views, ("kernels",), None).sections
    tables = [p for s in sections for p in s.parts if isinstance(p, Table)]
    # launching is no unit of the machine that could be busy
    names = [p.ceiling for p in views.pressure if p.ceiling != "launch"]
    rows = views.kernels
    return {
        "table": table(tables[0]) if tables else {"columns": [], "rows": []},
        "label": interned(lambda i: text(rows[i].label), len(rows)),
        "bound": interned(lambda i: rows[i].bound, len(rows)),
        "equal_to": [r.alike for r in rows],
        "frames": interned(lambda i: "\n".join(map(text, rows[i].frames)), len(rows)),
        "time_s": [r.time_s for r in rows],
        "low_s": [number(r.predicted.low_s) if r.predicted else None for r in rows],
        "high_s": [number(r.predicted.high_s) if r.predicted else None for r in rows],
        "floor_s": [number(r.floor_s) for r in rows],
        "ceilings": {
            n: [number(r.ceilings[n].sustained_s) if n in r.ceilings else 0 for r in rows]
            for n in names
        },
        "titles": {p.ceiling: p.title for p in views.pressure},
    }


def table(shown: Table) -> Json:
    """Return a table with unformatted numbers, which scripts scale, sort and shorten."""
    # a row is one kernel; for a roofline the scripts take the count from the points
    columns = [(i, c) for i, c in enumerate(shown.columns) if c.name != "count"]
    scales = scales_of(shown)
    return {
        "columns": [
            {
                "name": c.name,
                "title": titled(c, scales[i]),
                "legend": c.legend,
                "factor": scales[i].factor,
                "digits": scales[i].digits,
                "most": number(scales[i].most),
                "is_numeric": is_numeric(shown, i),
                "is_name": c.is_name,
            }
            for i, c in columns
        ],
        "rows": [[cell(row[i]) for i, _ in columns] for row in shown.rows],
    }


def cell(content: Cell) -> str | float | None:
    """Convert a cell to JSON; numbers stay numbers."""
    match content:
        case Name(full):
            return text(full.removeprefix("<- "))  # an arrow before names is for plain text only
        case Amount():
            return str(content)
        case str():
            return text(content)
        case None:
            return None
        case _:
            return number(content)


def number(value: float | None) -> float | None:
    """Round a number to six digits; numbers that are not finite become None."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(f"{value:.6g}")


def interned(at: Callable[[int], str], count: int) -> Json:
    """Return distinct texts, and for each position the index of its text, ``at(position)``."""
    places: dict[str, int] = {}
    indices = [places.setdefault(at(i), len(places)) for i in range(count)]
    return {"texts": list(places), "which": indices}


def roofline(report: Report, views: Views) -> Json:
    """Return ceilings as lines, and points per memory level for each group of equal kernels."""
    roofs = roofs_of(report.machine)
    marks = []
    first: dict[int, int] = {}
    for g in groups(views.kernels):
        # `marks_of` does not say which kernels a mark stands for: it gets one kernel of each group
        alone = replace(report.roofline, kernels=(report.roofline.kernels[g.first.index],))
        predicted = [report.prediction.kernels[g.first.index]] if g.first.predicted else None
        for mark in marks_of(alone, predicted).marks:
            counted = replace(mark, count=len(g.rows))
            marks.append(counted)
            first[id(counted)] = g.first.index  # equal marks may be different kernels
    drawn = chart(report.machine.name, roofs, marks)
    drawn = replace(drawn, window=AxisLimits(decades(drawn.window.x), decades(drawn.window.y)))
    return {
        "target": report.machine.name,
        "x": drawn.window.x,
        "y": drawn.window.y,
        "lines": list(lines(drawn)),
        "points": points(drawn.points, first),
        "moving": len(views.kernels) - sum(m.count for m in marks),  # kernels without arithmetic
    }


def points(drawn: Iterable[MarkPoint], kernel: Mapping[int, int]) -> list[list[object]]:
    """Return the data of points in the order of columns that ``scripts/roofline.js`` reads.

    ``kernel`` maps the ``id`` of a mark to the position of its kernel.
    """
    return [
        [
            kernel[id(p.mark)],
            p.level.title,
            number(p.intensity),
            number(p.flop_per_s),
            number(p.of_roof),
            p.mark.count,
            f"{p.mark.dtype} {p.mark.unit.value}",
        ]
        for p in drawn
    ]


def decades(limits: tuple[float, float]) -> tuple[float, float]:
    """Extend limits to powers of ten, where an axis has its ticks."""
    low, high = limits
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def lines(drawn: Chart) -> Iterator[Json]:
    """Yield the ceilings as line segments of the chart."""
    for line in lines_of(drawn):
        yield {
            "name": line.name,
            "level": line.level.title if line.level else "",
            "is_sustained": line.is_sustained,
            "at": [line.start, line.end],
            "text": f"{line.text} {line.rate.origin}",
        }


def memory(views: Views) -> Json:
    """Return the live bytes and the node of every step, the peak, and the capacity."""
    live = views.memory
    return {
        "live_bytes": [number(b) for b in live.live_bytes],
        "nodes": [text(n) for n in live.nodes],
        "peak": live.peak_step,
        "weight_bytes": live.weight_bytes.value,
        "capacity_bytes": views.summary.device_capacity_bytes,
    }


def graph(report: Report, wires: Wiring) -> Json:
    """Return nodes and modules with their positions in the module and among all nodes."""
    root = tree([split(n.name)[:-1] for n in wires.nodes], report.source.name or "model")
    modules = [root]
    # the list grows while it is read: modules in breadth-first order
    for module in modules:
        modules += [c for c in module.children if isinstance(c, ModuleTree)]
    number_of = {m: i for i, m in enumerate(modules)}
    home = [0] * len(wires.nodes)  # index of the module of each node
    for index, module in enumerate(modules):
        for c in module.children:
            if isinstance(c, int):
                home[c] = index
    parents = {c: m for m in modules for c in m.children if isinstance(c, ModuleTree)}
    ops = interned(lambda i: text(op_of(wires, i)), len(wires.nodes))
    layout = drawing(len(wires.nodes), wires.edges)
    anchors = [-1] * len(wires.nodes)  # kernel that a node anchors; -1 for other nodes
    position = {n: i for i, n in enumerate(wires.nodes)}
    named = {n.name: i for i, n in enumerate(wires.nodes)}
    helpers: list[tuple[int, int]] = []
    for i, k in enumerate(report.kernels.kernels):
        if k.anchor in position:
            anchors[position[k.anchor]] = i
        elif k.anchor.name in named:
            helpers.append((i, named[k.anchor.name]))
    return {
        "names": [text(n.name) for n in wires.nodes],
        "ops": ops,
        **values(wires),
        "kernel": [-1 if k is None else k for k in wires.kernels],
        "anchor": anchors,
        # helper launches, such as a conversion, each with the node that it serves
        "helpers": helpers,
        "home": home,
        "modules": [text(m.name) for m in modules],
        "parent": [number_of[parents[m]] if m in parents else -1 for m in modules],
        "scopes": list(scopes(modules, parents, number_of, home, wires)),
        "whole": {"x": layout.x, "y": layout.y, "edges": [v for e in wires.edges for v in e]},
    }


def values(wires: Wiring) -> Json:
    """Return names of values, each with its producer's position, else with its first reader's.

    A leading tab stands for the name of that node, as most values are named after their producer.
    """
    places: dict[Value, int] = {v: i for i, n in enumerate(wires.nodes) for v in n.results}
    for i, n in enumerate(wires.nodes):
        for v in n.inputs:
            if v is not None:
                places.setdefault(v, i)

    named = [(v.name, i) for v, i in places.items() if v.name]

    def name(k: int) -> str:
        value, i = named[k]
        node = wires.nodes[i].name
        is_derived = bool(node) and value.startswith(node)
        return f"\t{text(value.removeprefix(node))}" if is_derived else text(value)

    return {"values": interned(name, len(named)), "value_of": [i for _, i in named]}


def op_of(wires: Wiring, i: int) -> str:
    """Return the operator of a node as in the file."""
    node = wires.nodes[i]
    return node.loc.op_type or node.op.mnemonic


def scopes(
    modules: list[ModuleTree],
    parents: dict[ModuleTree, ModuleTree],
    number_of: dict[ModuleTree, int],
    home: list[int],
    wires: Wiring,
) -> Iterator[Json]:
    """Yield the layout of each module's children: nodes, or ``~m`` for module m."""
    chains: list[list[ModuleTree]] = []  # of each module, from the root to itself
    for m in modules:
        chain = [m]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
        chains.append(chain[::-1])
    # an edge is drawn in the deepest module that holds both ends, between the children of that
    # module that are or hold the ends
    inside: dict[ModuleTree, dict[Edge, None]] = {m: {} for m in modules}
    for a, b in wires.edges:
        above, below = chains[home[a]], chains[home[b]]
        depth = next(
            (d for d, (p, q) in enumerate(zip(above, below, strict=False)) if p is not q),
            min(len(above), len(below)),
        )
        # an end below that module is drawn as the child that holds it
        ends = [
            ~number_of[chain[depth]] if depth < len(chain) else v
            for chain, v in ((above, a), (below, b))
        ]
        inside[above[depth - 1]][ends[0], ends[1]] = None
    for m in modules:
        children = [c if isinstance(c, int) else ~number_of[c] for c in m.children]
        place = {c: i for i, c in enumerate(children)}
        joined = [(place[a], place[b]) for a, b in inside[m]]
        drawn = drawing(len(children), joined)
        flat = [v for e in joined for v in e]
        yield {"children": children, "x": drawn.x, "y": drawn.y, "edges": flat}
