"""Correct predictions of offline benchmarks by the slowdown of similar published benchmarks.

``log(measured / predicted by the host model)`` is a Gaussian process
(`perfc.analyzers.features.process`) over the runs of one kind of benchmark. It is 0 on a machine
that none of them ran on.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path

import numpy as np

from perfc.analyzers.artefacts.arrays import packed, unpacked
from perfc.analyzers.features.distance import SAME_CHIP, coordinates
from perfc.analyzers.features.process import NOBODY, Near, Process, RowPositions, SimilarityAspects
from perfc.analyzers.features.sheet import Sheet
from perfc.ir import record

from .engine import Engine
from .host import BENCH, EXPERTS, LEARNED, HostModel
from .simulation.load import Load
from .simulation.scheduler import Chunk

FILE = Path(__file__).with_suffix(".npz")
RATES_OF = "f16"
"""Element type whose peak rate is one of the machine's coordinates."""
LEAST = 1e-9
"""Minimum value of a coordinate before its logarithm: a load may be 0."""
PROMPT_TOKENS = 2048
"""Maximum tokens of the prompt whose time is the share of prefill among the features."""


class BenchmarkAspect(Enum):
    """Features in which two benchmarks may be similar."""

    VERSION = auto()
    """Host model that applies: a runtime and its version."""
    PRECISION = auto()
    """Format of the weights."""
    MODEL = auto()
    MACHINE = auto()
    LOAD = auto()
    """Lengths, ranks, sequences and time of a step, and fill of the KV cache."""
    SHARES = auto()
    """Time shares: attention and collectives of a step, prefill of a request."""


LOAD = ("log2_isl", "log2_osl", "log2_ranks", "log2_batch", "log2_step_s", "log2_fill")
"""Features of the load, as logarithms: see `BenchmarkAspect.LOAD`."""
MACHINE = ("log2_flop_per_s", "log2_bytes_per_s", "log2_sms")
"""Features of the machine, as logarithms."""
AMONG = (0, 2, 4)
"""Indices of `MACHINE` among `coordinates`: rate of matrix units, bandwidth, multiprocessors."""
SHARES = ("attention", "exchanges", "prompts")
"""Time shares: see `BenchmarkAspect.SHARES`."""
COLUMNS = (*LOAD, *MACHINE, *SHARES)
_VERSION, _PRECISION, _MODEL, _MACHINE, _LOAD, _SHARES = BenchmarkAspect
_CELL = (_VERSION, _PRECISION)
"""Aspects of terms that hold for one version at one precision."""
# terms of the covariance: each is a product over its aspects, () a constant; then the column of
# `kinds` or the slice of `COLUMNS` that an aspect compares; last, the aspect that may be `NOBODY`
FORM = SimilarityAspects(
    (
        (),
        (_VERSION,),
        (_PRECISION,),
        _CELL,
        (_MACHINE,),
        (*_CELL, _MACHINE),
        (_LOAD,),
        (_VERSION, _LOAD),
        (*_CELL, _LOAD),
        (_SHARES,),
        (_PRECISION, _SHARES),
        (_MODEL,),
        (_MODEL, _VERSION),
        (_MODEL, *_CELL, _MACHINE),
        (_MODEL, _LOAD),
        (_MODEL, *_CELL, _LOAD),
    ),
    {_VERSION: (0,), _PRECISION: (1,), _MODEL: (2,)},
    {
        _LOAD: Near(slice(0, 6), has_each=True, start=1.0),
        _MACHINE: Near(slice(6, 9)),
        _SHARES: Near(slice(9, 12)),
    },
    len(COLUMNS),
    _MODEL,
)


@record
class BenchmarkFeatures:
    """Features of one benchmark.

    Args:
        kinds: numbers of its host model and of the format of its weights.
        columns: values of `COLUMNS`.
    """

    kinds: tuple[float, float]
    columns: tuple[float, ...]


def number_of(name: str) -> float:
    """Return a hash of a name that a 32-bit float represents exactly."""
    # 24 bits are the mantissa of a 32-bit float; rows of the process are such floats
    return float(zlib.crc32(name.encode()) % (1 << 24))


def features_of(engine: Engine, law: str, isl: int, osl: int, batch: int) -> BenchmarkFeatures:
    """Return a benchmark's features, from one decode step in the middle of its answers.

    Args:
        engine: engine of one model copy.
        law: name of its host model.
        isl: tokens of a prompt.
        osl: tokens of an answer.
        batch: sequences of a step.

    Raises:
        PerfcError: the model cannot be divided by these degrees.
    """
    cost, context = engine.cost, isl + osl / 2
    step = cost.parts("time_s", (), batch, context)
    step_s = step.kernels + step.exchanges
    prompt = cost.parts("time_s", [Chunk(min(isl, PROMPT_TOKENS), 0)], 0, 0.0)
    prompts_s = batch * prompt.kernels
    attention_s = math.fsum(
        [n * stage.decode_context.at("time_s", batch, context) for stage, n in cost.stages]
    )
    pool = max(engine.limits(isl, osl).kv_tokens, 1)
    # values in the order of `LOAD`
    load = (isl, osl, engine.parallel.tensor, batch, step.kernels, batch * context / pool)
    machine = coordinates(Sheet(engine.machine), RATES_OF)
    shares = (
        attention_s / step_s,
        step.exchanges / step_s,
        prompts_s / (prompts_s + osl * step_s),
    )
    columns = (*(math.log2(max(v, LEAST)) for v in load), *(machine[i] for i in AMONG), *shares)
    kinds = number_of(law), number_of(engine.precision.weights.value)
    return BenchmarkFeatures(kinds, columns)


def sequences(engine: Engine, isl: int, osl: int, users: int) -> int:
    """Return the sequences of a step for ``users`` users; for 0, as many as the memory holds."""
    limits = engine.limits(isl, osl)
    # half of the answer: the mean over sequences, each at another position of its answer
    most_sequences = min(limits.max_num_seqs, max(1, limits.kv_tokens // (isl + osl // 2)))
    users_per_rank = round(users / engine.parallel.attention_data)
    return min(max(1, users_per_rank), most_sequences) if users else most_sequences


def rows_of(
    points: Sequence[BenchmarkFeatures], models: Sequence[int] | None = None
) -> RowPositions:
    """Return the features of benchmarks as rows of a Gaussian process.

    Args:
        points: features of benchmarks.
        models: numbers of their models; by default none of the known ones.
    """
    numbers = [NOBODY] * len(points) if models is None else models
    kinds = [(*point.kinds, number) for point, number in zip(points, numbers, strict=True)]
    return RowPositions(
        np.array(kinds, np.float32), np.array([point.columns for point in points], np.float32)
    )


def log_slowdown(process: Process, points: Sequence[BenchmarkFeatures]) -> list[float]:
    """Return the expected ``log(measured / predicted)``; 0 on machines without benchmarks."""
    rows = rows_of(points)
    columns = FORM.near[_MACHINE].columns
    # columns in which benchmarks do not differ have infinite width and place 0
    width = np.where(np.isfinite(process.width), process.width, 0.0)
    # `SAME_CHIP` is a distance of logarithms: back from places of width 1 around a centre
    benchmark_machines = (process.known.places * width + process.centre)[:, columns]
    distances = rows.places[:, None, columns] - benchmark_machines
    is_known = (np.sqrt((distances**2).mean(axis=2)) <= SAME_CHIP).any(axis=1)
    return [float(v) for v in np.where(is_known, process.beyond(rows), 0.0)]


def kind_of_benchmark(law: str) -> str:
    """Return the name of the process that corrects a host model; "" for servers, which have none.

    Dense models and those with experts have separate processes, as they have separate host models.
    """
    runtime, *rest = law.split()
    if not runtime.endswith(BENCH):
        return ""
    return f"{runtime} {EXPERTS}" if EXPERTS in rest else runtime


@lru_cache(maxsize=1)
def processes() -> Mapping[str, Process]:
    """Return the processes that come with perfc, by kind of benchmark."""
    by_kind: dict[str, dict[str, object]] = {}
    for name, array in unpacked(FILE.read_bytes()).items():
        kind, _, part = name.rpartition(":")
        by_kind.setdefault(kind, {})[part] = array
    return {kind: Process.read(FORM, arrays) for kind, arrays in by_kind.items()}


def written(processes: Mapping[str, Process]) -> bytes:
    """Return processes in the format of the file."""
    return packed(
        {
            f"{kind}:{part}": array
            for kind, process in sorted(processes.items())
            for part, array in process.arrays().items()
        }
    )


def benchmarked(engine: Engine, load: Load, users: int, name: str, law: HostModel) -> Engine:
    """Return an engine that is slowed as similar published benchmarks of its version were.

    If the server of its version was measured too, the faster of the two engines is returned.

    Args:
        engine: engine behind a server.
        load: its load.
        users: concurrent requests; 0 for as many as the memory holds.
        name: name of the host model of benchmarks of its version.
        law: that host model.
    """
    # a batch has no server, connection or stream, and the engine is built for its lengths
    if load.is_batch:
        kind = replace(engine.kind, longest=load.isl + load.osl)
        host = replace(engine.law, request_s=0.0, token_s=0.0, write_s=0.0)
        engine = replace(engine, law=host, kind=kind)
    # without the host model of the server, if that and `law` were fitted to different runs
    has_both = BENCH in name and engine.law.source != law.source
    bare = replace(engine, law=law) if has_both else engine
    process = processes().get(kind_of_benchmark(name))
    # no published benchmark had images or drafted tokens
    if process is not None and not (bare.images or bare.speculation.tokens):
        batch = sequences(bare, load.isl, load.osl, users)
        point = features_of(bare, name, load.isl, load.osl, batch)
        bare = replace(bare, law=slowed(bare.law, math.exp(log_slowdown(process, [point])[0])))
    if not has_both:
        return bare
    # the faster engine at a decode step in the middle of the answers
    step = (), sequences(bare, load.isl, load.osl, users), load.isl + load.osl / 2
    return min(bare, engine, key=lambda e: e.cost.step_s(*step))


def slowed(law: HostModel, factor: float) -> HostModel:
    """Return a host model in which each step takes ``factor`` times as long."""
    return replace(law, **{name: factor * getattr(law, name) for name in LEARNED})
