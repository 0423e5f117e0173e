"""What a calibrated file says of its device, and what a calibration says of itself, by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfc.ir.facts import Origin
from perfc.kernels.backends import host
from perfc.machine import Rate, Spread, load_machine
from perfc.measuring.calibrate import file, run
from perfc.measuring.calibrate.outcome import (
    CalibratedTarget,
    CeilingRow,
    ChangedRate,
    changes,
    peak,
    rows,
)
from perfc.measuring.calibrate.run import MeasurementError, UncertainError


def device(kind: str = "cpu", cores: int = 4, name: str = "Some Chip (R)", **state: str) -> Any:
    return SimpleNamespace(kind=kind, cores=cores, name=name, state=state, notes=())


def lab(result: Any, *ceilings: bool) -> dict[str, str]:
    session: Any = SimpleNamespace(backend=SimpleNamespace(device=result))
    told: Any = [SimpleNamespace(is_uncertain=c) for c in ceilings]
    return file._sources(session, told, "a.jsonl", "nobody else")["lab"]


def test_the_source_says_what_measured_and_on_what() -> None:
    result = lab(device(driver="550", clocks="locked", blas="x", other="y"), False, True, False)
    assert result["threads"] == "4 cores"
    assert result["title"] == "perfc calibrate on Some Chip (R)"
    assert (result["driver"], result["clocks"], result["blas"]) == ("550", "locked", "x")
    assert "other" not in result
    assert result["compiler"] == ""
    said = "median of the rounds; 2 of 3 figures repeat within 10 %; nobody else"
    assert result["note"] == said
    assert lab(device(cores=1))["threads"] == "one core"
    assert lab(device("cuda", 108))["threads"] == "108 multiprocessors"
    assert lab(device("cuda", 1))["threads"] == "one multiprocessor"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA A100 (80GB)", "nvidia-a100-80gb"),
        ("--x--", "x"),
        ("é", ""),
        ("a" * 70, "a" * 64),
        (f"{'a' * 63} b", "a" * 63),
    ],
)
def test_names_of_devices_become_names_of_targets(text: str, name: str) -> None:
    assert file.slug(text) == name


def test_a_file_without_a_name_is_called_after_the_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere")
    folder = Path("/somewhere/perfc/targets")
    assert file.default_path(device()) == folder / "some-chip-r.toml"
    assert file.default_path(device(name="é")) == folder / "cpu.toml"


def test_a_sustained_rate_stands_beside_its_peak_alone() -> None:
    numbers: Any = [SimpleNamespace(key="memory.l2.bandwidth_bytes_per_s")]
    assert file._stands("memory.l2.sustained_bandwidth_bytes_per_s", numbers)
    assert not file._stands("memory.l1.sustained_bandwidth_bytes_per_s", numbers)
    assert file._stands("device.launch_overhead_s", [])
    assert file._stands("link.host.sustained_bandwidth_bytes_per_s", [])


def rate(value: float, spread: Spread | None = None, key: str = "k") -> Rate:
    return Rate(value, Origin.MEASURED, "lab", "", key, spread)


def test_numbers_that_differ_by_more_than_half_a_per_cent_changed() -> None:
    def machine(**facts: float) -> Any:
        return SimpleNamespace(facts={k: rate(v) for k, v in facts.items()})

    old, new = machine(a=100.0, b=100.0, c=1.0, e=100.0), machine(a=100.5, b=100.6, d=2.0, e=99.4)
    assert list(changes(old, new)) == [
        ChangedRate("b", 100.0, 100.6),
        ChangedRate("d", None, 2.0),
        ChangedRate("e", 100.0, 99.4),
        ChangedRate("c", 1.0, None),
    ]
    assert list(changes(None, new)) == []


def test_ceilings_stand_beside_what_data_sheets_say() -> None:
    a100 = load_machine("a100")
    level = a100.level("device")
    assert level is not None
    assert peak(a100, "memory.device.sustained_bandwidth_bytes_per_s") is level.bandwidth
    assert peak(a100, "memory.l9.sustained_bandwidth_bytes_per_s") is None
    (f16,) = (p for (u, d), p in a100.compute.items() if (u.value, d) == ("matrix", "f16"))
    assert peak(a100, "compute.matrix.f16.sustained_flop_per_s") is f16.peak
    assert peak(a100, "compute.matrix.i4x.sustained_flop_per_s") is None
    assert peak(a100, "device.launch_overhead_s") is None
    assert peak(a100, "link.nvlink.sustained_bandwidth_bytes_per_s") is a100.facts.get(
        "link.nvlink.bandwidth_bytes_per_s"
    )
    spread = Spread(3, 1.1, 0.9)
    told: Any = SimpleNamespace(facts={"x.y": rate(1.0, spread), "x.z": rate(1.0)}, level=None)
    assert [r.key for r in rows(told)] == ["x.y"]


def test_the_widest_doubt_comes_first() -> None:
    def row(name: str, rounds: int, best: float, worst: float) -> CeilingRow:
        return CeilingRow(name, None, rate(1.0, Spread(rounds, best, worst)))

    all_rows = (
        row("sure", 5, 1.001, 0.999),
        row("wide", 5, 1.5, 0.5),
        row("once", 1, 1.0, 1.0),
        row("some", 5, 1.2, 0.8),
    )
    result = CalibratedTarget(
        load_machine("t4"), Path("a"), Path("b"), all_rows, (), False, (), 1.0
    )
    assert [r.key for r in result.uncertain] == ["once", "wide", "some"]


@pytest.mark.parametrize(
    ("share", "kind", "cores", "words"),
    [
        (0.25, "cuda", 4, "25 % of the device's time"),
        (0.2, "cpu", 4, "80 % of a core"),
        (0.4, "cpu", 4, "1.6 of 4 cores"),
        (0.25, "cpu", 4, "1.0 of 4 cores"),
        (0.2487, "cpu", 4, "99 % of a core"),
    ],
)
def test_what_others_use_is_said_in_cores(
    share: float, kind: str, cores: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert run._used(share, device(kind)) == words
    assert run._load(share, None, device(kind)) == f"other programs used {words} just before"
    both = run._load(share, share, device(kind))
    assert both == f"other programs used {words} just before, {words} meanwhile"
    assert run._load(None, None, device(kind)) == "use by others is not readable"


@pytest.mark.parametrize(
    ("share", "kind", "is_busy"),
    [
        (None, "cpu", False),
        (0.0, "cpu", False),
        (1.0, "cpu", True),
        (1.0, "cuda", True),
        (run.BUSY_SHARE, "cuda", False),
        (run.BUSY_SHARE + 0.01, "cuda", True),
        (host.BUSY_CORES / 4, "cpu", False),
        (host.BUSY_CORES / 4 + 0.01, "cpu", True),
    ],
)
def test_a_busy_device_is_said_or_not_measured(
    share: float | None, kind: str, is_busy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    said: list[str] = []
    run._watch(share, device(kind), False, said.append)
    assert bool(said) is is_busy
    if is_busy:
        with pytest.raises(UncertainError, match="not begun: other programs use "):
            run._watch(share, device(kind), True, None)
    run._watch(share, device(kind), False, None)


def ceiling(key: str, *, best: float, is_uncertain: bool = True, varies: bool = False) -> Any:
    spread = Spread(3, best, 1.0)
    return SimpleNamespace(
        key=key,
        value=1.0,
        spread=spread,
        rounds=[1, 2, 3],
        is_uncertain=is_uncertain,
        varies=varies,
    )


def test_ceilings_that_spread_are_refused_where_that_is_asked() -> None:
    run._refuse_uncertain((ceiling("a", best=2.0, varies=True),))
    run._refuse_uncertain((ceiling("a", best=1.0, is_uncertain=False),))
    with pytest.raises(UncertainError) as caught:
        run._refuse_uncertain(
            (ceiling("a", best=1.5), ceiling("b", best=2.0), ceiling("c", best=1.2))
        )
    assert "not written: b spreads from 1 to 2 in 3 rounds; 2 more" in str(caught.value)
    with pytest.raises(UncertainError) as caught:
        run._refuse_uncertain((ceiling("b", best=2.0),))
    assert "in 3 rounds (" in str(caught.value)


def test_numbers_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfc.measuring.calibrate.run.bounds.impossible", lambda *_: "")
    session: Any = SimpleNamespace(backend=SimpleNamespace(device=device()), refused={})
    good = ceiling("memory.device.sustained_bandwidth_bytes_per_s", best=1.0)
    run._refuse_impossible(session, (good,))
    for key in ("memory.device.latency_s", "link.host.bandwidth_bytes_per_s"):
        with pytest.raises(MeasurementError, match="no bandwidth could be measured"):
            run._refuse_impossible(session, (ceiling(key, best=1.0),))
    monkeypatch.setattr("perfc.measuring.calibrate.run.bounds.impossible", lambda *_: "too fast")
    with pytest.raises(MeasurementError, match="not written: too fast"):
        run._refuse_impossible(session, (good,))
