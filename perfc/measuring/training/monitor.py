"""Monitoring of training steps: FLOP utilization, time and memory against the prediction.

`StepMonitor` is for loops; `Monitored` is the base of the callbacks of trainers.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from perfc.api import analyze
from perfc.deployment import DeploymentKeywords
from perfc.errors import PerfcError
from perfc.frontend.pytorch.torch_inputs import Inputs
from perfc.ir import evaluate, frozen
from perfc.machine import load_machine
from perfc.measuring.measure.worker import memory
from perfc.measuring.peaks import current_machine, peak
from perfc.passes.training.implementation import RecomputePolicy
from perfc.passes.training.optimizer import names as optimizer_names
from perfc.view.report.sections.verdict import memory_need

PREFIX = "perfc/"
"""Prefix of the names of all metrics."""
NOT_INPUTS = ("labels", "num_items_in_batch")
"""Keyword arguments of transformers' models that a loss reads; perfc adds the loss itself."""


@frozen
class ExpectedStep:
    """Prediction of one training step on one device.

    Args:
        device: description of the device.
        flop: FLOP of the matrix products and convolutions, without recomputation.
        peak_flop_per_s: dense peak rate for their element type.
        step_s: predicted time.
        low_s: lower end of the 90 % prediction interval.
        high_s: upper end of the interval.
        memory_bytes: predicted memory that the allocator reserves.
    """

    device: str
    flop: float
    peak_flop_per_s: float
    step_s: float
    low_s: float
    high_s: float
    memory_bytes: int


def expected_step(
    model: Any,
    device: str | None = None,
    *,
    inputs: Inputs | None = None,
    input: Sequence[int] | None = None,
    peak_dtype: str = "",
    **keywords: Unpack[DeploymentKeywords],
) -> ExpectedStep:
    """Predict one training step of a model on a device.

    Args:
        model: model as in ``perfc.analyze``.
        device: name of a device or target; by default the GPU that this process uses.
        inputs: inputs of a PyTorch module as in ``perfc.analyze``.
        input: shape of one example as in ``perfc.analyze``.
        peak_dtype: element type of the peak; by default that of the matrix products.
        keywords: fields of a deployment; ``train`` is ``"adamw"`` by default.

    Raises:
        PerfcError: as ``perfc.analyze``; an unknown device, or one without a peak for the type.
    """
    machine = current_machine() if device is None else load_machine(device)
    given: DeploymentKeywords = {"train": "adamw", **keywords}
    name = device or machine.name
    report = analyze(model, name, input, inputs=inputs, **given)
    # FLOP utilization counts no recomputation: the work is that without checkpointing
    full = (
        report
        if report.deployment.checkpointing is RecomputePolicy.NONE
        else report.with_(checkpointing=RecomputePolicy.NONE)
    )
    mac = evaluate(full.cost.work.mac, full.env)
    time_, need = report.prediction.total.time, memory_need(report)
    dtype = peak_dtype or _product_dtype(model, str(given.get("dtype") or ""))
    return ExpectedStep(
        machine.description,
        2.0 * mac,  # a multiply-accumulate is two operations
        peak(name, dtype).dense_flop_per_s,
        time_.mid,
        time_.low,
        time_.high,
        need.total_bytes - need.context_bytes,  # the allocator does not see the CUDA context
    )


def _product_dtype(model: Any, dtype: str) -> str:
    """Return the element type of the matrix products of a training step."""
    if dtype:
        return dtype.removeprefix("amp-")
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return "f32"
    types = [p.dtype for p in model.parameters() if p.dtype.is_floating_point]
    widest = max(types, key=lambda t: t.itemsize, default=torch.float32)
    if widest == torch.float32 and torch.cuda.is_available():
        return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "f32"
    return str(widest)  # as torch.bfloat16, a name that `peak` accepts


class StepMonitor:
    """Measures training steps and returns metrics of them every few steps.

    The first step is not measured. The time of a step is the interval between the ends of
    consecutive steps, averaged; the device is synchronized only when metrics are due.

    Args:
        expected: prediction to compare with; None for the measured values alone.
        every: steps between metrics.
    """

    def __init__(self, expected: ExpectedStep | None = None, every: int = 1) -> None:
        self.expected, self.every = expected, max(every, 1)
        self._since: float | None = None
        self._steps = 0

    def end_step(self) -> dict[str, float]:
        """Count a step; return metrics if they are due, otherwise an empty dict."""
        self.count_step()
        return self.metrics() if self._steps >= self.every else {}

    def count_step(self) -> None:
        """Count a step without metrics."""
        if self._since is None:
            self.restart()
        else:
            self._steps += 1

    def restart(self) -> None:
        """Begin to measure here, such as after an evaluation or a checkpoint."""
        synchronize()
        self._since, self._steps = time.perf_counter(), 0

    def metrics(self) -> dict[str, float]:
        """Return metrics of the steps since the last call, empty without steps.

        Times are in seconds, memory in bytes, utilization and ratios are shares of 1.
        """
        if self._since is None or not self._steps:
            return {}
        synchronize()
        step_s = (time.perf_counter() - self._since) / self._steps
        used = memory_in_use()
        values = {"step_s": step_s, "memory_bytes": float(used)}
        if (expected := self.expected) is not None:
            values |= {
                "mfu": expected.flop / step_s / expected.peak_flop_per_s,
                "predicted_step_s": expected.step_s,
                "step_ratio": step_s / expected.step_s,
                "predicted_memory_bytes": float(expected.memory_bytes),
                "memory_ratio": used / expected.memory_bytes,
            }
        self.restart()
        return {f"{PREFIX}{name}": value for name, value in values.items()}


def synchronize() -> None:
    """Wait for the GPU, if this process uses one."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()


def memory_in_use() -> int:
    """Return the peak of memory that PyTorch reserved on the GPU, in bytes.

    Without a GPU it is the peak resident memory of the process, interpreter included.
    """
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return int(torch.cuda.max_memory_reserved())
    return memory("VmHWM")  # peak resident set, in Linux's words


class CalledInputs:
    """Records the inputs of the calls of a module in the first step of a training.

    Args:
        module: module of the trainer. If only one of its children is called, that one counts.
    """

    def __init__(self, module: Any) -> None:
        self._calls: dict[int, list[tuple[Any, dict[str, Any]]]] = {}
        self._modules = [module, *module.children()]
        self._hooks = [
            m.register_forward_pre_hook(self._recorder(i), with_kwargs=True)
            for i, m in enumerate(self._modules)
        ]

    def _recorder(self, index: int) -> Callable[..., None]:
        """Return a hook that records tensors of the calls of one module while it trains."""

        def record(module: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
            import torch

            if not module.training:
                return
            named = {k: v for k, v in kwargs.items() if isinstance(v, torch.Tensor)}
            for name in NOT_INPUTS:
                named.pop(name, None)
            self._calls.setdefault(index, []).append((args, named))

        return record

    def close(self, calls: int) -> tuple[Any, Any]:
        """Remove the hooks; return the called module and its inputs.

        Args:
            calls: forward passes of one step.

        Raises:
            PerfcError: no single module was called once in every forward pass.
        """
        for hook in self._hooks:
            hook.remove()
        # the module itself; if a trainer calls a child, that with parameters: losses have none
        seen = (
            [0]
            if 0 in self._calls
            else [i for i in self._calls if any(True for _ in self._modules[i].parameters())]
        )
        if len(seen) != 1 or len(self._calls[seen[0]]) != calls:
            hint = "pass the result of perfc.measuring.training.expected_step as `expected`"
            raise PerfcError("no module is called once in a training step", hint=hint)
        # inputs of the first pass; names count only if the module is called by keywords alone
        args, named = self._calls[seen[0]][0]
        self._calls.clear()
        return self._modules[seen[0]], named if named and not args else args


class TrainerStepMonitor(StepMonitor):
    """Monitor of a trainer, which predicts the step from the inputs of the first one."""

    def __init__(
        self, device: str | None, expected: ExpectedStep | None, keywords: DeploymentKeywords
    ) -> None:
        super().__init__(expected)
        self._device, self._keywords = device, keywords
        self._is_given = expected is not None  # a given prediction stays for all trainings
        self._calls: CalledInputs | None = None

    def start(self, module: Any) -> None:
        """Start a training, whose first step is not measured; record the inputs of that step."""
        self._since, self._steps = None, 0
        if not self._is_given:
            self._calls = CalledInputs(module)

    def predict(self, count: int, optimizer: Any, dtype: str) -> None:
        """Predict the step of ``count`` forward passes if its inputs were recorded, or warn."""
        if self._calls is None:
            return
        calls, self._calls = self._calls, None
        # accelerate and Lightning wrap the optimizer of PyTorch
        name = type(getattr(optimizer, "optimizer", optimizer)).__name__.lower()
        given: DeploymentKeywords = {
            "train": name if name in optimizer_names() else "adamw",
            "accumulate": count,
            "dtype": dtype,
            **self._keywords,
        }
        try:
            module, inputs = calls.close(count)
            self.expected = expected_step(module, self._device, inputs=inputs, **given)
        except PerfcError as error:
            self.expected = None
            warnings.warn(f"perfc predicts no step: {error}", stacklevel=2)


class Monitored:
    """Callback with a monitor of steps.

    Args:
        device: name of the device; by default the GPU that the process uses.
        expected: prediction of the step; by default it is computed from the first step.
        keywords: fields of the deployment that `expected_step` accepts.
    """

    def __init__(
        self,
        device: str | None = None,
        expected: ExpectedStep | None = None,
        **keywords: Unpack[DeploymentKeywords],
    ) -> None:
        self.monitor = TrainerStepMonitor(device, expected, keywords)
