"""Kernels of helper launches: a synthetic node with the cost that its operator declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING

from perfc.ir import DType, Kind, Known, Node, Op, TensorType, Type, Value, mutable
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.elementwise.elementwise import Add
from perfc.ir.ops.movement.movement import Contiguous
from perfc.ir.ops.movement.pad import Pad
from perfc.ir.ops.movement.shape import ConstantOfShape
from perfc.ir.problem import Product, SlidingWindow
from perfc.ir.record import changed

from ..fusion.kernel import ConvAlgorithm, Helper, Kernel
from ..roofline.cost import Counting
from ..runtimes import LaunchRule

if TYPE_CHECKING:
    from .autocast_launches import OperandCast

AXES = {3: ("ncw", "nwc"), 4: ("nchw", "nhwc"), 5: ("ncdhw", "ndhwc")}
"""Orders of the axes of feature maps by rank: channels first, channels last."""
ONE = TensorType(DType.I32, (1,))
"""Type of a counter, the smallest workspace that a kernel clears."""
CONTIGUOUS = Contiguous()
"""Copies and changes of layout cost what a contiguous copy costs."""


@mutable
class Helpers:
    """Makes helper launches; equal ones share their costs and identity.

    Args:
        first: number of the first class of helpers, above those of the table's kernels.
        is_exported: whether the runtime runs the module that a file was exported from.
        counting: counts work and traffic of launches.
        classes: number of each class of helpers, from 0.
        made: launches by kernel and all else that they depend on.
    """

    first: int
    is_exported: bool
    counting: Counting = field(default_factory=lambda: Counting({}))
    classes: dict[object, int] = field(default_factory=dict)
    made: dict[object, tuple[Kernel, ...]] = field(default_factory=dict)

    def number(self, key: object) -> int:
        """Return the number of a class of kernels."""
        return self.first + self.classes.setdefault(key, len(self.classes))

    def around(
        self,
        kernel: Kernel,
        copied: Sequence[Value],
        rule: LaunchRule | None,
        casts: tuple[OperandCast, ...] = (),
    ) -> tuple[Kernel, ...]:
        """Return a kernel and the launches around it, in order.

        Args:
            kernel: the kernel.
            copied: operands that are copied first.
            rule: rule of the kernel; None without one.
            casts: casts of its operands.
        """
        if rule is None and not copied and not casts:
            return (kernel,)
        key = kernel, tuple(copied), rule, casts
        if key not in self.made:
            self.made[key] = Around(self, kernel).launches(copied, rule, casts)
        return self.made[key]

    def copied(self, kernel: Kernel, view: Value, root: Value) -> tuple[Kernel, ...]:
        """Return the copy of a view of a kernel's result."""
        key = kernel, view
        if key not in self.made:
            copy = Around(self, kernel).launch(Helper.COPY, CONTIGUOUS, (view,), view, (root,))
            self.made[key] = (copy,)
        return self.made[key]


@mutable
class Around:
    """The launches around one kernel.

    Args:
        helpers: numbers the launches and counts their work.
        kernel: the kernel.
        reads: for each operand that a launch has rewritten, the tensor that it wrote.
    """

    helpers: Helpers
    kernel: Kernel
    reads: dict[Value, Value] = field(default_factory=dict)

    def launches(
        self, copied: Sequence[Value], rule: LaunchRule | None, casts: Sequence[OperandCast]
    ) -> tuple[Kernel, ...]:
        """Return all launches in order; each reads the results of those before it."""
        kernel = self.kernel
        out = kernel.writes[0] if kernel.writes else kernel.anchor.results[0]
        before = [*map(self.cast, casts), *map(self.copy, copied)]
        after: list[Kernel] = []
        written = out
        if rule is not None:
            launched_before = [
                self.before(h, rule.before[:i].count(h)) for i, h in enumerate(rule.before)
            ]
            before += [launch for launch in launched_before if launch is not None]
            helpers = [h for h in rule.after if h is not Helper.BIAS or self.bias is not None]
            # the last helper writes the result, so that the kernel itself writes another value: a
            # copy, as values are compared by identity
            if helpers:
                written = changed(out)
            for i, helper in enumerate(helpers):
                source = written if not after else after[-1].writes[0]
                target = out if i == len(helpers) - 1 else changed(out)
                after.append(self.after(helper, source, target))
        algorithm = None if rule is None else rule.algorithm
        by_group = rule is not None and rule.by_group
        if by_group:
            kernel = of_group(kernel)
        if not before and not after and algorithm is None:
            return (kernel,)
        reads = tuple([self.reads.get(v, v) for v in kernel.reads])
        key = kernel.identity, algorithm, by_group, *[v.weight is None for v in reads]
        # of convolutions over a whole feature map, only a library that times its kernels chooses a
        # product; a heuristic does not
        main = changed(
            kernel if algorithm is not ConvAlgorithm.TUNED else as_product(kernel),
            reads=reads,
            writes=(written, *kernel.writes[1:]) if kernel.writes else (),
            algorithm=algorithm,
            identity=self.helpers.number(key),
        )
        return (*before, main, *after)

    @property
    def bias(self) -> Value | None:
        """Return the bias of a product, or of a convolution with merged nodes; None without one.

        Exporters write zeros, a constant that is no parameter, where a module has none.
        """
        kernel, anchor = self.kernel, self.kernel.anchor
        if kernel.pattern == "linear":
            # the row that the pattern's addition adds
            addends = (v for n in kernel.nodes if isinstance(n.op, Add) for v in n.inputs if v)
            return next((v for v in addends if v.weight or len(v.shape or ()) == 1), None)
        # merging an addition or a normalization, whose operand 2 is the shift, leaves a bias
        for node in reversed(kernel.folded):
            if isinstance(node.op, Add):
                return next((v for v in node.inputs if v is not None and v.weight), None)
            if len(node.inputs) > 2:
                return node.inputs[2]
        v = anchor.inputs[2] if len(anchor.inputs) > 2 else None
        is_none = v is not None and v.weight is not None and not v.weight.is_parameter
        return None if is_none and self.helpers.is_exported else v

    def operand(self, v: Value) -> Value:
        """Return the tensor that the kernel reads for an operand of its anchor.

        An operand that the kernel computes or views itself comes from its first tensor.
        """
        reads = self.kernel.reads
        root = v if v in reads or not reads else reads[0]
        return self.reads.get(root, root)

    def copy(self, v: Value) -> Kernel:
        """Return the copy of an operand that is a view."""
        root = self.operand(v)
        launch = self.launch(Helper.COPY, CONTIGUOUS, (v,), v, (root,))
        self.reads[root] = launch.writes[0]
        return launch

    def cast(self, cast: OperandCast) -> Kernel:
        """Return the cast of an operand."""
        v = self.kernel.reads[cast.position]
        shape = v.shape
        stored = Value(v.name, TensorType(cast.stored, shape), weight=v.weight)
        result = Value(f"{v.name}.cast", TensorType(cast.read, shape))
        title = f"cast {cast.stored.code}→{cast.read.code}"
        launch = self.launch(Helper.CAST, Cast(to=cast.read), (stored,), result, (v,), title)
        self.reads[v] = result
        return launch

    def before(self, helper: Helper, nth: int) -> Kernel | None:
        """Return launch ``nth``, from 0, of a purpose before the kernel; None without a tensor."""
        ins = self.kernel.anchor.inputs
        # launches change the layout of operand after operand; filters are operand 1, and of a batch
        # normalization the scale is 1 and the variance 4
        operand = {Helper.LAYOUT: nth, Helper.WEIGHT_LAYOUT: 1, Helper.STATISTICS: 4 if nth else 1}
        position = operand.get(helper, 0)
        v = ins[position] if position < len(ins) else None
        match helper:
            case Helper.LAYOUT | Helper.WEIGHT_LAYOUT if v is not None:
                # operand 0 may be a view of the tensor that the kernel reads; an earlier launch may
                # have cast or copied it
                read = v if position else self.root
                source = self.reads.get(read, read)
                title = order_title(helper, len(v.shape or ()), last=True)
                launch = self.launch(helper, CONTIGUOUS, (v,), v, (source,), title)
                self.reads[read] = launch.writes[0]
                return launch
            case Helper.STATISTICS if v is not None:
                # a cast stands for the inverse root, too: both read and write one number a channel
                shape = v.shape
                result = Value(v.name, TensorType(DType.F32, shape))
                return self.launch(helper, Cast(to=DType.F32), (v,), result, (v,))
            case Helper.FILL:
                is_pad = isinstance(self.kernel.anchor.op, Pad)
                return self.filled(self.kernel.anchor.results[0].type if is_pad else ONE)
            case _:
                return None

    @property
    def root(self) -> Value:
        """Return the feature map, or the left operand, that the kernel itself reads.

        Unlike `operand`, it is the tensor before any launch has rewritten it.
        """
        kernel, v = self.kernel, self.kernel.anchor.inputs[0]
        return v if v is not None and (v in kernel.reads or not kernel.reads) else kernel.reads[0]

    def after(self, helper: Helper, source: Value, target: Value) -> Kernel:
        """Return a launch after the kernel, from one tensor to another of its type."""
        if helper is Helper.BIAS and (v := self.bias) is not None:
            shape = v.shape or ()
            if self.kernel.kind is Kind.CONV:
                # one number for each channel, broadcast over positions if these are known
                channels, *extents = (source.shape or ())[1:] or shape
                shape = (channels, *(1,) * len(extents))
            bias = Value(v.name, TensorType(v.dtype, shape), weight=v.weight)
            return self.launch(helper, Add(), (source, bias), target, (source, v))
        is_order = helper in {Helper.LAYOUT, Helper.WEIGHT_LAYOUT}
        title = order_title(helper, len(source.shape or ()), last=False) if is_order else ""
        return self.launch(helper, CONTIGUOUS, (source,), target, (source,), title)

    def reordered(self, v: Value, title: str) -> Kernel:
        """Return the copy of a tensor in another order; ``title`` names the change."""
        return self.launch(Helper.LAYOUT, CONTIGUOUS, (v,), v, (v,), title)

    def filled(self, type_: Type) -> Kernel:
        """Return the launch that writes zeros of a type."""
        shape = type_.shape if isinstance(type_, TensorType) else None
        contents = Known.vector(shape) if shape is not None else None
        size = Value("", TensorType(DType.I64, (len(shape or ()),)), contents)
        return self.launch(Helper.FILL, ConstantOfShape(), (size,), Value("", type_), ())

    def launch(
        self,
        helper: Helper,
        op: Op,
        inputs: tuple[Value, ...],
        result: Value,
        reads: tuple[Value, ...],
        title: str = "",
    ) -> Kernel:
        """Return a launch of one operator, as often as the kernel runs.

        Args:
            helper: purpose of the launch.
            op: the operator.
            inputs: operands of the operator.
            result: value that the launch writes; an operand stands for a copy of it.
            reads: tensors that hold the operands.
            title: text in place of the purpose.
        """
        anchor = self.kernel.anchor
        place = changed(anchor.loc, name=anchor.name, op_type=title or helper.value)
        if result in inputs:
            result = Value(f"{result.name}.{helper.name.lower()}", result.type)
        node = Node(op, inputs, (result,), loc=place)
        cost = self.helpers.counting.node(node, self.kernel.repeat)
        # a fill has the shape as an operand, which it does not read
        sizes = [v.nbytes or 0 for v in inputs]
        # equal costs are one object, so that its id stands for operator and types
        key = id(cost), place.op_type, *[v.weight is None for v in reads]
        return Kernel(
            (node,),
            node,
            cost.work,
            cost.traffic,
            reads,
            node.results,
            repeat=self.kernel.repeat,
            tier=cost.tier,
            identity=self.helpers.number(key),
            read_parts=tuple(sizes[: len(reads)]),
            problem=cost.problem,
            helper=helper,
        )


def of_group(kernel: Kernel) -> Kernel:
    """Return the launch of one group of channels, as often as there are groups."""
    window = kernel.problem
    if not isinstance(window, SlidingWindow):
        return kernel
    group = window._replace(in_channels=window.depth, out_channels=window.filters, groups=1)
    return kernel.divided(window.groups, problem=group)


def as_product(kernel: Kernel) -> Kernel:
    """Return a convolution as a matrix product if its window covers the whole feature map.

    Each filter then has one result, and so no window moves. Windows of one element are left to
    other rules.
    """
    window = kernel.problem
    if not isinstance(window, SlidingWindow) or window.groups > 1 or window.is_transposed:
        return kernel
    if window.taps == 1 or {*window.out_extents} != {1}:
        return kernel
    n, k = window.out_channels, window.in_channels * window.taps
    return changed(kernel, problem=Product(1, window.batch, n, k))


@cache
def order_title(helper: Helper, rank: int, *, last: bool) -> str:
    """Return the name of a change of layout, ``layout nchw→nhwc``."""
    first, then = AXES.get(rank, ("channels first", "channels last"))
    return f"{helper.value} {first}→{then}" if last else f"{helper.value} {then}→{first}"
