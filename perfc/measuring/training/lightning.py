"""Callback of PyTorch Lightning that logs utilization, time and memory of steps."""

from __future__ import annotations

from typing import Any, Unpack

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from perfc.deployment import DeploymentKeywords

from .monitor import AUTOCAST, CalledInputs, ExpectedStep, StepMonitor, expectation


class LightningMonitor(Callback):  # type: ignore[misc]
    """Logs metrics of steps to every logger of a Lightning trainer.

    Args:
        device: name of the device; by default the GPU that the process uses.
        expected: prediction of the step; by default it is computed from the first step.
        keywords: fields of the deployment that ``perfc.measuring.training.expected_step`` accepts.
    """

    def __init__(
        self, device: str | None = None, expected: ExpectedStep | None = None,
        **keywords: Unpack[DeploymentKeywords],
    ) -> None:  # fmt: skip
        super().__init__()
        self.device, self.keywords = device, keywords
        self.monitor = StepMonitor(expected)
        self._calls: CalledInputs | None = None
        self._is_predicted = expected is not None
        self._step = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Record the inputs of the first step."""
        self._step, self.monitor.every = trainer.global_step, trainer.log_every_n_steps
        if not self._is_predicted:
            self._calls = CalledInputs(pl_module)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count a step of the optimizer; log metrics when they are due."""
        if trainer.global_step == self._step:
            return
        self._step = trainer.global_step
        if self._calls is not None:
            kind = trainer.precision.removesuffix("-mixed")
            is_mixed = trainer.precision.endswith("-mixed")
            dtype = AUTOCAST["bf16" if kind == "bf16" else "f16"] if is_mixed else ""
            keywords = {**({"dtype": dtype} if dtype else {}), **self.keywords}
            calls, self._calls = self._calls, None
            self.monitor.expected = expectation(
                calls, trainer.accumulate_grad_batches, self.device, trainer.optimizers[0], keywords
            )
        if metrics := self.monitor.end_step():
            pl_module.log_dict(metrics)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Exclude the validation from the time of steps."""
        self.monitor.restart()
