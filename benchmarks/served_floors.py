"""Floors of `perfc llm` against served rows: no measured time may be below its own.

    python benchmarks/served_floors.py DATA

Times to the first token are held against a prompt alone, times per token against one token alone
behind its prompt: what a step takes at least, whatever else a server does.

Needs pandas and pyarrow.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from perfc.errors import PerfcError
from perfc.serving.simulation.scheduler import Chunk
from perfc_lab.serving import ServedRow, ServingQuantity
from perfc_lab.serving.aic import aic_serving
from perfc_lab.serving.replay import engine_of_row, model_of
from perfc_lab.serving.tables import trtllm_throughput

TABLES = (aic_serving, trtllm_throughput)
SHOWN = 5
TIMES = (ServingQuantity.TTFT_S, ServingQuantity.TPOT_S)


def shares(row: ServedRow) -> Iterator[tuple[float, ServingQuantity]]:
    """Yield floor over measured for each time that a row has and perfc predicts."""
    if model_of(row.model) is None:
        return
    try:
        engine = engine_of_row(row)
        cost = engine.cost
    except PerfcError:
        return
    for quantity in TIMES:
        if quantity not in row.measured:
            continue
        first = quantity is ServingQuantity.TTFT_S
        chunks, decodes = ([Chunk(row.isl, 0)], 0) if first else ([], 1)
        least = cost.parts("floor_s", chunks, decodes, float(row.isl))
        tokens = 1.0 if first else engine.speculation.tokens_per_step
        yield (least.kernels + least.exchanges) / tokens / row.measured[quantity], quantity


def main() -> None:
    """Print, of each table, how many rows are below their floor, and those that are nearest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    for table in TABLES:
        shares_of_rows = [(s, row.name, q.value) for row in table(data) for s, q in shares(row)]
        below = sum(s > 1 for s, *_ in shares_of_rows)
        print(f"{table.__name__}: {len(shares_of_rows)} times, {below} below their floor")
        for share, name, quantity in sorted(shares_of_rows, reverse=True)[:SHOWN]:
            print(f"  {share:.2f} of the {quantity}  {name}")


if __name__ == "__main__":
    main()
