"""Check predictions on rows that no law is fitted to: replayed requests, and runs of llama.cpp."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from perfc.errors import TargetError
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.ir.record import record
from perfc.machine import load_machine
from perfc.serving.cost.memory import GIB
from perfc.serving.engine import Engine
from perfc.serving.host import HostModel, host_model_of
from perfc.serving.simulation.arrivals import Request, Workload
from perfc.serving.simulation.scheduler import Chunk
from perfc.serving.simulation.simulate import simulate
from perfc_lab.tables import read_parquet

REQUESTS, LLAMA_CPP = "llmservingsim_requests", "llamacpp_speed"
# targets by the devices of the two tables
PRODUCTS = {"RTX4090": "rtx4090", "RTXPRO6000": "rtx-pro-6000-server"}
CARDS = {
    "3090 24GB": "rtx3090",
    "4090 24GB": "rtx4090",
    "A100 SXM 80GB": "a100-sxm4-80gb",
    "RTX 6000 Ada 48GB": "rtx6000-ada",
    "RTX A6000 48GB": "rtx-a6000",
    "H100 PCIe 80GB": "h100-pcie-80gb",
    "3070 8GB": "rtx3070",
    "3080 10GB": "rtx3080",
    "3080 Ti 12GB": "rtx3080-ti",
    "4070 Ti 12GB": "rtx4070-ti",
    "RTX 4000 Ada 20GB": "rtx-4000-ada",
}
FORMATS = {"F16": "f16", "Q4_K_M": "i4"}
BITS = {"F16": 16.0, "Q4_K_M": 4.83}
"""Mean bits of a weight by format; Q4_K_M mixes several, and llama.cpp's quantize tool prints its
mean."""
BUILD = "b2998"
"""Build of llama.cpp in May 2024, when the table was measured."""
CHUNK, CHUNKS = 512, 2
"""Tokens of a batch of llama-bench, and batches of its prompt of 1024 tokens."""


@record
class RunCheck:
    """One measured number of a run, and its prediction.

    Args:
        source: name of the table.
        row: name of the measured run.
        quantity: name of the compared quantity.
        measured: value that the publisher measured.
        predicted: value that perfc predicts.
    """

    source: str
    row: str
    quantity: str
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        """Return the error relative to the measured number."""
        return self.predicted / self.measured - 1


def replays(folder: Path, law: HostModel | None = None) -> Iterator[RunCheck]:
    """Yield the checks of ``llmservingsim_requests.parquet``, a run per device.

    Requests are simulated with their measured times of arrival.

    Args:
        folder: folder of the tables.
        law: law of the host; the shipped one of vLLM by default.
    """
    table = read_parquet(folder / f"{REQUESTS}.parquet")
    for device, rows in table.groupby("device", observed=True):
        rows = rows.sort_values("queued_s")
        first = rows.iloc[0]
        model = read_config("llama-3.1-8b")
        engine = Engine.of(
            model,
            load_machine(PRODUCTS[str(device)]),
            precision_of("bfloat16", None),
            Parallel(),
            "vllm",
            law=law if law is not None else host_model_of("vllm"),
            max_num_seqs=int(first.max_num_seqs),
            token_budget=int(first.max_num_batched_tokens),
        )
        requests = tuple(
            Request(float(r.queued_s), int(r.input_tokens), int(r.output_tokens))
            for r in rows.itertuples()
        )
        # limits are those of prompts and answers of 1024 tokens, whatever the requests have
        run = simulate(Workload(requests), engine.limits(1024, 1024), engine.cost)
        count = len(requests)
        # the simulation has no server in front of the engine, whose time per request is added
        each_s = [s.ttft_s + engine.law.before_s(s.request.input_tokens) for s in run.served]
        ttft = (rows.first_token_s - rows.queued_s).mean()
        # an answer of n tokens has n - 1 intervals
        tpot = ((rows.last_token_s - rows.first_token_s) / (rows.output_tokens - 1)).mean()
        pairs = (
            ("TTFT", ttft, math.fsum(each_s) / count),
            ("TPOT", tpot, math.fsum([s.tpot_s for s in run.served]) / count),
            ("makespan", rows.last_token_s.max(), run.time_s),
        )
        for name, measured, expected in pairs:
            yield RunCheck(REQUESTS, str(device), name, float(measured), expected)


class CardGroup(NamedTuple):
    """Number of equal cards, as the table names them."""

    name: str
    memory_gib: float
    cards: int


def card_of(text: str) -> CardGroup:
    """Return the cards in a name of the table: ``4090 24GB  2`` is two cards of 24 GiB."""
    words = text.split()
    count = int(words.pop()) if words[-1].isdigit() else 1
    return CardGroup(" ".join(words), float(words[-1].removesuffix("GB")), count)


def llama_cpp(folder: Path) -> Iterator[RunCheck]:
    """Yield the checks of ``llamacpp_speed.parquet``: whether the model fits, and its speed.

    The speed is checked on cards that perfc has a target for.
    """
    model = read_config("llama-3-8b")
    parameters = 8.03e9  # of Llama 3 8B
    for r in read_parquet(folder / f"{LLAMA_CPP}.parquet").itertuples():
        card = card_of(str(r.device))
        # weights, and an assumed GiB for the cache, activations and the runtime
        need = parameters * BITS[str(r.precision)] / 8 + GIB
        fits = need <= card.memory_gib * card.cards * GIB
        name = f"{r.device} {r.precision} {r.phase}"
        # 1 for no and 2 for yes, as `RunCheck.error` divides by the measured number
        yield RunCheck(LLAMA_CPP, name, "fits", 1.0 + bool(r.fits), 1.0 + fits)
        try:
            machine = load_machine(CARDS[card.name])
        except (KeyError, TargetError):
            continue
        if not r.fits or math.isnan(r.tokens_per_s):
            continue
        is_prompt = not str(r.phase).startswith("generate")
        precision = precision_of(model.dtype, None, FORMATS[str(r.precision)])
        # llama.cpp divides layers over cards: pipeline stages
        shares = Parallel(1, card.cards)
        engine = Engine.of(model, machine, precision, shares, "llamacpp", BUILD, law=HostModel())
        if is_prompt:
            rate = CHUNKS * CHUNK / _prompt_s(engine)
        else:
            rate = 1 / engine.cost.step_s((), 1, 512)  # one sequence, 512 cached tokens
        yield RunCheck(LLAMA_CPP, name, str(r.phase).split()[0], float(r.tokens_per_s), rate)


def _prompt_s(engine: Engine) -> float:
    """Return the time of a prompt, which is the sum of the steps of its batches."""
    batches = [Chunk(CHUNK, i * CHUNK) for i in range(CHUNKS)]
    return math.fsum([engine.cost.step_s((batch,), 0, 0.0) for batch in batches])
