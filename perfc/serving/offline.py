"""Benchmarks without a server: what those took beyond the law of their host, as like ones tell it.

``log(measured / told by the law)`` is a Gaussian process (`perfc.analyzers.features.process`) of
the runs of one kind of benchmark. It is 0 on a machine that none of them ran on.
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
from perfc.analyzers.features.process import NOBODY, Form, Near, Process, Rows
from perfc.analyzers.features.sheet import Sheet
from perfc.frontend.config.model import Experts, LanguageModel
from perfc.ir.record import record

from .engine import Engine
from .host import BENCH, EXPERTS, LEARNED, HostLaw, bench_law, law_of, numbers_of
from .simulation.scheduler import Chunk

FILE = Path(__file__).with_suffix(".npz")
RATES_OF = "f16"
"""Element type whose rates tell machines apart."""
LEAST = 1e-9
FEW = 0.05
"""Share of the known benchmarks that may have fewer sequences than an asked one."""
PROMPT_TOKENS = 2048
"""Most tokens of the prompt that is looked at."""


class Aspect(Enum):
    """What two benchmarks may be alike in."""

    VERSION = auto()
    """The law that speaks for them: of a runtime and its version."""
    PRECISION = auto()
    """The format of the weights."""
    MODEL = auto()
    MACHINE = auto()
    LOAD = auto()
    """Lengths, ranks, sequences of a step, its time, and how full the cache is."""
    SHARES = auto()
    """Of a step in attention and in exchanges, of an answer in its prompt."""


LOAD = ("log2_isl", "log2_osl", "log2_ranks", "log2_batch", "log2_step_s", "log2_fill")
MACHINE = ("log2_flop_per_s", "log2_bytes_per_s", "log2_sms")
AMONG = (0, 2, 4)
"""Those of a machine among its coordinates."""
SHARES = ("attention", "exchanges", "prompts")
COLUMNS = (*LOAD, *MACHINE, *SHARES)
_CELL = (Aspect.VERSION, Aspect.PRECISION)
FORM = Form(
    (
        (), (Aspect.VERSION,), (Aspect.PRECISION,), _CELL, (Aspect.MACHINE,),
        (*_CELL, Aspect.MACHINE), (Aspect.LOAD,), (Aspect.VERSION, Aspect.LOAD),
        (*_CELL, Aspect.LOAD), (Aspect.SHARES,), (Aspect.PRECISION, Aspect.SHARES),
        (Aspect.MODEL,), (Aspect.MODEL, Aspect.VERSION),
        (Aspect.MODEL, *_CELL, Aspect.MACHINE), (Aspect.MODEL, Aspect.LOAD),
        (Aspect.MODEL, *_CELL, Aspect.LOAD),
    ),
    {Aspect.VERSION: (0,), Aspect.PRECISION: (1,), Aspect.MODEL: (2,)},
    {
        Aspect.LOAD: Near(slice(0, 6), has_each=True, start=1.0),
        Aspect.MACHINE: Near(slice(6, 9)),
        Aspect.SHARES: Near(slice(9, 12)),
    },
    len(COLUMNS),
    Aspect.MODEL,
)  # fmt: skip


@record
class Place:
    """A benchmark among others.

    Args:
        kinds: numbers of its law and of the format of its weights.
        columns: `COLUMNS`.
    """

    kinds: tuple[float, float]
    columns: tuple[float, ...]


def number_of(name: str) -> float:
    """A number of a name that a 32-bit float holds."""
    return float(zlib.crc32(name.encode()) % (1 << 24))


def place_of(engine: Engine, law: str, isl: int, osl: int, batch: int) -> Place:
    """Where a benchmark stands: by one step of decoding in the middle of its answers.

    Args:
        engine: of one model copy.
        law: name of the law that speaks for it.
        isl: tokens of a prompt.
        osl: tokens of an answer.
        batch: sequences of a step.

    Raises:
        PerfcError: the model does not divide so.
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
    load = (isl, osl, engine.parallel.tensor, batch, step.kernels, batch * context / pool)
    machine = coordinates(Sheet(engine.machine), RATES_OF)
    shares = (
        attention_s / step_s, step.exchanges / step_s, prompts_s / (prompts_s + osl * step_s),
    )  # fmt: skip
    columns = (*(math.log2(max(v, LEAST)) for v in load), *(machine[i] for i in AMONG), *shares)
    kinds = number_of(law), number_of(engine.precision.weights.value)
    return Place(kinds, columns)


def sequences(engine: Engine, isl: int, osl: int, users: int) -> int:
    """Of a step, for so many users of an engine; 0 for as many as the memory holds."""
    limits = engine.limits(isl, osl)
    most = min(limits.max_num_seqs, max(1, limits.kv_tokens // (isl + osl // 2)))
    each = round(users / engine.parallel.attention_data)
    return min(max(1, each), most) if users else most


def rows_of(places: Sequence[Place], models: Sequence[int] | None = None) -> Rows:
    """Places as a process takes them.

    Args:
        places: of benchmarks.
        models: their numbers; none of those known by default.
    """
    numbers = [NOBODY] * len(places) if models is None else models
    kinds = [(*place.kinds, number) for place, number in zip(places, numbers, strict=True)]
    return Rows(
        np.array(kinds, np.float32), np.array([place.columns for place in places], np.float32)
    )


def beyond(process: Process, places: Sequence[Place]) -> list[float]:
    """``log(measured / told by the law)`` that is expected; 0 on machines that are not known."""
    rows = rows_of(places)
    columns = FORM.near[Aspect.MACHINE].columns
    width = np.where(np.isfinite(process.width), process.width, 0.0)
    known = (process.known.places * width + process.centre)[:, columns]
    apart = rows.places[:, None, columns] - known
    is_known = (np.sqrt((apart**2).mean(axis=2)) <= SAME_CHIP).any(axis=1)
    return [float(v) for v in np.where(is_known, process.beyond(rows), 0.0)]


def kind_of_benchmark(law: str) -> str:
    """The process that would speak where a law does; "" for servers, which have none.

    Dense models and those with experts have one each, as they have laws each.
    """
    runtime, *rest = law.split()
    if not runtime.endswith(BENCH):
        return ""
    return f"{runtime} {EXPERTS}" if EXPERTS in rest else runtime


@lru_cache(maxsize=1)
def processes() -> Mapping[str, Process]:
    """Those that come with perfc, by the kind of benchmark."""
    by_kind: dict[str, dict[str, object]] = {}
    for name, array in unpacked(FILE.read_bytes()).items():
        kind, _, part = name.rpartition(":")
        by_kind.setdefault(kind, {})[part] = array
    return {kind: Process.read(FORM, arrays) for kind, arrays in by_kind.items()}


def written(found: Mapping[str, Process]) -> bytes:
    """Processes as the file has them."""
    return packed({
        f"{kind}:{part}": array
        for kind, process in sorted(found.items()) for part, array in process.arrays().items()
    })  # fmt: skip


def offline(engine: Engine, isl: int, osl: int, users: int) -> Engine:
    """The engine of a benchmark without a server, as long as like benchmarks took.

    Args:
        engine: of a server.
        isl: tokens of a prompt.
        osl: tokens of an answer.
        users: of it; 0 for as many as the memory holds.

    Raises:
        ParseError: nobody published such a benchmark of the runtime.
    """
    name, law = bench_law(engine.runtime, engine.version, has_experts=has_experts(engine.model))
    bare = replace(engine, law=law, kind=replace(engine.kind, longest=isl + osl))
    process = processes().get(kind_of_benchmark(name))
    # no published benchmark had images or drafted tokens
    if process is None or bare.images or bare.speculation.tokens:
        return bare
    place = place_of(bare, name, isl, osl, sequences(bare, isl, osl, users))
    return replace(bare, law=slowed(law, math.exp(beyond(process, [place])[0])))


def beyond_known(engine: Engine, isl: int, osl: int, users: int) -> tuple[str, ...]:
    """What a reader must know where nearly all known benchmarks have more sequences in a step.

    Args:
        engine: of a benchmark.
        isl: tokens of a prompt.
        osl: tokens of an answer.
        users: of it; 0 for as many as the memory holds.
    """
    name, _ = bench_law(engine.runtime, engine.version, has_experts=has_experts(engine.model))
    process = processes().get(kind_of_benchmark(name))
    if process is None:
        return ()
    column = LOAD.index("log2_batch")
    logs = process.known.places[:, column] * process.width[column] + process.centre[column]
    fewest = round(2 ** float(np.quantile(logs, FEW)))
    asked = sequences(engine, isl, osl, users)
    if asked >= fewest:
        return ()
    told = f"a step of nearly all published benchmarks has {fewest} sequences or more, this one"
    return (f"{told} {asked}: --concurrency says how many",)


def older_than_servers(engine: Engine) -> tuple[str, ...]:
    """Returns a note where servers of newer versions were measured than batches were.

    Args:
        engine: of a batch.
    """
    batches, servers = engine.law.versions, law_of(engine.runtime).versions
    if not batches or not servers or numbers_of(batches[-1]) >= numbers_of(servers[-1]):
        return ()
    measured = f"batches of {engine.runtime} were measured up to {batches[-1]}"
    return (f"{measured}, servers up to {servers[-1]}: a newer host may be faster",)


def has_experts(model: LanguageModel) -> bool:
    """Whether a layer of a model chooses among experts."""
    layers = model.decoder.layers if model.decoder is not None else ()
    branches = [branch for layer in layers for part in layer for branch in part.branches]
    return any(isinstance(branch.mixer, Experts) for branch in branches)


def slowed(law: HostLaw, factor: float) -> HostLaw:
    """A law by which each step takes a factor longer."""
    return replace(law, **{name: factor * getattr(law, name) for name in LEARNED})
