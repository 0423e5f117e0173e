"""A paper's table as data: its numbers, our predictors and rows that stand for the paper's.

The files of `tables` declare one `PaperTable` each or more; `runs` trains their lines.
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
    """Answers of a language model that are no number."""
    PROCESSOR = "processor_s"
    """Time of a training and its test."""

    @property
    def is_of_training(self) -> bool:
        """Return True if it is of a whole training, whichever rows are tested."""
        return self in (PublishedMetric.FAILURES, PublishedMetric.PROCESSOR)


class RowSelection(Enum):
    """Which rows stand for those of a paper: one machine, as the papers have it."""

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
        """Return the data set that has them."""
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
        """Return True if the rows must exist; tables of others are left out if not built."""
        return self not in (RowSelection.MEMORY, RowSelection.CELLS, *RELEASED)

    @property
    def keeps(self) -> Callable[[GraphRow], bool]:
        """Return a predicate that selects the rows."""
        return KEPT[self]


RELEASED = (RowSelection.DIPPM, RowSelection.TRAPPM, RowSelection.PERFSEER)
"""Rows that `perfc data import` reads."""
# the one machine and way of running of most tables
EAGER = (RunMode.EAGER,)
MACHINE = "rtx3090"
FEW_OPERATORS = frozenset(
    {"vgg", "darknet", "byobnet", "lcnet", "sedarknet", "starnet", "vovnet", "gernet"}
)
"""Families of timm whose JSON is short, as that of AlexNet is (thesis, Section 7.5.1)."""
# `True` where every row of the data set stands for the paper's
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
    """A number of every line.

    Args:
        label: as the paper calls it.
        slice: slice of the tested rows, as the bench names them; ``all rows`` by default.
        metric: of them.
    """

    label: str
    slice: str = "all rows"
    metric: PublishedMetric = PublishedMetric.MAPE


@record
class PublishedLine:
    """A predictor, and what the paper says of it.

    Args:
        label: as the paper calls it.
        predictor: ours of the same, ``NAME`` or ``NAME:VARIANT``.
        published: one number a column; None where the paper has none.
        share: share of the architectures that it is trained on.
        epochs: that the paper trains; None for the recipe's.
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
        key: unique, a file name.
        paper: it is from.
        name: ``Table 4.4, page 48``.
        title: what it shows.
        rows: that stand for the paper's.
        columns: columns of every line.
        lines: predictors.
        protocol: how rows are held out.
        quantity: predicted quantity.
        samples: rows of a new machine that are seen, where the protocol has any.
        note: how it differs from the paper's.
        curve: rows of what is new that are seen, in turn, by copies of one training; none for
            ``samples`` alone. Columns are of slices named ``32 rows``.
        machines: new ones that are tested; all by default.
        most_tested: rows, drawn; 0 for all.
        has_embeddings: whether a chart of the graphs' embeddings is drawn.
        families: mean errors that the paper states of each line by family; the table then has a
            line a family.
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
        """Return True if the paper has a number of a column."""
        # lines may have fewer numbers than there are columns
        return any(x is not None for line in self.lines for x in line.published[column:][:1])

    @property
    def has_order(self) -> bool:
        """Return True if the paper has numbers of two lines or more in a column."""
        # one number has no order
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
    """Return the tables without those of rows that need not be there and are not."""
    return [t for t in tables if t.rows.is_needed or (graphs / t.rows.dataset).is_dir()]


@cache
def every_table() -> tuple[PaperTable, ...]:
    """Return the tables that the files of the folder ``tables`` declare, in their order."""
    here = modules("perfc_lab.papers.reproduction.tables")
    return tuple(table for module in here for table in getattr(module, "TABLES", ()))
