"""Compiled kernels answer rightly, are compiled once, and are not needed."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from perfc.common.cache_folder import cache_folder
from perfc.errors import TargetError
from perfc.kernels.backends import blas, compiled, host
from perfc.kernels.backends.backend import MeasurementError
from perfc.kernels.backends.cpu import Cpu, DispatchRun
from perfc.kernels.backends.numpy_runs import NumpyProduct
from perfc.kernels.probe import PROBES, Case, Probe, ProbeQuantity, Scope, cases
from perfc.kernels.timing import TimingSettings, measure

VERIFIED = [p for p in PROBES.values() if p.expected is not None]
BRIEF = TimingSettings(samples=5, budget_s=0.02, warm_up_s=0.005)
needs_compiler = pytest.mark.skipif(
    not any(shutil.which(c) for c in compiled.COMPILERS), reason="no C compiler"
)


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Cpu:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return Cpu()


@pytest.fixture(scope="module")
def fallback() -> Cpu:
    return Cpu(compiler=False)


def verify(backend: Cpu, probe: Probe) -> None:
    if not probe.sizes(backend.device, True) or backend.refuses(Case(probe.id, 0, Scope.ALL)):
        pytest.skip("not on this processor")
    assert probe.inputs is not None
    assert probe.expected is not None
    for seed in range(3):
        given = probe.inputs(seed)
        expected = probe.expected(given)
        assert expected.error(backend.answer(probe, given)) <= expected.tolerance


@needs_compiler
@pytest.mark.parametrize("probe", VERIFIED, ids=lambda p: p.id)
def test_compiled_kernels_answer_rightly(cpu: Cpu, probe: Probe) -> None:
    verify(cpu, probe)


@pytest.mark.parametrize("probe", VERIFIED, ids=lambda p: p.id)
def test_the_fallback_answers_rightly(fallback: Cpu, probe: Probe) -> None:
    verify(fallback, probe)


@needs_compiler
def test_every_kind_of_case_can_be_timed(cpu: Cpu) -> None:
    plan = [c for c in cases(cpu.device, True) if not cpu.refuses(c) and c.size <= 1 << 20]
    first = {(c.probe, c.scope): c for c in reversed(plan)}
    assert {PROBES[p].quantity for p, _ in first} >= set(ProbeQuantity) - {
        ProbeQuantity.LINK,
        ProbeQuantity.DOT,
    }
    for case in first.values():
        run = cpu.prepare(case)
        assert run.count > 0
        assert run.sample(2) > 0
        run.close()


def test_the_fallback_times_streams_and_products(fallback: Cpu) -> None:
    assert "no C compiler" in fallback.device.notes[0] or "off" in fallback.device.notes[0]
    for name in ("stream.read", "stream.triad", "stream.write", "matrix.f32", "special.exp"):
        run = fallback.prepare(Case(name, 1 << 18 if "stream" in name else 128, Scope.ALL))
        assert run.sample(2) > 0
        run.close()
    assert fallback.refuses(Case("chase", 1 << 15, Scope.ONE)) == "needs a C compiler"


@needs_compiler
def test_the_multiply_add_peak_is_above_what_a_product_reaches(cpu: Cpu) -> None:
    def rate(name: str, size: int) -> float:
        case = Case(name, size, Scope.ONE)
        if cpu.refuses(case):
            pytest.skip("this BLAS cannot be limited to one thread")
        run = cpu.prepare(case)
        series = measure(run, BRIEF)
        run.close()
        return 2 * run.count / min(series.seconds)

    assert rate("fma.f32", 0) > 0.9 * rate("matrix.f32", 256)


@needs_compiler
def test_handing_out_work_ends_early_where_it_takes_long(cpu: Cpu) -> None:
    assert cpu.lib is not None
    # nobody waits for so many: that it comes back says that it ended early
    told = DispatchRun(cpu.lib, 2, False).sample(1 << 62)
    # all of them, at a nanosecond each
    assert told > (1 << 62) * 1e-9


def test_use_by_others_leaves_this_process_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"busy": 100.0, "own": 7.0, "wall": 50.0}
    monkeypatch.setattr(host, "busy_s", lambda: now["busy"])
    clocks = {"process_time": lambda: now["own"], "monotonic": lambda: now["wall"]}
    monkeypatch.setattr(host, "time", SimpleNamespace(**clocks))
    monkeypatch.setattr(host.os, "cpu_count", lambda: 4)
    others = host.Others()
    now.update(busy=103.0 + 4 * host.TICK_S, own=8.0, wall=51.0)
    # two of the four seconds of processor time that passed
    assert others.share() == pytest.approx(0.5)
    now.update(wall=50.01)
    assert others.share() is None


def test_use_by_others_is_unknown_where_the_system_does_not_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host, "busy_s", lambda: None)
    assert Cpu(1, compiler=False).others(0.06) is None


@needs_compiler
def test_a_chase_goes_on_where_it_ended(cpu: Cpu) -> None:
    run = cpu.prepare(Case("chase", 1 << 20, Scope.ONE))
    before = run.tasks[0].b  # type: ignore[attr-defined]
    run.sample(1000)
    assert run.tasks[0].b != before  # type: ignore[attr-defined]
    run.close()


@needs_compiler
def test_kernels_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiled, "FLAGS", (*compiled.FLAGS, "-O0"))
    compiled.load()
    (library,) = cache_folder("kernels").iterdir()
    monkeypatch.setattr(compiled, "_build", lambda *_: pytest.fail("compiled again"))
    compiled.load()
    assert [library] == list(cache_folder("kernels").iterdir())


@needs_compiler
def test_other_flags_make_another_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiled, "FLAGS", (*compiled.FLAGS, "-O0"))
    compiled.load()
    monkeypatch.setattr(compiled, "FLAGS", (*compiled.FLAGS, "-DANOTHER"))
    compiled.load()
    assert len(list(cache_folder("kernels").iterdir())) == 2


def test_without_a_compiler_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(compiled.NoCompilerError, match="no C compiler"):
        compiled.load()
    device = Cpu().device
    assert device.notes
    assert "compiler" not in device.state


def test_a_compiler_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\n[ $1 = --version ] && exit 0\necho error: broken >&2\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(compiled.NoCompilerError, match="fails: error: broken"):
        compiled.load()
    assert not list(cache_folder("kernels").iterdir())


def test_more_threads_than_processors_are_refused() -> None:
    with pytest.raises(TargetError, match="100000 threads requested"):
        Cpu(100_000)


def test_one_thread_is_a_machine_of_one_core() -> None:
    device = Cpu(1, compiler=False).device
    assert device.cores == 1
    assert device.caches.keys() <= {"l1", "l2", "l3", "l4"}


@needs_compiler
def test_buffers_of_a_stream_hold_different_data(cpu: Cpu) -> None:
    run = cpu.prepare(Case("stream.read", 1 << 20, Scope.ONE))
    task = run.tasks[0]  # type: ignore[attr-defined]
    words = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint32 * 4096).from_address(task.b))
    assert len(np.unique(words)) > 4000
    run.close()


def test_products_give_blas_its_threads_back() -> None:
    threads = blas.threads()
    if threads is None:
        pytest.skip("a BLAS that cannot be asked")
    before = threads.get()
    run = NumpyProduct(64, "f32", 1, 1 << 20)
    assert threads.get() == 1
    run.close()
    assert threads.get() == before
    # no view that would hold the matrices
    assert run.a.size == 0
    assert run.a.base is None


@needs_compiler
@pytest.mark.parametrize("following", ["stream.read", "chase"])
def test_buffers_of_one_case_are_released_before_the_next(cpu: Cpu, following: str) -> None:
    cpu.prepare(Case("stream.read", 32 << 20, Scope.ALL))
    assert cpu.arenas[Scope.ALL].map is not None
    cpu.prepare(Case(following, 1 << 20, Scope.ONE))
    assert cpu.arenas[Scope.ALL].map is None


@needs_compiler
@pytest.mark.parametrize("scope", Scope)
def test_kernels_of_networks_are_verified_before_they_are_timed(
    cpu: Cpu, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [p.id for p in PROBES.values() if p.quantity is ProbeQuantity.NETWORK]
    for name in names:
        if not cpu.refuses(case := Case(name, 0, scope)):
            assert cpu.prepare(case).count > 1e4
    # a vector of the other width: what the kernel reads is not what plain loops wrote
    broken = SimpleNamespace(network_bytes=lambda: 64, direct_f32_count=lambda: 1.0)
    broken.direct_f32_ready = lambda a, check: 3.5 * check
    monkeypatch.setattr(cpu, "lib", broken)
    with pytest.raises(MeasurementError, match=r"direct\.f32: the kernel's answer is off by 3\.5"):
        cpu.prepare(Case("direct.f32", 0, scope))


@pytest.mark.parametrize("name", ["copy", "triad"])
def test_the_fallback_counts_the_bytes_that_its_functions_pass(
    fallback: Cpu, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = 0

    def counted(function: str, real: Callable[..., object]) -> None:
        def call(*given: object, **named: object) -> object:
            nonlocal passed
            arrays = [a for a in (*given, *named.values()) if isinstance(a, np.ndarray)]
            passed += sum(a.nbytes for a in arrays)
            return real(*given, **named)

        monkeypatch.setattr(np, function, call)

    run = fallback.prepare(Case(f"stream.{name}", 1 << 16, Scope.ONE))
    for function in ("multiply", "add", "copyto"):
        counted(function, getattr(np, function))
    run.sample(3)
    assert passed == 3 * run.count
