"""A stand-in for CuPy that computes with NumPy and keeps a clock of its own.

It has just what the CUDA backend uses; kernels are given as Python functions with the meaning of
those in ``native/*.cu``, so that the host's side can be tested without a device.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace, TracebackType
from typing import Any, Self

import numpy as np

CHAINS, STEPS = 8, 16
CORES = 4
L2_BYTES = 1 << 20


class Array(np.ndarray):
    """An array whose ``data.ptr`` is its address."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)


def as_array(values: Any) -> Array:
    return np.array(values, copy=True).view(Array)


class CompileError(Exception):
    pass


class DriverError(RuntimeError):
    pass


class CudaError(RuntimeError):
    pass


class OutOfMemoryError(MemoryError):
    pass


class Device:
    compute_capability = "90"

    def __init__(self, index: int) -> None:
        self.attributes = {"ClockRate": 1_500_000}

    def use(self) -> None:
        pass


class Clock:
    """Seconds of the device; streams and events read it."""

    def __init__(self) -> None:
        self.now = 0.0


CLOCK = Clock()


class Event:
    def record(self, stream: Stream) -> None:
        self.at = CLOCK.now

    def synchronize(self) -> None:
        pass


class Graph:
    def __init__(self, nodes: int) -> None:
        self.nodes = nodes

    def launch(self, stream: Stream) -> None:
        CLOCK.now += self.nodes * 1e-6


class Stream:
    ptr = 7

    def __init__(self, non_blocking: bool = False) -> None:
        self.begun = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def begin_capture(self) -> None:
        self.begun = CLOCK.now

    def end_capture(self) -> Graph:
        return Graph(100)


def chain(name: str, out: Array, start: Array, given: int, repeats: int) -> None:
    """Chains of ``native/arithmetic.cu``, on packed halves where the type is 16 bits."""
    x = start[np.arange(min(out.size, 4096)) % given].view(np.ndarray)
    for _ in range(min(repeats, 1) * STEPS):
        match name:
            case "fma_f16":
                x = (x.view("f2") * np.float16(0.75) + np.float16(0.25)).view("u4")
            case "fma_bf16":
                wide = (x.view("u2").astype("u4") << 16).view("f4") * np.float32(0.75)
                rounded = (wide + np.float32(0.25)).view("u4") + np.uint32(0x8000)
                x = (rounded >> 16).astype("u2").view("u4")
            case "fma_i32":
                x = x * np.int32(5) + np.int32(7)
            case "special_exp2" | "special_rsqrt" | "special_reciprocal":
                break
            case _:
                x = x * x.dtype.type(0.75) + x.dtype.type(0.25)
    out[: x.size] = x
    CLOCK.now += out.size * STEPS * int(repeats) / 1e12


def once(name: str, out: Array, start: Array, given: int) -> None:
    x = start.view(np.ndarray)
    with np.errstate(all="ignore"):
        out[:] = {
            "special_exp2_once": np.exp2,
            "special_rsqrt_once": lambda v: 1 / np.sqrt(v),
            "special_reciprocal_once": lambda v: 1 / v,
        }[name](x)


def dot(out: Array, p: Array, q: Array, given: int, repeats: int) -> None:
    a, b = (v.view(np.ndarray).view("i1").astype("i4").reshape(-1, 4) for v in (p, q))
    sums = (a * b).sum(1, dtype="i4") * np.int32(STEPS)
    out[:given] = sums[:given]
    CLOCK.now += out.size * STEPS * int(repeats) / 1e12


def stream(
    name: str, blocks: int, a: Array, b: Array, c: Array, words: int, repeats: int, total: Array
) -> None:
    count = blocks * words * 4
    if count > 1 << 16:
        pass  # timed, not looked at
    elif name in ("read_stream", "near_stream"):
        total[0] = np.sum(b[:count].view("u4"), dtype="u4")
    elif name == "write_stream":
        a[:count] = np.resize(b[:4], count)
    elif name == "copy_stream":
        a[:count] = b[:count]
    else:
        f = [v[:count].view(np.ndarray).view("f4") for v in (b, c)]
        with np.errstate(all="ignore"):
            a[:count] = (f[0] + np.float32(1.5) * f[1]).view(a.dtype)
    streams = {"copy_stream": 2, "triad_stream": 3}.get(name, 1)
    nbytes = 4.0 * count * streams
    rate = 4e12 if name == "near_stream" else 2e12 if nbytes <= L2_BYTES else 5e11
    CLOCK.now += nbytes * int(repeats) / rate


def chase(place: Array, steps: int) -> None:
    p = int(place[0])
    for _ in range(min(steps, 2000)):
        p = ctypes.c_uint64.from_address(p).value
    place[0] = p
    CLOCK.now += int(steps) * 2e-7


class Kernel:
    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def num_regs(self) -> int:
        if self.name == "fma_f16":
            raise DriverError("CUDA_ERROR_NOT_FOUND: named symbol not found")
        return 32

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]
    ) -> None:
        if self.name == "nothing":
            CLOCK.now += 1e-6
        elif self.name == "spin":
            CLOCK.now += int(args[0]) / 1.4e9
        elif self.name == "pointer_chase":
            chase(*args)
        elif self.name.endswith("_stream"):
            stream(self.name, grid[0], *args)
        elif self.name == "dot_i8":
            dot(*args)
        elif self.name.endswith("_once"):
            once(self.name, *args)
        else:
            chain(self.name, *args)


class Module:
    def __init__(self, code: str, options: tuple[str, ...]) -> None:
        self.code = code

    def get_function(self, name: str) -> Kernel:
        assert name.removesuffix("_once") in self.code, name
        return Kernel(name)


def copied(to: int, source: int, nbytes: int, kind: int, stream: int) -> None:
    ctypes.memmove(to, source, nbytes)
    CLOCK.now += nbytes / 20e9 + 1e-5


PROPERTIES = {
    "name": b"NVIDIA Stand-In",
    "multiProcessorCount": CORES,
    "l2CacheSize": L2_BYTES,
    "sharedMemPerMultiprocessor": 1 << 16,
}
runtime = SimpleNamespace(
    CUDARuntimeError=CudaError,
    getDeviceCount=lambda: 1,
    getDeviceProperties=lambda index: PROPERTIES,
    deviceGetPCIBusId=lambda index: "0000:00:00.0",
    memGetInfo=lambda: (60 << 20, 64 << 20),
    runtimeGetVersion=lambda: 13000,
    memcpyAsync=copied,
)
cuda = SimpleNamespace(
    Device=Device,
    Stream=Stream,
    Event=Event,
    runtime=runtime,
    driver=SimpleNamespace(CUDADriverError=DriverError),
    compiler=SimpleNamespace(CompileException=CompileError),
    memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    alloc=lambda nbytes: SimpleNamespace(ptr=0, keep=nbytes),
    alloc_pinned_memory=bytearray,
    get_elapsed_time=lambda a, b: (b.at - a.at) * 1e3,
)
random = SimpleNamespace(
    randint=lambda low, high, size, dtype="l": as_array(
        np.random.default_rng(0).integers(low, high, size)
    ).astype(dtype),
    standard_normal=lambda size, dtype="f8": as_array(
        np.random.default_rng(0).standard_normal(size)
    ).astype(dtype),
)
__version__ = "0"
RawModule = Module


def asarray(values: Any) -> Array:
    return as_array(values)


def asnumpy(values: Array) -> Any:
    return np.array(values.view(np.ndarray))


def zeros(shape: int, dtype: Any = "f8") -> Array:
    return as_array(np.zeros(shape, dtype))


def ones(shape: int, dtype: Any = "f8") -> Array:
    return as_array(np.ones(shape, dtype))


def full(shape: int, value: int, dtype: Any) -> Array:
    return as_array(np.full(shape, value, dtype))


def zeros_like(values: Array) -> Array:
    return as_array(np.zeros_like(values))


def resize(values: Array, shape: int) -> Array:
    return as_array(np.resize(values, shape))


def get_default_memory_pool() -> Any:
    return SimpleNamespace(free_all_blocks=lambda: None)
