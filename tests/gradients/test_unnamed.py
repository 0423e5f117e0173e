"""Which tensors that torch.onnx named itself are parameters."""

from __future__ import annotations

from .test_kept import graph, step

SHAPE = "f32[3, 4]"


def test_vectors_without_a_modules_name_are_not_trained_and_turned_matrices_are() -> None:
    module = step(
        graph(
            "%val_7 = weight : f32[4, 4]",
            "%val_6 = weight : f32[4]",
            "%bias = weight : f32[4]",
            f"%a = matmul(%x, %val_7) : {SHAPE}",
            f"%b = add(%a, %val_6) : {SHAPE}",
            f"%y = add(%b, %bias) : {SHAPE}",
            "return %y",
            ins=f"%x: {SHAPE}",
        )
    )
    updated = {v.name for v in module.graph.outputs[1:]}
    assert len(updated) == 2
    assert not any("val_6" in name for name in updated)
