"""Simulate measured rows, and count their steps as amounts that a host model's numbers multiply.

A time is the sum of amounts times numbers, which `learn` fits by least squares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from perfc.common.fitted import data_next_to
from perfc.errors import PerfcError
from perfc.frontend.config import (
    LanguageModel,
    Parallel,
    WeightFormat,
    precision_of,
    read_config,
    shipped,
)
from perfc.ir.record import record
from perfc.machine import load_machine
from perfc.serving.cost.drafts import Speculation
from perfc.serving.engine import Engine
from perfc.serving.host import FACTORS, LEARNED, HostModel, amounts
from perfc.serving.simulation.arrivals import Workload, drawn_workload
from perfc.serving.simulation.disaggregated import simulate_disaggregated
from perfc.serving.simulation.load import Load
from perfc.serving.simulation.metrics import written
from perfc.serving.simulation.scheduler import Chunk, Limits
from perfc.serving.simulation.simulate import Served, SimulatedRun, Stride, simulate
from perfc.serving.simulation.steady_state import MOST_REQUESTS

from . import ServedRow, ServerSettings, ServingQuantity, is_mixture
from .hosts import LAUNCH_S, is_compiled, launch_of, write_of
from .settings import ACCEPTANCE, tasks
from .weights import EXPERTS_NVFP4
from .workloads import at_once, cached, spread_of

if TYPE_CHECKING:
    from perfc.serving.offline import BenchmarkFeatures

ROUNDS = 10
"""Requests per user of a closed loop, as many as InferenceX and aiconfigurator's runner of
genai-perf send; all users start at once."""
NODE_GPUS, RACKS = 8, frozenset({"gb200"})
"""GPUs of a node in published runs, and targets whose whole rack is one node."""
EVEN = frozenset({1, 2, 4, 8, 16, 32, 64})
"""Numbers of ranks that divide a model's heads; with other numbers, ranks have separate
sequences."""
NO_SETTINGS = ServerSettings()
# host without overhead except launches, so that kernels alone are counted
BARE = HostModel(launch_s=LAUNCH_S)
CONFIGS: Mapping[str, str] = data_next_to(__file__)
"""Shipped configuration by a model's name in a source, for models with another name there."""


@record
class ReplayedNumber:
    """A measured time, and the amounts that a law's numbers multiply to predict it.

    Args:
        row: measured row.
        quantity: measured quantity.
        amounts: seconds of kernels and exchanges, and counts of steps, prompts and sequences, in
            the order of `LEARNED`; their product with the law's numbers is the time.
        value: measured time; of a throughput the time of its tokens, of an energy the joules.
        place: features (`like.placed`) of a benchmark without a server; None for other rows.
    """

    row: ServedRow
    quantity: ServingQuantity
    amounts: tuple[float, ...]
    value: float
    place: BenchmarkFeatures | None = None


@record
class Unanswered:
    """A row that cannot be simulated, and why."""

    row: ServedRow
    reason: str


@lru_cache(maxsize=64)
def model_of(name: str) -> LanguageModel | None:
    """Return the shipped configuration of a model by its name in a source; None without one."""
    config = CONFIGS.get(name, name)
    return read_config(config) if config in shipped() else None


@lru_cache(maxsize=512)
def engine_of(
    model: str,
    target: str,
    weights: str,
    cache: str,
    parallel: Parallel,
    runtime: str,
    drafted: int = 0,
    settings: ServerSettings = NO_SETTINGS,
    law: HostModel = BARE,
    version: str = "",
    expert_skew: float | None = None,
) -> Engine:
    """Return an engine by its settings; by default its host takes only the time of launches."""
    described_model = model_of(model)
    assert described_model is not None
    described_model = replace(described_model, expert_skew=expert_skew)
    # experts alone have 4 bits, all else 16
    has_own = weights == EXPERTS_NVFP4
    precision = precision_of(
        described_model.dtype, described_model.quantization, "bf16" if has_own else weights, cache
    )
    if has_own:
        precision = replace(precision, experts=WeightFormat.NVFP4)
    drafts = Speculation(drafted, ACCEPTANCE if drafted else 0.0)
    # 0, None and False are defaults of the engine
    given = {name: value for name, value in asdict(settings).items() if value}
    return Engine.of(
        described_model,
        load_machine(target),
        precision,
        parallel,
        runtime,
        version,
        law=law,
        speculation=drafts,
        **given,
    )


def samples(row: ServedRow) -> list[ReplayedNumber] | Unanswered:
    """Return a sample for each measured value of a row, from a simulation of its engine."""
    if model_of(row.model) is None:
        return Unanswered(row, f"no configuration of {row.model}")
    if row.pipeline > 1:
        return Unanswered(row, "stages of a pipeline teach no law")
    try:
        engine = engine_of_row(row)
        if row.prefill:
            return _disaggregated(row, engine)
        return _static(row, engine) if row.is_static else _served(row, engine)
    except PerfcError as error:
        return Unanswered(row, error.message)


def engine_of_row(row: ServedRow) -> Engine:
    """Return the engine of a row, whose host takes only launches and the sending of tokens.

    Raises:
        PerfcError: the model cannot be divided in this way.
    """
    task = tasks().get(row.dataset) if is_mixture(row.model) else None
    return engine_of(
        row.model,
        row.target,
        row.weights,
        row.cache,
        divided(row, row.tensor, row.expert, row.attention_data),
        row.runtime,
        row.drafted,
        row.settings,
        HostModel(launch_s=launch_of(row), write_s=write_of(row)),
        row.version if is_compiled(row) else "",
        task and task.expert_skew,
    )


def divided(row: ServedRow, tensor: int, expert: int, groups: int) -> Parallel:
    """Return the degrees of an engine, over as many nodes as its ranks need."""
    nodes = 1 if row.target in RACKS else -(-tensor * groups // NODE_GPUS)
    return Parallel(tensor, row.pipeline, expert, groups, nodes)


def _amounts(engine: Engine, chunks: Sequence[Chunk], decodes: int, context: float) -> list[float]:
    """Return the amounts of one step; ``context`` is the mean cached tokens of a sequence."""
    parts = engine.cost.parts("time_s", chunks, decodes, context)
    parts = engine.cost.launched(parts, chunks, decodes)
    return list(amounts(parts.kernels, parts.exchanges, len(chunks), decodes))


def _static(row: ServedRow, engine: Engine) -> list[ReplayedNumber]:
    """Return the sample of one static batch: of its prompts, or of its whole time."""
    batch, points = row.concurrency, 8
    total = _amounts(engine, [Chunk(row.isl, 0)] * batch, 0, 0.0)
    if ServingQuantity.TTFT_S in row.measured:
        value = row.measured[ServingQuantity.TTFT_S]
        return [ReplayedNumber(row, ServingQuantity.TTFT_S, tuple(total), value)]
    # contexts grow with each token: the middles of eight equal parts stand for all steps
    for i in range(points):
        context = row.isl + (row.osl - 1) * (i + 0.5) / points
        step = _amounts(engine, (), batch, context)
        total = [t + s * (row.osl - 1) / points for t, s in zip(total, step, strict=True)]
    # the time of all tokens, which is what amounts sum up to
    value = batch * row.osl / row.measured[ServingQuantity.TOKENS_PER_S]
    return [ReplayedNumber(row, ServingQuantity.TOKENS_PER_S, tuple(total), value)]


def prefill_parallel(row: ServedRow) -> Parallel:
    """Return the degrees of an engine that computes prompts for others."""
    ranks, share, _ = row.prefill or (1, 1, 1)
    # ranks have separate sequences with expert parallelism, or if they do not divide the heads
    has_own = share > 1 or ranks not in EVEN
    return divided(row, 1, share, ranks) if has_own else divided(row, ranks, share, 1)


def _disaggregated(row: ServedRow, engine: Engine) -> list[ReplayedNumber]:
    """Return the samples of a closed loop whose prompts other engines compute."""
    parallel, groups = prefill_parallel(row), row.engines * row.attention_data
    _, _, workers = row.prefill or (1, 1, 1)
    worker = engine_of(row.model, row.target, row.weights, row.cache, parallel, row.runtime)
    # each group of ranks is simulated alone, with its share of the users
    users = max(1, round(row.concurrency / groups))
    load = Load(row.isl, row.osl, users, spread=spread_of(row))
    # at most `MOST_REQUESTS`, the limit of a simulation; 3 only guards against fewer `ROUNDS`
    work = replace(load, requests=max(min(ROUNDS * users, MOST_REQUESTS), 3)).workload(1)
    # Steps with prompts that run at once for one decode group. Each data-parallel group of ranks of
    # a worker runs its steps separately; decode groups without a user need none.
    steps_at_once = workers * parallel.attention_data / min(groups, row.concurrency)
    limits, clock = engine.limits(row.isl, row.osl), _ClockCounter(engine)
    run = simulate_disaggregated(work, limits, clock, worker, steps_at_once)
    # amounts of one prompt; with waiting, the simulated TTFT is a multiple of its time
    prompt = [0.0] * len(LEARNED)
    budget = worker.kind.token_budget
    for done in range(0, row.isl, budget):
        part = _amounts(worker, [Chunk(min(budget, row.isl - done), done)], 0, 0.0)
        prompt = [a + b for a, b in zip(prompt, part, strict=True)]
    tokens = [(s.decodes, s.decodes * s.steps) for s in run.strides]
    # mean batch of decode steps, weighted by the tokens that they write
    mean_decodes = sum(d * n for d, n in tokens) / sum(n for _, n in tokens)
    step = _amounts(engine, (), round(mean_decodes), row.isl + row.osl / 2)
    prompts = math.fsum([s.ttft_s for s in run.served]) / len(run.served) / _bare_s(prompt)
    by_quantity = {
        ServingQuantity.TTFT_S: tuple([prompts * p for p in prompt]),
        ServingQuantity.TPOT_S: tuple([a / engine.speculation.tokens_per_step for a in step]),
    }
    return [ReplayedNumber(row, q, by_quantity[q], v) for q, v in row.measured.items()]


def _bare_s(counted: Sequence[float]) -> float:
    """Return the seconds of kernels and communication, with factors of 1 and no host."""
    return sum(counted[: len(FACTORS)])


def _served(row: ServedRow, engine: Engine) -> list[ReplayedNumber]:
    """Return the samples of a closed loop, of a full server, or of a run measured as a whole."""
    if row.requests:
        return [_whole(row, engine)]
    users = max(1, round(row.concurrency / row.engines / row.attention_data))
    if ServingQuantity.TOKENS_PER_S in row.measured:
        return _while_full(row, engine, users)
    if not row.concurrency:
        limits = engine.limits(row.isl, row.osl)
        # without a number of users there are as many as the memory holds
        users = min(limits.max_num_seqs, limits.kv_tokens // (row.isl + row.osl))
        users = max(users, 1)
    cached_tokens, cached_share = cached(row, engine.limits(row.isl, row.osl))
    load = Load(
        row.isl,
        row.osl,
        users,
        spread=spread_of(row),
        cached_tokens=cached_tokens,
        cached_share=cached_share,
    )
    counted = _loop(engine, load)
    return [ReplayedNumber(row, q, counted[q], value) for q, value in row.measured.items()]


def _whole(row: ServedRow, engine: Engine) -> ReplayedNumber:
    """Return the sample of a run whose requests all arrive at once, from first to last step."""
    count = math.ceil(row.requests / (row.engines * row.attention_data))
    work = drawn_workload(count, row.isl, row.osl, count=count)
    _, history = recorded(work, engine.limits(row.isl, row.osl), engine)
    value = row.requests * row.osl / row.measured[ServingQuantity.TOKENS_PER_S]
    return ReplayedNumber(row, ServingQuantity.TOKENS_PER_S, history[-1], value)


@lru_cache(maxsize=4096)
def _loop(engine: Engine, load: Load) -> dict[ServingQuantity, tuple[float, ...]]:
    """Return the mean amounts of each token, and of each first token, in a closed loop."""
    users = load.concurrency
    # at most `MOST_REQUESTS`, the limit of a simulation; 3 only guards against fewer `ROUNDS`
    whole = replace(load, requests=max(min(ROUNDS * users, MOST_REQUESTS), 3))
    run, history = recorded(whole.workload(1), engine.limits(load.isl, load.osl), engine)
    return {
        ServingQuantity.TPOT_S: _mean_tpot(run.served, history),
        ServingQuantity.TTFT_S: _mean_ttft(run.served, history),
    }


def _while_full(row: ServedRow, engine: Engine, seats: int) -> list[ReplayedNumber]:
    """Return the samples of a run whose requests all arrive at once, while every seat is taken.

    Source: ``RequestTracker`` of ML.ENERGY's ``mlenergy/llm/benchmark.py``. The measurement begins
    when as many requests as there are seats have their first token. It ends when no more than
    ``seats + 1`` requests have not ended.
    """
    limits = engine.limits(row.isl, row.osl)
    work = at_once(row, seats, limits.block_tokens)
    run, history = recorded(work, limits, engine)
    # numbers of strides before first tokens, and before last tokens
    begun, ended = (sorted([s.spans[i] for s in run.served]) for i in (1, 2))
    # sorted, so the index is that of the request whose end leaves ``seats + 1`` others
    first, last = begun[seats - 1], ended[max(len(ended) - seats - 2, 0)]
    # with too few requests to fill every seat, the whole run counts
    if last <= first:
        first, last = 0, len(run.strides)
    tokens = float(sum(written(s) for s in run.strides[first:last]))
    amounts_of = {
        ServingQuantity.TOKENS_PER_S: tuple(_between(history, first, last)),
        ServingQuantity.ENERGY_J: _energy(run.strides[first:last], engine, tokens),
    }
    # tokens of all groups, as the measured rate is of the whole server
    share = tokens * row.engines * row.attention_data
    return [
        ReplayedNumber(
            row, q, amounts_of[q], share / value if q is ServingQuantity.TOKENS_PER_S else value
        )
        for q, value in row.measured.items()
    ]


def _energy(strides: Sequence[Stride], engine: Engine, tokens: float) -> tuple[float, ...]:
    """Return the energies of a token by the kinds of `FACTORS`, then its times by the same kinds.

    Costs are those of one rank; both are summed over all ranks. `energy.parts_of` subtracts these
    times of kernels from the time of all boards, which draw idle power in the rest.
    """
    sums = [0.0] * (2 * len(FACTORS))
    for s in strides:
        each: list[float] = []
        for quantity in ("energy_j", "time_s"):
            parts = engine.cost.parts(quantity, s.chunks, s.decodes, s.context)
            each += amounts(parts.kernels, parts.exchanges, len(s.chunks), s.decodes)[
                : len(FACTORS)
            ]
        sums = [total + s.steps * e for total, e in zip(sums, each, strict=True)]
    return tuple([engine.parallel.tensor * total / tokens for total in sums])


History = list[tuple[float, ...]]
"""Amounts of all strides before each stride, and of the whole run at the end."""


def recorded(workload: Workload, limits: Limits, engine: Engine) -> tuple[SimulatedRun, History]:
    """Return a simulated run of an engine, and the history of its amounts."""
    counter = _ClockCounter(engine)
    run = simulate(workload, limits, counter)
    total = [0.0] * len(LEARNED)
    history: History = [tuple(total)]
    for stride, step in zip(run.strides, counter.steps, strict=True):
        total = [t + s * stride.steps for t, s in zip(total, step, strict=True)]
        history.append(tuple(total))
    return run, history


class _ClockCounter:
    """Clock of a simulation (`Clock`) that records the amounts of each step."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.steps: list[list[float]] = []

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        """Return the seconds of a step."""
        amounts_of_step = _amounts(self.engine, chunks, decodes, context)
        self.steps.append(amounts_of_step)
        return _bare_s(amounts_of_step)


def _between(history: History, first: int, last: int) -> list[float]:
    """Return the amounts of the strides from number ``first`` up to ``last``."""
    return [b - a for a, b in zip(history[first], history[last], strict=True)]


def _mean(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return the mean of each amount."""
    return tuple([math.fsum(column) / len(rows) for column in zip(*rows, strict=True)])


def _mean_tpot(served: Sequence[Served], history: History) -> tuple[float, ...]:
    """Return the mean amounts of a token after the first, by the strides of each request."""
    times = [
        [v / (s.request.output_tokens - 1) for v in _between(history, s.spans[1], s.spans[2])]
        for s in served
        if s.request.output_tokens > 1
    ]
    return _mean(times) if times else ()


def _mean_ttft(served: Sequence[Served], history: History) -> tuple[float, ...]:
    """Return the mean amounts between arrival and first token."""
    times = [_between(history, s.spans[0], s.spans[1]) for s in served]
    return _mean(times) if times else ()
