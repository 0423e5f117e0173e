"""Machines: where their files are found, and what stands in for what."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from perfc.errors import TargetError
from perfc.ir.facts import Origin
from perfc.machine import Unit, add, list_machines, load_machine, validate

from .toy import GOOD, toy, write


@pytest.fixture(autouse=True)
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "perfc" / "targets"


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
