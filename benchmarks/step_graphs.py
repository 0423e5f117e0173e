"""Training steps against PyTorch: matrix operations, and bytes kept for the backward pass.

Each model is one PyTorch module, exported to ONNX and run, so that both sides are one network.

    python -m benchmarks.step_graphs [NAME...]

Needs PyTorch, timm and transformers. Prints a row for each model and way of training it.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.step_models import models
from perfc.api import typed
from perfc.ir.graph import Module, Phase
from perfc.ir.op import Kind
from perfc.passes.manager import Analyses
from perfc.passes.memory.saved import Saved
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.cost import Cost
from perfc.passes.training.train import Train

RANK = 4
"""Rank of the factors of LoRA."""
WITHIN = (0.001, 0.02)
"""Tolerances of operations and of saved bytes."""
LEAST_LINEAR = 4
"""Linear layers of a model that is worth adapting."""
MATRIX = (Kind.MATMUL, Kind.CONV, Kind.ATTENTION, Kind.RECURRENT)
"""Kinds of operators whose work PyTorch's counter counts."""


def exported(model: torch.nn.Module, ins: tuple[Any, ...], opset: int) -> bytes:
    """Return ONNX of a module, parameters under their own names."""
    try:
        return traced(model, ins, opset)
    except Exception:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(model, ins, dynamo=True, optimize=False, verbose=False)
        return bytes(program.model_proto.SerializeToString())


def traced(model: torch.nn.Module, ins: tuple[Any, ...], opset: int) -> bytes:
    """Return ONNX of a module by the exporter that traces."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            ins,
            file,
            dynamo=False,
            opset_version=opset,
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=False,
            export_params=True,
            keep_initializers_as_inputs=False,
        )
    return file.getvalue()


def of_conv_backward(
    dy: Any,
    x: Any,
    w: Any,
    _bias: Any,
    _stride: Any,
    _pad: Any,
    _dilation: Any,
    transposed: bool,
    _extra: Any,
    groups: int,
    output_mask: Any,
    out_shape: Any = None,
    **_: Any,
) -> int:
    """Return operations of both gradients of a convolution, filters of a group at its own channels.

    PyTorch 2.13 counts the gradient of filters as if there were no groups, so that it is too much
    by their number (torch/utils/flop_counter.py, conv_backward_flop).
    """
    from math import prod

    spread = x if transposed else dy
    products = 2 * spread[0] * prod(spread[2:]) * prod(w)
    return products * (int(output_mask[0]) + int(output_mask[1]))


def of_torch(model: torch.nn.Module, ins: tuple[Any, ...]) -> tuple[int, int]:
    """Return operations of products, forward and backward, and bytes saved between both passes."""
    from torch.utils.flop_counter import FlopCounterMode

    held = {p.untyped_storage().data_ptr() for p in (*model.parameters(), *model.buffers())}
    saved: dict[int, int] = {}
    alive: list[torch.Tensor] = []

    def pack(t: torch.Tensor) -> torch.Tensor:
        storage = t.untyped_storage()
        if storage.data_ptr() not in held:
            saved[storage.data_ptr()] = storage.nbytes()
            alive.append(t)
        return t

    backward = torch.ops.aten.convolution_backward
    counter = FlopCounterMode(display=False, custom_mapping={backward: of_conv_backward})
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)
    # oneDNN's cells are one operator, which the counter does not know
    with torch.backends.mkldnn.flags(enabled=not is_recurrent(model)), counter, hooks:
        out = model(*ins)
        out.mean().backward()
    model.zero_grad()
    return counter.get_total_flops(), sum(saved.values())


def is_recurrent(model: torch.nn.Module) -> bool:
    """Return True if a model has recurrent cells."""
    return any(isinstance(m, torch.nn.RNNBase) for m in model.modules())


def of_module(
    module: Module, freeze: tuple[str, ...], rank: int = 0, lora: tuple[str, ...] = ()
) -> tuple[int, int]:
    """Return the same of the IR."""
    am = Analyses()
    folded = am.apply(Canonicalize(keeps_parameters=True), module)
    recipe = Train(optimizer="", loss="mean", freeze=freeze, lora_rank=rank, lora=lora)
    step = am.apply(recipe, folded)
    table = am.get(Cost(), step)
    env = step.defaults()
    macs = 0
    for node in step.graph.nodes:
        if node.loc.phase is not Phase.OPTIMIZER and node.op.kind in MATRIX:
            work = table.nodes[node].work
            macs += 0 if work is None else int(work.mac)
    return 2 * macs, am.get(Saved("eager"), step).bytes_at(env)


def frozen_half(model: torch.nn.Module) -> tuple[str, ...]:
    """Freeze the first half of the parameters and return their names."""
    named = list(model.named_parameters())
    first = {p for _, p in named[: len(named) // 2]}
    for p in first:
        p.requires_grad_(False)
    # a matrix that is shared has several names, and the file has one of them
    return tuple(n for n, p in model.named_parameters(remove_duplicate=False) if p in first)


class Adapted(torch.nn.Module):
    """A linear layer with factors, as PEFT has it."""

    def __init__(self, base: torch.nn.Linear, rank: int) -> None:
        super().__init__()
        self.base, self.rank = base, rank
        self.down = torch.nn.Linear(base.in_features, rank, bias=False)
        self.up = torch.nn.Linear(rank, base.out_features, bias=False)

    @property
    def weight(self) -> torch.Tensor:
        """Return the frozen matrix, whose type some models ask for."""
        return self.base.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum."""
        # the scale of LoRA, alpha over rank, with an alpha of 16
        return self.base(x) + self.up(self.down(x)) * (16.0 / self.rank)


def adapted(model: torch.nn.Module, ins: tuple[Any, ...], rank: int) -> tuple[str, ...]:
    """Add factors to every linear layer of a frozen model and return the names of its matrices.

    Layers whose matrix is used and that are not called themselves get none, as in PEFT.
    """
    called: set[torch.nn.Module] = set()
    hooks = [m.register_forward_pre_hook(lambda m, _: called.add(m)) for m in model.modules()]
    with torch.no_grad():
        model(*ins)
    for hook in hooks:
        hook.remove()
    for p in model.parameters():
        p.requires_grad_(False)
    same = dict(model.named_parameters(remove_duplicate=False))
    matrices: list[torch.nn.Parameter] = []
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            is_plain = type(child) is torch.nn.Linear and not isinstance(parent, Adapted)
            if is_plain and child in called:
                matrices.append(child.weight)
                setattr(parent, name, Adapted(child, rank))
    return tuple(n for n, p in same.items() if any(p is m for m in matrices))


def rows(
    name: str, make: Callable[[], tuple[torch.nn.Module, tuple[Any, ...]]]
) -> Iterator[tuple[str, str, int, int, int, int]]:
    """Yield the name, way, operations and bytes of PyTorch, operations and bytes of the IR."""
    torch.manual_seed(0)
    model, ins = make()
    opset = 20
    module = typed(exported(model, ins, opset))
    for way in ("whole", "frozen half", "lora"):
        freeze = frozen_half(model) if way == "frozen half" else ()
        lora = adapted(model, ins, RANK) if way == "lora" else ()
        if way == "lora" and len(lora) < LEAST_LINEAR:
            continue
        flop, saved = of_torch(model, ins)
        ours = of_module(module, freeze, RANK if lora else 0, lora)
        yield name, way, flop, saved, *ours


def main() -> None:
    """Print every row, and how many are near."""
    wanted = sys.argv[1:]
    near, count = [0, 0], 0
    for name, make in models():
        if wanted and not any(w in name for w in wanted):
            continue
        try:
            for row in rows(name, make):
                _, way, flop, saved, own_flop, own_kept = row
                errors = own_flop / max(flop, 1) - 1, own_kept / max(saved, 1) - 1
                print(
                    f"{name:32} {way:12} flop {flop:>15} {errors[0]:+9.4%}"
                    f"  saved {saved:>12} {errors[1]:+9.4%}",
                    flush=True,
                )
                count += 1
                near = [n + (abs(e) <= w) for n, e, w in zip(near, errors, WITHIN, strict=True)]
        except Exception as error:
            print(f"{name:32} {type(error).__name__}: {str(error)[:150]!r}", flush=True)
    shares = [f"{n} within {w:.1%}" for n, w in zip(near, WITHIN, strict=True)]
    print(f"of {count}: flop {shares[0]}, kept {shares[1]}")


if __name__ == "__main__":
    main()
