"""A model deployed otherwise, and at other sizes, is what analyzing it fresh gives."""

from __future__ import annotations

from typing import Any

import pytest

import perfc
from perfc import testing
from perfc.api import Report
from perfc.errors import PerfcError

SIZED = testing.module(
    "%x: f32[batch, seq, 64]",
    '%w = weight {location="w.bin"} : f32[64, 64]',
    '%v = weight {location="v.bin"} : f32[64, 256]',
    "%a = matmul(%x, %w) : ?",
    "%b = relu(%a) : ?",
    "%c = matmul(%b, %v) : ?",
    batch=1,
    seq=4,
)


def report(**how: Any) -> Report:
    return perfc.analyze(SIZED, how.pop("target", "a100"), **how)


def found(r: Report) -> tuple[Any, ...]:
    """What analysis says of a run: bytes, operations, kernels, bounds, memory, prediction."""
    return (
        r.cost.traffic.nbytes,
        r.cost.work.flop,
        len(r.kernels.kernels),
        r.roofline.floor_s,
        r.liveness.peak(r.env)[0],
        r.prediction.total,
        r.env,
        r.machine.name,
    )


@pytest.mark.parametrize("before", ["", "f16", "bf16", "amp-f16"])
@pytest.mark.parametrize("after", ["", "f16", "amp-bf16"])
def test_a_precision_in_place_of_another_is_that_precision_of_the_model(
    before: str, after: str
) -> None:
    sizes = {"batch": 2, "seq": 8}
    changed = report(dtype=before, dims=sizes).with_(dtype=after)
    fresh = report(dtype=after, dims=sizes)
    assert changed.deployment == fresh.deployment
    assert found(changed) == found(fresh)


def test_half_the_bits_are_half_the_bytes() -> None:
    """Products read 2·4·64 and a table and write 2·4·64 and 2·4·256; relu moves 2·4·64 twice."""
    sizes = {"batch": 2, "seq": 4}
    elements = (512 + 4096 + 512) + 2 * 512 + (512 + 16384 + 2048)
    full = report(dims=sizes)
    half = full.with_(dtype="f16")
    for r, nbytes in ((full, 4), (half, 2), (half.with_(dtype=""), 4)):
        total = r.views.summary
        assert total.read_bytes.value + total.write_bytes.value == nbytes * elements
        assert (r.dtype, r.machine.name) == (r.deployment.dtype, full.machine.name)


@pytest.mark.parametrize(
    "change",
    [
        {"target": "h100"},
        {"runtime": "eager"},
        {"tf32": True},
        {"runtime": "inductor", "layout": "channels-last"},
        {"streams": 2},
        {"dims": {"batch": 3}},
        {"dims": {"batch": 3, "seq": 16}},
        {"target": "t4", "runtime": "tensorrt", "dtype": "f16", "dims": {"seq": 9}},
    ],
)
def test_whatever_changes_is_as_analyzed_anew(change: dict[str, Any]) -> None:
    before = report(dims={"batch": 2, "seq": 8}, runtime="ort")
    sizes = {"batch": 2, "seq": 8, **change.get("dims", {})}
    whole = {"runtime": "ort", **change, "dims": sizes}
    changed, fresh = before.with_(**change), report(**whole)
    assert found(changed) == found(fresh)
    assert changed.deployment == fresh.deployment


def test_the_same_deployment_shares_what_was_found() -> None:
    before = report(dims={"batch": 2})
    same = before.with_()
    assert same.module is before.module
    assert same.cost is before.cost
    assert same.machine is before.machine
    assert found(same) == found(before)


def test_sizes_of_before_are_kept_by_at_alone() -> None:
    before = report(dims={"batch": 2})
    assert dict(before.at({"seq": 9}).env) == {"batch": 2, "seq": 9}
    assert dict(before.at({"batch": 7}).env) == {"batch": 7, "seq": 4}
    assert dict(before.env) == {"batch": 2, "seq": 4}


def test_a_model_that_is_twice_as_wide_has_no_smaller_a_floor() -> None:
    floors = [report(dims={"batch": n}).roofline.floor_s for n in (1, 2, 4, 64)]
    assert floors == sorted(floors)
    assert floors[0] < floors[-1]


def test_a_training_step_and_a_target_of_no_name_are_refused() -> None:
    with pytest.raises(PerfcError):
        report(mode="training")
    with pytest.raises(PerfcError):
        report().with_("no-such-machine")
