"""Training: optimizer steps and gradients."""

from __future__ import annotations

from ... import Extents, Inputs, Kind, Op, Types, count, dim_sum, frozen, tensor


@frozen
class Optimizer(Op):
    """An optimizer step on several tensors.

    Shapes:  R, T, then tensors X, gradients G and each state, group by group -> the new X, and
             each new state.
    Work:    {alu}, sfu = 2*e over the e elements of all X.
    Traffic: each operand and each result once.
    Source:  ai.onnx.preview.training.
    """

    kind = Kind.OPTIMIZER
    operands = "R T inputs+"
    formulas = {"alu": "a*e", "sfu": "s*e"}
    # state tensors of each X, and operations per element of X: defaults are those of Adagrad
    states = 1
    alu = 7
    sfu = 2

    def _group(self, ins: Inputs) -> int:
        """Return the number of optimized tensors."""
        # after R and T a group each for X, G and the states
        return max(len(ins) - 2, 0) // (2 + self.states)

    def infer(self, ins: Inputs) -> Types:
        n = self._group(ins)
        # groups in order: X, gradients, then a group for each state
        updated = [0, *range(2, 2 + self.states)]
        return tuple(tensor(ins, 2 + group * n + i) for group in updated for i in range(n))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # X is the first group
        sizes = [count(tensor(ins, 2 + i)) for i in range(self._group(ins))]
        return {"e": dim_sum(sizes), "a": self.alu, "s": self.sfu}


@frozen
class Adagrad(Optimizer):
    """``h += g**2; x -= r * g / (sqrt(h) + epsilon)`` with a regularized gradient.

    Shapes:  R, T, X..., G..., H... -> X..., H...
    Work:    alu = 7*e: gradient 2, state 2, step 3; sfu = 2*e: root and division.
    Traffic: each operand and each result once.
    Source:  ai.onnx.preview.training Adagrad-1.
    """

    mnemonic = "adagrad"
    onnx = "ai.onnx.preview.training::Adagrad"
    decay_factor: float = 0.0
    epsilon: float = 1e-6
    norm_coefficient: float = 0.0


@frozen
class Adam(Optimizer):
    """Step by moving averages of gradient and squared gradient.

    Shapes:  R, T, X..., G..., V..., H... -> X..., V..., H...
    Work:    alu = 13*e: gradient 2, V 3, H 4, step 4; sfu = 2*e: root and division.
    Traffic: each operand and each result once.
    Source:  ai.onnx.preview.training Adam-1; arXiv:1412.6980.
    """

    mnemonic = "adam"
    onnx = "ai.onnx.preview.training::Adam"
    states = 2
    alu = 13
    alpha: float = 0.9
    beta: float = 0.999
    epsilon: float = 1e-6
    norm_coefficient: float = 0.0
    norm_coefficient_post: float = 0.0


@frozen
class Momentum(Optimizer):
    """Step by a moving average of the gradient.

    Shapes:  R, T, X..., G..., V... -> X..., V...
    Work:    alu = 7*e: gradient 2, V 3, step 2; Nesterov's variant adds 2, left out.
    Traffic: each operand and each result once.
    Source:  ai.onnx.preview.training Momentum-1.
    """

    mnemonic = "momentum"
    onnx = "ai.onnx.preview.training::Momentum"
    sfu = 0
    alpha: float = 0.0
    beta: float = 0.0
    mode: str = "standard"
    norm_coefficient: float = 0.0


@frozen
class Gradient(Op):
    """Partial derivatives of a value with respect to others.

    Shapes:  one result for each of ``xs``, of its shape; ``xs`` are the first inputs.
    Work:    not known: that of the graph between.
    Traffic: each operand and each result once.
    Source:  ai.onnx.preview.training Gradient-1.
    """

    mnemonic = "gradient"
    onnx = "ai.onnx.preview.training::Gradient"
    operands = "Inputs+"
    kind = Kind.OPAQUE
    is_counted = False
    xs: tuple[str, ...] = ()
    y: str = ""
    zs: tuple[str, ...] = ()

    def infer(self, ins: Inputs) -> Types:
        return tuple(tensor(ins, i) for i in range(len(self.xs)))
