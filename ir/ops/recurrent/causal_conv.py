"""Depthwise causal convolutions that carry their last inputs to the next call."""

from __future__ import annotations

from ... import (
    Dim,
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    Positive,
    Shape,
    TensorType,
    Types,
    element_count,
    first_dtype,
    frozen,
    has,
    shape_at,
    tensor,
)
from ...problem import SlidingWindow
from ..attention.attention import axis, either
from ..contraction.epilogue import activation_cost
from ..convolution.conv import channels_first
from ..convolution.window import result_shape


@frozen
class CausalConvWithState(Op):
    """Depthwise convolution over the past of a sequence, with its state.

    Shapes:  input[b, c, l], weight[c, 1, k], past_state[b, c, m] -> output like input,
             present_state[b, c, m] with m = (k - 1)*dilation. In ONNX Runtime also with more
             spatial axes, with the sequence before the channels, and with a window of states.
    Work:    {mac} for e elements of the output and k taps; {alu} and {sfu} from the
             bias and the activation.
    Traffic: each operand once, each result once.
    Source:  ONNX CausalConvWithState-27; ONNX Runtime ContribOperators, CausalConvWithState.
    """

    mnemonic = "causal_conv_with_state"
    onnx = "CausalConvWithState com.microsoft::CausalConvWithState"
    operands = "input weight bias? past_state?"
    kind = Kind.CONV
    formulas = {"mac": "e*k", "alu": "e*x", "sfu": "e*y"}
    bias_at = 2
    """Position of the bias among the operands."""

    activation: str = "none"
    channels_last: int = 0
    dilation: Positive = 1
    ndim: Positive = 1
    state_window: Natural = 0

    def infer(self, ins: Inputs) -> Types:
        x, w = shape_at(ins, 0), shape_at(ins, 1)
        dtype = first_dtype(ins, 0, 1)
        state = shape_at(ins, 3) if has(ins, 3) else None
        if state is None and x is not None:
            taps = axis(w, -1)
            history = either() if taps is None else (taps - 1) * self.dilation
            state = (x[0], history, *x[2:]) if self.channels_last else (*x[:-1], history)
            if self.state_window:
                # the states after each of the last tokens
                state = (self.state_window, *state)
        return TensorType(dtype, x), TensorType(first_dtype(ins, 3, 0, 1), state)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        y, w = result_shape(outs), shape_at(ins, 1)
        if y is None or w is None:
            return {}
        alu, sfu = activation_cost(self.activation)
        biased = int(has(ins, self.bias_at))
        return {"e": element_count(y), "k": element_count(w[2:]), "x": alu + biased, "y": sfu}

    def maps(self, ins: Inputs) -> Shape | None:
        """Return the shape of the input as batch, channels, sequence."""
        return channels_first(shape_at(ins, 0), self.channels_last)

    def problem(self, ins: Inputs, outs: Types) -> SlidingWindow | None:
        x, w = self.maps(ins), shape_at(ins, 1)
        if x is None or w is None or len(x) != len(w):
            return None
        batch, channels, extents, window = x[0], x[1], x[2:], w[2:]
        # depthwise: a group per channel, whose number must be known
        if not isinstance(channels, int) or not channels:
            return None
        rank = len(window)
        # every axis is padded in front with as many elements as a window spans before its last
        histories = [(d - 1) * self.dilation for d in window]
        pads = tuple([(past if isinstance(past, int) else 0, 0) for past in histories])
        return SlidingWindow(
            batch=batch,
            in_channels=channels,
            out_channels=channels,
            in_extents=extents,
            out_extents=extents,
            extents=window,
            strides=(1,) * rank,
            dilations=(self.dilation,) * rank,
            pads=pads,
            groups=channels,
            carried=self.sequences(ins),
        )

    def sequences(self, ins: Inputs) -> Dim:
        """Return the number of carried states."""
        x = shape_at(ins, 0)
        return x[0] if x else 0


@frozen
class VarlenCausalConvWithState(CausalConvWithState):
    """CausalConvWithState over packed sequences.

    Shapes:  input[n, c], weight[c, 1, k], initial_state[b, c, m] -> output like input,
             final_state like initial_state, state_update[b, capacity, c].
    Work:    as CausalConvWithState.
    Traffic: each operand once, each result once.
    Source:  ONNX Runtime ContribOperators, VarlenCausalConvWithState.
    """

    mnemonic = "varlen_causal_conv_with_state"
    onnx = "com.microsoft::VarlenCausalConvWithState"
    operands = "input weight cumulative_sequence_length bias? initial_state capture_count?"
    bias_at = 3

    state_update_capacity: Natural = 0

    def maps(self, ins: Inputs) -> Shape | None:
        x = shape_at(ins, 0)
        return None if x is None else (1, x[1], x[0])  # all tokens as one sequence

    def sequences(self, ins: Inputs) -> Dim:
        state = shape_at(ins, 4)
        return state[0] if state else 0

    def infer(self, ins: Inputs) -> Types:
        x, state, dtype = shape_at(ins, 0), tensor(ins, 4), first_dtype(ins, 0, 1)
        b, c = either(axis(state.shape, 0)), either(axis(x, 1), axis(state.shape, 1))
        update: Shape = (b, self.state_update_capacity, c)
        return TensorType(dtype, x), state, TensorType(dtype, update)
