"""Launch overhead of a framework's operators, on the devices available here."""

from __future__ import annotations

import pytest

from perfc.kernels.backends import framework_runs
from perfc.kernels.backends.framework_runs import BLOCKS, OPERATORS, FrameworkRun, lacking


def test_passes_take_as_long_as_there_are_of_them() -> None:
    """No operator of a framework takes less than a third of a microsecond."""
    torch = pytest.importorskip("torch")
    run = FrameworkRun("cpu")
    launched = []

    class Seen(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            if func is not torch.ops.aten.empty.memory_format:  # no kernel
                launched.append(func)
            return func(*args, **(kwargs or {}))

    with Seen():
        run.sample(1)
    assert len(launched) == run.count == BLOCKS * OPERATORS
    one, ten = (min(run.sample(n) for _ in range(20)) for n in (1, 10))
    assert ten > 3 * one
    assert one / run.count > 0.3e-6
    run.close()


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framework_runs, "find_spec", lambda name: None)
    assert lacking("cuda") == "PyTorch is not installed"
