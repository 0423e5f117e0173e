"""The command on targets shows every rate in its three readings, and takes files of one's own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perfc.commands.analysis.targets import command
from perfc.kernels.backends.fake import Fake
from perfc.machine import Unit, list_machines, load_machine, render_markdown
from perfc.measuring.calibrate import calibrate
from perfc.view.pages.targets import rows, show_text
from perfc.view.report.units import Unit as Amount
from perfc.view.report.units import quantity

SHIPPED = Path(__file__).parents[2] / "perfc" / "targets"


@pytest.fixture(autouse=True)
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "perfc" / "targets"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_every_target_is_listed_with_its_aliases() -> None:
    text = run("list").output
    for target in list_machines():
        assert target.name in text
    assert "also a100, " in text
    data = json.loads(run("list", "--output-format", "json").output)
    assert [t["name"] for t in data["targets"]] == [t.name for t in list_machines()]
    assert run("list", "--output-format", "markdown").output == render_markdown()


def test_the_makers_figure_stands_beside_the_measured_one() -> None:
    lines = run("show", "a100-sxm4-40gb").output.splitlines()
    f16 = next(line for line in lines if line.startswith("matrix f16"))
    assert "312 Tflop/s" in f16
    assert "292 Tflop/s" in f16
    assert "93.7 %" in f16
    assert any("dissertation" in line and "(measured)" in line for line in lines)


def test_every_rate_cites_a_source_that_is_listed() -> None:
    for listing in list_machines():
        machine = load_machine(listing.name)
        text = show_text(machine)
        for row in rows(machine):
            line = next(ln for ln in text.splitlines() if ln.startswith(f"{row.name} "))
            assert line.rstrip().endswith("]"), (machine.name, line)
        for number in range(1, len(machine.sources) + 1):
            assert f"\n[{number}] " in text


def test_no_measurement_beats_the_best() -> None:
    for listing in list_machines():
        for row in rows(load_machine(listing.name)):
            assert row.measured is None or row.measured.value <= row.best.value, row.name


def test_json_keeps_value_key_and_origin() -> None:
    data = json.loads(run("show", "a100", "--output-format", "json").output)
    f16 = next(r for r in data["rates"] if r["name"] == "matrix f16")
    assert f16["nominal"] == {
        "value": 312e12,
        "origin": "vendor",
        "key": "compute.matrix.f16.peak_flop_per_s",
        "from": ["datasheet"],
        "note": "",
        **dict.fromkeys(("rounds", "worst", "best")),
        "is_uncertain": False,
    }
    assert f16["measured"]["origin"] == "measured"
    assert data["sources"]["datasheet"]["origin"] == "vendor"


def test_markdown_is_a_table() -> None:
    text = run("show", "t4", "--output-format", "markdown").output
    assert text.startswith("## t4\n")
    assert "| rate | peak | vendor | measured |" in text


def test_a_file_of_ones_own_is_added_and_shown(tmp_path: Path, user_folder: Path) -> None:
    file = tmp_path / "mine.toml"
    text = (SHIPPED / "t4.toml").read_text().replace('name = "t4"', 'name = "mine"', 1)
    file.write_text(text)
    assert run("add", str(file)).exit_code == 0
    assert (user_folder / "mine.toml").read_text() == text
    assert "mine: " in run("show", "mine").output
    assert run("list").output.splitlines()[1].startswith("mine ")


def test_validation_finds_what_is_wrong_and_says_so_in_its_exit_code(tmp_path: Path) -> None:
    assert run("validate", str(SHIPPED / "t4.toml")).exit_code == 0
    bad = tmp_path / "bad.toml"
    bad.write_text((SHIPPED / "t4.toml").read_text().replace("tdp_w", "power", 1))
    result = run("validate", str(bad), str(SHIPPED / "l4.toml"))
    assert result.exit_code == 1
    assert "device.power" in result.output


def test_a_calibrated_target_shows_how_far_its_rounds_spread(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    calibrate("fake", path, backend=Fake(drift=1.002), quick=True)
    machine = load_machine(path)
    lines = run("show", str(path)).output.splitlines()
    assert re.split(r"\s{2,}", lines[2]) == [
        *("rate", "peak", "vendor", "measured", "measured/vendor", "capacity"),
        *("worst to best round", "rounds", "source"),
    ]
    rate = machine.entry(Unit.VECTOR, "f32").sustained
    assert rate is not None
    assert rate.spread is not None
    row = next(line for line in lines if line.startswith("vector f32 "))
    shown = [quantity(v, Amount.FLOP_PER_S) for v in (rate.spread.worst, rate.spread.best)]
    assert f"  {shown[0]} to {shown[1]}  {rate.spread.rounds:6}  uncertain  [" in row
    latency = next(line for line in lines if line.startswith("memory.l1.latency_s "))
    assert machine.facts["memory.l1.latency_s"].is_uncertain == ("uncertain" in latency)
    assert re.search(r"\d+ of 26 figures repeat within 10 %; other programs used", lines[-3])
    data = json.loads(run("show", str(path), "--output-format", "json").output)
    measured = next(r for r in data["rates"] if r["name"] == "vector f32")["measured"]
    assert (measured["rounds"], measured["best"], measured["is_uncertain"]) == (
        *(rate.spread.rounds, rate.spread.best, True),
    )
    markdown = run("show", str(path), "--output-format", "markdown").output
    assert "| worst to best round | rounds |  | from |" in markdown


def test_a_target_that_states_no_spread_has_no_column_for_it() -> None:
    text = run("show", "a100").output
    assert "rounds" not in text
    assert "uncertain" not in text


def test_a_file_that_cannot_be_read_is_listed_with_what_is_wrong(user_folder: Path) -> None:
    user_folder.mkdir(parents=True, exist_ok=True)
    (user_folder / "broken.toml").write_text("schema = 1\n", encoding="utf-8")
    (line,) = (line for line in run("list").output.splitlines() if line.startswith("broken"))
    assert "cannot be read: " in line
    assert "name" in line
