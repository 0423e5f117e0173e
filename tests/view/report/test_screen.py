"""The first screen: golden pages of the five example models, and what every page keeps."""

from __future__ import annotations

import io
import re
import unicodedata
from contextlib import redirect_stdout
from functools import cache
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.errors import PerfcError

from .conftest import MODELS

GOLDEN = Path(__file__).parent / "screens"
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "resnet50": ("a100", {"dims": {"batch": 8}}),
    "gpt2": ("h100", {}),
    "swin-t": ("rtx4090", {"runtime": "eager", "dtype": "f16"}),
    "bert-base": ("t4", {}),
    "vit-b16": ("generic-x86-64", {}),
}
"""Models, each on another machine."""
WIDTHS = {
    "resnet50": (60, 80, 120, 200),
    "gpt2": (60,),
    "swin-t": (120,),
    "bert-base": (200,),
    "vit-b16": (80,),
}
SCREENS = [(name, width) for name, widths in WIDTHS.items() for width in widths]
NUMBER = re.compile(r"\d[\d,]*\.?\d*")
UNIT = re.compile(r"([munpµ]?[sJ]|[KMGT]?i?B|%)\b")
FENCE = "=" * 20
RESNET = str(MODELS / "resnet50.onnx.gz")


MOST_LINES = 25
DEFAULT = "assumptions,summary,prediction,kernels,pressure,critical,bottlenecks,memory"
VIEWS = f"{DEFAULT},coverage,source,ceilings"


@cache
def views_of(name: str) -> Any:
    target, how = SETTINGS[name]
    return perfc.analyze(MODELS / f"{name}.onnx.gz", target, **how).views


def printed(name: str, width: int, *more: str) -> str:
    """Output of the command on a terminal of a width."""
    target, how = SETTINGS[name]
    given = [f"--{key}={value}" for key, value in how.items() if key != "dims"]
    given += [f"--dim={key}={value}" for key, value in how.get("dims", {}).items()]
    words = ["analyze", str(MODELS / f"{name}.onnx.gz"), "-t", target, *given, *more]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        patch.setenv("COLUMNS", str(width))
        assert cli.run(words) == 0
    return out.getvalue()


@cache
def screens(name: str) -> dict[int, str]:
    return {width: printed(name, width) for width in WIDTHS[name]}


def columns_of(line: str) -> int:
    """Columns of a terminal that a line takes."""
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line)


def same(shown: str, expected: str) -> bool:
    """Whether texts differ in the last digits of numbers alone, as processors may."""
    for a, b in zip_longest(shown.split(), expected.split()):
        if a == b:
            continue
        if a is None or b is None or NUMBER.sub("0", a) != NUMBER.sub("0", b):
            return False
        pairs = zip(NUMBER.findall(a), NUMBER.findall(b), strict=True)
        numbers = [(float(x.replace(",", "")), float(y.replace(",", ""))) for x, y in pairs]
        if any(x != pytest.approx(y, rel=0.02, abs=1) for x, y in numbers):
            return False
    return True


@pytest.mark.parametrize("name", list(SETTINGS))
def test_first_screen_is_the_golden_one(name: str, pytestconfig: pytest.Config) -> None:
    file = GOLDEN / f"{name}.txt"
    pages = [f"{FENCE} {width}\n{text}" for width, text in screens(name).items()]
    if pytestconfig.getoption("--update-goldens"):
        file.write_text("".join(pages), encoding="utf-8")
    expected = file.read_text(encoding="utf-8").split(FENCE)[1:]
    assert len(expected) == len(pages)
    for page, golden in zip(pages, expected, strict=True):
        assert same(page.removeprefix(FENCE), golden), f"--update-goldens writes it:\n{page}"


@pytest.mark.parametrize(("name", "width"), SCREENS)
def test_first_screen_fits(name: str, width: int) -> None:
    shown = screens(name)[width].splitlines()
    assert len(shown) <= MOST_LINES
    assert max(map(columns_of, shown)) <= width
    for line, after in pairwise(shown):
        assert not (re.search(r"\d$", line) and UNIT.match(after.strip())), (line, after)
    assert not re.search(r"\[\d\]", "\n".join(shown))


@pytest.mark.parametrize("name", list(SETTINGS))
def test_first_screen_answers(name: str) -> None:
    shown = screens(name)[WIDTHS[name][-1]]
    for words in (
        "predicted",
        "confidence",
        "lower bound",
        "memory",
        "limited by",
        "share",
        "more:",
    ):
        assert words in shown
    assert "extrapolat" not in shown
    limits = shown.partition("limited by")[2].partition("\n")[0]
    assert 0 < sum(map(int, re.findall(r"(\d+) %", limits))) <= 100


def test_color_changes_no_word() -> None:
    colored = printed("resnet50", 80, "--color", "always")
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == screens("resnet50")[80]


@pytest.mark.parametrize("name", ["resnet50", "gpt2"])
def test_every_gain_is_what_the_command_says(name: str) -> None:
    target, how = SETTINGS[name]
    views = views_of(name)
    tried = 0
    for r in views.bottlenecks.remedies:
        option, _, value = r.option.partition(" ")
        match option:
            case "--dtype":
                changed = {**how, "dtype": value}
            case "--runtime":
                changed = {**how, "runtime": value}
            case "--batch":
                changed = {**how, "dims": {"batch": int(value)}}
            case _:
                assert not option
                continue
        tried += 1
        report = perfc.analyze(MODELS / f"{name}.onnx.gz", target, **changed)
        assert report.prediction.total.time_s == r.time_s
        saved_s = views.verdict.time_s - r.time_s / r.items
        assert r.saving_s == pytest.approx(saved_s)
    assert tried >= 2


def test_a_runtime_is_offered_once_whatever_variants_it_has() -> None:
    names = [r.name for r in views_of("resnet50").bottlenecks.remedies]
    assert "TensorRT engine" in names
    assert len(names) == len(set(names))


def test_a_large_model_is_not_analyzed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [r.option for r in views_of("resnet50").bottlenecks.remedies]
    assert any(asked)
    kernels = len(perfc.analyze(MODELS / "resnet50.onnx.gz", "a100", batch=8).roofline.kernels)
    for most, batch, remains in ((kernels, 9, True), (kernels - 1, 10, False)):
        monkeypatch.setattr("perfc.view.report.memory_sections.remedies.MOST_KERNELS", most)
        report = perfc.analyze(MODELS / "resnet50.onnx.gz", "a100", dims={"batch": batch})
        assert any(r.option for r in report.views.bottlenecks.remedies) is remains


def screen_of(report: perfc.Report, folder: Path) -> str:
    report.save(folder / "screen.txt")
    return (folder / "screen.txt").read_text(encoding="utf-8")


def test_a_time_is_a_bound_where_an_operator_has_no_definition(
    unknown: perfc.Report, tmp_path: Path
) -> None:
    """Sizes after it are open, so the prediction has part of the time; only it is named."""
    text = " ".join(screen_of(unknown, tmp_path).split())
    for words in (
        "predicted ≥ ",
        " ≤ ",
        "without unknown costs",
        "unknown cost of Mystery x1",
        "confidence low",
    ):
        assert words in text
    assert "Relu x1" not in text
    assert "≥ " in repr(unknown)


def test_the_headline_is_a_bound_where_rows_are(data_dependent: perfc.Report) -> None:
    assert any(k.is_bound for k in data_dependent.views.kernels)
    assert data_dependent.verdict.is_bound
    assert " ≥ " in repr(data_dependent)


def test_a_model_without_kernels_has_a_screen(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    node = helper.make_node("Identity", ["x"], ["y"])
    report = perfc.analyze(helper.make_model(helper.make_graph([node], "g", [x], [y])))
    assert 0 < len(screen_of(report, tmp_path).splitlines()) <= MOST_LINES


@pytest.mark.parametrize(("name", "width"), [("resnet50", 60), ("gpt2", 120), ("vit-b16", 200)])
def test_views_number_no_columns_and_fit(name: str, width: int) -> None:
    shown = printed(name, width, "--view", VIEWS)
    assert max(map(columns_of, shown.splitlines()[1:])) <= width
    assert not re.search(r"\[\d\]", shown)


def test_shares_of_all_views_are_of_the_headline() -> None:
    target, how = SETTINGS["gpt2"]
    views = perfc.analyze(MODELS / "gpt2.onnx.gz", target, predictor="kernels", **how).views
    total_s = views.verdict.time_s
    whole = {one.key: one.share for one in views.verdict.limits}
    for p in views.pressure:
        assert p.share == pytest.approx(p.busy_s / total_s)
        assert p.bound_share == whole.get(p.ceiling, 0.0)
    for b in views.bottlenecks.ceilings:
        assert b.bound_share == whole.get(b.ceiling, 0.0)
    for s in views.critical.steps:
        assert s.share == pytest.approx(s.time_s / total_s, rel=1e-6)


def test_quiet_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["analyze", RESNET, "--dim", "batch=8", "--quiet"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("resnet50.onnx.gz on NVIDIA A100")
    for words in ("per run", "images/s", "fits in", "limited by", "confidence"):
        assert words in line


def test_quiet_is_a_line_or_a_short_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["analyze", RESNET, "-q", "--output-format", "csv"]) == 2
    assert "--quiet" in capsys.readouterr().err


def test_full_and_views_are_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["analyze", RESNET, "--full"]) == 0
    full = capsys.readouterr().out
    assert cli.run(["analyze", RESNET, "--view", DEFAULT]) == 0
    assert capsys.readouterr().out == full
    assert len(full.splitlines()) > 2 * MOST_LINES


def test_top_of_the_screen_is_of_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["analyze", RESNET, "--top", "all"]) == 0
    every = capsys.readouterr().out
    assert cli.run(["analyze", RESNET, "--top", "2"]) == 0
    two = capsys.readouterr().out
    assert cli.run(["analyze", RESNET]) == 0
    screen = capsys.readouterr().out
    assert two.count("\n") == screen.count("\n") + len(("", "head", *range(2)))
    assert every.count("\n") > two.count("\n") + 60


@pytest.mark.parametrize(("color", "has"), [("always", True), ("never", False), ("auto", False)])
@pytest.mark.parametrize("views", [[], ["--view", "summary"]])
def test_color_is_as_asked(
    color: str, has: bool, views: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["analyze", RESNET, "--color", color, *views]) == 0
    assert ("\x1b[" in capsys.readouterr().out) == has


def test_a_model_is_read_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fed(content: bytes) -> int:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        return cli.run(["analyze", "-", "--dim", "batch=8", "-q"])

    assert cli.run(["analyze", RESNET, "--dim", "batch=8", "-q"]) == 0
    named = capsys.readouterr().out.partition(" on ")[2]
    assert fed(Path(RESNET).read_bytes()) == 0
    assert capsys.readouterr().out.partition(" on ")[2] == named
    assert fed(b"") == 2
    assert "standard input is empty" in capsys.readouterr().err
    assert fed(b"no model at all") == 2


def test_what_ifs_are_the_analyses_they_stand_for() -> None:
    report = perfc.analyze(MODELS / "gpt2.onnx.gz", "a100", dims={"batch": 2})
    whole = perfc.analyze(
        MODELS / "gpt2.onnx.gz", "h100", dims={"batch": 4}, dtype="f16", runtime="eager"
    )
    changed = report.with_("h100", dims={"batch": 4}, dtype="f16", runtime="eager")
    assert changed.prediction == whole.prediction
    assert changed.liveness.peak(changed.env)[0] == whole.liveness.peak(whole.env)[0]
    again = changed.with_(dtype="bf16")
    assert again.deployment.dtype == "bf16"
    with pytest.raises(PerfcError):
        report.with_(runtime="abacus")
