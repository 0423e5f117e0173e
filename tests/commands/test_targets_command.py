"""The command on targets shows every rate in its three readings, and takes files of one's own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli

SHIPPED = Path(perfc.__file__).parent / "targets"


@pytest.fixture(autouse=True)
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "perfc" / "targets"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what ``perfc targets`` prints on standard output."""

    def call(line: str, code: int = 0) -> str:
        capsys.readouterr()
        assert cli.run(["targets", *line.split()]) == code
        return capsys.readouterr().out

    return call


def test_every_target_is_listed_and_every_rate_cites_a_source(said: Any) -> None:
    targets = json.loads(said("list --output-format json"))["targets"]
    names = [target["name"] for target in targets]
    assert {*names} == {path.stem for path in SHIPPED.glob("*.toml")}
    listed, page = said("list"), said("list --output-format markdown")
    assert "also a100, " in listed
    assert [line.split()[0] for line in listed.splitlines()[1 : len(names) + 1]] == names
    assert all(f"\n| {name} | " in page for name in names)
    shown = json.loads(said(f"show {' '.join(names)} --output-format json"))["targets"]
    for machine in shown:
        text = said(f"show {machine['name']}")
        sources = re.findall(r"^\[(\d+)\] ", text, re.MULTILINE)
        assert sources == [str(n + 1) for n in range(len(machine["sources"]))]
        for row in machine["rates"]:
            (line,) = re.findall(rf"^{row['name']}  .*", text, re.MULTILINE)
            cited = [*row["best"]["from"], *row["nominal"]["from"]]
            if measured := row["measured"]:
                cited += measured["from"]
                assert measured["value"] <= row["best"]["value"], (machine["name"], row)
            numbers = {str([*machine["sources"]].index(name) + 1) for name in cited}
            assert {*re.findall(r"\[(\d+)\]", line)} == numbers, (machine["name"], line)


def test_the_makers_figure_stands_beside_the_measured_one(said: Any) -> None:
    lines = said("show h100").splitlines()
    bf16 = next(line for line in lines if line.startswith("matrix bf16"))
    shown = ["1.07 Pflop/s", "989 Tflop/s", "956 Tflop/s", "96.6 %"]
    assert re.split(r"\s{2,}", bf16)[1:5] == shown
    assert any("aiconfigurator" in line and "(measured)" in line for line in lines)
    text = said("show t4 --output-format markdown")
    assert text.startswith("## t4\n")
    assert "| rate | peak | vendor | measured |" in text


def test_a_file_of_ones_own_is_added_once_and_shown(said: Any, user_folder: Path) -> None:
    text = (SHIPPED / "t4.toml").read_text().replace('name = "t4"', 'name = "mine"', 1)
    Path("mine.toml").write_text(text)
    said("add mine.toml")
    Path("mine.toml").write_text(text := f"{text}# more\n")
    said("add mine.toml", 2)
    said("add mine.toml --force")
    assert (user_folder / "mine.toml").read_text() == text
    assert "mine: " in said("show mine")
    (user_folder / "broken.toml").write_text("schema = 1\n", encoding="utf-8")
    first, second = said("list").splitlines()[1:3]
    assert first.startswith("broken ")
    assert "cannot be read: " in first
    assert "name" in first
    assert second.startswith("mine ")


def test_validation_finds_what_is_wrong_and_says_so_in_its_exit_code(said: Any) -> None:
    said(f"validate {SHIPPED / 't4.toml'}")
    Path("bad.toml").write_text((SHIPPED / "t4.toml").read_text().replace("tdp_w", "power", 1))
    assert "device.power" in said(f"validate bad.toml {SHIPPED / 'l4.toml'}", 1)


def test_a_calibrated_target_shows_how_far_its_rounds_spread(said: Any) -> None:
    assert cli.run(["calibrate", "--device", "fake", "--quick", "-o", "toy.toml"]) == 0
    written = Path("toy.toml").read_text()
    rate = re.search(r"(?s)\[compute\.vector\.f32\].*?best = (\S+),", written)
    assert rate is not None
    # a round that took less time repeats no other
    quick = rate[0].replace(rate[1], "2.4e12")
    Path("toy.toml").write_text(written.replace(rate[0], quick))
    lines = said("show toy.toml").splitlines()
    assert re.split(r"\s{2,}", lines[2]) == [
        *("rate", "peak", "vendor", "measured", "measured/vendor", "capacity"),
        *("worst to best round", "rounds", "source"),
    ]
    rows = {line[:11].strip(): line for line in lines if line.startswith("vector ")}
    assert "  2.00 Tflop/s to 2.40 Tflop/s       2  uncertain  [" in rows["vector f32"]
    assert "uncertain" not in rows["vector f64"]
    assert any(line.startswith("memory.l1.latency_s ") for line in lines)
    document = json.loads(said("show toy.toml --output-format json"))
    measured = next(r for r in document["rates"] if r["name"] == "vector f32")["measured"]
    assert (measured["rounds"], measured["best"], measured["is_uncertain"]) == (2, 2.4e12, True)
    text = said("show toy.toml --output-format markdown")
    assert "| worst to best round | rounds |  | from |" in text
    assert "rounds" not in said("show a100")
