"""Commands `perfc train gnn-llm` and `perfc eval gnn-llm`.

`perfc_lab.commands._gnn_llm` parses their options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from perfc.analyzers.graph.dataset import load
from perfc.analyzers.graph.predictor import Say, TrainingBudget, predictor
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.store import StoredGraphs
from perfc.analyzers.graph.weights import save
from perfc.errors import ParseError, PerfcError
from perfc.ir.record import record

from ...training.graphs.bench import trained
from ...training.graphs.cards import card_of
from ...training.graphs.protocols import GraphProtocol, folds
from ..reproduction.command import every_job, reproduce
from ..reproduction.published import PaperTable, RowSelection, built
from ..reproduction.runs import Job, Preset
from .board import LanguageModelTables, write_page
from .checkpoints import Stages
from .extra import need_extra
from .packed import pack, unpack
from .predictor import MEAN, SUMS, GnnLlm
from .projection import Readout
from .stages import Course
from .tables import GIN, NEITHER, OURS, PHYSICS, PREFIX, TABLES


@record
class Wanted:
    """Trainings to run, and their data.

    Args:
        graphs: folder of the data sets.
        pool: folder of graphs that nobody measured.
        folder: folder of the stages.
        preset: name of one of `PRESETS`.
        language_model: folder of the language model; None for the small decoder.
        readout: name of a `Readout`: what of a graph becomes tokens.
        limit_s: processor time of each stage in s; None for that of the preset.
        seed: random seed of all stages.
        dataset: data set whose rows stage 3 learns.
        protocol: how rows are held out of stage 3.
        mode: mode of running whose rows stage 3 reads, as inference; "" for all.
    """

    graphs: Path
    pool: Path
    folder: Path
    preset: str
    language_model: Path | None
    readout: str
    limit_s: float | None
    seed: int
    dataset: str
    protocol: GraphProtocol
    mode: str


def train(wanted: Wanted, stages: Sequence[int], say: Say) -> Iterator[str]:
    """Train stages in turn, and yield a line at the end of each.

    Raises:
        MissingExtraError: transformers or peft is not installed.
        DataError: a data set is not built.
        PerfcError: an earlier stage was not trained.
    """
    need_extra()
    readout = Readout(wanted.readout)
    checkpoints = Stages.start(wanted.folder, wanted.preset, wanted.language_model, wanted.seed)
    # stages 0 to 2 need graphs alone, stage 3 measured rows as well
    if any(stage < 3 for stage in stages):
        course = Course(checkpoints, StoredGraphs(wanted.pool), say, wanted.limit_s)
        for stage in sorted(set(stages) - {3}):
            say(f"stage {stage}")
            match stage:
                case 0:
                    course.learn_text()
                case 1:
                    course.learn_graphs()
                case _:
                    course.learn_pairs(readout)
            yield f"stage {stage}: {wanted.folder}"
    if 3 in stages:
        yield from _tuned(wanted, say)


def _tuned(wanted: Wanted, say: Say) -> Iterator[str]:
    """Train stage 3 on the first fold, write its weights, and yield their path and scores."""
    data = load(wanted.graphs, wanted.dataset)
    if wanted.mode:
        data = data.where(lambda r: r.part == wanted.mode)
    fold = next(folds(data.measured(Quantity.TIME), wanted.protocol, (wanted.seed,)), None)
    if fold is None or not len(fold.train) or not len(fold.test):
        raise ParseError("nothing is left to train on or to test", where="--split")
    preset = Stages.open(wanted.folder).preset
    limit_s = preset.tuning_s if wanted.limit_s is None else wanted.limit_s
    budget = TrainingBudget(wanted.seed, limit_s, wanted.folder / "tuned", pretrained=wanted.folder)
    variants = {Readout.MEAN: f":{MEAN}", Readout.SUMS: f":{SUMS}"}
    name = f"gnn-llm{variants.get(Readout(wanted.readout), '')}"
    network, metrics = trained(name, fold, Quantity.TIME, budget, say)
    words = f"{wanted.protocol.value}, {fold.name}"
    yield str(save(network, card_of(network, fold.train, words, metrics), wanted.folder))
    yield ", ".join(f"{k} {v:.4g}" for k, v in metrics.items())


def evaluate(
    board: LanguageModelTables,
    processes: int,
    output: Path,
    origin: str,
    pool: Path,
    large: Sequence[str],
    known: Path | None,
    say: Say,
) -> Path:
    """Run the trainings that have no stored result, one seed after another, and write the page.

    Args:
        board: requested tables and seeds.
        processes: number of trainings at once; 0 to write the page from stored results alone.
        output: folder of the page.
        origin: what wrote the page and when, in a sentence.
        pool: folder of graphs that inference is timed on.
        large: lines on the inference time of language models that do not run here.
        known: file that all results are written to; None for none.
        say: gets the progress.

    Raises:
        MissingExtraError: transformers or peft is not installed.
        DataError: a data set is not built.
    """
    need_extra()
    if processes:
        tables = [can_train(table, board.stages, say) for table in board.tables]
        wanted = every_job(
            tables, board.seeds, board.graphs, board.size, is_faithful=board.is_faithful
        )
        # first the trainings that most tables and verdicts need, for a run that is interrupted
        wanted.sort(key=lambda job: (board.seeds.index(job.seed), *telling(job)))
        reproduce(tables, wanted, board.folder, processes, say)
    path = write_page(board, output, origin, StoredGraphs(pool), large, say)
    if known is not None:
        count = pack(known, board.folder, board.stages.folder, board.keys())
        say(f"{known}: {count} results")
    return path


def telling(job: Job) -> tuple[int, int]:
    """Return the sort key of a training: curves first, then the lines that verdicts compare.

    Curves, whose points are trained with few rows of a new machine or family, are first only if
    they are of `RowSelection.ANSWERS`. Those of NAS-Bench-201's cells are not: the thesis has no
    numbers for them.
    """
    lines = (GIN, OURS, NEITHER, PHYSICS)
    name = job.line.predictor
    place = lines.index(name) if name in lines else len(lines)
    is_curve = bool(job.table.curve) and job.table.rows is RowSelection.ANSWERS
    return (0 if is_curve and name in lines else 1, place)


def can_train(table: PaperTable, stages: Stages, say: Say) -> PaperTable:
    """Return a table without the lines whose stages or weights do not exist; ``say`` gets these."""
    lines = []
    for line in table.lines:
        try:
            model = predictor(line.predictor)
            if isinstance(model, GnnLlm):
                model.needs(stages)
        except PerfcError as error:
            say(f"{table.name}, {line.label}: skipped: {error}")
        else:
            lines.append(line)
    return replace(table, lines=tuple(lines))


def chosen_tables(keys: Sequence[str]) -> tuple[PaperTable, ...]:
    """Return the tables with some keys; all without a key.

    Raises:
        ParseError: no table has a key.
    """
    known = {table.key.removeprefix(PREFIX): table for table in TABLES}
    for key in keys:
        if key not in known:
            hint = f"there are {', '.join(known)}"
            raise ParseError(f"no table {key!r}", where="--table", hint=hint)
    return tuple(known[key] for key in dict.fromkeys(keys)) or TABLES


def opened(
    tables: Sequence[PaperTable],
    seeds: Sequence[int],
    graphs: Path,
    folder: Path,
    stages: Path,
    limit_s: float | None,
    known: Path | None,
    has_charts: bool,
) -> LanguageModelTables:
    """Return the tables for `evaluate`, after the results of the file ``known`` are unpacked.

    Tables whose rows are not built are left out.

    Raises:
        PerfcError: the folder has no stages, or the file is damaged.
    """
    if known is not None:
        unpack(known, folder, stages)
    checkpoints = Stages.open(stages)
    size = Preset(
        checkpoints.preset.scale,
        checkpoints.preset.tuning_s if limit_s is None else limit_s,
        pretrained=stages,
        learned=checkpoints.settings(),
    )
    return LanguageModelTables(
        built(tables, graphs), seeds, graphs, folder, size, checkpoints, has_charts
    )
