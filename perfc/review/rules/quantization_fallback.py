"""PF405: quantized tensors that are dequantized before use."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import DType, Kind, Node
from perfc.ir.ops import DequantizeLinear, QuantizeLinear
from perfc.machine import Unit
from perfc.passes.roofline.ceilings import Ceiling, KernelBound
from perfc.review.lint.rule import Finding, Rule, Subject


class QuantizationFallback(Rule):
    """A QuantizeLinear or DequantizeLinear that runs as a separate kernel.

    What it does:
        Finds Q and DQ nodes that the runtime does not fuse, so that the operators between them run
        in floating point; the gain is the time of these kernels. Finds matrix products and
        convolutions of a dequantized activation whose other operand is not quantized; the gain is
        that of the integer rate. Weight-only quantization is intended and not reported, nor are
        the first and last conversion of a model and those around views, where they cancel.

    Why is this bad:
        Quantization costs a pass over the tensor, and the operator still runs in the wide type.

    Example:
        y = QuantizeLinear(Conv(DequantizeLinear(x_i8), w_f32))    # w is not quantized

    Use instead:
        y = QuantizeLinear(Conv(DequantizeLinear(x_i8), DequantizeLinear(w_i8)))

    Source:
        onnxruntime QDQ selectors; TensorRT developer guide, explicit quantization.
    """

    code = "PF405"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield kernels that only convert."""
        for i, bound in enumerate(subject.kernels):
            yield from self._wide_product(subject, i, bound)
            nodes = bound.kernel.nodes
            converting = [n for n in nodes if isinstance(n.op, QuantizeLinear | DequantizeLinear)]
            others = [n for n in nodes if n not in converting and n.op.kind is not Kind.VIEW]
            if not converting or others or is_intended(subject, converting):
                continue
            gain = subject.lightened(i, 0.0, 0.0)  # fused into its neighbor it takes no time
            names = " and ".join(dict.fromkeys(n.loc.op_type or n.op.mnemonic for n in converting))
            partner = _partner(subject, converting[0])
            converted = f"{names} next to {partner}" if partner else names
            runtime = subject.report.kernels.runtime.name
            yield self.finding(
                f"{converted} runs as a separate kernel under {runtime}",
                "quantise every operand and the result of the operator, or none",
                nodes=converting,
                gain=gain,
            )

    def _wide_product(self, subject: Subject, i: int, bound: KernelBound) -> Iterator[Finding]:
        """Yield a product that dequantizes an activation and multiplies in floating point."""
        kernel = bound.kernel
        activations = [
            n
            for n in kernel.nodes
            if isinstance(n.op, DequantizeLinear) and n.inputs[0] and not n.inputs[0].weight
        ]
        if kernel.kind not in (Kind.MATMUL, Kind.CONV) or not activations:
            return
        if not bound.dtype.is_float or bound.dtype.bits < 16:  # narrow already
            return
        machine = subject.report.machine
        wide_rate = machine.entry(Unit.MATRIX, bound.dtype.code, allow_tf32=bound.tf32)
        narrow_rate = machine.entry(Unit.MATRIX, DType.I8.code)
        now, then = (p.sustained or p.nominal for p in (wide_rate, narrow_rate))
        # narrower operands shorten what the matrix unit takes, nothing else
        factor = {c: min(now.value / then.value, 1.0) for c in (Ceiling.MATRIX, Ceiling.WAVES)}
        time_s = max((t * factor.get(c, 1.0) for c, t in bound.sustained.items()), default=0.0)
        gain = subject.lightened(i, time_s + bound.launch_gap_s, bound.floor_s)
        yield self.finding(
            f"{kernel.label} reads a dequantized activation and multiplies in {bound.dtype}",
            "quantise the other factor too",
            nodes=(kernel.anchor, *activations),
            gain=gain,
        )


def is_intended(subject: Subject, nodes: list[Node]) -> bool:
    """Return True if a conversion is at a border of the model, or cancels around views."""
    inputs, outputs = set(subject.graph.inputs), set(subject.graph.outputs)
    first, last = nodes[0], nodes[-1]
    if isinstance(first.op, QuantizeLinear):
        maker = behind_views(subject, first)
        is_first = first.inputs[0] in inputs
        return is_first or (maker is not None and isinstance(maker.op, DequantizeLinear))
    if outputs & set(last.results):
        return True
    return any(
        isinstance(n.op, QuantizeLinear) and behind_views(subject, n) is first
        for n in subject.graph
    )


def behind_views(subject: Subject, node: Node) -> Node | None:
    """Return the producer of a node's operand behind at least one view."""
    producer, steps = node, 0
    while producer.inputs and producer.inputs[0] is not None:
        maker = subject.graph.producers.get(producer.inputs[0])
        if maker is None:
            return None
        producer, steps = maker, steps + 1
        if producer.op.kind is not Kind.VIEW:
            return producer if steps > 1 else None
    return None


def _partner(subject: Subject, node: Node) -> str:
    """Return the operator next to the conversion."""
    if isinstance(node.op, DequantizeLinear):
        users = subject.graph.users.get(node.results[0], ())
        neighbor = users[0] if users else None
    else:
        source = node.inputs[0]
        neighbor = subject.graph.producers.get(source) if source is not None else None
    return (neighbor.loc.op_type or neighbor.op.mnemonic) if neighbor is not None else ""
