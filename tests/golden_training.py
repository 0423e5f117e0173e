"""What training reads, as text for a golden file.

Questions of `tests/golden_estimates.py` that are about tables and what is learned from them::

    > source deepbench                 the rows of a small table, every one
    > steps-of timm_benchmark          the lines of whole steps that are used
    > dataset ecnas                    runs of whole models, and the first graph
    > split families 1                 where architectures belong
    > experiment softmax               how a predictor is trained and what its figures are of

The tables are CSV files in the folder of the golden file.
"""

from __future__ import annotations

import dataclasses
import gzip
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import onnx.parser
import pytest

from perfc.analyzers.graph.dataset import with_floors
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc_lab.data.rows import Rows
from perfc_lab.datasets import dataset as dataset_named
from perfc_lab.splitting import fold_of
from perfc_lab.tables import architectures as splits
from perfc_lab.tables import sources
from perfc_lab.tables.timm import measured
from perfc_lab.training.evaluate import RowSlice
from perfc_lab.training.experiments import OperatorExperiment, experiments
from tests.golden_estimates import named_sums, text

MODELS = tuple(
    f"{name}{size}"
    for name in (
        "resnet",
        "tf_efficientnet_b",
        "vit_tiny_",
        "swin_s",
        "nfnet_f",
        "eca_nfnet_l",
        "deit",
        "mixer_b",
        "convnext",
        "test_vit_",
        "regnetx_",
        "dla",
    )
    for size in (1, 2, 16)[: 1 + len(name) % 3]
)


@cache
def tables(folder: Path) -> Path:
    """A folder with the tables as sources read them, and two models beside them."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    place = Path(mkdtemp(prefix="tables-"))
    for path in sorted(folder.glob("*.csv")):
        if path.stem.endswith("models"):
            shutil.copy(path, place / path.name)
        else:
            pd.read_csv(path).to_parquet(place / f"{path.stem}.parquet")
    (place / "h200").mkdir()
    for path in (folder / "h200").glob("*.csv"):
        shutil.copy(path, place / "h200" / path.name)
    (place / "models").mkdir()
    for path in sorted((folder.parent / "estimates").glob("*.onnxtxt")):
        model = onnx.parser.parse_model(path.read_text(encoding="utf-8"))
        packed = gzip.compress(model.SerializeToString())
        for name in (path.stem, f"timm__{path.stem}__32", f"rnd__{path.stem}"):
            (place / "models" / f"{name}.onnx.gz").write_bytes(packed)
    return place


def source(name: str, folder: Path) -> Iterator[str]:
    """Every block of a source, row by row."""
    for rows in sources()[name].rows(tables(folder)):
        yield f"{rows.class_name} {rows.dtype} on {rows.target}, {rows.protocol.value}, " + (
            rows.framework or "no framework"
        )
        for i in range(len(rows)):
            power = () if rows.power_w is None else (("power_w", rows.power_w[i]),)
            named = [*((n, c[i]) for n, c in rows.columns.items()), *power]
            columns = " ".join(f"{n} {text(v)}" for n, v in named)
            yield f"  {text(rows.time_s[i])} s: {columns}"


def steps_of(folder: Path) -> Iterator[str]:
    """Lines of whole steps that are used."""
    for one in measured(tables(folder)):
        setting = f"{one.setting.mode.value}, {one.setting.precision.value}, {one.setting.runtime}"
        counted = "unknown" if one.parameters is None else text(one.parameters)
        yield (
            f"{one.file} {one.architecture} on {one.target}, {setting}, {one.setting.framework}: "
            f"batch {one.batch}, {text(one.time_s)} s, {counted} parameters"
        )


def runs_of(name: str, folder: Path) -> Iterator[str]:
    """Runs of a data set, with their floors where there is a graph; then the graphs."""
    place, known = tables(folder), dataset_named(name)
    rows = known.rows(place)
    graphs: dict[str, ModelGraph | None] = {}
    for graph in dict.fromkeys(row.graph for row in rows):
        settings = list(dict.fromkeys(row.setting for row in rows if row.graph == graph))
        graphs[graph] = known.encode(graph, settings, place)
    for row in rows:
        graph_of_row = graphs[row.graph]
        result = with_floors(graph_of_row, [row])[0] if graph_of_row else row
        yield run_line(result)
    for graph, encoded in graphs.items():
        yield from graph_lines(graph, encoded)


def run_line(row: GraphRow) -> str:
    """One run."""
    other = {"memory": row.memory_bytes, "energy": row.energy_j, "power": row.power_w}
    return (
        f"{row.graph} ({row.architecture}) on {row.target}, {row.part}, "
        f"{row.setting.precision.value}, {row.setting.framework}, batch {row.batch}: "
        f"{text(row.time_s)} s, floor {text(row.floor_s)} s, "
        + ", ".join(f"{n} {text(v)}" for n, v in other.items())
    )


def graph_lines(name: str, graph: ModelGraph | None) -> Iterator[str]:
    """What a network is made of."""
    if graph is None:
        yield f"{name}: no graph"
        return
    counts = Counter(graph.ops.ops)
    yield f"{name}: {', '.join(f'{n} {op}' for op, n in sorted(counts.items()))}"
    yield from named_sums("operators", graph.ops.at(2))
    for key, kernels in graph.kernels.items():
        at = kernels.columns.at(2)
        yield from named_sums(f"launches of {key}", {"kind": at.kind, **at.amounts})


def split(kind: str, seed: int) -> Iterator[str]:
    """Where architectures belong."""
    match kind:
        case "random":
            part = splits.random_architectures(MODELS, seed)
        case "families":
            part = splits.unseen_families(MODELS, seed)
        case "turn":
            part = splits.families_in_turn(MODELS, seed)
        case _:
            yield " ".join(f"{m}={i}" for m, i in fold_of(MODELS, seed, 1).items())
            return
    for side in splits.DatasetPart:
        names = sorted(m for m, p in part.items() if p is side)
        yield f"{side.value}: {' '.join(f'{n} ({splits.family(n)})' for n in names)}"


def experiment(name: str, folder: Path) -> Iterator[str]:
    """How a predictor is trained, and which rows of the small tables its figures are of."""
    known = experiments()[name]
    yield f"{known.title}. {known.held_out}"
    if not isinstance(known, OperatorExperiment):
        fields = dataclasses.fields(known) if dataclasses.is_dataclass(known) else ()
        yield from (declared(f.name, getattr(known, f.name)) for f in fields)
        return
    yield f"rows of {known.class_name} from {', '.join(known.sources)}, by {', '.join(known.group)}"
    yield declared("recipe", known.recipe)
    yield declared("unseen machines", known.recipe.for_unseen_machine())
    yield declared("calibrating", known.calibrating)
    blocks = known.rows(tables(folder))
    taught = known.taught(blocks)
    yield f"{sum(map(len, blocks))} rows, {sum(map(len, taught))} taught, every fold: " + str(
        known.every_fold
    )
    yield f"callers say {[context.value or 'everything' for context in known.contexts(blocks)]}"
    for title, slices in (("shapes", known.shapes), ("machines", known.machines)):
        for part in slices:
            yield f"{title}, {part.name}: goal {part.goal}, {part.anchor or 'no anchor'}"
            yield from (f"  {line}" for line in chosen_rows(part, blocks))


def chosen_rows(part: RowSlice, blocks: list[Rows]) -> Iterator[str]:
    """Rows of a slice, by block."""
    for rows in blocks:
        which = np.flatnonzero(part.which(rows)).tolist()
        if which:
            yield f"{rows.target} {rows.dtype} {rows.protocol.value} {rows.framework}: {which}"


def declared(name: str, value: object) -> str:
    """What a record states, field by field."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        stated = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return f"{name}: " + ", ".join(f"{n} {plain(v)}" for n, v in stated)
    return f"{name}: {plain(value)}"


def plain(value: object) -> str:
    """A value of a declaration in words."""
    match value:
        case Enum():
            return str(value.value)
        case Mapping():
            return " ".join(f"{k}={v}" for k, v in value.items())
        case _:
            return declared("of", value) if dataclasses.is_dataclass(value) else str(value)


def answer(what: str, plain: list[str], given: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Lines that answer a question about training."""
    match what:
        case "source":
            yield from source(plain[0], folder)
        case "steps-of":
            yield from steps_of(folder)
        case "dataset":
            yield from runs_of(plain[0], folder)
        case "split":
            yield from split(plain[0], int(plain[1]))
        case "experiment":
            yield from experiment(plain[0], folder)
        case _:
            from tests.golden_learning import answer as further

            yield from further(what, plain, given)
