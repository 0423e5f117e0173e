"""Callback of transformers' Trainer that logs utilization, time and memory of steps."""

from __future__ import annotations

from typing import Any

from transformers import Trainer, TrainerCallback

from .monitor import Monitored


class TrainerMonitor(Monitored, TrainerCallback):  # type: ignore[misc]
    """Adds metrics of steps to what a Trainer logs.

    ``TrainerMonitor.add_to(trainer)`` places it before the callbacks of W&B, MLflow and
    TensorBoard, so that their logs have the metrics.

    Args:
        device: name of the device; by default the GPU that the process uses.
        expected: prediction of the step; by default it is computed from the first step.
        keywords: fields of the deployment that ``perfc.measuring.training.expected_step`` accepts.
    """

    @classmethod
    def add_to(
        cls, trainer: Trainer, device: str | None = None, **arguments: Any
    ) -> TrainerMonitor:
        """Add a monitor to a trainer, before its other callbacks, and return it."""
        monitor = cls(device, **arguments)
        trainer.callback_handler.callbacks.insert(0, monitor)
        return monitor

    # names and arguments of the methods are those of TrainerCallback
    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Record the inputs of the first step."""
        self.monitor.start(given["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Count a step; after the first, predict it."""
        # "" is the type of the model
        dtype = "amp-bf16" if args.bf16 else "amp-f16" if args.fp16 else ""
        self.monitor.predict(args.gradient_accumulation_steps, given.get("optimizer"), dtype)
        self.monitor.count_step()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
        """Add the metrics of the steps since the last log of a loss, which evaluations lack."""
        if logs is not None and "loss" in logs:
            metrics = self.monitor.metrics()
            logs.update(metrics)
            state.log_history[-1].update(metrics)  # a copy of the logs, made before callbacks

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Exclude an evaluation or a checkpoint from the time of steps."""
        self.monitor.restart()

    on_save = on_evaluate
