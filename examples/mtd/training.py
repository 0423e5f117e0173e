"""Level 2, training: one epoch of the MTD network on V100 and A100, table 3.2.

    python examples/mtd/training.py

The training step is `perfc analyze --train adam --loss mse`: forward, loss, backward, update. Its
kernel time by the roofline, times the steps of an epoch, stands beside the epoch that the
dissertation measured; their ratio is the share of the epoch in which the GPU is busy, beside its
measured GPU usage.
"""

from __future__ import annotations

import network
import tables
import thesis

import perfc


def main() -> None:
    """Print parameters, one step by phase, and epochs."""
    trainable, others = network.parameters()
    print(f"parameters: {trainable:,} trainable, {others:,} others, counted on the IR")
    print(f"thesis:     {thesis.TRAINABLE:,} trainable, {thesis.NON_TRAINABLE:,} others (3.4.2)")
    rows = []
    epochs = []
    for gpu, batch, precision in tables.pairs():
        report = tables.step(gpu, batch, precision)
        seconds = tables.phases(report)
        rows.append(
            (
                f"{gpu} {precision} {batch}",
                *(f"{1e3 * seconds[p]:.2f}" for p in tables.PHASES),
                f"{1e3 * report.roofline.time_s:.2f}",
                f"{1e3 * report.roofline.floor_s:.2f}",
                tables.percent(tables.matrix_share(report)),
            )
        )
        measured = thesis.TRAINING[gpu, batch, precision]
        steps = thesis.TIME_STEPS / batch
        busy_s = tables.busy_s(gpu, batch, precision)
        epochs.append(
            (
                f"{gpu} {precision} {batch}",
                f"{report.roofline.floor_s * steps:.1f}",
                f"{busy_s:.1f}",
                f"{measured.epoch_s:.2f}",
                tables.percent(busy_s / measured.epoch_s),
                tables.percent(measured.gpu_usage),
                f"{measured.gpu_usage * measured.epoch_s:.1f}",
                tables.percent(tables.memory_share(report, measured.epoch_s / steps)),
                tables.percent(measured.memory_usage),
                tables.percent(tables.tensor_share(report)),
                tables.percent(thesis.TENSOR_UTILISATION.get((gpu, batch, precision))),
            )
        )
    header = ["GPU, precision, batch", *tables.PHASES, "step ms", "floor ms", "in products"]
    tables.show("One step by our roofline (ms of kernels, sustained)", header, rows)
    header = [
        "GPU, precision, batch",
        "floor s",
        "busy s",
        "epoch s",
        "busy",
        "usage",
        "usage s",
        "memory",
        "usage",
        "tensor",
        "thesis",
    ]
    title = f"One epoch of {thesis.TIME_STEPS:,} samples: floor and busy time are ours"
    tables.show(f"{title}; epoch, usages: table 3.2", header, epochs)
    forward = perfc.analyze(network.PATH, thesis.TARGETS["V100"]).cost.work.mac
    whole = tables.step("V100", 32, "single").cost.work.mac
    print(f"\nmultiply-accumulates: forward {forward}, a step {whole}")
    tables.say(
        "The floor is below every measured time. On V100 in single precision kernels take the "
        "whole epoch by our reading too; more than all of it, for the sustained line counts every "
        "convolution directly and cuDNN may use minimal filtering, as the floor allows. The A100's "
        "epoch is bound by its host: kernels fill a fifth to two fifths of it, by our roofline as "
        "by the measured usage. Left out: data loading; layout changes; TensorFlow's bias "
        "kernels; workspace. Memory is our time of device memory in an epoch, tensor the share of "
        "kernel time in products on tensor cores, which the dissertation has of mixed precision "
        "at batch 64 alone (3.4.2). `energy.py` has the powers."
    )


if __name__ == "__main__":
    main()
