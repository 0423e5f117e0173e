"""Tables of papers as data: published numbers, with the predictors and rows that repeat them.

The modules of `tables` declare each a tuple of `PaperTable`; `runs` trains their lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from functools import cache
from itertools import zip_longest
from pathlib import Path

from perfc.analyzers.graph.rows import GraphRow, Quantity
from perfc.analyzers.steps.setting import RunMode
from perfc.common.declared import modules
from perfc.errors import PerfcError
from perfc.ir.record import record

from ...tables.architectures import family
from ...training.graphs.protocols import GraphProtocol


class PublishedMetric(Enum):
    """Metric of a column."""

    MAPE = "mape"
    WITHIN_10 = "within_10"
    RMSE = "rmse"
    TAU = "tau"
    FAILURES = "failures"
    """Share of the answers of a language model that are no number."""
    PROCESSOR = "processor_s"
    """Time of a training and its test."""

    @property
    def is_of_training(self) -> bool:
        """Return True if the number is of a whole training, whichever rows are tested."""
        return self in (PublishedMetric.FAILURES, PublishedMetric.PROCESSOR)


class RowSelection(Enum):
    """Rows that stand for those of a paper, in words for its page; most are of one machine."""

    STEPS = "training steps on the RTX 3090"
    RUNS = "inference on the RTX 3090"
    BOTH = "inference and training steps on the RTX 3090"
    MACHINES = "inference on two machines"
    ENERGY = "training steps of EC-NAS with time, energy and power"
    PLATFORMS = "every machine and way of running"
    ANSWERS = "inference on every machine"
    CELLS = "NAS-Bench-201's networks on every machine"
    SHORT = "networks of few operators, every machine and way of running"
    MEMORY = "training of MLPs of GPUMemNet with memory and active multiprocessors"
    DIPPM = "inference on an A100 that DIPPM's authors released"
    TRAPPM = "training steps on an A100 that TraPPM's authors released"
    PERFSEER = "inference and training steps on an RTX 3090 that PerfSeer's authors released"

    @property
    def dataset(self) -> str:
        """Return the name of the data set with the rows."""
        match self:
            case RowSelection.ENERGY:
                return "ecnas"
            case RowSelection.MEMORY:
                return "gpumemnet"
            case RowSelection.CELLS:
                return "nb201"
            case RowSelection.DIPPM | RowSelection.TRAPPM | RowSelection.PERFSEER:
                return self.name.lower()
            case _:
                return "timm"

    @property
    def is_needed(self) -> bool:
        """Return True if the data set must be built; tables of others are left out without it."""
        return self not in (RowSelection.MEMORY, RowSelection.CELLS, *RELEASED)

    @property
    def keeps(self) -> Callable[[GraphRow], bool]:
        """Return a function that is True for the rows of the data set that are selected."""
        return KEPT[self]


RELEASED = (RowSelection.DIPPM, RowSelection.TRAPPM, RowSelection.PERFSEER)
"""Rows that papers' authors released, which `perfc data import` reads."""
# mode and machine of most tables
EAGER = (RunMode.EAGER,)
MACHINE = "rtx3090"
FEW_OPERATORS = frozenset(
    {"vgg", "darknet", "byobnet", "lcnet", "sedarknet", "starnet", "vovnet", "gernet"}
)
"""Families of timm whose graphs are short in JSON, as AlexNet's is (thesis, Section 7.5.1)."""
# conditions of rows by selection; `True` selects all rows of the data set
KEPT: Mapping[RowSelection, Callable[[GraphRow], bool]] = {
    RowSelection.STEPS: lambda r: r.target == MACHINE and r.setting.mode is RunMode.TRAINING,
    RowSelection.RUNS: lambda r: r.target == MACHINE and r.setting.mode in EAGER,
    RowSelection.BOTH: lambda r: (
        r.target == MACHINE and r.setting.mode in (*EAGER, RunMode.TRAINING)
    ),
    RowSelection.MACHINES: lambda r: r.target in (MACHINE, "rtx4090") and r.setting.mode in EAGER,
    RowSelection.ENERGY: lambda r: True,
    RowSelection.CELLS: lambda r: True,
    RowSelection.PLATFORMS: lambda r: True,
    RowSelection.ANSWERS: lambda r: r.setting.mode is not RunMode.TRAINING,
    RowSelection.SHORT: lambda r: family(r.architecture) in FEW_OPERATORS,
    RowSelection.MEMORY: lambda r: True,
    RowSelection.DIPPM: lambda r: True,
    RowSelection.TRAPPM: lambda r: r.target.startswith("a100"),
    RowSelection.PERFSEER: lambda r: True,
}


@record
class PublishedColumn:
    """A column of a table.

    Args:
        label: name of the column in the paper.
        slice: slice of the tested rows by its name in results; ``all rows`` by default.
        metric: metric of these rows.
    """

    label: str
    slice: str = "all rows"
    metric: PublishedMetric = PublishedMetric.MAPE


@record
class PublishedLine:
    """A line of a table: a predictor, and its published numbers.

    Args:
        label: name of the predictor in the paper.
        predictor: predictor of perfc that repeats it, ``NAME`` or ``NAME:VARIANT``.
        published: a number for each column, None without one; further columns have none.
        share: share of the training architectures that are used.
        epochs: epochs in the paper; None for those of the recipe.
    """

    label: str
    predictor: str
    published: tuple[float | None, ...] = ()
    share: float = 1.0
    epochs: int | None = None


@record
class PaperTable:
    """A table or a figure of a paper.

    Args:
        key: unique name, also of files of charts.
        paper: name of the paper.
        name: place in the paper, ``Table 4.4, page 48``.
        title: title of the table.
        rows: rows that stand for the paper's.
        columns: columns of all lines.
        lines: lines of the table.
        protocol: how rows are held out.
        quantity: predicted quantity.
        samples: rows of a new machine or family that are trained on, if the protocol has any.
        note: difference from the paper, in sentences.
        curve: several such numbers of rows, each for a copy of one training; empty for ``samples``
            alone. Columns have slices named ``32 rows``.
        machines: new machines that are tested; all by default.
        most_tested: maximum tested rows, drawn at random; 0 for all.
        has_embeddings: whether a chart of the graphs' embeddings is drawn.
        families: published errors by family, one for each line; the page then has a row for each
            family.
    """

    key: str
    paper: str
    name: str
    title: str
    rows: RowSelection
    columns: tuple[PublishedColumn, ...]
    lines: tuple[PublishedLine, ...]
    protocol: GraphProtocol = GraphProtocol.RANDOM
    quantity: Quantity = Quantity.TIME
    samples: int = 32
    note: str = ""
    curve: tuple[int, ...] = ()
    machines: tuple[str, ...] = ()
    most_tested: int = 0
    has_embeddings: bool = False
    families: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def states(self, column: int) -> bool:
        """Return True if the paper has a number in a column."""
        # a line may have fewer numbers than columns
        return any(x is not None for line in self.lines for x in line.published[column:][:1])

    @property
    def has_order(self) -> bool:
        """Return True if some column has published numbers of two lines, which have an order."""
        columns = zip_longest(*(line.published for line in self.lines))
        return any(sum(x is not None for x in column) > 1 for column in columns)


def tables(papers: tuple[str, ...] = ()) -> Iterator[PaperTable]:
    """Yield all tables, or those of some papers.

    Raises:
        PerfcError: no such paper.
    """
    known = every_table()
    names = dict.fromkeys(t.paper for t in known)
    for paper in papers:
        if paper not in names:
            raise PerfcError(f"no paper {paper!r}", hint=f"there are {', '.join(names)}")
    yield from (t for t in known if not papers or t.paper in papers)


def built(tables: Iterable[PaperTable], graphs: Path) -> list[PaperTable]:
    """Return the tables whose rows are needed or built; the others are left out."""
    return [t for t in tables if t.rows.is_needed or (graphs / t.rows.dataset).is_dir()]


@cache
def every_table() -> tuple[PaperTable, ...]:
    """Return the tables that the modules of the folder ``tables`` declare, in their order."""
    here = modules("perfc_lab.papers.reproduction.tables")
    return tuple(table for module in here for table in getattr(module, "TABLES", ()))
