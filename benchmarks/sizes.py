"""Sizes that go together and sizes that do not: perfc refuses what a runtime refuses.

    python -m benchmarks.sizes                 # 400 models of symbolic extents, 8 sizes of each
    python -m benchmarks.sizes --only 123      # one model
    python -m benchmarks.sizes --dump 123 x.onnx

Every model is run by onnxruntime at sizes drawn from nothing to a dozen. `infer_shapes` must give
the shapes that come out, or refuse where the runtime does. The sizes that `analyze` assumes by
itself must run, and leave no result empty. Exit status 1 if it is not so.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.arguments import parser_of
from tests.oracles import adapter

OPSET = 18
LARGEST = 12
"""Maximum of a drawn extent."""


@dataclass
class Graph:
    """Nodes over float inputs with symbolic extents."""

    rng: random.Random
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    stored: list[onnx.TensorProto] = field(default_factory=list)

    def input(self, *shape: int | str) -> str:
        """Add an input of floats and return its name."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = shape
        return name

    def const(self, values: object, dtype: type = np.int64) -> str:
        """Add a stored tensor and return its name."""
        name = f"w{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def op(self, kind: str, *inputs: str, n: int = 1, **attributes: object) -> str:
        """Add a node and return the name of its first result."""
        names = [f"y{len(self.nodes)}_{i}" for i in range(n)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0]

    def model(self) -> onnx.ModelProto:
        """Return the model, in which every result is an output."""
        kind = onnx.TensorProto.FLOAT
        inputs = [helper.make_tensor_value_info(n, kind, s) for n, s in self.inputs.items()]
        outputs = [onnx.ValueInfoProto(name=o) for n in self.nodes for o in n.output]
        graph = helper.make_graph(self.nodes, "sizes", inputs, outputs, self.stored)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def symbols(self) -> list[str]:
        """Return the names of symbolic extents."""
        shapes = self.inputs.values()
        return list(dict.fromkeys(d for s in shapes for d in s if isinstance(d, str)))


def convolution(g: Graph) -> None:
    """A convolution, at times a second one, whose window may not fit."""
    rng = g.rng
    rank, channels = rng.randint(1, 2), rng.randint(1, 3)
    x = g.input("n", channels, *("h", "w")[:rank])
    for _ in range(rng.randint(1, 2)):
        kernel = [rng.randint(1, 5) for _ in range(rank)]
        w = g.const(np.ones((2, channels, *kernel)), np.float32)
        more: dict[str, object] = {"strides": [rng.randint(1, 4) for _ in range(rank)]}
        if rng.random() < 0.4:
            more["dilations"] = [rng.randint(1, 3) for _ in range(rank)]
        if rng.random() < 0.4:
            more["pads"] = [rng.randint(0, 2) for _ in range(2 * rank)]
        x, channels = g.op("Conv", x, w, **more), 2


def pool(g: Graph) -> None:
    """A window that takes the largest or the mean."""
    rng = g.rng
    kernel = [rng.randint(1, 4), rng.randint(1, 4)]
    strides = [rng.randint(1, 3), rng.randint(1, 3)]
    x = g.input("n", 2, "h", "w")
    g.op(rng.choice(("MaxPool", "AveragePool")), x, kernel_shape=kernel, strides=strides)


def pad(g: Graph) -> None:
    """A margin that may cut more than there is."""
    pads = [g.rng.randint(-4, 2) for _ in range(4)]
    g.op("Pad", g.input("n", "m"), g.const(pads))


def cut(g: Graph) -> None:
    """A slice, then a convolution of it."""
    rng = g.rng
    start, end = rng.randint(-6, 6), rng.choice((rng.randint(-6, 8), 1 << 40))
    step = g.const([rng.randint(1, 3)])
    y = g.op("Slice", g.input("n", 1, "s"), g.const([start]), g.const([end]), g.const([2]), step)
    if rng.random() < 0.5:
        g.op("Conv", y, g.const(np.ones((1, 1, 2)), np.float32))


def scaled(g: Graph) -> None:
    """An image made smaller or larger."""
    scales = [1.0, 1.0, g.rng.choice((0.3, 0.5, 2.0)), g.rng.choice((0.4, 1.5))]
    y = g.op("Resize", g.input("n", 1, "h", "w"), "", g.const(scales, np.float32), mode="nearest")
    if g.rng.random() < 0.5:
        g.op("MaxPool", y, kernel_shape=[2, 2])


def extent(g: Graph, x: str, axis: int) -> str:
    """Return an extent of ``x`` with some arithmetic done to it, as a vector of one."""
    y = g.op("Gather", g.op("Shape", x), g.const([axis]))
    kind = g.rng.choice(("Sub", "Div", "Mul", "none"))
    if kind == "none":
        return y
    return g.op(kind, y, g.const([g.rng.randint(1, 4)]))


def filled(g: Graph) -> None:
    """A tensor whose shape is computed."""
    x = g.input("n", "m")
    g.op("ConstantOfShape", extent(g, x, g.rng.randint(0, 1)))


def reshaped(g: Graph) -> None:
    """A shape by arithmetic, or parts that must divide."""
    rng = g.rng
    x = g.input("n", "m", 4)
    if rng.random() < 0.5:
        target = g.op("Concat", extent(g, x, rng.randint(0, 1)), g.const([-1]), axis=0)
    else:
        target = g.const([0, -1, rng.randint(1, 3), rng.choice((4, 8))])
    g.op("Reshape", x, target)


def repeated(g: Graph) -> None:
    """A tensor as often as is computed, or made as large."""
    x = g.input("n", "m")
    one = g.const(np.ones(1), np.float32)
    g.op(g.rng.choice(("Tile", "Expand")), one, extent(g, x, 0))


def counted(g: Graph) -> None:
    """Numbers up to an extent."""
    x = g.input("n", "m")
    limit = g.op("Squeeze", extent(g, x, 1))
    y = g.op("Range", g.const(g.rng.randint(0, 3)), limit, g.const(g.rng.choice((1, 2))))
    g.op("Add", y, g.op("Gather", g.op("Shape", x), g.const([0])))


def product(g: Graph) -> None:
    """Factors whose inner extents have separate names."""
    y = g.op("MatMul", g.input("n", "k"), g.input("j", 4))
    if g.rng.random() < 0.5:
        g.op("MatMul", y, g.input("l", "m"))


def summed(g: Graph) -> None:
    """Terms that must broadcast."""
    x = g.op("Add", g.input("n", "m"), g.input("k"))
    if g.rng.random() < 0.5:
        g.op("Mul", x, g.input("n", "j"))


def joined(g: Graph) -> None:
    """Parts side by side, then a product with what the whole must fit."""
    y = g.op("Concat", g.input("n", "past"), g.input("m", "new"), axis=1)
    if g.rng.random() < 0.7:
        g.op("MatMul", y, g.input("total", 3))


def parted(g: Graph) -> None:
    """An extent in equal parts, or in blocks."""
    if g.rng.random() < 0.5:
        g.op("Split", g.input("n", "m"), axis=1, num_outputs=g.rng.randint(1, 3), n=3)
        # three results were made: as many stay as there are parts
        g.nodes[-1].output[:] = g.nodes[-1].output[: g.nodes[-1].attribute[-1].i]
    else:
        g.op("SpaceToDepth", g.input("n", 1, "h", "w"), blocksize=g.rng.randint(2, 3))


def transposed(g: Graph) -> None:
    """A convolution backwards whose pads may cut everything."""
    w = g.const(np.ones((1, 1, g.rng.randint(1, 3))), np.float32)
    pads = [g.rng.randint(0, 3), g.rng.randint(0, 3)]
    x = g.input("n", 1, "s")
    g.op("ConvTranspose", x, w, strides=[g.rng.randint(1, 2)], pads=pads)


KINDS: tuple[Callable[[Graph], None], ...] = (
    convolution,
    pool,
    pad,
    cut,
    scaled,
    filled,
    reshaped,
    repeated,
    counted,
    product,
    summed,
    joined,
    parted,
    transposed,
)


def make(number: int, seed: int = 0) -> Graph:
    """Return the model of that number."""
    g = Graph(random.Random(f"{seed}/{number}"))
    while True:
        KINDS[number % len(KINDS)](g)
        names = {o for n in g.nodes for o in n.output}
        if names:
            return g


def executed(g: Graph, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]] | None:
    """Return the shapes that the runtime computes; None where it refuses."""
    import onnxruntime as ort

    from perfc.review.lint.fixes.proof import session

    quiet = ort.RunOptions()
    quiet.log_severity_level = 4
    feeds = {
        name: np.ones([sizes[d] if isinstance(d, str) else d for d in shape], np.float32)
        for name, shape in g.inputs.items()
    }
    try:
        run = session(g.model().SerializeToString())
        names = [o.name for o in run.get_outputs()]
        return {n: v.shape for n, v in zip(names, run.run(names, feeds, quiet), strict=True)}
    except Exception:  # the runtime's errors share no base of their own
        return None


def inferred(g: Graph, sizes: Mapping[str, int]) -> dict[str, object] | str:
    """Return the shapes that perfc infers, or the line with which it refuses."""
    from perfc.api import infer_shapes

    try:
        types = infer_shapes(g.model(), dict(sizes))
    except adapter.perfc_error() as error:
        return str(error)
    return {name: getattr(t, "shape", None) for name, t in types.items()}


def judged(g: Graph, sizes: Mapping[str, int]) -> tuple[str, str]:
    """Return the outcome of one model at given sizes, and a line about it."""
    truth, ours = executed(g, sizes), inferred(g, sizes)
    if isinstance(ours, str):
        if "\n" in ours:
            return "not one line", ours
        return ("both refuse" if truth is None else "refused in vain"), ours
    shapes = [s for n, s in ours.items() if n.startswith("y")]
    is_empty = 0 in sizes.values() or any(isinstance(s, tuple) and 0 in s for s in shapes)
    if truth is None and is_empty:
        # nothing at all is a tensor in the standard, although not every kernel takes it
        return "accepted nothing", ""
    if truth is None:
        return "accepted", str({n: s for n, s in ours.items() if n.startswith("y")})
    for name, shape in truth.items():
        mine = ours.get(name)
        if not isinstance(mine, tuple) or len(mine) != len(shape):
            return "wrong" if isinstance(mine, tuple) else "open", f"{name}: {mine} for {shape}"
        if any(isinstance(d, int) and d != e for d, e in zip(mine, shape, strict=True)):
            return "wrong", f"{name}: {mine} for {shape}"
        if not all(isinstance(d, int) for d in mine):
            return "open", f"{name}: {mine} for {shape}"
    return "right", ""


def assumed(g: Graph) -> tuple[str, str]:
    """Return the outcome at the sizes that perfc assumes: they must run and leave nothing empty."""
    from perfc.api import typed

    try:
        sizes = typed(g.model()).defaults()
    except adapter.perfc_error() as error:
        return "nothing assumed", str(error)
    truth = executed(g, sizes)
    if truth is None:
        return "assumed in vain", str(sizes)
    empty = [n for n, shape in truth.items() if 0 in shape]
    return ("assumed empty", f"{sizes}: {empty}") if empty else ("assumed", "")


BAD = ("not one line", "refused in vain", "accepted", "wrong", "assumed in vain")
"""Outcomes that are errors of perfc."""


def judge(numbers: range | list[int], seed: int, sizes: int) -> tuple[Counter[str], list[str]]:
    """Return the outcomes of all models, and a line for each that is bad."""
    outcomes: Counter[str] = Counter()
    bad: list[str] = []
    for number in numbers:
        g = make(number, seed)
        rng = random.Random(f"{seed}/{number}/sizes")
        drawn = [{s: rng.randint(0, LARGEST) for s in g.symbols()} for _ in range(sizes)]
        results = [(assumed(g), {})] + [(judged(g, d), d) for d in drawn]
        for (outcome, why), given in results:
            outcomes[outcome] += 1
            if outcome in BAD:
                kind = KINDS[number % len(KINDS)].__name__
                bad.append(f"{outcome} [{kind}] --only {number} at {given}: {why[:160]}")
    return outcomes, bad


def main() -> int:
    parser = parser_of(__doc__, models=400, sizes=8, seed=0)
    parser.add_argument("--only", type=int, help="one model's number")
    parser.add_argument("--dump", nargs=2, metavar=("NUMBER", "FILE"), help="save one model")
    args = parser.parse_args()
    if args.dump:
        onnx.save(make(int(args.dump[0]), args.seed).model(), Path(args.dump[1]))
        return 0
    numbers = [args.only] if args.only is not None else range(args.models)
    outcomes, bad = judge(numbers, args.seed, args.sizes)
    print("\n".join(bad))
    summary = ", ".join(f"{n} {k}" for k, n in outcomes.most_common())
    print(f"SUMMARY sizes: {len(numbers)} models: {summary}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
