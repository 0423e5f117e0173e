"""Sizes that a program allows, and those of the inputs that it was made with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc.errors import PerfcError
from perfc.frontend.formats import ReadOptions
from perfc.frontend.lowering import lowered
from perfc.frontend.pt2.program import translated
from perfc.frontend.pytorch.torch_program import with_examples
from perfc.study.fit.search import fitted
from perfc.study.sweep.axes import Axis
from perfc.study.sweep.run import sweep
from tests.frontend.pt2.programs import F32, I64, graph, module_of, node, program


def document(
    rows: str = "s1", limits: tuple[int, int | None] = (0, 64), examples: tuple[int, int] = (2, 16)
) -> dict[str, Any]:
    """Return a program that looks up rows and multiplies them, with a range of ``s1``."""
    sizes = ("s0", rows)
    types = {
        "w": (F32, (100, 16)),
        "v": (F32, (16, 8)),
        "x": (I64, sizes),
        "e": (F32, (*sizes, 16)),
        "y": (F32, (*sizes, 8)),
    }
    nodes = [
        node("aten.embedding.default", "e", weight="$w", indices="$x"),
        node("aten.matmul.default", "y", self="$e", other="$v"),
    ]
    ranges = {"s0": {"min_val": 2, "max_val": None}}
    ranges["s1"] = dict(zip(("min_val", "max_val"), limits, strict=True))  # type: ignore[arg-type]
    made = program(graph("w v x", "y", nodes, types), "w v", ranges)
    given = made["graph_module"]["graph"]["tensor_values"]["x"]["sizes"]
    for size, example in zip(given, examples, strict=True):
        size["as_expr"]["hint"] = {"as_int": example}
    return made


@pytest.mark.parametrize(
    ("limits", "default"),
    [((0, 64), 64), ((0, None), 128), ((2, 300), 128), ((200, 300), 200), ((0, 5), 5)],
)
def test_an_assumed_size_is_in_the_range(limits: tuple[int, int | None], default: int) -> None:
    assert module_of(document(limits=limits)).defaults() == {"batch": 1, "seq": default}


@pytest.mark.parametrize(
    ("size", "is_allowed"),
    [(1, False), (7, False), (8, True), (64, True), (65, False), (100, False)],
)
def test_a_size_outside_the_range_is_refused_in_a_line(size: int, is_allowed: bool) -> None:
    module = module_of(document(limits=(8, 64)))
    for given in ({"seq": size}, {"dims": {"seq": size}}):
        if is_allowed:
            assert perfc.analyze(module, "a100", **given).env["seq"] == size  # type: ignore[arg-type]
            continue
        with pytest.raises(PerfcError, match=rf"seq={size} is outside 8\.\.64") as caught:
            perfc.analyze(module, "a100", **given)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)


def test_studies_keep_to_the_range() -> None:
    made = document(limits=(4, 64))
    made["range_constraints"]["s0"] = {"min_val": 4, "max_val": 50}
    report = perfc.analyze(module_of(made), "a100")
    assert report.env == {"batch": 4, "seq": 64}
    assert fitted(report, is_auto=True, predict=False).batch == 50
    for changed in ({"batch": 51}, {"batch": 3}, {"seq": 65}):
        with pytest.raises(PerfcError, match="is outside"):
            report.at(**changed)
        axes = [Axis(name, (8, size)) for name, size in changed.items()]
        with pytest.raises(PerfcError, match="is outside"):
            sweep(report, axes, [report.machine], predict=False)


@pytest.mark.parametrize("limits", [("a", 3), (0, "x"), (10, 5)])
def test_a_range_that_is_none_is_an_error(limits: tuple[Any, Any]) -> None:
    with pytest.raises((ValueError, TypeError, PerfcError)):
        perfc.analyze(module_of(document(limits=limits)), "a100")


def test_a_batch_of_one_is_allowed_where_pytorch_specializes_for_it() -> None:
    assert perfc.analyze(module_of(document()), "a100", batch=1).env["batch"] == 1


def test_a_multiple_has_multiples_only() -> None:
    module = module_of(document("8*s1", (2, 8)))
    assert perfc.analyze(module, "a100", seq=32).env["s1"] == 4
    for size in (12, 36):
        with pytest.raises(PerfcError, match=rf"seq = {size} is not 8\*s1 of the inputs"):
            perfc.analyze(module, "a100", seq=size)
    with pytest.raises(PerfcError, match=r"s1=16 is outside 1\.\.8"):
        perfc.analyze(module, "a100", seq=128)
    report = perfc.analyze(module, "a100", seq=32)
    assert report.at(seq=64).env["s1"] == 8


@pytest.mark.parametrize(
    ("rows", "examples", "batch", "sizes"),
    [
        ("s1", (2, 16), 2, {"batch": 2, "seq": 16}),
        ("s1", (2, 16), None, {"batch": 1, "seq": 16}),
        ("s1", (2, 60), 1, {"batch": 1, "seq": 60}),
        ("8*s1", (2, 16), 4, {"batch": 4, "s1": 2}),
        ("s1 + 1", (2, 16), 4, {"batch": 4, "s1": 15}),
        ("s0", (3, 3), 3, {"batch": 3}),
    ],
)
def test_the_lengths_of_the_call_are_those_analyzed(
    rows: str, examples: tuple[int, int], batch: int | None, sizes: dict[str, int]
) -> None:
    read = translated(document(rows, examples=examples), {})
    module = with_examples(lowered(read, ReadOptions()), read.examples, batch)
    assert module.defaults() == sizes


NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(100, 16), torch.nn.Embedding(64, 16)
        self.head = torch.nn.Linear(16, 8)

    def forward(self, tokens):
        return self.head(self.words(tokens) + self.places.weight[: tokens.shape[1]])
"""


def test_the_lengths_of_a_named_module_are_those_given(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from perfc.frontend.reading.module_name import NamedModule

    (tmp_path / "net.py").write_text(NET)
    named = NamedModule(f"{tmp_path / 'net.py'}:Net", inputs=("tokens=2x16:i64",))
    report = perfc.analyze(named, "a100")
    assert (report.env["batch"], report.env["seq"]) == (2, 16)
    assert report.at(seq=40).env["seq"] == 40
    with pytest.raises(PerfcError, match=r"seq=65 is outside 1\.\.64"):
        perfc.analyze(named, "a100", seq=65)
    # the limit of the export is none of the module
    assert report.at(batch=100_000).env["batch"] == 100_000


def test_ranges_are_those_that_pytorch_requires(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    dim = torch.export.Dim

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, y: Any) -> Any:
            return torch.cat([x, y], 1).sum(-1)

    rows = ({0: dim("b", min=4, max=32), 1: dim("m", max=20)}, {0: dim("b", min=4, max=32)})
    given = torch.zeros(6, 16, 3), torch.zeros(6, 5, 3)
    made = torch.export.export(Net(), given, dynamic_shapes=rows)
    path = tmp_path / "net.pt2"
    torch.export.save(made, path)
    for batch, length in ((4, 20), (32, 1), (3, 16), (33, 16), (4, 21), (8, 7)):
        try:
            made.module()(torch.zeros(batch, length, 3), torch.zeros(batch, 5, 3))
            is_allowed = True
        except (AssertionError, RuntimeError):
            is_allowed = False
        try:
            perfc.analyze(path, "a100", batch=batch, seq=length)
        except PerfcError:
            assert not is_allowed, (batch, length)
        else:
            assert is_allowed, (batch, length)
