"""Some cores of a processor: what they have of it, and what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc
from perfc.errors import ParseError, TargetError
from perfc.machine import Unit, load_machine

TARGET = str(Path(__file__).parents[2] / "datasets/cpu-genoa-2c/target.toml")
RESNET = str(Path(__file__).parents[2] / "examples/models/resnet50.onnx.gz")


def test_one_core_has_its_own_measured_rates_and_the_whole_memory() -> None:
    both, one = load_machine(TARGET), load_machine(f"{TARGET}/1t")
    assert (one.sm_count, one.kind, one.file) == (1, "cpu", both.path)
    vector, whole = one.compute[Unit.VECTOR, "f32"], both.compute[Unit.VECTOR, "f32"]
    assert vector.sustained is not None
    assert vector.sustained.value == pytest.approx(1.182e11)
    assert vector.peak.value == whole.peak.value / 2
    device, of = one.level("device"), both.level("device")
    assert device is not None
    assert of is not None
    assert (device.bandwidth.value, device.capacity_bytes) == (
        of.bandwidth.value,
        of.capacity_bytes,
    )
    assert device.sustained is not None
    assert device.sustained.value == pytest.approx(3.156e10)
    assert load_machine(str(one.path)) == one


def test_threads_of_a_run_are_cores_of_its_target() -> None:
    both = perfc.analyze(RESNET, TARGET)
    one = perfc.analyze(RESNET, TARGET, threads=1)
    assert one.machine == load_machine(f"{TARGET}/1t")
    ratio = one.prediction.total.time_s / both.prediction.total.time_s
    assert 1.5 < ratio < 2
    assert perfc.analyze(RESNET, TARGET, threads="all").machine == both.machine


@pytest.mark.parametrize(("target", "count"), [(TARGET, 3), ("a100", 1)])
def test_cores_that_a_target_lacks_are_refused(target: str, count: int) -> None:
    with pytest.raises(TargetError, match=f"no slice '{count}t'"):
        perfc.analyze(RESNET, target, threads=count)


@pytest.mark.parametrize("threads", [0, -1, "x", "1e3"])
def test_what_is_no_number_of_threads_is_refused(threads: int | str) -> None:
    with pytest.raises(ParseError, match=r"neither a number of threads nor 'all'"):
        perfc.analyze(RESNET, TARGET, threads=threads)


def test_no_threads_are_all() -> None:
    assert perfc.analyze(RESNET, TARGET, threads=None).machine == load_machine(TARGET)


def test_all_cores_are_the_processor() -> None:
    """Every core of a slice counts: with all of them its rates are those of the whole."""
    whole, cores = (perfc.analyze(RESNET, target) for target in (TARGET, f"{TARGET}/2t"))
    assert cores.machine.sm_count == 2
    for name in ("sustained_s", "floor_s"):
        rates = (r.to_dict()["summary"][name]["value"] for r in (whole, cores))
        assert len({*rates}) == 1, name
