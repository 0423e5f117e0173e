"""The CUDA backend's host side, its sources, and its errors; none of it needs a device."""

from __future__ import annotations

import importlib.util
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfc.cli import run as run_command
from perfc.common.extras import install
from perfc.errors import MissingExtraError, TargetError
from perfc.kernels.backends import compiled, cuda, cuda_answers, cuda_runs
from perfc.kernels.backends.backend import MeasurementError
from perfc.kernels.backends.cublaslt import KINDS, Multiplier
from perfc.kernels.backends.opening import open_backend
from perfc.kernels.probe import MATRIX_TYPES, PROBES, Case, Scope
from perfc.machine import load_machine
from perfc.measuring.calibrate import MeasurementBudget, calibrate
from perfc.measuring.calibrate import run as calibrate_module

HERE = Path(__file__).parent
SOURCES = compiled.sources((".cu",))
nvcc = shutil.which("nvcc")


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("cupy", HERE / "numpy_cupy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    spec.loader.exec_module(module)
    monkeypatch.setattr(cuda, "find_library", lambda: None)
    return module


@pytest.mark.skipif(nvcc is None, reason="no nvcc")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", SOURCES)
def test_sources_compile(name: str, arch: str, tmp_path: Path) -> None:
    source = tmp_path / name
    source.write_text(SOURCES[name])
    command = [str(nvcc), "-cubin", f"-arch={arch}", "-o", str(tmp_path / "x.cubin"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


def test_every_kernel_that_is_used_is_in_its_source() -> None:
    assert SOURCES.keys() == cuda_runs.KERNELS.keys()
    for name, kernels in cuda_runs.KERNELS.items():
        for kernel in kernels:
            assert re.search(rf"\b{kernel.removesuffix('_once')}\b", SOURCES[name]), kernel


def test_constants_are_those_of_the_source() -> None:
    text = SOURCES["arithmetic.cu"]
    assert f"#define CHAINS {cuda_runs.CHAINS}\n" in text
    assert f"#define STEPS {cuda_runs.STEPS}\n" in text


def test_the_host_side_verifies_and_times_everything(stand_in: Any) -> None:
    backend = open_backend("cuda:0")
    assert backend.device.name == "NVIDIA Stand-In"
    assert backend.device.arch == "sm_90"
    assert backend.device.clock_max_hz == 1.5e9
    verified = 0
    for probe in PROBES.values():
        if not (sizes := probe.sizes(backend.device, True)):
            continue  # processors only
        case = Case(probe.id, max(sizes), probe.scopes[0])
        if backend.refuses(case):
            continue
        if probe.inputs is not None and probe.expected is not None:
            given = probe.inputs(2)
            expected = probe.expected(given)
            assert expected.error(backend.answer(probe, given)) <= expected.tolerance, probe.id
            verified += 1
        run = backend.prepare(case)
        assert run.count > 0
        assert run.sample(3) > 0
        run.close()
    assert verified >= 12


def test_what_an_architecture_lacks_is_refused_in_words(stand_in: Any) -> None:
    backend = open_backend("cuda")

    def reason(probe: str, scope: Scope = Scope.ALL) -> str:
        return backend.refuses(Case(probe, 0, scope))

    assert reason("fma.f16") == "no instruction for f16"
    assert reason("matrix.f16") == "cuBLASLt is not found"
    assert reason("fma.f32") == ""
    assert "one multiprocessor" in reason("fma.f32", Scope.ONE)
    assert reason("chase", Scope.ONE) == ""


def test_a_device_can_be_calibrated_end_to_end(
    stand_in: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        calibrate_module, "_QUICK", {"cuda": MeasurementBudget(2, 20, 0.0, math.inf)}
    )
    path = tmp_path / "card.toml"
    # launches and pageable copies are timed by the host's clock, which is the device's here
    now = SimpleNamespace(perf_counter=lambda: stand_in.CLOCK.now)
    monkeypatch.setattr(cuda_runs, "time", now)
    calibrate("cuda:0", path, quick=True)
    facts = load_machine(path).facts
    assert facts["compute.vector.f32.sustained_flop_per_s"].value == pytest.approx(2e12, rel=0.02)
    assert facts["device.clock_sustained_hz"].value == pytest.approx(1.4e9, rel=0.02)
    assert facts["memory.device.latency_s"].value == pytest.approx(2e-7, rel=0.02)
    assert facts["device.launch_graph_s"].value == pytest.approx(1e-6, rel=0.02)
    assert facts["link.host.sustained_bandwidth_bytes_per_s"].value == pytest.approx(2e10, rel=0.02)


def test_without_cupy_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingExtraError, match="needs CuPy"):
        open_backend("cuda:0")
    assert run_command(["calibrate", "--device", "cuda:0", "-o", str(tmp_path / "x.toml")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"{install('gpu')} for CUDA 12" in err
    assert not list(tmp_path.iterdir())


def test_a_driver_too_old_is_one_line(stand_in: Any) -> None:
    def too_old() -> int:
        raise stand_in.CudaError(
            "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime"
        )

    stand_in.runtime.getDeviceCount = too_old
    with pytest.raises(TargetError, match="driver version is insufficient"):
        open_backend("cuda:0")


def test_a_device_that_is_not_there_is_one_line(stand_in: Any) -> None:
    with pytest.raises(TargetError, match=r"cuda:3: there is no such device, .* 1 device$"):
        open_backend("cuda:3")


def test_threads_are_for_processors(stand_in: Any) -> None:
    with pytest.raises(TargetError, match="for the cpu only"):
        open_backend("cuda:0", threads=2)


def test_a_kernel_that_does_not_compile_is_one_line(stand_in: Any) -> None:
    class Broken(stand_in.Module):  # type: ignore[misc]
        def get_function(self, name: str) -> Any:
            raise stand_in.CompileError("memory.cu(3): error: expected a ;\nmore")

    stand_in.RawModule = Broken
    with pytest.raises(MeasurementError, match=r"does not compile: memory\.cu\(3\)"):
        open_backend("cuda:0")


@pytest.mark.parametrize("dtype", ["bf16", "f8e4m3"])
def test_bits_of_narrow_types_mean_the_values(dtype: str) -> None:
    values = np.arange(-8, 9, dtype=np.float32) / 8
    bits = np.asarray(cuda_answers.bits_of(values, dtype))
    if dtype == "bf16":
        assert np.array_equal(np.asarray(cuda_answers.values_of(bits, dtype)), values)
        return
    sign = np.where(bits >> 7, -1.0, 1.0)
    exponent, mantissa = (bits >> 3 & 15).astype(int), (bits & 7) / 8
    assert np.array_equal(
        sign * np.where(bits & 127, (1 + mantissa) * 2.0 ** (exponent - 7), 0), values
    )


class Library:
    """Answers every call of cuBLASLt with 0 and remembers it."""

    def __init__(self, found: int = 1) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.found = found

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            if name == "cublasLtMatmulAlgoGetHeuristic":
                arguments[-1]._obj.value = self.found
            return 0

        return call


@pytest.mark.parametrize("dtype", MATRIX_TYPES)
def test_products_are_described_before_they_run(dtype: str) -> None:
    library = Library()
    multiplier = Multiplier(library, KINDS[dtype], 128, 4096, 8192)  # type: ignore[arg-type]
    multiplier.run(1, 2, 3, 4)
    multiplier.close()
    names = [name for name, _ in library.calls]
    assert names.index("cublasLtMatmulDescSetAttribute") < names.index("cublasLtMatmul")
    assert names.count("cublasLtMatmulDescSetAttribute") == (4 if dtype == "f8e4m3" else 1)
    assert sum("Create" in n for n in names) == sum("Destroy" in n for n in names)
    (arguments,) = [a for n, a in library.calls if n == "cublasLtMatmul"]
    assert [arguments[i].value for i in (3, 5, 8, 10, 15)] == [1, 2, 3, 3, 4]


def test_types_without_a_product_are_refused() -> None:
    with pytest.raises(MeasurementError, match="no product of these types"):
        Multiplier(Library(found=0), KINDS["f8e4m3"], 128, 0, 0)  # type: ignore[arg-type]


def test_readings_that_fail_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from perfc.kernels.backends.nvml import Nvml

    def unsupported(*_: Any) -> float:
        raise RuntimeError("not supported")

    library = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByPciBusId=lambda bus: bus,
        nvmlDeviceGetClockInfo=lambda handle, which: 1410 if which == 1 else 1593,
        nvmlDeviceGetPowerUsage=lambda handle: 70_000,
        nvmlDeviceGetTemperature=unsupported,
        nvmlDeviceGetTotalEnergyConsumption=unsupported,
        nvmlSystemGetDriverVersion=lambda: "580.1",
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    found = Nvml("0000:00:00.0")
    assert found.state() == {"clock_hz": 1.41e9, "memory_clock_hz": 1.593e9, "power_w": 70.0}
    assert found.energy_j() is None
    assert found.busy_share() is None
    library.nvmlDeviceGetUtilizationRates = lambda handle: SimpleNamespace(gpu=37, memory=5)
    assert found.busy_share() == pytest.approx(0.37)
    assert found.driver() == "580.1"
