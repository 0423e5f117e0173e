"""Slices of cards: what they have of the card, where they are refused, which one is taken."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.deployment import Deployment
from perfc.deployment.project_file import target_of
from perfc.errors import TargetError
from perfc.ir.facts import Origin
from perfc.machine import CONTEXT_BYTES, Unit, load_machine, partition_of, partitions, split
from perfc.machine.catalog import whole_card
from perfc.machine.folders import SHIPPED, files_in
from perfc.machine.slices import FOLDER, read_partition
from perfc.review.check.lock.digests import of_target
from perfc.study.comparison.slices import Holding, ModelSetting, by_use, slicing

MODELS = Path(__file__).parents[2] / "examples" / "models"
RESNET = str(MODELS / "resnet50.onnx.gz")
EVERY = [(c, p) for part in partitions() for c in part.cards for p in part.profiles]


@pytest.mark.parametrize(("card", "profile"), EVERY, ids=lambda v: getattr(v, "name", v))
def test_no_slice_has_more_than_its_card(card: str, profile: object) -> None:
    whole = load_machine(card)
    part = load_machine(f"{card}/{profile.name}")  # type: ignore[attr-defined]
    assert part.slice is profile or part.slice == profile
    assert part.sm_count <= whole.sm_count
    for key, peak in part.compute.items():
        share = part.sm_count / whole.sm_count
        assert peak.peak.value == pytest.approx(whole.compute[key].peak.value * share)
    for level in part.memory:
        of = whole.level(level.name)
        assert of is not None
        assert level.capacity_bytes <= of.capacity_bytes
        assert level.bandwidth.value <= of.bandwidth.value * (1 + 1e-9)
    assert profile.instances * profile.card_share <= 1 + 1e-9  # type: ignore[attr-defined]


def test_what_belongs_to_one_multiprocessor_stays() -> None:
    card, part = load_machine("a100-40gb"), load_machine("a100-40gb/3g.20gb")
    same = (
        "device.clock_max_hz",
        "device.max_threads_per_sm",
        "device.shared_memory_per_sm_bytes",
        "compute.matrix.f16.flop_per_clock_per_sm",
        "memory.l1.bytes_per_clock_per_sm",
        "link.host.bandwidth_bytes_per_s",
        "device.launch_overhead_s",
    )
    for key in same:
        assert part.facts[key].value == card.facts[key].value, key
    assert part.facts["memory.l2.capacity_bytes"].value == 20 << 20
    assert part.facts["device.tdp_w"].value == card.facts["device.tdp_w"].value / 2
    assert "link.nvlink.bandwidth_bytes_per_s" not in part.facts
    measured = part.compute[Unit.MATRIX, "f16"].sustained
    assert measured is not None
    assert measured.origin is Origin.ASSUMED, "nobody measured the slice"
    assert "slices" in measured.source
    assert part.cite(measured).endswith("(vendor)")


def test_a_slice_is_named_by_card_alias_file_or_its_own_path(tmp_path: Path) -> None:
    part = load_machine("NVIDIA A100-40GB/3g.20gb")
    assert part.name == "a100-sxm4-40gb/3g.20gb"
    assert load_machine(str(part.path)) == part
    assert part.file == load_machine("a100-40gb").path
    assert split("folder/a100.toml") == ("folder/a100.toml", "")
    assert target_of("a100/3g.40gb", tmp_path / "perfc.toml") == "a100/3g.40gb"
    own = target_of("mine.toml/3g.40gb", tmp_path / "perfc.toml")
    assert own == str(tmp_path / "mine.toml" / "3g.40gb")
    digests = {of_target(load_machine(n)) for n in ("a100", "a100/3g.40gb", "a100/4g.40gb")}
    assert len(digests) == 3, "a baseline tells slices of one card apart"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("t4/1g.5gb", "no known slices of t4"),
        ("a100/1g.99gb", "has no slice '1g.99gb'"),
        ("a100/1g.10gb/1g.10gb", "no known slices of a100-sxm4-80gb/1g.10gb"),
        ("a1000/1g.10gb", "no such target 'a1000'"),
        ("../a100/1g.10gb", "no such target"),
    ],
)
def test_a_wrong_slice_is_one_line(name: str, expected: str) -> None:
    with pytest.raises(TargetError, match=r"^[^\n]*$") as error:
        load_machine(name)
    assert expected in str(error.value) or "no such target" in str(error.value)


def test_a_slice_has_no_file_to_write() -> None:
    with pytest.raises(TargetError, match="is a slice and has no file"):
        whole_card("a100/3g.40gb")
    assert whole_card("a100").slice is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema = 1", "schema = 2"),
        ("sm_count = 14", "sm_count = 0"),
        ("sm_count = 14", "sm_count = true"),
        ("memory_slices = 1\n", "memory_slices = 9\n"),
        ('name = "1g.5gb"', 'name = "../1g.5gb"'),
        ('title = "', 'titel = "'),
        ("[[profile]]", "[profile]"),
    ],
)
def test_a_wrong_file_of_profiles_is_one_line(tmp_path: Path, old: str, new: str) -> None:
    text = (SHIPPED / FOLDER / "a100-40gb.toml").read_text()
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(TargetError) as error:
        read_partition(path)
    assert str(path) in str(error.value)


def test_every_card_of_a_file_is_a_target_with_as_many_multiprocessors() -> None:
    assert len(files_in(SHIPPED / FOLDER)) >= 6
    for part in partitions():
        assert part.source.title
        for card in part.cards:
            machine = load_machine(card)
            assert partition_of(machine) == part
            assert max(p.sm_count for p in part.profiles) <= machine.sm_count


def test_the_smallest_slice_holds_memory_and_time() -> None:
    setting = ModelSetting(RESNET, Deployment(dims={"batch": 8}))
    result = slicing(setting, "a100-40gb", slo_s=15e-3)
    assert result.smallest is not None
    holding = [s.holding for s in result.slices]
    first = result.slices.index(result.smallest)
    assert all(h in (Holding.SLOW, Holding.SMALL) for h in holding[:first])
    assert holding[first] in (Holding.HOLDS, Holding.LIKELY)
    assert result.by_memory == "1g.5gb", "DIPPM's rule knows no time"
    floors = {s.profile.name: s.row.verdict.floor_s for s in result.slices}
    assert floors["1g.5gb"] > floors["3g.20gb"] > floors["7g.40gb"]
    for s in result.slices:
        assert s.row.verdict.floor_s >= result.card.verdict.floor_s
        assert s.card_per_s == s.profile.instances * s.row.verdict.throughput.per_s


@pytest.mark.parametrize(("card", "runtime"), [("h100", "tensorrt"), ("a100", "ort")])
def test_no_part_of_a_slice_is_faster_than_the_slice_or_the_card(card: str, runtime: str) -> None:
    """By its timeline; measured runs give each slice a factor of its own."""
    how: Any = {"runtime": runtime, "dtype": "f16", "batch": 1, "predictor": "kernels"}
    setting = ModelSetting(RESNET, Deployment(runtime=runtime, dtype="f16"))
    profiles = [s.profile for s in slicing(setting, card, predict=False).slices]
    path = MODELS / "swin-t.onnx.gz"
    names = [load_machine(card).name, *(f"{load_machine(card).name}/{p.name}" for p in profiles)]
    whole_s, *each_s = (perfc.analyze(path, name, **how).prediction.total.time_s for name in names)
    for (a, a_s), (b, b_s) in permutations(zip(profiles, each_s, strict=True), 2):
        if a.sm_count <= b.sm_count and a.memory_share <= b.memory_share:
            assert a_s >= b_s * (1 - 1e-4)
    assert min(each_s) >= whole_s * (1 - 1e-4)


def test_a_slice_whose_memory_is_too_small_is_not_taken() -> None:
    setting = ModelSetting(RESNET, Deployment(dims={"batch": 1024}))
    result = slicing(setting, "a100-40gb", predict=False)
    need = result.card.verdict.memory.total_bytes
    assert result.need_bytes == need > CONTEXT_BYTES
    small = [s for s in result.slices if s.profile.capacity_bytes < need]
    assert small, "the test needs a model larger than the smallest slice"
    assert all(s.holding is Holding.SMALL for s in small)
    assert result.smallest is not None
    assert result.smallest.profile.capacity_bytes >= need


def test_the_rule_of_use_is_that_of_the_dissertation() -> None:
    names = ["1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"]
    chosen = [by_use(u, names) for u in (0.011, 0.249, 0.25, 0.5, 0.75, 1.0)]
    assert chosen == [names[i] for i in (0, 0, 1, 2, 3, 3)]
    assert by_use(0.1, names[:3]) == ""


def test_the_command_says_which_and_exits_with_one_where_none_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["mig", RESNET, "-t", "a100", "--slo", "1s", "--output-format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["smallest"], result["by_memory"]) == ("1g.10gb", "1g.10gb")
    assert cli.run(["mig", RESNET, "-t", "a100", "--slo", "1us"]) == 1
    assert "no slice is large and fast enough" in capsys.readouterr().out
    assert cli.run(["mig", RESNET, "-t", "t4"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "no known slices of t4" in err


def test_every_command_takes_a_slice(capsys: pytest.CaptureFixture[str]) -> None:
    report = perfc.analyze(RESNET, "a100/1g.10gb")
    assert report.machine.sm_count == 14
    assert report.at({"batch": 2}).machine.name == report.machine.name
    assert cli.run(["targets", "show", "a100/1g.10gb"]) == 0
    assert cli.run(["roofline", "a100/1g.10gb", "--output-format", "json"]) == 0
    assert "1g.10gb" in capsys.readouterr().out
