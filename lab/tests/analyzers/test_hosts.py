"""Times of hosts are found again in runs that were made with them."""

from __future__ import annotations

import numpy as np
import pytest

from perfc.deployment import Deployment
from perfc_lab.fits.hosts import FEW, HELPER_S, HostClass, HostRun, HostSample, host_of
from perfc_lab.tables.whole_models import WholeModel

US = 1e-6


def runs(launch_us: float, fixed_us: float, factors: dict[str, float]) -> list[HostSample]:
    """Return runs of networks at batches; kernels take a third longer than estimated."""
    made = []
    for source, factor in factors.items():
        for network, operators in enumerate((30, 60, 120, 200)):
            for batch in (1, 2, 4, 8, 16):
                device_us = operators * 3 * batch**0.8
                host_us = factor * launch_us * operators + 10 * HELPER_S / US
                time_us = max(1.33 * device_us, host_us) + fixed_us
                how = Deployment("a100", runtime="ort", dtype="f16", dims={"batch": batch})
                row = WholeModel(f"{network}.onnx.gz", how, time_us * US, source)
                made.append(
                    HostSample(row, HostRun("f16", True, device_us * US, operators, 10, 8.0))
                )
    return made


@pytest.mark.parametrize(("launch_us", "fixed_us"), [(8.0, 300.0), (12.0, 500.0), (15.0, 800.0)])
def test_launch_and_fixed_times_are_those_of_the_runs(launch_us: float, fixed_us: float) -> None:
    rows = runs(launch_us, fixed_us, {"one": 1.0, "other": 1.0, "third": 1.0})
    times, words = host_of(HostClass(("ort",)), rows)
    assert times.launch_s[1] == pytest.approx(launch_us * US, rel=0.1)
    assert times.fixed_s[1] == pytest.approx(fixed_us * US, rel=0.35)
    assert times.helper_s[1] == pytest.approx(HELPER_S)
    assert times.runs >= FEW
    assert "100%" in words, words


def test_hosts_that_differ_widen_the_interval() -> None:
    """The slowest of three takes three times the middle one; a host counts whatever its rows."""
    factors = {"slow": 3.0, "one": 1.0, "fast": 0.4}
    times, _ = host_of(HostClass(("ort",)), runs(20.0, 50.0, factors))
    low, middle, high = (t / US for t in times.launch_s)
    assert middle == pytest.approx(20, rel=0.25)
    assert low < 0.55 * middle
    assert high > 2 * middle


def test_classes_of_boards_do_not_overlap() -> None:
    from perfc_lab.fits.hosts import CLASSES

    for target, generation in (("a100", 8.0), ("h200", 9.0), ("t4", 7.5), ("jetson-nano", 5.3)):
        for runtime in {r for c in CLASSES.values() for r in c.runtimes}:
            how = Deployment(target, runtime=runtime)
            row = WholeModel("x.onnx.gz", how, 1.0)
            sample = HostSample(row, HostRun("f16", True, 1.0, 1, 0, generation))
            assert sum(sample.is_of(host) for host in CLASSES.values()) <= 1
    assert np.isinf(CLASSES["tensorrt"].below)
