"""Lambda's training throughputs of one GPU against what `perfc analyze --train` says.

    python benchmarks/lambda_steps.py DATA [--as-run] [--models DIR] [--predictor kernels]

ResNet-50 with momentum, and BERT base fine-tuned on sequences of 384 with Adam, in f32 with TF32
where a card has it and under autocast, of `lambda_train`: ten cards, run by NVIDIA's PyTorch
examples. Nothing that ships is learned from these rows. Each is asked as a user does, nothing said
of layouts or hosts; with ``--as-run`` BERT's attention is written out, as those examples have it.

Needs pandas and pyarrow.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median

import perfc
from perfc.passes.runtimes import Tf32

TABLE = "lambda_train.parquet"
CARDS = {
    "A100 80GB PCIe": "a100-pcie-80gb", "A100 80GB SXM4": "a100-sxm4-80gb",
    "SMC H100 80GB SXM5": "h100-sxm5-80gb", "H100 80GB PCIe Gen5": "h100-pcie-80gb",
    "LambdaCloud A10": "a10", "LambdaCloud A100 40GB PCIe": "a100-pcie-40gb",
    "LambdaCloud V100 16GB": "v100-sxm2-16gb", "RTX 3090": "rtx3090", "RTX 4090": "rtx4090",
    "Quadro RTX 8000": "quadro-rtx8000",
}  # fmt: skip
"""One system of each card, and its target; ten systems with H100 SXM5 differ by 8 % at most."""
NETWORKS = {"resnet50": ("resnet50", "momentum"), "bert_base_squad": ("bert-base", "adam")}
"""The file of each network, and its optimiser."""
DROPOUT = {"resnet50": 0.0, "bert-base": 0.1}
"""BERT's own, which its file has lost."""
SEQ = 384
ROW = "{:15} {:15} {:4} {:>5} {:>8.1f} {:>8.1f} {:>7.1f} {:>7.1f} {:>+6.0%}  {}"


def answers(asked: argparse.Namespace) -> Iterator[tuple[str, float, bool]]:
    """Network with precision, relative error of the time, and whether the range holds it."""
    import pandas as pd

    rows = pd.read_parquet(asked.data / TABLE)
    attention = "eager-unfused" if asked.as_run else "eager"
    for row in rows[(rows.num_gpu == 1) & rows.name_gpu.isin(list(CARDS))].itertuples():
        if row.network not in NETWORKS:
            continue
        name, optimizer = NETWORKS[str(row.network)]
        path, batch = next(asked.models.glob(f"{name}.onnx*")), int(row.batch)
        report = perfc.analyze(
            path, CARDS[str(row.name_gpu)], train=optimizer, batch=batch,
            seq=SEQ if name.startswith("bert") else None,
            dtype="amp-f16" if row.precision == "fp16" else "",
            tf32=Tf32.ALL, predictor=asked.predictor, dropout=DROPOUT[name],
            runtime=attention if name.startswith("bert") else "eager",
        )  # fmt: skip
        time = report.prediction.total.time
        low, mid, high = (batch / end for end in (time.high, time.mid, time.low))
        error = row.throughput / mid - 1
        print(ROW.format(
            name, CARDS[str(row.name_gpu)], row.precision, batch, row.throughput, mid, low, high,
            error, report.prediction.total.predictor or "kernels",
        ))  # fmt: skip
        yield f"{name}, {row.precision}", error, low <= row.throughput <= high


def main() -> None:
    """Print each row, then the errors and the share held of each network and precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--models", type=Path, default=Path("examples/models"))
    parser.add_argument("--predictor", default="")
    parser.add_argument("--as-run", action="store_true")
    asked = parser.parse_args()
    print("model, card, precision, batch, items a second measured and expected, from, to, error")
    found = list(answers(asked))
    for kind in (*sorted({k for k, *_ in found}), ""):
        mine = [(error, held) for k, error, held in found if kind in ("", k)]
        sizes, held = [abs(error) for error, _ in mine], sum(h for _, h in mine)
        print(
            f"{kind or 'all'}: {mean(sizes):.1%} in the mean, median {median(sizes):.1%}, bias "
            f"{mean(e for e, _ in mine):+.1%}, {held} of {len(mine)} held"
        )


if __name__ == "__main__":
    main()
