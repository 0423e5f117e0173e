"""Build networks in the IR layer by layer, with types inferred from those of the operands.

The families and search spaces of this folder use it. The result is a `Module` with a symbolic
batch.
"""

from __future__ import annotations

from collections.abc import Sequence

from perfc.errors import PerfcError
from perfc.ir.graph import Graph, Inputs, Module, Node, SymbolDecl, Value, Weight
from perfc.ir.op import Op
from perfc.ir.ops.contraction.matmul import Gemm, MatMul
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.convolution.global_pool import GlobalAveragePool
from perfc.ir.ops.convolution.pool import AveragePool, MaxPool
from perfc.ir.ops.elementwise.activation import Gelu, HardSwish, Relu, Sigmoid
from perfc.ir.ops.elementwise.elementwise import Add, Mul
from perfc.ir.ops.movement.movement import Transpose
from perfc.ir.ops.movement.slice import Concat, Slice
from perfc.ir.ops.movement.view import Flatten, Reshape
from perfc.ir.ops.normalization.normalization import BatchNormalization, LayerNormalization
from perfc.ir.ops.normalization.reduce import ReduceMean
from perfc.ir.ops.normalization.softmax import Softmax
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType

# type of all tensors
ELEMENT = DType.F32
BATCH = "batch"


class ArchitectureError(PerfcError):
    """Error for a text that is no architecture of its search space."""


class NetworkBuilder:
    """A network under construction; methods append operators and return their result.

    Args:
        name: name of the graph.
        image: channels, height and width of the input, or the number of features of a vector.
    """

    def __init__(self, name: str, image: tuple[int, ...]) -> None:
        shape: tuple[Dim, ...] = (symbol(BATCH), *image)
        self.name = name
        self.x = Value("x", TensorType(ELEMENT, shape))
        self.nodes: list[Node] = []
        self.weights: list[Value] = []

    def apply(self, op: Op, *inputs: Value) -> Value:
        """Append an operator, and return its first result."""
        ins: Inputs = inputs
        kind = op.infer(ins)[0]
        out = Value(f"v{len(self.nodes)}", kind)
        self.nodes.append(Node(op, ins, (out,)))
        return out

    def weight(self, *shape: int) -> Value:
        """Return a stored tensor without content, as no network is run."""
        kind = TensorType(ELEMENT, shape)
        nbytes = kind.nbytes
        assert isinstance(nbytes, int)
        value = Value(f"w{len(self.weights)}", kind, None, Weight(nbytes))
        self.weights.append(value)
        return value

    def constant(self, *numbers: int) -> Value:
        """Return whole numbers that are known before a run, such as shapes and axes."""
        kind = TensorType(DType.I64, (len(numbers),))
        known = Known((len(numbers),), numbers)
        return Value(f"c{len(self.nodes)}_{len(numbers)}", kind, known, Weight(8 * len(numbers)))

    def channels(self, x: Value) -> int:
        """Return the number of channels of feature maps."""
        return self.extents(x)[0]

    def extents(self, x: Value) -> tuple[int, ...]:
        """Return the extents of a value after the batch, which are numbers and not symbols."""
        assert isinstance(x.type, TensorType)
        assert x.type.shape is not None
        shape = x.type.shape[1:]
        assert all(isinstance(d, int) for d in shape)
        return tuple(int(d) for d in shape if isinstance(d, int))

    def conv(
        self, x: Value, channels: int, window: int = 1, stride: int = 1, groups: int = 1
    ) -> Value:
        """Return a square convolution without bias, whose padding keeps the size at stride 1."""
        pad = window // 2  # keeps the size for odd windows
        op = Conv(
            group=groups,
            kernel_shape=(window, window),
            pads=(pad,) * 4,
            strides=(stride, stride),
            dilations=(1, 1),
        )
        return self.apply(op, x, self.weight(channels, self.channels(x) // groups, window, window))

    def patch(self, x: Value, channels: int, size: int) -> Value:
        """Return a convolution of windows that do not overlap, a patch embedding.

        Pixels at the edges that fill no window are dropped.
        """
        op = Conv(group=1, kernel_shape=(size,) * 2, pads=(0,) * 4, strides=(size,) * 2)
        return self.apply(op, x, self.weight(channels, self.channels(x), size, size))

    def batch_norm(self, x: Value) -> Value:
        """Return the normalisation with stored statistics."""
        stored = [self.weight(self.channels(x)) for _ in range(4)]  # scale, shift, mean, variance
        return self.apply(BatchNormalization(), x, *stored)

    def relu(self, x: Value) -> Value:
        """Return the rectification of a value."""
        return self.apply(Relu(), x)

    def sigmoid(self, x: Value) -> Value:
        """Return the logistic function of a value."""
        return self.apply(Sigmoid(), x)

    def silu(self, x: Value) -> Value:
        """Return ``x * sigmoid(x)``."""
        return self.mul(x, self.sigmoid(x))

    def hard_swish(self, x: Value) -> Value:
        """Return hard swish, SiLU made of straight lines."""
        return self.apply(HardSwish(), x)

    def gelu(self, x: Value) -> Value:
        """Return GELU of a value."""
        return self.apply(Gelu(), x)

    def mul(self, x: Value, y: Value) -> Value:
        """Return the product, element by element."""
        return self.apply(Mul(), x, y)

    def scaled(self, x: Value, *shape: int) -> Value:
        """Return the product with a stored tensor of some shape."""
        return self.mul(x, self.weight(*shape))

    def layer_norm(self, x: Value) -> Value:
        """Return the normalisation of the last axis."""
        width = self.extents(x)[-1]
        return self.apply(LayerNormalization(axis=-1), x, self.weight(width), self.weight(width))

    def dense(self, x: Value, width: int) -> Value:
        """Return a dense layer on the last axis, a product with stored weights and a bias."""
        product = self.apply(MatMul(), x, self.weight(self.extents(x)[-1], width))
        return self.apply(Add(), product, self.weight(width))

    def matmul(self, x: Value, y: Value) -> Value:
        """Return the product of two tensors that are computed."""
        return self.apply(MatMul(), x, y)

    def softmax(self, x: Value) -> Value:
        """Return the softmax over the last axis."""
        return self.apply(Softmax(axis=-1), x)

    def reshape(self, x: Value, *extents: int) -> Value:
        """Return the elements with other extents after the batch."""
        # 0 leaves the extent of the batch as it is
        return self.apply(Reshape(), x, self.constant(0, *extents))

    def merged(self, x: Value, *extents: int) -> Value:
        """Return the elements with the given last extents; axes before merge with the batch."""
        # the extent of -1 follows from the others
        return self.apply(Reshape(), x, self.constant(-1, *extents))

    def transpose(self, x: Value, *order: int) -> Value:
        """Return the tensor with its axes in another order; the batch is axis 0."""
        return self.apply(Transpose(perm=order), x)

    def mean(self, x: Value, *axes: int, keepdims: bool = False) -> Value:
        """Return the mean over axes."""
        return self.apply(ReduceMean(keepdims=int(keepdims)), x, self.constant(*axes))

    def add(self, *terms: Value) -> Value:
        """Return the sum of several values, by one operator for each further term."""
        total = terms[0]
        for term in terms[1:]:
            total = self.apply(Add(), total, term)
        return total

    def zero(self, x: Value) -> Value:
        """Return a product with 0, as frameworks write the operator that passes nothing on."""
        # the factor 0 is stored
        return self.apply(Mul(), x, self.weight(1))

    def plus_zero(self, x: Value) -> Value:
        """Return a sum with 0, with which Python's sum over a list begins."""
        # the 0 is stored
        return self.apply(Add(), x, self.weight(1))

    def concat(self, parts: Sequence[Value]) -> Value:
        """Return the feature maps of all parts, joined along the channels."""
        return self.apply(Concat(axis=1), *parts)

    def first_channels(self, x: Value, count: int) -> Value:
        """Return the first feature maps of a value."""
        # start, end and axis; `constant` would give all three one name, as no node is between them
        ends = [
            Value(f"s{len(self.nodes)}_{i}", v.type, v.known, v.weight)
            for i, v in enumerate(map(self.constant, (0, count, 1)))
        ]
        return self.apply(Slice(), x, *ends)

    def shuffle(self, x: Value, groups: int) -> Value:
        """Return one feature map of each group in turn (Zhang et al., "ShuffleNet", CVPR 2018)."""
        channels, height, width = self.extents(x)
        # a matrix of groups by channels of a group, transposed
        split = self.constant(0, groups, channels // groups, height, width)
        grouped = self.apply(Reshape(), x, split)
        transposed = self.apply(Transpose(perm=(0, 2, 1, 3, 4)), grouped)
        return self.apply(Reshape(), transposed, self.constant(0, channels, height, width))

    def max_pool(self, x: Value, window: int, stride: int, pad: int = 0) -> Value:
        """Return the maximum of each window."""
        op = MaxPool(kernel_shape=(window,) * 2, strides=(stride,) * 2, pads=(pad,) * 4)
        return self.apply(op, x)

    def average_pool(self, x: Value, window: int, stride: int, pad: int = 0) -> Value:
        """Return the mean of each window."""
        op = AveragePool(kernel_shape=(window,) * 2, strides=(stride,) * 2, pads=(pad,) * 4)
        return self.apply(op, x)

    def classify(self, x: Value, classes: int) -> Value:
        """Return the mean of each feature map, then a dense layer."""
        pooled = self.apply(Flatten(axis=1), self.global_pool(x))
        return self.gemm(pooled, classes)

    def global_pool(self, x: Value) -> Value:
        """Return the mean of each feature map."""
        return self.apply(GlobalAveragePool(), x)

    def gemm(self, x: Value, classes: int) -> Value:
        """Return a dense layer of a matrix."""
        weight = self.weight(classes, self.channels(x))
        return self.apply(Gemm(transB=1), x, weight, self.weight(classes))

    def module(self, output: Value) -> Module:
        """Return the network, with a value as its output."""
        graph = Graph(self.name, (self.x,), (output,), tuple(self.nodes), tuple(self.weights))
        return Module(graph, (SymbolDecl(BATCH, 1),))
