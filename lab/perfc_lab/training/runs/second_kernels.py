"""Further kernels that eager PyTorch launches for one operator of a training step's graph.

Sources, in PyTorch 2.1:

- ``aten/src/ATen/native/cuda/SoftMax.cu``: ``softmax_backward_cuda_out`` multiplies gradient and
  result before it reduces.
- ``aten/src/ATen/native/cuda/layer_norm_kernel.cu``: the second kernel of
  ``LayerNormBackwardKernelImplInternal`` reads gradient and operand again for scale and offset.
- ``torch/csrc/autograd/functions/accumulate_grad.h`` adds a gradient to an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from perfc.ir.ops.normalization.normalization_grad import LayerNormalizationGrad
from perfc.ir.ops.normalization.softmax_grad import SoftmaxGrad

from .view_copies import elements, streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfc.analyzers.features.lowering import Lowered
    from perfc.ir.graph import Node, Value


def second(node: Node, env: Mapping[str, int]) -> Iterator[Lowered]:
    """Yield the further kernels of one operator.

    Args:
        node: node of the graph.
        env: values of the symbols.
    """
    # each pair has the numbers of tensors that a further kernel reads and writes
    match node.op:
        # the gradient of a log-softmax, a subclass, reads gradient and result in one kernel
        case SoftmaxGrad() as op if op.is_exactly(SoftmaxGrad):
            yield from streams(elements(node.inputs[0], env), ((2, 1),))
        case LayerNormalizationGrad():
            yield from streams(elements(node.inputs[0], env), ((2, 0),))
        case _:
            pass


def accumulated(gradients: Sequence[Value], env: Mapping[str, int]) -> Iterator[Lowered]:
    """Yield the additions of gradients to the gradients that parameters already have."""
    for v in gradients:
        yield from streams(elements(v, env), ((2, 1),))
