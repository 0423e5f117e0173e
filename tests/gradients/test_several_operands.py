"""A training step of a product of three operands does what torch.einsum's own does."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import perfc


def test_a_step_has_two_products_for_each_that_torch_einsum_does() -> None:
    """5,242,880 by FlopCounterMode of PyTorch 2.13, where x needs no gradient."""
    info = helper.make_tensor_value_info
    stored = {"a": np.ones((512, 8), np.float32), "b": np.ones((8, 512), np.float32)}
    graph = helper.make_graph(
        [helper.make_node("Einsum", ["x", "a", "b"], ["y"], equation="bti,ir,ro->bto")],
        "g",
        [info("x", TensorProto.FLOAT, [4, 64, 512])],
        [info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    assert perfc.analyze(model).cost.work.mac == 2_097_152
    assert perfc.analyze(model, train="sgd").cost.work.mac == 5_242_880
