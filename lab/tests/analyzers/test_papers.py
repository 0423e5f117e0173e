"""The papers' tables and elements: what is declared holds, and small trainings fill a page."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from perfc.analyzers.graph.predictor import predictor
from perfc.analyzers.graph.store import StoredGraphs
from perfc.errors import PerfcError
from perfc.view.report.formats import markdown
from perfc_lab.datasets.unlabelled import Unlabelled, drawn
from perfc_lab.papers.elements import ElementStatus, board, seeds
from perfc_lab.papers.reproduction.published import PublishedMetric, every_table, tables
from perfc_lab.tables.architectures import DatasetPart, family, within_families

from .graph_rows import measurements

ROOT = Path(__file__).resolve().parents[3]


def test_every_file_of_an_element_exists_and_whoever_differs_says_why() -> None:
    for seed in seeds():
        for element in seed.elements:
            assert all((ROOT / name).exists() for name in element.files), element
            assert bool(element.why) is (element.standing is not ElementStatus.FAITHFUL), element
            assert bool(element.files) is (element.standing is not ElementStatus.MISSING), element


RESULTS = ("lab/perfc_lab/papers/reproduction/", "lab/docs/accuracy/")
"""Files with outcomes: runs of the papers' tables, and pages of their results."""


def test_no_element_with_an_outcome_is_as_in_the_source() -> None:
    for seed in seeds():
        for element in seed.elements:
            has_outcome = any(name.startswith(RESULTS) for name in element.files)
            assert not (has_outcome and element.standing is ElementStatus.FAITHFUL), element


def test_the_page_of_elements_is_that_of_the_code() -> None:
    assert (ROOT / "lab" / "docs" / "elements.md").read_text(encoding="utf-8") == board().written(
        "markdown"
    )


def test_every_line_of_a_table_has_as_many_published_numbers_as_columns() -> None:
    for table in every_table():
        for line in table.lines:
            assert len(line.published) in (0, len(table.columns)), (table.key, line)


def test_every_predictor_of_a_table_is_there() -> None:
    pytest.importorskip("torch_geometric")
    for name in {line.predictor for table in every_table() for line in table.lines}:
        assert predictor(name).name == name.partition(":")[0]


def test_an_unknown_paper_is_refused() -> None:
    with pytest.raises(PerfcError, match="dippm"):
        list(tables(("dipm",)))


def test_families_are_divided_seventy_to_thirty() -> None:
    names = [f"{word}_{i}" for word in ("vit", "swin", "resnet") for i in range(20)]
    parts = within_families(names, 0)
    for word in ("vit", "swin", "resnet"):
        mine = [part for name, part in parts.items() if family(name) == word]
        assert [
            mine.count(p) for p in (DatasetPart.TRAIN, DatasetPart.VALIDATION, DatasetPart.TEST)
        ] == [12, 2, 6]
    assert within_families(names, 1) != parts


def test_drawn_graphs_are_the_same_every_time_and_computable(tmp_path: Path) -> None:
    pool = Unlabelled().sized(24)
    assert list(pool.wanted(tmp_path)) == list(pool.wanted(tmp_path))
    kinds = {name.partition(".")[0] for name in pool.wanted(tmp_path)}
    assert {"cell101", "cell201", "vgg", "resnet"} <= kinds
    data = pool.build(tmp_path, tmp_path / "out", lambda line: None)
    assert isinstance(data.graphs, StoredGraphs)
    assert len(data.graphs) == 24
    assert len(data.rows) == 0
    assert all(graph.ops.at(8)["mac"].sum() > 0 for graph in data.graphs.values())


def test_files_stand_beside_the_drawn_graphs(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "one.onnx.gz").touch()
    names = list(Unlabelled(5).wanted(tmp_path))
    assert len(names) == 6
    assert [name for name in names if name.startswith("file.")] == ["file.one"]


@pytest.mark.parametrize("name", ["vgg", "densenet", "efficientnet", "swin", "poolformer"])
def test_a_family_is_drawn_at_several_sizes(name: str) -> None:
    sizes = {drawn(name, seed).graph.inputs[0].type for seed in range(8)}
    assert len(sizes) > 2


def test_every_table_has_a_seed_before_any_has_two_and_judged_then_short_tables_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch_geometric")
    from perfc_lab.papers.reproduction import command, runs

    chosen = list(tables())
    wanted = command.every_job(chosen, (0, 1), tmp_path, runs.PRESETS["cpu"], is_faithful=True)
    assert [job.seed for job in wanted] == sorted(job.seed for job in wanted)
    assert len({job.key for job in wanted}) == len(wanted)
    first = [(not job.table.has_order, len(job.table.lines)) for job in wanted if job.seed == 0]
    assert {is_unjudged for is_unjudged, _ in first} == {False, True}
    assert first == sorted(first)
    ours = command.every_job(chosen, (0,), tmp_path, runs.PRESETS["cpu"], is_faithful=False)
    keys, keys_of_ours = {job.key for job in wanted}, {job.key for job in ours}
    monkeypatch.setattr(runs, "RESULT_FORMAT", runs.RESULT_FORMAT + 1)
    newer = {
        is_faithful: {
            job.key
            for job in command.every_job(
                chosen, (0,), tmp_path, runs.PRESETS["cpu"], is_faithful=is_faithful
            )
        }
        for is_faithful in (False, True)
    }
    assert newer[False] == keys_of_ours
    assert not newer[True] & keys
    longer = replace(runs.PRESETS["cpu"], limit_s=1.0)
    again = command.every_job(chosen, (0,), tmp_path, longer, is_faithful=True)
    assert not {job.key for job in again} & {job.key for job in wanted}


def test_a_result_is_trained_once_and_shown_beside_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch_geometric")
    from perfc_lab.papers.reproduction import command, runs

    monkeypatch.setattr(command, "chosen_rows", lambda job: measurements())
    monkeypatch.setattr(runs, "chosen_rows", lambda job: replace(measurements(), digest="rows"))
    table = next(t for t in every_table() if t.key == "dippm-table-4-4")
    table = replace(table, lines=table.lines[3:])
    wanted = command.every_job([table], (0,), tmp_path, runs.PRESETS["smoke"], is_faithful=True)
    assert [job.line.predictor for job in wanted] == ["pmgns:mlp", "pmgns"]
    for _ in range(2):
        command.reproduce([table], wanted, tmp_path, 1, lambda line: None)
    assert len(list(tmp_path.glob("*.json"))) == 2
    path = command.written(
        [table],
        (0,),
        tmp_path,
        tmp_path,
        tmp_path,
        runs.PRESETS["smoke"],
        "",
        is_faithful=True,
        has_charts=False,
    )
    text = path.read_text(encoding="utf-8")
    stored = runs.stored(tmp_path, wanted[1])
    assert stored is not None
    assert stored["slices"]["all rows"]["mape"] > 0
    # two epochs of ten: no figure stands under the paper's name
    assert "| GraphSAGE | not converged | 16.0% |" in text
    assert "2 of 2 trainings stand (2 of seed 0)" in text


def test_quantities_learned_beside_the_time_are_tested_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch_geometric")
    from perfc_lab.papers.reproduction import runs

    rows = measurements()
    rows = rows.of([replace(r, energy_j=100 * r.time_s) for r in rows.rows])
    monkeypatch.setattr(runs, "chosen_rows", lambda job: rows)
    table = next(t for t in every_table() if t.key == "dippm-energy")
    wanted = runs.jobs([table], (0,), tmp_path, runs.PRESETS["smoke"], True)
    found = runs.run(next(wanted), tmp_path, lambda line: None)
    assert found["slices"]["energy_j"]["rows"] == found["slices"]["all rows"]["rows"] > 0
    assert found["slices"]["energy_j"]["mape"] != found["slices"]["all rows"]["mape"]
    assert "power_w" not in found["slices"]
    assert len(found["points_besides"]["energy_j"]) == len(found["points"])
    assert found["processor_s"] > 0


def test_a_table_by_family_has_a_line_a_family() -> None:
    from perfc_lab.papers.reproduction.page import Done
    from perfc_lab.papers.reproduction.page import table as table_of

    table = next(t for t in every_table() if t.families)
    result = {"families": {"vit": {"mape": 0.5}}}
    done = [Done(line, (result,) if line.predictor == "trappm" else ()) for line in table.lines]
    text = "\n".join(markdown.table_lines(table_of(table, done).table))
    assert "| vit | 50.0% | 7.1% | – | 9.2% | – | 105.8% | – | 16.6% |" in text
    assert len(text.splitlines()) == 2 + len(table.families)


def test_an_order_that_is_undefined_of_a_seed_is_left_out_of_the_mean() -> None:
    """Answers that are all alike have none."""
    from perfc_lab.papers.reproduction.page import number, spread
    from perfc_lab.papers.reproduction.published import PublishedColumn

    column = PublishedColumn("τ", metric=PublishedMetric.TAU)
    seeds = [
        {"slices": {column.slice: {PublishedMetric.TAU.value: tau}}} for tau in (0.5, math.nan, 0.7)
    ]
    known = [n for seed in seeds if (n := number(seed, column)) is not None]
    assert spread(known, PublishedMetric.TAU) == "0.600 ± 0.100"
    assert number({"slices": {}}, column) is None


def test_rows_that_cannot_be_fetched_are_left_out_where_they_are_not(tmp_path: Path) -> None:
    from perfc_lab.papers.reproduction.published import RELEASED, RowSelection, built

    every = list(tables())
    for rows in (RowSelection.MEMORY, *RELEASED):
        assert [t for t in every if t.rows is rows]
        assert not [t for t in built(every, tmp_path) if t.rows is rows]
    for rows in (RowSelection.MEMORY, *RELEASED):
        (tmp_path / rows.dataset).mkdir()
    assert built(every, tmp_path) == every


def test_a_training_counts_where_its_curve_is_flat_or_its_recipe_is_complete() -> None:
    from perfc_lab.papers.reproduction.verdict import convergence

    steep = [0.5 + 8.0 / (epoch + 1) for epoch in range(32)]
    early = convergence({"validation": steep, "planned_epochs": 500})
    assert early is not None
    assert not early.is_adequate
    assert 0.4 < early.expected < 0.6
    complete = convergence({"validation": steep, "planned_epochs": 32})
    assert complete is not None
    assert complete.is_adequate
    flat = convergence({"validation": [0.2, *[0.1] * 20], "planned_epochs": 500})
    assert flat is not None
    assert flat.is_adequate
    short = convergence({"validation": [0.1] * 19, "planned_epochs": 500})
    assert short is not None
    assert not short.is_adequate
    assert convergence({"validation": []}) is None


def test_a_training_that_is_not_converged_is_repeated_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch_geometric")
    from perfc_lab.papers.reproduction import runs

    limits_s: list[float] = []
    curve = [0.1 + 1 / epoch for epoch in range(1, 33)]

    def tested(job: runs.Job, limit_s: float, say: object) -> dict[str, object]:
        limits_s.append(limit_s)
        return {"validation": curve, "planned_epochs": 500, "processor_s": limit_s}

    monkeypatch.setattr(runs, "tested", tested)
    monkeypatch.setattr(runs, "stored", lambda folder, job: None)
    table = next(t for t in every_table() if t.paper == "perfseer")
    job = runs.Job(table, table.lines[0], 0, tmp_path, runs.PRESETS["cpu"], is_faithful=True)
    content = runs.run(job, tmp_path, print)
    assert limits_s == [20.0, 20.0 * runs.REPEATED]
    assert content["processor_s"] == sum(limits_s)
    assert runs.is_final(job, content)
    assert not runs.is_final(job, {**content, "is_repeated": False})
    assert runs.is_final(job, {"validation": curve[:8], "planned_epochs": 500})
    assert runs.is_final(replace(job, is_faithful=False), {**content, "is_repeated": False})


def test_an_order_is_judged_by_pairs_that_the_seeds_decide() -> None:
    from perfc_lab.papers.reproduction.verdict import OrderVerdict, verdict

    paper = [0.1, 0.2, 0.3]
    assert verdict(paper, [[0.1, 0.12], [0.2, 0.21], [0.4, 0.3]])[0] is OrderVerdict.REPRODUCED
    assert verdict(paper, [[0.4, 0.5], [0.2, 0.21], [0.1, 0.12]])[0] is OrderVerdict.REVERSED
    assert verdict(paper, [[0.1, 0.5], [0.2, 0.4], [0.1, 0.6]])[0] is OrderVerdict.NOT_COMPARABLE
    assert verdict(paper, [[0.2, 0.21], [0.1, 0.12], [0.4, 0.5]])[0] is OrderVerdict.NOT_COMPARABLE
    assert verdict(paper, [[0.1, 0.12], [], [0.3, 0.4]])[0] is OrderVerdict.NOT_COMPARABLE
    assert verdict([0.1, None, None], [[0.1], [0.2], [0.3]])[0] is OrderVerdict.NOT_COMPARABLE
    assert verdict(paper, [[0.1], [0.2], [0.3]])[1] == "one seed has no range"


def test_a_cell_of_an_unconverged_training_is_its_extrapolation() -> None:
    from perfc_lab.papers.reproduction.page import Done, cells

    table = next(t for t in every_table() if t.key == "dippm-500-epochs")
    result = {
        "slices": {"all rows": {"mape": 1.5}},
        "parameters": 10,
        "curve": [(1, 1.0)],
        "validation": [0.5 + 8.0 / (epoch + 1) for epoch in range(32)],
        "planned_epochs": 500,
    }
    row = cells(table, Done(table.lines[0], (result,)))
    assert row[1] == "not converged"
    assert "150.0%" not in row
    assert row[-1].startswith("32 of 500; validation 75% → ")
