"""The CUDA backend: CuPy for memory, kernels and graphs, cuBLASLt for products."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from perfc.common.extras import install
from perfc.errors import MissingExtraError, TargetError

from .. import reference
from ..probe import PROBES, Case, Probe, ProbeQuantity, Scope
from . import compiled, cuda_answers, cuda_runs, framework_runs
from .backend import Backend, Device, MeasurementError, PowerDraw, PreparedCase
from .cublaslt import KINDS, WORKSPACE_BYTES, Multiplier, find_library
from .nvml import Nvml

if TYPE_CHECKING:
    from ..reference import Array, Inputs

_SPECIAL = ("exp2", "rsqrt", "reciprocal")
"""Functions that the special-function unit has an instruction for."""
_CHAIN_DTYPES = {"f64": "f8", "f32": "f4", "f16": "u4", "bf16": "u4", "i32": "i4", "i8": "i4"}
"""NumPy types of the buffers of chains; values below 32 bits are packed into words."""


class Cuda:
    """Probes on one CUDA device."""

    def __init__(self, cupy: Any, index: int) -> None:
        self.cupy = cupy
        self.cuda_device = cupy.cuda.Device(index)
        self.cuda_device.use()
        runtime = cupy.cuda.runtime
        self.nvml = Nvml(runtime.deviceGetPCIBusId(index))
        self.capability = int(self.cuda_device.compute_capability)
        self._device = self._describe(runtime, index)
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.functions = self._compile()
        self.blas = find_library()
        self.workspace = cupy.cuda.alloc(WORKSPACE_BYTES)
        self.one = cupy.ones(1, "f4")  # scale of 8-bit operands
        self.products: dict[str, str] = {}  # by type, why it has no product; "" if it has one

    def _describe(self, runtime: Any, index: int) -> Device:
        """Return the device as CUDA's runtime and NVML describe it."""
        properties = runtime.getDeviceProperties(index)
        free, total = runtime.memGetInfo()
        name = properties["name"]
        driver = self.nvml.driver() or "not readable"
        version, cores = runtime.runtimeGetVersion(), int(properties["multiProcessorCount"])
        # kHz; with CUDA 13 it is only an attribute
        clock = properties.get("clockRate") or self.cuda_device.attributes.get("ClockRate", 0)
        return Device(
            kind="cuda",
            name=name.decode() if isinstance(name, bytes) else str(name),
            vendor="NVIDIA",
            arch=f"sm_{self.capability}",
            cores=cores,
            memory_bytes=int(total),
            # margins, the larger one for working sets: modules, graphs and the workspace of
            # products take memory later
            free_bytes=int(free * 0.9),
            most_bytes=int(free * 0.85),
            caches={  # CUDA reports no size of L1: shared memory, which is cut out of it, stands in
                "l1": int(properties.get("sharedMemPerMultiprocessor", 0)) * cores,
                "l2": int(properties.get("l2CacheSize", 0)),
            },
            clock_max_hz=float(clock) * 1e3,
            state={
                "driver": f"{driver}, CUDA runtime {version // 1000}.{version % 1000 // 10}",
                "clocks": "as found, neither locked nor changed",
                "compiler": f"NVRTC, CuPy {self.cupy.__version__}",
            },
        )

    def _compile(self) -> dict[str, Any]:
        """Return every kernel by name, without those that this architecture lacks."""
        functions: dict[str, Any] = {}
        for name, text in compiled.sources((".cu",)).items():
            try:
                module = self.cupy.RawModule(code=text, options=("-std=c++17",))
                for kernel in cuda_runs.KERNELS[name]:
                    try:
                        function = module.get_function(kernel)
                        assert function.num_regs > 0  # reading it loads the kernel
                    except self.cupy.cuda.driver.CUDADriverError:
                        continue
                    functions[kernel] = function
            except self.cupy.cuda.compiler.CompileException as error:
                first = (str(error).strip().splitlines() or ["no message"])[0]
                raise MeasurementError(f"{name} does not compile: {first[:160]}") from None
        return functions

    @property
    def device(self) -> Device:
        """Return the device."""
        return self._device

    def refuses(self, case: Case) -> str:
        """Return the reason why this backend cannot measure a case, "" if it can."""
        kind, _, what = case.probe.partition(".")
        if case.scope is Scope.ONE and kind not in ("chase", "clock"):
            return "one multiprocessor alone is not measured"
        match kind:
            case "fma" | "dot" if f"{kind}_{what}" not in self.functions:
                return f"no instruction for {what}"
            case "special" if what not in _SPECIAL:
                return "the device computes it from the others"
            case "launch" if what == "wake":
                return "a device has no threads that sleep"
            case "launch" if what == "framework":
                return framework_runs.lacking("cuda")
            case "matrix":
                return self._lacks(what)
        return ""

    def _lacks(self, dtype: str) -> str:
        """Return the reason why products of this type are unavailable; computed once."""
        if dtype not in self.products:
            kind = KINDS[dtype]
            if self.blas is None:
                self.products[dtype] = "cuBLASLt is not found"
            elif self.capability < kind.capability:
                self.products[dtype] = f"no tensor core instruction for {dtype}"
            else:
                try:
                    # a small product shows whether the library has any
                    self._multiplier(dtype, 256).close()
                    self.products[dtype] = ""
                except MeasurementError as error:
                    self.products[dtype] = error.message
        return self.products[dtype]

    def _multiplier(self, dtype: str, extent: int) -> Multiplier:
        """Return a square product by cuBLASLt."""
        assert self.blas is not None
        return Multiplier(self.blas, KINDS[dtype], extent, self.workspace.ptr, self.one.data.ptr)

    def answer(self, probe: Probe, given: Inputs) -> Array:
        """Return the results of the probe's kernel for the operands of its verification."""
        with self.stream:
            match probe.quantity:
                case ProbeQuantity.MATRIX:
                    multiplier = self._multiplier(probe.dtype, reference.EXTENT)
                    return cuda_answers.product(self, multiplier, probe.dtype, given)
                case ProbeQuantity.VECTOR:
                    return cuda_answers.chain(self, probe, given)
                case ProbeQuantity.DOT:
                    return cuda_answers.dot(self, given)
                case ProbeQuantity.SPECIAL:
                    return cuda_answers.special(self, probe, given)
                case ProbeQuantity.LATENCY:
                    return cuda_answers.chase(self, given)
                case _:
                    return cuda_answers.stream(self, probe.id.partition(".")[2], given)

    def prepare(self, case: Case) -> PreparedCase:
        """Allocate and fill the buffers of a case."""
        try:
            with self.stream:
                return self._prepare(case)
        except self.cupy.cuda.memory.OutOfMemoryError:
            self.cupy.get_default_memory_pool().free_all_blocks()
            raise MemoryError from None

    def _prepare(self, case: Case) -> PreparedCase:
        """Return a case with its buffers on the current stream."""
        probe = PROBES[case.probe]
        what = case.probe.partition(".")[2]
        match probe.quantity:
            case ProbeQuantity.MATRIX:
                return cuda_runs.ProductRun(
                    self, self._multiplier(what, case.size), what, case.size
                )
            case ProbeQuantity.VECTOR | ProbeQuantity.DOT | ProbeQuantity.SPECIAL:
                storage = _CHAIN_DTYPES[probe.dtype]
                return cuda_runs.ChainRun(self, case.probe.replace(".", "_"), storage, probe.dtype)
            case ProbeQuantity.BANDWIDTH:
                return cuda_runs.StreamRun(self, what, case.size)
            case ProbeQuantity.LATENCY:
                return cuda_runs.ChaseRun(self, case.size)
            case ProbeQuantity.CLOCK:
                return cuda_runs.ClockRun(self)
            case ProbeQuantity.LAUNCH if what == "graph":
                return cuda_runs.GraphRun(self)
            case ProbeQuantity.LAUNCH if what == "framework":
                return framework_runs.FrameworkRun(f"cuda:{self.cuda_device.id}")
            case ProbeQuantity.LAUNCH:
                return cuda_runs.EagerRun(self)
            case _:
                return cuda_runs.LinkRun(self, what, case.size)

    def state(self) -> Mapping[str, float]:
        """Return clocks, power and temperature by NVML."""
        return self.nvml.state()

    def others(self, seconds: float) -> float | None:
        """Return NVML's share of time in which a kernel ran; this process launches none."""
        time.sleep(seconds)
        return self.nvml.busy_share()

    def load(self, case: Case | None, seconds: float) -> PowerDraw | None:
        """Return the power by NVML's energy counter, or by its power reading without a counter."""
        if self.nvml.power_w() is None:
            return None
        run = self.prepare(case) if case is not None else None
        if run is not None:
            run.sample(1)  # loading at first use is not part of the load
        powers, done = list[float](), 0
        before, start = self.nvml.energy_j(), time.perf_counter()
        while time.perf_counter() - start < seconds:
            # idle, the power is read every 20 ms; under load, after each sample
            if run is None:
                time.sleep(0.02)
            else:
                run.sample(1)
                done += 1
            powers.append(self.nvml.power_w() or 0.0)
        elapsed, after = time.perf_counter() - start, self.nvml.energy_j()
        if run is not None:
            run.close()
        power = sum(powers) / len(powers)
        if before is not None and after is not None and after > before:
            power = (after - before) / elapsed
        work = PROBES[case.probe].work * run.count * done / elapsed if case and run else 0.0
        return PowerDraw(power, work)


def open_cuda(index: int) -> Backend:
    """Return the device with this number.

    Raises:
        MissingExtraError: CuPy is not installed.
        TargetError: there is no such device, or its driver is too old.
    """
    where = f"cuda:{index}"
    try:
        cupy = import_module("cupy")
    except ModuleNotFoundError:
        raise MissingExtraError(
            "needs CuPy",
            hint=f"{install('gpu')} for CUDA 12, {install('gpu13')} for CUDA 13",
            where=where,
        ) from None
    except ImportError as error:
        first = (str(error).strip().splitlines() or ["no message"])[0]
        raise TargetError(
            f"CuPy does not load: {first[:120]}", hint="is the NVIDIA driver there?", where=where
        ) from None
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        reason = str(error).partition(": ")[2] or str(error)
        raise TargetError(
            f"no CUDA device can be used: {reason[:120]}",
            hint="is there an NVIDIA driver, and is it new enough for this CuPy?",
            where=where,
        ) from None
    if index >= count:
        devices = f"{count} device" + ("s" if count != 1 else "")
        raise TargetError(f"there is no such device, the driver shows {devices}", where=where)
    try:
        return Cuda(cupy, index)
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        reason = str(error).strip().splitlines()[0]
        raise TargetError(f"the device does not answer: {reason[:120]}", where=where) from None
