"""Operators that run subgraphs; the shapes pass derives their types from the regions."""

from __future__ import annotations

from ... import Attributes, Graph, Inputs, Kind, Op, Positive, Types, frozen
from ..movement.view import Identity


class Control(Op):
    """An operator whose work, traffic and types are those of its regions.

    Shapes:  results of the regions, joined over branches and iterations.
    Work:    that of the regions times the number of iterations; counted by the pass.
    Traffic: that of the regions; passing operands in and results out moves nothing.
    Source:  ONNX If-25, Loop-25, Scan-25, SequenceMap-17.
    """

    kind = Kind.CONTROL

    def infer(self, ins: Inputs) -> Types:
        return ()


class If(Control):
    """One of two regions: ``then_branch``, ``else_branch``. Source: ONNX If-25.

    Shapes:  the join of the two branches' results; those of one branch if the condition is known.
    """

    mnemonic = "if"
    least_regions = 2
    onnx = "If"
    operands = "cond"


class Loop(Control):
    """A region repeated up to ``M`` times while its condition holds. Source: ONNX Loop-25.

    Shapes:  carried values join over iterations; scan outputs are stacked along a new first axis.
    """

    mnemonic = "loop"
    least_regions = 1
    onnx = "Loop"
    operands = "M? cond? v_initial*"


@frozen
class Scan(Control):
    """A region applied along an axis of its scan inputs. Source: ONNX Scan-25, Scan-8.

    Shapes:  states keep their types; scan outputs are stacked along ``scan_output_axes``.
             ``has_batch`` is Scan-8: sequence lengths come first, every operand has a batch axis.
    """

    mnemonic = "scan"
    least_regions = 1
    onnx = "Scan"
    operands = "initial_state_and_scan_inputs*"
    num_scan_inputs: Positive = 0
    scan_input_axes: tuple[int, ...] = ()
    scan_input_directions: tuple[int, ...] = ()
    scan_output_axes: tuple[int, ...] = ()
    scan_output_directions: tuple[int, ...] = ()
    directions: tuple[int, ...] = ()
    has_batch: bool = False

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Mark the batched form of opset 8."""
        # Scan-8 has a batch axis, which Scan-9 gave up
        return {**attrs, "has_batch": True} if version < 9 else attrs


class SequenceMap(Control):
    """A region applied to each element of sequences. Source: ONNX SequenceMap-17.

    Shapes:  sequences of the region's results, as long as the first operand.
    """

    mnemonic = "sequence_map"
    least_regions = 1
    onnx = "SequenceMap"
    operands = "input_sequence additional_inputs*"


def keeps_types(body: Graph) -> bool:
    """Return True if the states of a loop have the same types in each iteration."""
    # inputs begin with iteration number and condition, outputs with the condition
    pairs = zip(body.inputs[2:], body.outputs[1:], strict=False)
    return all(before.type == after.type for before, after in pairs)


def never_ends(region: Graph) -> bool:
    """Return True if the condition of a loop's body never ends the loop."""
    condition = region.outputs[0] if region.outputs else None
    if condition is None:
        return False
    if condition.known is not None:
        return condition.known.item == 1
    # a condition that the body passes through stays true: follow it to the second input
    source = condition
    producers = region.producers
    while source in producers and isinstance(producers[source].op, Identity):
        before = producers[source].inputs[0]
        if before is None:
            return False
        source = before
    return len(region.inputs) > 1 and source is region.inputs[1]
