"""A function of tensors differentiated twice: by PyTorch, and by the IR under ONNX Runtime."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from perfc.api import typed
from perfc.ir.gradients.tape import Tape
from perfc.ir.graph import Graph, Value
from perfc.ir.symbolic.fresh import numbering
from perfc.ir.syntax.text import all_values
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.training.differentiate import differentiate
from tests.oracles import executed


class Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def exported(function: Callable[..., Any], ins: Sequence[torch.Tensor], opset: int) -> bytes:
    """The ONNX model of a function."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Function(function),
            tuple(ins),
            file,
            dynamo=False,
            opset_version=opset,
            input_names=[f"in{i}" for i in range(len(ins))],
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=False,
        )
    return file.getvalue()


def gradients(
    function: Callable[..., Any], ins: Sequence[torch.Tensor], opset: int = 20
) -> tuple[list[Any], list[Any]]:
    """Gradients of the real inputs: PyTorch's, and those of the IR."""
    leaves = [t.clone().requires_grad_(t.is_floating_point()) for t in ins]
    wanted = [t for t in leaves if t.requires_grad]
    results = function(*leaves)
    first = results[0] if isinstance(results, tuple) else results
    generator = torch.Generator().manual_seed(1)
    seed = torch.randn(first.shape, generator=generator)
    theirs = torch.autograd.grad(first, wanted, seed, allow_unused=True)
    found = [None if t is None else t.numpy() for t in theirs]
    return found, by_the_ir(exported(function, ins, opset), ins, seed)


def by_the_ir(model: bytes, ins: Sequence[torch.Tensor], seed: torch.Tensor) -> list[Any]:
    """Gradients of the model's real inputs by the IR's rules, executed."""
    module = Analyses().apply(Canonicalize(), typed(model))
    graph = module.graph
    tape = Tape(v.name for v in all_values(graph))
    given = {v.name: t for v, t in zip(graph.inputs, ins, strict=True)}
    wanted = [v for v in graph.inputs if v.is_real]
    start = Value("seed", graph.outputs[0].type)
    with numbering():
        found = differentiate(graph.nodes, {graph.outputs[0]: start}, wanted, tape)
    made = [found.gradients.get(v) for v in wanted]
    outputs = tuple(dict.fromkeys(v for v in made if v is not None))
    nodes = (*found.forward, *tape.nodes)
    weights = (*graph.weights, *tape.constants.values())
    whole = Graph("g", (*graph.inputs, start), outputs, nodes, weights)
    feeds = {name: t.detach().numpy() for name, t in given.items()}
    feeds["seed"] = seed.numpy()
    arrays = dict(zip(outputs, executed.run(whole, feeds), strict=True)) if outputs else {}
    for v in outputs:
        assert tuple(v.type.shape) == arrays[v].shape, f"{v.name}: {v.type} is {arrays[v].shape}"
    return [None if v is None else arrays[v] for v in made]


def largest_error(theirs: Sequence[Any], ours: Sequence[Any]) -> float:
    """The largest difference, relative to the largest element; a missing gradient is zero."""
    assert len(theirs) == len(ours)
    worst = 0.0
    for a, b in zip(theirs, ours, strict=True):
        if a is None or b is None:
            other = b if a is None else a
            worst = max(worst, 0.0 if other is None else float(np.abs(other).max(initial=0)))
            continue
        assert a.shape == b.shape, f"{a.shape} and {b.shape}"
        scale = max(float(np.abs(a).max(initial=0)), 1e-6)
        worst = max(worst, float(np.abs(a - b).max(initial=0)) / scale)
    return worst
