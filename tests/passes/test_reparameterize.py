"""Linear branches side by side are one convolution, and nothing else is."""

from __future__ import annotations

from perfc.ir.graph import Graph, Module, Node, Value, Weight
from perfc.ir.graphs.verify import verify
from perfc.ir.op import Op
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.rewriting.reparameterize import Reparameterize
from perfc.passes.roofline.cost import Cost
from tests.passes.random_graphs import op

CHANNELS, SIZE = 8, 10
MAP = TensorType(DType.F32, (1, CHANNELS, SIZE, SIZE))


class Net:
    """A network of feature maps of one shape."""

    def __init__(self) -> None:
        self.x = Value("x", MAP)
        self.nodes: list[Node] = []
        self.weights: list[Value] = []

    def add(self, operator: Op, *ins: Value) -> Value:
        made = Value(f"v{len(self.nodes)}", MAP)
        self.nodes.append(Node(operator, ins, (made,)))
        return made

    def stored(self, *shape: int) -> Value:
        self.weights.append(
            Value(f"w{len(self.weights)}", TensorType(DType.F32, shape), None, Weight())
        )
        return self.weights[-1]

    def conv(self, x: Value, extent: int, *, group: int = 1, dilation: int = 1) -> Value:
        w = self.stored(CHANNELS, CHANNELS // group, extent, extent)
        pads = (extent // 2 * dilation,) * 4
        return self.add(Conv(group=group, pads=pads, dilations=(dilation,) * 2), x, w)

    def norm(self, x: Value) -> Value:
        return self.add(BatchNormalization(), x, *(self.stored(CHANNELS) for _ in range(4)))

    def sum(self, first: Value, *rest: Value) -> Value:
        for v in rest:
            first = self.add(op("add"), first, v)
        return first

    def folded(self, *outputs: Value, norms: bool = False) -> Module:
        graph = Graph("net", (self.x,), outputs, tuple(self.nodes), tuple(self.weights))
        am = Analyses()
        found = am.apply(Canonicalize(), am.apply(Reparameterize(norms), Module(graph)))
        verify(found)
        return found


def names(module: Module) -> list[str]:
    return [node.op.mnemonic for node in module.graph]


def test_three_branches_become_their_largest_convolution() -> None:
    net = Net()
    wide = net.norm(net.conv(net.x, 3))
    y = net.sum(wide, net.norm(net.conv(net.x, 1)), net.norm(net.x))
    found = net.folded(net.add(op("relu"), y))
    assert names(found) == ["conv", "relu"]
    taps = evaluate(Analyses().get(Cost(), found).work.mac, {})
    assert taps == CHANNELS * CHANNELS * 9 * SIZE * SIZE


def test_blocks_one_behind_the_other_fold_each() -> None:
    net = Net()
    x = net.x
    for _ in range(3):
        x = net.add(op("relu"), net.sum(net.conv(x, 3), net.conv(x, 1), x))
    assert names(net.folded(x)) == ["conv", "relu"] * 3


def test_a_sum_that_others_read_or_that_is_not_linear_stays() -> None:
    net = Net()
    inner = net.add(op("relu"), net.conv(net.x, 3))
    y = net.sum(inner, net.conv(net.x, 1))
    assert names(net.folded(y)).count("conv") == 2

    net = Net()
    branch = net.conv(net.x, 3)
    y = net.sum(branch, net.conv(net.x, 1))
    assert names(net.folded(y, branch)).count("conv") == 2


def test_branches_that_see_other_places_stay() -> None:
    net = Net()
    y = net.sum(net.conv(net.x, 3), net.conv(net.x, 3, dilation=2))
    assert names(net.folded(y)).count("conv") == 2


def test_two_convolutions_in_a_row_are_no_branch() -> None:
    net = Net()
    y = net.sum(net.conv(net.conv(net.x, 3), 3), net.conv(net.x, 1))
    assert names(net.folded(y)).count("conv") == 3


def test_the_largest_window_must_hold_the_groups_of_the_others() -> None:
    net = Net()
    y = net.sum(net.conv(net.x, 3, group=CHANNELS), net.conv(net.x, 1))
    assert names(net.folded(y)).count("conv") == 2
    net = Net()
    y = net.sum(net.conv(net.x, 3), net.conv(net.x, 1, group=CHANNELS))
    assert names(net.folded(y)) == ["conv"]


def test_norms_fold_where_asked() -> None:
    net = Net()
    y = net.norm(net.conv(net.x, 3))
    assert names(net.folded(y)) == ["conv", "batch_norm"]
    found = net.folded(y, norms=True)
    assert names(found) == ["conv"]
    assert len(found.graph.nodes[0].inputs) == 3
