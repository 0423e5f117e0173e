"""Reading targets: what is refused, what stands in for what, where files are found."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from perfc.errors import TargetError
from perfc.ir.facts import Origin
from perfc.machine import Machine, Spread, Unit, add, list_machines, load_machine, validate

GOOD = """\
schema = 1
name = "toy"
aliases = ["plaything"]
kind = "cuda"
vendor = "nobody"
arch = "sm_00"
description = "A toy"

[source.sheet]
origin = "vendor"
title = "Toy sheet"
date = 2020-01-01

[source.lab]
origin = "measured"
tool = "a stopwatch"

[device]
sm_count = { value = 10, from = "sheet" }
clock_boost_hz = { value = 1e9, from = "sheet" }
clock_max_hz = { value = 1.2e9, from = "sheet" }

[compute.matrix.f16]
peak_flop_per_s = { value = 100e12, from = "sheet" }
flop_per_clock_per_sm = { value = 10000, from = "sheet", note = "systolic" }
sustained_flop_per_s = { value = 110e12, from = "lab" }

[compute.vector.f32]
peak_flop_per_s = { value = 10e12, from = "sheet" }

[memory.device]
capacity_bytes = { value = 1_000_000, from = "sheet" }
bandwidth_bytes_per_s = { value = 1e12, from = "sheet" }
"""


@pytest.fixture(autouse=True)
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "perfc" / "targets"


def write(folder: Path, text: str, name: str = "toy.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def toy(tmp_path: Path, text: str = GOOD) -> Machine:
    return load_machine(write(tmp_path, text))


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
    ("schema = 1", 'schema = 1\ncolour = "red"', "colour: unknown key"),
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


def test_a_mistyped_name_gets_a_suggestion() -> None:
    with pytest.raises(TargetError, match="no such target 'a1000': did you mean a100"):
        load_machine("a1000")


@pytest.mark.parametrize("name", ["", " ", "..", "a100.toml.", "\x00", "a" * 10_000, "a100\n"])
def test_a_name_is_never_a_path(name: str) -> None:
    if name.strip() == "a100":
        assert load_machine(name).name == "a100-sxm4-80gb"
    else:
        with pytest.raises(TargetError):
            load_machine(name)


def test_the_users_target_hides_the_shipped_one(user_folder: Path) -> None:
    write(user_folder, GOOD.replace('"toy"', '"t4"'), "t4.toml")
    assert load_machine("t4").vendor == "nobody"
    assert [t.path for t in list_machines() if t.name == "t4"] == [user_folder / "t4.toml"]


def test_the_users_alias_comes_first(user_folder: Path) -> None:
    write(user_folder, GOOD.replace('"plaything"', '"a100"'))
    assert load_machine("a100").name == "toy"
    assert load_machine("a100-sxm4-80gb").vendor == "NVIDIA"


def test_a_broken_file_of_the_user_does_not_break_the_list(user_folder: Path) -> None:
    write(user_folder, "this is not TOML", "broken.toml")
    os.mkfifo(user_folder / "pipe.toml")
    names = [t.name for t in list_machines()]
    assert "broken" in names
    assert "a100-sxm4-80gb" in names
    assert "pipe" not in names


def test_add_copies_a_valid_file_and_keeps_what_is_there(tmp_path: Path, user_folder: Path) -> None:
    path = write(tmp_path, GOOD, "mine.toml")
    assert add(path) == user_folder / "toy.toml"
    assert load_machine("plaything").name == "toy"
    assert os.listdir(user_folder) == ["toy.toml"]
    assert add(path) == user_folder / "toy.toml"
    path.write_text(GOOD.replace("A toy", "Another"), encoding="utf-8")
    with pytest.raises(TargetError, match="already there"):
        add(path)
    add(path, overwrite=True)
    assert load_machine("toy").description == "Another"


def test_add_refuses_a_wrong_file(tmp_path: Path, user_folder: Path) -> None:
    path = write(tmp_path, GOOD.replace("110e12", "1e18"))
    with pytest.raises(TargetError, match="above the peak"):
        add(path)
    assert not user_folder.exists()


def test_what_the_matrix_unit_lacks_is_done_by_something_wider() -> None:
    v100, a100, h100 = (load_machine(n) for n in ("v100", "a100", "h100"))
    assert v100.peak(Unit.MATRIX, "bf16") == v100.peak(Unit.VECTOR, "f32")
    assert v100.peak(Unit.MATRIX, "i8") == v100.peak(Unit.MATRIX, "f16")
    assert a100.peak(Unit.MATRIX, "f8e4m3") == a100.peak(Unit.MATRIX, "f16")
    assert h100.peak(Unit.MATRIX, "i4") == h100.peak(Unit.MATRIX, "i8")
    assert h100.peak(Unit.MATRIX, "u8") == h100.peak(Unit.MATRIX, "i8")
    p100 = load_machine("p100")
    assert p100.peak(Unit.MATRIX, "f16") == p100.peak(Unit.VECTOR, "f16")


def test_f32_matrices_may_run_as_tf32_unless_said_otherwise() -> None:
    a100 = load_machine("a100")
    assert a100.peak(Unit.MATRIX, "f32").value == 156e12
    assert a100.peak(Unit.MATRIX, "f32", allow_tf32=False).value == 19.5e12
    sustained = a100.sustained(Unit.MATRIX, "f32", allow_tf32=False)
    assert sustained is not None
    assert sustained.value == 18.5e12


def test_the_vector_unit_falls_back_to_wider_types_and_packs_narrow_ones() -> None:
    a100 = load_machine("a100")
    i32 = a100.peak(Unit.VECTOR, "i32").value
    assert a100.peak(Unit.VECTOR, "i16").value == 2 * i32
    assert a100.peak(Unit.VECTOR, "b1").value >= 4 * i32
    assert a100.peak(Unit.VECTOR, "i64").value == i32
    assert a100.peak(Unit.INTEGER, "f16").value == i32
    assert a100.peak(Unit.VECTOR, "f8e5m2").value >= a100.peak(Unit.VECTOR, "f16").value
    v100 = load_machine("v100")
    assert v100.peak(Unit.VECTOR, "bf16") == v100.peak(Unit.VECTOR, "f32")


@pytest.mark.parametrize("name", ["a100", "p100", "cpu"])
@pytest.mark.parametrize("unit", list(Unit))
def test_every_unit_has_a_rate_for_every_type_and_none_is_zero(name: str, unit: Unit) -> None:
    from perfc.ir.tensors.types import DType

    machine = load_machine(name)
    vector = {d for u, d in machine.compute if u is Unit.VECTOR}
    for dtype in DType:
        rate = machine.peak(unit, dtype.code)
        assert rate.value > 0
        assert rate.source
        if unit is Unit.VECTOR and dtype in (DType.UNKNOWN, DType.STR):
            assert rate.value == max(machine.peak(unit, d).value for d in vector)


def test_a_type_nobody_knows_gets_the_fastest_rate() -> None:
    a100 = load_machine("a100")
    assert a100.peak(Unit.MATRIX, "?") == a100.peak(Unit.MATRIX, "i4")


def test_special_functions_may_use_the_vector_unit_beside_their_own() -> None:
    a100 = load_machine("a100")
    own = 16 * 108 * 1.41e9
    rate = a100.peak(Unit.SPECIAL, "f32")
    assert rate.value == pytest.approx(own + a100.peak(Unit.VECTOR, "f32").value / 8)
    assert rate.origin is Origin.BOUND
    assert a100.entry(Unit.SPECIAL, "f32").nominal.value == pytest.approx(own)
    assert a100.peak(Unit.SPECIAL, "f16").value > rate.value


def test_levels_are_ordered_and_may_be_missing(tmp_path: Path) -> None:
    assert [m.name for m in load_machine("a100").memory] == ["l1", "l2", "device"]
    machine = toy(tmp_path)
    assert [m.name for m in machine.memory] == ["device"]
    assert machine.level("l2") is None
    assert machine.launch_overhead_s is None
    assert load_machine("a100").link("nvlink") is not None
    assert machine.link("nvlink") is None


@pytest.mark.parametrize(
    ("old", "new", "is_fine"),
    [
        ('"A toy"', f'"{"x" * 200}"', True),
        ('"A toy"', f'"{"x" * 201}"', False),
        ('"A toy"', '""', False),
        ('"A toy"', "3", False),
        ('"cuda"', '"tpu"', False),
        ('"toy"', f'"{"x" * 64}"', True),
        ('"toy"', f'"{"x" * 65}"', False),
        ('"plaything"', '"Play"', False),
        ('["plaything"]', '"plaything"', False),
        ('"Toy sheet"', '""', False),
        ('origin = "vendor"', 'origin = "me"', False),
        ("schema = 1", "schema = 2", False),
        ("date = 2020-01-01", "dat = 2020", False),
        ('"systolic"', f'"{"x" * 400}"', True),
        ('"systolic"', f'"{"x" * 401}"', False),
        ('"systolic"', '"a | b"', False),
        ('"systolic"', '"a\\nb"', False),
        ("value = 10,", "value = 10.5,", False),
        ("value = 10,", "value = 0,", False),
        ("value = 10,", "value = true,", False),
        ("value = 10,", 'value = "10",', False),
        ("value = 10,", f"value = 1{'0' * 400},", False),
        ("value = 10,", "value = inf,", False),
        ("value = 110e12", "value = 120e12", True),
        ("value = 110e12", "value = 120.1e12", False),
    ],
)
def test_texts_and_numbers_of_a_file_have_their_bounds(
    old: str, new: str, is_fine: bool, tmp_path: Path
) -> None:
    path = write(tmp_path, GOOD.replace(old, new, 1))
    assert (validate(path) == []) is is_fine


def test_files_and_their_lines_are_bounded(tmp_path: Path) -> None:
    from perfc.machine.files import MAX_FILE_BYTES, MAX_LINE_BYTES

    long = write(tmp_path, f"{GOOD}# {'x' * (MAX_LINE_BYTES - 2)}\n")
    assert validate(long) == []
    long = write(tmp_path, f"{GOOD}# {'x' * (MAX_LINE_BYTES - 1)}\n")
    assert validate(long) == [f"toy.toml: lines end at {MAX_LINE_BYTES} bytes"]
    filler = "#\n" * (MAX_FILE_BYTES // 2)
    whole = write(tmp_path, (GOOD + filler)[:MAX_FILE_BYTES])
    assert validate(whole) == []
    larger = write(tmp_path, (GOOD + filler)[: MAX_FILE_BYTES + 1])
    assert validate(larger) == [f"toy.toml: target files end at {MAX_FILE_BYTES} bytes"]


def test_problems_stand_with_their_lines_and_many_without(tmp_path: Path) -> None:
    wrong = GOOD.replace("sm_count", "sm_cont") + "".join(
        f'[adaptation.c{i}]\nlow_ratio = {{ value = 0, from = "lab" }}\n' for i in range(120)
    )
    told = validate(write(tmp_path, wrong))
    assert len(told) == 123
    assert told[0].startswith("toy.toml:19: device.sm_cont: unknown key, one of ")
    assert sum(re.match(r"toy\.toml:\d+: ", t) is not None for t in told) == 100
    assert all(t.startswith("toy.toml") for t in told)
    with pytest.raises(TargetError, match="122 more problems; `perfc targets validate` lists all"):
        load_machine(tmp_path / "toy.toml")
