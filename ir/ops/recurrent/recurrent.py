"""Recurrent networks: one matrix product of input and of state for each step and direction."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ... import (
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Op,
    Positive,
    Shape,
    TensorType,
    Types,
    Work,
    dim_sum,
    first_dtype,
    frozen,
    has,
    known,
    shape_at,
)
from ...cost import work_of
from ...problem import Recurrence
from ..attention.attention import axis, either, ranked
from ..contraction.epilogue import activation_cost


@frozen
class Recurrent(Op):
    """A cell with ``gates`` gates applied step by step in one direction or in both.

    Shapes:  X[t, b, i], W[r, g*h, i], R[r, g*h, h] -> Y[t, r, b, h], Y_h[r, b, h]; with
             ``layout`` 1 X[b, t, i], Y[b, t, r, h], Y_h[b, r, h]; r directions.
    Work:    {mac}; {alu} and {sfu}: sums of the products,
             biases, clipping, gating and activations of all directions together. With
             sequence_lens ``effective_mac`` counts the given steps; where their content is not
             known t is 1, a lower bound.
    Traffic: each operand once, each result once; weights stay on chip between steps.
    Source:  ONNX LSTM-22, GRU-22, RNN-22.
    """

    kind = Kind.RECURRENT
    least_results = 0
    formulas = {
        "mac": "t*b*r*g*h*(i + h)",
        "alu": "t*b*h*x",
        "sfu": "t*b*h*y",
    }
    gates = 1
    uses: ClassVar[tuple[int, ...]] = (1,)
    """Number of applications of each activation per step and direction."""
    defaults: ClassVar[tuple[str, ...]] = ("Tanh",)
    states = 1
    """Number of states that the cell carries and returns."""

    activation_alpha: tuple[float, ...] = ()
    activation_beta: tuple[float, ...] = ()
    activations: tuple[str, ...] = ()
    clip: float | None = None
    direction: str = "forward"
    hidden_size: Positive | None = None
    layout: int = 0

    @property
    def directions(self) -> int:
        """Return r, the number of directions."""
        return 2 if self.direction == "bidirectional" else 1

    def gating(self, ins: Inputs) -> int:
        """Return the vector operations per element and step that combine the gates."""
        return 0

    def input_width(self, ins: Inputs) -> Dim | None:
        """Return i, the elements of a step's input."""
        return axis(ranked(ins, 0, 3), 2)

    def hidden(self, ins: Inputs) -> Dim:
        """Return h, the elements of a state."""
        if self.hidden_size:
            return self.hidden_size
        return either(axis(shape_at(ins, 2), 2))

    def _sizes(self, ins: Inputs) -> tuple[Dim, Dim]:
        """Return the steps and the batch, in either layout."""
        x = ranked(ins, 0, 3)
        first, second = either(axis(x, 0)), either(axis(x, 1))
        return (second, first) if self.layout else (first, second)

    def infer(self, ins: Inputs) -> Types:
        (t, b), r, h = self._sizes(ins), self.directions, self.hidden(ins)
        dtype = first_dtype(ins, 0, 1, 2)
        y: Shape = (b, t, r, h) if self.layout else (t, r, b, h)
        state: Shape = (b, r, h) if self.layout else (r, b, h)
        return (TensorType(dtype, y), *(TensorType(dtype, state) for _ in range(self.states)))

    def _activation_costs(self) -> tuple[int, int]:
        """Return operations of all activations per step and element, summed over directions."""
        names = self.activations or self.defaults * self.directions
        alu = sfu = 0
        for position, name in enumerate(names):
            # the list starts over with the second direction
            times = self.uses[position % len(self.uses)]
            vector, special = activation_cost(name)
            alu, sfu = alu + times * vector, sfu + times * special
        return alu, sfu

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        i = self.input_width(ins)
        if i is None or shape_at(ins, 0) is None:
            return {}
        (t, b), r, g = self._sizes(ins), self.directions, self.gates
        # of unknown lengths one step is certain
        t = 1 if self._lengths(ins) is None else t
        alu, sfu = self._activation_costs()
        # a comparison with each of two limits
        clipped = 2 * g if self.clip else 0
        biased = g if has(ins, 3) else 0
        # g sums of the product of the input and that of the state
        x = alu + r * (g + biased + clipped + self.gating(ins))
        return {"t": t, "b": b, "r": r, "g": g, "h": self.hidden(ins), "i": i, "x": x, "y": sfu}

    def problem(self, ins: Inputs, outs: Types) -> Recurrence | None:
        e = self.extents(ins, outs)
        return Recurrence(e["t"]) if e else None

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        dense, lengths = super().work(ins, outs), self._lengths(ins)
        if dense is None or lengths == ():
            return dense
        if lengths is None:
            return replace(dense, is_bound=True)
        # the steps of all sequences, as one sequence
        steps = {**self.extents(ins, outs), "t": dim_sum(lengths), "b": 1}
        return replace(dense, effective_mac=work_of(self.formulas, steps, None).mac)

    def _lengths(self, ins: Inputs) -> Shape | None:
        """Return the steps of every sequence, () for full length, None if data dependent."""
        if not has(ins, 4):
            return ()
        content = known(ins, 4)
        dims = () if content is None else content.dims
        lengths = tuple(d for d in dims if d is not None)
        return lengths if content is not None and len(lengths) == len(dims) else None


class RNN(Recurrent):
    """``H = f(X @ W + H @ R + bias)``.

    Work:    as Recurrent with g = 1.
    Source:  ONNX RNN-22.
    """

    mnemonic = "rnn"
    onnx = "RNN"
    operands = "X W R B? sequence_lens? initial_h?"


@frozen
class GRU(Recurrent):
    """Gated recurrent unit: update, reset and hidden gate.

    Work:    as Recurrent with g = 3; 4 operations mix old and new state, 1 resets.
    Source:  ONNX GRU-22; arXiv:1406.1078.
    """

    mnemonic = "gru"
    onnx = "GRU"
    operands = "X W R B? sequence_lens? initial_h?"
    gates = 3
    uses = (2, 1)
    defaults = ("Sigmoid", "Tanh")

    linear_before_reset: int = 0

    def gating(self, ins: Inputs) -> int:
        return 5  # 4 mix the old and the new state, 1 resets


LSTM_OPERANDS = "X W R B? sequence_lens? initial_h? initial_c? P?"


@frozen
class LSTM(Recurrent):
    """Long short-term memory: input, output, forget and cell gate.

    Shapes:  as Recurrent, and Y_c like Y_h.
    Work:    as Recurrent with g = 4; 4 operations update cell and state, 6 more for peepholes,
             1 where input and forget gate are coupled.
    Source:  ONNX LSTM-22; Hochreiter and Schmidhuber, Neural Computation 9(8), 1997.
    """

    mnemonic = "lstm"
    onnx = "LSTM"
    operands = LSTM_OPERANDS
    gates = 4
    uses = (3, 1, 1)
    defaults = ("Sigmoid", "Tanh", "Tanh")
    states = 2

    input_forget: int = 0

    def gating(self, ins: Inputs) -> int:
        # peepholes add a product and a sum to three gates
        return 4 + 6 * int(has(ins, 7)) + int(bool(self.input_forget))


class ProjectedLSTM(LSTM):
    """LSTM whose state is a product of its output gate's result.

    Shapes:  as LSTM with the p elements of a state: R[r, 4*h, p], projection[r, p, h],
             Y[t, r, b, p], Y_h[r, b, p], Y_c[r, b, h].
    Work:    as LSTM, and the projection.
    Source:  PyTorch, torch.nn.LSTM with proj_size; arXiv:1402.1128.
    """

    mnemonic = "projected_lstm"
    onnx = "aten::LSTM"
    operands = f"{LSTM_OPERANDS} projection"
    formulas = {
        **Recurrent.formulas,
        # a state is projection · (o * tanh(c)): h*p multiplies the h elements of the output gate's
        # result, and g*h*(i + p) is for the gates, which read the p elements of the last state
        "mac": "t*b*r*(g*h*(i + p) + h*p)",
    }

    def hidden(self, ins: Inputs) -> Dim:
        return either(axis(shape_at(ins, 8), 2))

    def width(self, ins: Inputs) -> Dim:
        """Return p, the elements of a state."""
        return either(axis(shape_at(ins, 8), 1))

    def infer(self, ins: Inputs) -> Types:
        *states, cell = super().infer(ins)
        shapes = (t.shape for t in states if isinstance(t, TensorType) and t.shape)
        dtype, p = first_dtype(ins, 0, 1, 2), self.width(ins)
        return *(TensorType(dtype, (*shape[:-1], p)) for shape in shapes), cell

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        letters = super().extents(ins, outs)
        return letters and {**letters, "p": self.width(ins)}


class DynamicQuantizeLSTM(LSTM):
    """LSTM whose products are of 8-bit integers, quantized step by step.

    Shapes:  as LSTM with W[r, i, 4*h] and R[r, h, 4*h].
    Work:    as LSTM in int8; quantizing inputs and states is left out.
    Source:  ONNX Runtime ContribOperators, DynamicQuantizeLSTM.
    """

    mnemonic = "dynamic_quantize_lstm"
    onnx = "com.microsoft::DynamicQuantizeLSTM"
    operands = f"{LSTM_OPERANDS} W_scale W_zero_point R_scale R_zero_point"
    macs_in = DType.I8

    def hidden(self, ins: Inputs) -> Dim:
        return self.hidden_size or either(axis(shape_at(ins, 2), 1))  # R has its axes exchanged


class AttnLSTM(LSTM):
    """LSTM whose input includes attention over a memory.

    Shapes:  as LSTM; the last axis of W is the input together with the attention.
    Work:    as LSTM on that joint input; the attention itself is left out.
    Source:  ONNX Runtime ContribOperators, AttnLSTM; arXiv:1409.0473.
    """

    mnemonic = "attn_lstm"
    onnx = "com.microsoft::AttnLSTM"
    operands = f"{LSTM_OPERANDS} QW? MW? V? M? memory_seq_lens? AW?"

    def input_width(self, ins: Inputs) -> Dim | None:
        return axis(shape_at(ins, 1), 2)
