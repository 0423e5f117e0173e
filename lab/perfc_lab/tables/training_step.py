"""Launches of a training step, from its graph of forward pass, gradients and optimizer."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.analyzers.steps.launch_kind import LaunchKind, LaunchRole
from perfc.analyzers.steps.launches import Launch
from perfc.analyzers.steps.stored import Stored
from perfc.ir import Module, Numbers, Phase, Value
from perfc.ir.ops.convolution.conv_grad import ConvDataGrad, ConvFilterGrad
from perfc.ir.ops.elementwise.cast import Cast
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.inference.strides import Strides
from perfc.passes.precision.what_if import what_if
from perfc.passes.rewriting.untie import Untie
from perfc.passes.runtimes import runtime
from perfc.passes.training.train import Train

if TYPE_CHECKING:
    from perfc.analyzers.steps.setting import Setting
    from perfc.passes.manager import Analyses

OPTIMIZER = "momentum"
"""Optimizer of the measured whole steps: SGD of timm's ``benchmark.py``."""


def step_launches(
    module: Module, am: Analyses, setting: Setting, envs: Sequence[Mapping[str, int]]
) -> tuple[KernelTable, list[Launch]]:
    """Return the launches of one training step of a typed f32 module, in order, with their roles.

    Args:
        module: its floating-point tensors in f32, canonical with its parameters kept.
        am: gives the step, its fusion and strides.
        setting: how the framework runs it.
        envs: values of the symbols; amounts have an element for each.

    Raises:
        PassError: an operator has no gradient, or autocast is not known of the model.
    """
    step = step_of(module, am, setting)
    table = am.get(Fuse(setting.runtime), step)
    strides = am.get(Strides(setting.runtime), step)
    listing = StepListing(table, None, strides, setting.compiled, [Numbers(e) for e in envs])
    return table, list(listing.all())


def step_of(module: Module, am: Analyses, setting: Setting) -> Module:
    """Return the module as one step: in its stored types, with gradients and update."""
    module = am.apply(Untie(), module)
    precision = setting.precision
    if precision.is_mixed or precision.bits < 32:
        module = am.apply(what_if(precision.value, trained_by=setting.runtime), module)
    fuses = runtime(setting.runtime).fuses_attention
    return am.apply(Train(OPTIMIZER, fuses_attention=fuses), module)


class StepListing(Stored):
    """Lists the launches of a training step."""

    def all(self) -> Iterator[Launch]:
        """Yield every launch; last, one of mean size for all casts of parameters and gradients."""
        kernels = self.table.kernels
        gradients = {v for k in kernels if role_of(k) is LaunchRole.OPTIMIZER for v in k.reads}
        known: dict[tuple[int, LaunchRole], Mapping[str, float]] = {}
        cast_bytes, casts = 0.0, 0
        for index, kernel in enumerate(kernels):
            if is_of_parameters(kernel, gradients):
                traffic = kernel.traffic
                cast_bytes += self.number(traffic.read_bytes) + self.number(traffic.write_bytes)
                casts += 1
                continue
            role = role_of(kernel)
            for launch in (self.launch(index, kernel), *self.copied(kernel)):
                key = id(launch.traits), role
                if key not in known:
                    known[key] = {**launch.traits, "role": float(role.number)}
                yield replace(launch, traits=known[key])
        if casts:
            half = self.same(cast_bytes / casts / 2)
            amounts = {"read_bytes": half, "write_bytes": half}
            traits = {"role": float(LaunchRole.FORWARD.number), "operands": 1.0}
            yield Launch(LaunchKind.WEIGHT_CAST, -1, amounts, traits, float(casts))


def is_of_parameters(kernel: Kernel, gradients: Container[Value]) -> bool:
    """Return True if a kernel casts parameters, or ``gradients``, which the optimizer reads."""
    if not isinstance(kernel.anchor.op, Cast):
        return False
    return all(v.weight is not None for v in kernel.reads) or all(
        v in gradients for v in kernel.writes
    )


def role_of(kernel: Kernel) -> LaunchRole:
    """Return the role of a kernel, by its anchor."""
    match kernel.anchor.loc.phase, kernel.anchor.op:
        case Phase.OPTIMIZER, _:
            return LaunchRole.OPTIMIZER
        case Phase.BACKWARD, ConvDataGrad():
            return LaunchRole.DATA_GRADIENT
        case Phase.BACKWARD, ConvFilterGrad():
            return LaunchRole.FILTER_GRADIENT
        case Phase.BACKWARD | Phase.RECOMPUTE, _:
            return LaunchRole.BACKWARD
        case _:
            return LaunchRole.FORWARD
