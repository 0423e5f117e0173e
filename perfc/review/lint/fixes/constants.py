"""Contents of values that depend on stored tensors only, computed by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perfc.errors import message_line
from perfc.ir import DType, Value

if TYPE_CHECKING:
    import onnx


def computed(model: onnx.ModelProto, values: Sequence[Value]) -> dict[str, Any]:
    """Compute arrays by name; known shapes are not computed.

    Raises:
        FixError: ONNX Runtime cannot compute them, or they read an external weight.
        ModelError: out of memory.
    """
    import numpy as np

    arrays: dict[str, Any] = {}
    unknown: list[Value] = []
    for v in values:
        ints = v.known.ints if v.known is not None else None
        # extents are 64-bit integers; known contents of other types lack the type of their elements
        is_extent = v.dtype is DType.I64
        if ints is not None and is_extent and v.known is not None:
            arrays[v.name] = np.array(ints, np.int64).reshape(v.known.shape)
        else:
            unknown.append(v)
    if unknown:
        names = [v.name for v in unknown]
        arrays.update(zip(names, _run(_ancestors(model, names)), strict=True))
    return arrays


def _run(model: onnx.ModelProto) -> list[Any]:
    """Return the outputs of a model without inputs.

    Raises:
        FixError: ONNX Runtime cannot run it.
        ModelError: out of memory.
    """
    from perfc.api import typed
    from perfc.measuring.measure.memory import AllocatorBehavior, check_room, need_of

    from .edit import FixError
    from .proof import session

    module = typed(model)
    check_room(need_of(module, module.defaults(), AllocatorBehavior.RETURNED), "constants")
    try:
        return list(session(model.SerializeToString()).run(None, {}))
    except Exception as error:  # onnxruntime's exceptions share no other base
        reason = message_line(error)[:200]  # enough to name the cause
        raise FixError(f"onnxruntime cannot compute a constant: {reason}") from None


def _ancestors(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """Return a model of the ancestors of some values, without inputs."""
    import onnx

    from .edit import FixError

    makers = {o: n for n in model.graph.node for o in n.output if o}
    stored = {t.name: t for t in model.graph.initializer}
    # nodes by their first output, which names them
    needed, waiting = set[str](), list(names)
    weights: dict[str, onnx.TensorProto] = {}
    while waiting:
        name = waiting.pop()
        if name in makers:
            if makers[name].output[0] not in needed:
                needed.add(makers[name].output[0])
                waiting += [i for i in makers[name].input if i]
        elif name in stored:
            weights[name] = stored[name]
            if stored[name].data_location == onnx.TensorProto.EXTERNAL:
                raise FixError(f"the weight {name!r} lies outside the file")
        else:
            raise FixError(f"{name!r} is an input")
    result = onnx.ModelProto()
    result.ir_version = model.ir_version
    result.opset_import.extend(model.opset_import)
    result.functions.extend(model.functions)
    result.graph.name = "constants"
    result.graph.node.extend(n for n in model.graph.node if n.output and n.output[0] in needed)
    result.graph.initializer.extend(weights.values())
    result.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return result
