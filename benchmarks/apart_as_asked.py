"""Published runs whose prompts are computed apart, as `perfc llm --prefill-gpus` tells them.

    python benchmarks/apart_as_asked.py DATA

A user's prompts are computed by workers like those that write tokens, so that rows whose workers
have as many ranks each are asked, of which all is stated. Lengths and users are the row's. By
runtime: how far tokens a second and the time of a token are from what was measured, and the share
of rows whose time of a token is in its range.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

from perfc.errors import PerfcError
from perfc.serving import llm
from perfc_lab.serving import ServedRow, ServingQuantity
from perfc_lab.serving.aic import STATED, aic_serving
from perfc_lab.serving.replay import CONFIGS, divided, model_of
from perfc_lab.serving.settings import ACCEPTANCE


@dataclass(frozen=True)
class Told:
    """Of a row: told over measured, and whether the range has the time of a token."""

    tokens_per_s: float
    tpot: float
    is_held: bool


def asked(folder: Path) -> Iterator[ServedRow]:
    """Rows that a user can ask for, each run once."""
    runs = set()
    for row in aic_serving(folder):
        if row.dataset != STATED or not row.prefill or model_of(row.model) is None:
            continue
        ranks, expert, _ = row.prefill
        is_like = ranks == row.tensor * row.attention_data and (expert > 1) == (row.expert > 1)
        if is_like and row.run not in runs:
            runs.add(row.run)
            yield row


def told(row: ServedRow) -> Told:
    """A row as a user asks for it.

    Raises:
        PerfcError: it does not fit.
    """
    found = llm(
        CONFIGS.get(row.model, row.model), row.target, isl=row.isl, osl=row.osl,
        concurrency=row.concurrency, dtype="" if row.weights.startswith("f8") else row.weights,
        runtime=row.runtime, prefill_gpus=row.prefill[0] * row.prefill[2] if row.prefill else 0,
        parallel=replace(
            divided(row, row.tensor, row.expert, row.attention_data), data=row.engines
        ),
        draft_tokens=row.drafted, acceptance=ACCEPTANCE if row.drafted else 0.0,
    )  # fmt: skip
    tpot = found.latencies.tpot if found.latencies is not None else None
    if tpot is None or found.throughput is None or found.tpot_band is None:
        raise PerfcError("it does not fit", where=row.name)
    measured_s = row.measured[ServingQuantity.TPOT_S]
    answer_s = row.measured[ServingQuantity.TTFT_S] + (row.osl - 1) * measured_s
    return Told(
        found.throughput.output_tokens_per_s / (row.concurrency * row.osl / answer_s),
        tpot.mean / measured_s,
        found.tpot_band.low <= measured_s / tpot.mean <= found.tpot_band.high,
    )


def main() -> None:
    """Print a line for each runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    by_runtime: dict[str, list[Told]] = {}
    unanswered: Counter[str] = Counter()
    for row in asked(parser.parse_args().data):
        try:
            found = told(row)
        except PerfcError as error:
            unanswered[error.message] += 1
            continue
        for name in (row.runtime, "all"):
            by_runtime.setdefault(name, []).append(found)
    for name, rows in by_runtime.items():
        rates, times = ([abs(r - 1) for r in column] for column in
                        ([t.tokens_per_s for t in rows], [t.tpot for t in rows]))  # fmt: skip
        print(
            f"{name}: {len(rows)} runs, tokens a second {mean(rates):.1%} mean,"
            f" {median(rates):.1%} median; time of a token {mean(times):.1%} mean,"
            f" {median(times):.1%} median, {mean(t.is_held for t in rows):.0%} in range"
        )
    for reason, count in unanswered.most_common():
        print(f"{count} runs without an answer: {reason}")


if __name__ == "__main__":
    main()
