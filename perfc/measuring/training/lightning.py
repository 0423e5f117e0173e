"""Callback of PyTorch Lightning that logs utilization, time and memory of steps."""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from .monitor import Monitored

AUTOCAST = {"bf16-mixed": "amp-bf16", "16-mixed": "amp-f16"}
"""Deployment precision by that of a Lightning trainer."""


class LightningMonitor(Monitored, Callback):  # type: ignore[misc]
    """Logs metrics of steps to every logger of a Lightning trainer.

    Args:
        device: name of the device; by default the GPU that the process uses.
        expected: prediction of the step; by default it is computed from the first step.
        keywords: fields of the deployment that ``perfc.measuring.training.expected_step`` accepts.
    """

    _step = 0  # steps of the optimizer at the last batch

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Record the inputs of the first step."""
        self._step = trainer.global_step
        self.monitor.start(pl_module)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count a step of the optimizer; log metrics in the steps that the trainer logs."""
        # batches whose gradients are accumulated do not step
        if trainer.global_step == self._step:
            return
        self._step = trainer.global_step
        # predicts after the first step, whose inputs it uses up; in later steps it returns at once
        self.monitor.predict(
            trainer.accumulate_grad_batches,
            trainer.optimizers[0],
            AUTOCAST.get(trainer.precision, ""),
        )
        self.monitor.count_step()
        if self._step % trainer.log_every_n_steps == 0:
            pl_module.log_dict(self.monitor.metrics())

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Exclude the validation from the time of steps."""
        self.monitor.restart()
