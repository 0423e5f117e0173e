"""Reading targets: what is refused, with its key, line and place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfc.errors import TargetError
from perfc.ir.facts import Origin
from perfc.machine import Spread, Unit, load_machine, validate

from .toy import GOOD, toy, write


@pytest.fixture(autouse=True)
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "perfc" / "targets"


def test_the_peak_is_that_of_the_highest_clock_and_nominal_that_of_the_sheet(
    tmp_path: Path,
) -> None:
    entry = toy(tmp_path).compute[Unit.MATRIX, "f16"]
    assert entry.nominal.value == 100e12
    assert entry.peak.value == pytest.approx(10000 * 10 * 1.2e9)
    assert "clock_max_hz" in entry.peak.note
    assert "systolic" in entry.peak.note
    assert entry.peak.key == "compute.matrix.f16.flop_per_clock_per_sm"
    assert entry.sustained is not None
    assert entry.sustained.origin is Origin.MEASURED


def test_a_rate_cites_its_document(tmp_path: Path) -> None:
    machine = toy(tmp_path)
    rate = machine.peak(Unit.VECTOR, "f32")
    assert machine.cite(rate) == "Toy sheet, 2020-01-01 (vendor)"


WRONG = [
    (
        'peak_flop_per_s = { value = 100e12, from = "sheet" }',
        "peak_flop_per_s = 100e12",
        "compute.matrix.f16.peak_flop_per_s has no `from`",
    ),
    ('{ value = 10e12, from = "sheet" }', "{ value = 10e12 }", "has no `from`"),
    ("100e12, from = ", "100, from = ", "100 is in another unit? 225e12 is 225 T a second"),
    ("value = 1e12, from", "value = 1e3, from", "1000 is in another unit? 960e9 is 960 GB/s"),
    ("value = 1e9, from", "value = 1e3, from", "clock_boost_hz: 1000 is in another unit?"),
    ("1_000_000, from", "16, from", "17_179_869_184 is 16 GiB"),
    ("100e12, from = ", "-1.0, from = ", "finite number above zero"),
    ("100e12, from = ", "nan, from = ", "finite number above zero"),
    ("100e12, from = ", "inf, from = ", "finite number above zero"),
    ("100e12, from = ", "true, from = ", "finite number above zero"),
    ("100e12, from = ", "0, from = ", "finite number above zero"),
    ("100e12, from = ", "1" + "0" * 400 + ", from = ", "finite number above zero"),
    ('1e12, from = "sheet"', '1e12, from = "rumour"', "no [source.rumour]"),
    ("bandwidth_bytes_per_s", "bandwidth_gb_per_s", "unknown unit suffix"),
    ("clock_boost_hz", "clock_boost_mhz", "unknown unit suffix"),
    ("peak_flop_per_s", "peak_tflops", "unknown unit suffix"),
    ("clock_boost_hz", "clock_of_day_hz", "unknown key"),
    ("compute.vector.f32", "compute.vector.f33", "unknown table"),
    ("[compute.vector.f32]", "[compute.tensor.f32]", "unknown table"),
    ("110e12", "121e12", "above the peak"),
    ('origin = "measured"', 'origin = "remembered"', "source.lab.origin"),
    ('title = "Toy sheet"\n', "", "source.sheet has no title"),
    ("sm_count = { value = 10,", "sm_count = { value = 1.5,", "whole number"),
    ('sm_count = { value = 10, from = "sheet" }\n', "", "device.sm_count is missing"),
    ("schema = 1", "schema = 2", "this perfc reads 1"),
    ('"toy"', '"../toy"', "name and aliases"),
    ('"plaything"', "7", "name and aliases"),
    ('kind = "cuda"', 'kind = "abacus"', "kind is"),
    ('note = "systolic"', 'note = "a\\u001b[31m"', "note"),
    ('note = "systolic"', 'because = "systolic"', "unknown field"),
    ('vendor = "nobody"', "vendor = 3", "vendor must be"),
    ("schema = 1", 'schema = 1\ncolor = "red"', "color: unknown key"),
    ("schema = 1", "schema = ", "not TOML"),
    (
        "[compute.matrix.f16]",
        "[efficiency.conv]",
        "perfc adapt --target TARGET --from ROWS corrects",
    ),
]
"""Replacements in `GOOD`, each with what is told of it."""


@pytest.mark.parametrize(("old", "new", "problem"), WRONG)
def test_a_wrong_file_is_refused_with_its_key(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    result = validate(path)
    assert any(problem in p for p in result), result
    assert all(re.match(r"toy\.toml(:\d+)?: ", p) for p in result)
    with pytest.raises(TargetError):
        load_machine(path)


FURTHER = (
    ("[compute.vector.f32]", "[memory.l9]"),
    ("[device]", "[devices]"),
    ("[memory.device]", "[memory.l1]"),
    ("[compute.matrix.f16]", "[adaptation.conv]"),
    ("[compute.matrix.f16]", "[adaptation.'a b']"),
    ("[source.lab]", "[source.'a b']"),
    ("[source.lab]", "[sources.lab]"),
    ('origin = "vendor"', "origin = 3"),
    ("date = 2020-01-01", 'day = "1"'),
    ('arch = "sm_00"', 'arch = ""'),
    ("[memory.device]", "[memory.device.more]"),
    ("[device]", "device = 3\n[link.nvlink]"),
    ('capacity_bytes = { value = 1_000_000, from = "sheet" }\n', ""),
    ("1_000_000", "1_000_000.5"),
    ("[memory.device]", '[memory.device]\nusable_bytes = { value = 2e6, from = "lab" }'),
    ('from = "lab"', 'from = "lab", rounds = 1000, best = 1, worst = 1'),
)
TOLD = Path(__file__).parents[1] / "fixtures" / "target-problems.txt"


def test_every_problem_is_told_as_the_list_has_it(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    lines = []
    for old, new in (*[(old, new) for old, new, _ in WRONG], *FURTHER):
        assert old in GOOD
        lines.append(f"{old!r:.60} -> {new!r:.60}")
        lines += [f"  {p}" for p in validate(write(tmp_path, GOOD.replace(old, new)))]
    actual = "\n".join([*lines, ""])
    if pytestconfig.getoption("--update-goldens"):
        TOLD.write_text(actual, encoding="utf-8")
    assert actual == TOLD.read_text(encoding="utf-8"), "--update-goldens writes it"


SUSTAINED = 'sustained_flop_per_s = { value = 110e12, from = "lab" }'


def spread(fields: str, value: str = "110e12") -> str:
    line = SUSTAINED.replace('"lab"', f'"lab", {fields}').replace("110e12", value)
    return GOOD.replace(SUSTAINED, line)


def test_a_measured_rate_says_how_far_its_rounds_spread(tmp_path: Path) -> None:
    text = spread("rounds = 6, best = 115e12, worst = 80e12")
    rate = load_machine(write(tmp_path, text)).entry(Unit.MATRIX, "f16").sustained
    assert rate is not None
    assert rate.spread == Spread(6, 115e12, 80e12)
    assert rate.spread.share(rate.value) == pytest.approx(5 / 110)
    assert not rate.is_uncertain
    plain = load_machine(write(tmp_path, GOOD)).entry(Unit.MATRIX, "f16").sustained
    assert plain is not None
    assert plain.spread is None
    assert not plain.is_uncertain


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ("rounds = 0, best = 111e12, worst = 110e12", "110e12"),
        ("rounds = 1, best = 110e12, worst = 110e12", "110e12"),
        ("rounds = 6, best = 119e12, worst = 100e12", "105e12"),
    ],
    ids=["disturbed", "once", "wide"],
)
def test_a_rate_that_was_not_reached_twice_is_uncertain(
    tmp_path: Path, fields: str, value: str
) -> None:
    text = spread(fields, value)
    rate = load_machine(write(tmp_path, text)).entry(Unit.MATRIX, "f16").sustained
    assert rate is not None
    assert rate.is_uncertain


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("rounds = 6", "best and worst must be finite numbers above zero"),
        ("best = 115e12, worst = 80e12", "rounds must be a whole number below 1000"),
        ("rounds = -1, best = 115e12, worst = 80e12", "rounds must be a whole number"),
        ("rounds = true, best = 115e12, worst = 80e12", "rounds must be a whole number"),
        ("rounds = 2, best = inf, worst = 80e12", "best and worst must be finite numbers"),
        ("rounds = 2, best = 100e12, worst = 80e12", "1.1e+14 is not between its rounds"),
        ("rounds = 2, best = 130e12, worst = 80e12", "1.3e+14 is above the peak 1.2e+14"),
    ],
)
def test_a_spread_that_cannot_be_is_refused(tmp_path: Path, fields: str, problem: str) -> None:
    (told,) = validate(write(tmp_path, spread(fields)))
    assert problem in told
    assert "compute.matrix.f16.sustained_flop_per_s" in told


def line_with(path: Path, part: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if part in line)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "-1.0", "-0.0", "1e300", "1e29", "7" * 99])
@pytest.mark.parametrize(
    "key", ["peak_flop_per_s", "sm_count", "clock_max_hz", "bandwidth_bytes_per_s"]
)
def test_a_figure_that_cannot_be_is_an_error_with_its_line(
    key: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from perfc.cli import run

    wrong = f"{key} = {{ value = {value}"
    path = write(tmp_path, re.sub(rf"\b{key} = {{ value = [^,]*", wrong, GOOD))
    page = tmp_path / "r.html"
    model = "examples/models/resnet50.onnx.gz"
    assert run(["analyze", model, "-t", str(path), "-o", str(page)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: toy.toml:{line_with(path, wrong)}: ")
    assert key in line
    assert not page.exists()


def test_validate_tells_all_problems_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("value = 100e12, from", "value = -1, from").replace("tool", "tolo")
    text = text.replace("capacity_bytes", "capacity_gb")
    result = "\n".join(validate(write(tmp_path, text)))
    for part in ("matrix.f16.peak_flop_per_s", "source.lab has no title", "capacity_gb"):
        assert part in result


def test_the_error_names_the_file_and_the_first_problem(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace('{ value = 10e12, from = "sheet" }', "10e12"))
    with pytest.raises(TargetError) as caught:
        load_machine(path)
    line = line_with(path, "= 10e12")
    told = f"toy.toml:{line}: compute.vector.f32.peak_flop_per_s has no `from`"
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    "content",
    [
        b"x = " + b"[" * 20_000,
        b"x = [\n" + b"[" * 900 + b"\n" + b"[" * 900,
        (b"a." * 400 + b"b = 1\n") * 60,
        b"\xff\xfe\x00",
        b"a." * 20_000 + b"b = 1",
        b"",
        b"#" * 70_000,
        b"x = " + b"9" * 50_000,
        b"device = 3\ncompute = []\nsource = 1\naliases = {}\n",
        b"[compute]\nmatrix = 1\n[memory]\nl2 = []\n",
    ],
)
def test_hostile_files_end_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    assert validate(path)
    with pytest.raises(TargetError) as caught:
        load_machine(path)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


def test_folders_and_missing_files_are_no_targets(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.toml"):
        with pytest.raises(TargetError, match="no such target file"):
            load_machine(path)
        assert len(validate(path)) == 1
