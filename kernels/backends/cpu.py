"""The CPU backend: compiled kernels on pinned threads, NumPy for matrix products."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.common.fitted import data_next_to
from perfc.errors import TargetError

from .. import reference
from ..probe import PROBES, Case, Probe, ProbeQuantity, Scope
from . import blas, compiled, host, numpy_runs
from .backend import Backend, Device, MeasurementError, PowerDraw, PreparedCase
from .compiled import LINE, PAD, Arena, NativeTask, mapped, timed

if TYPE_CHECKING:
    from ..reference import Array, Inputs

_DATA = data_next_to(__file__)
_STREAMS, _LANE_BYTES = _DATA["streams"], _DATA["lane_bytes"]
"""Buffers that each bandwidth kernel goes through; bytes of one element in a vector register."""
_L1_FLOATS = 2048
"""Elements of a buffer and of its result, 8 KiB each, which an L1 cache holds."""


class KernelRun:
    """A compiled kernel on one or all cores; ``keep`` refers to its buffers while it runs."""

    def __init__(
        self,
        lib: ctypes.CDLL,
        kernel: str,
        tasks: list[NativeTask],
        cpus: tuple[int, ...],
        count: float,
        keep: object = None,
    ) -> None:
        self.lib, self.kernel, self.tasks, self.cpus = lib, kernel, tasks, cpus
        self.count, self.keep = count, keep

    def sample(self, repeats: int) -> float:
        """Return the seconds from the first thread's start to the last one's end."""
        for task in self.tasks:
            task.repeats = repeats
        return timed(self.lib, self.kernel, self.tasks, self.cpus)

    def close(self) -> None:
        """Release the buffers."""
        self.keep = None


class DispatchRun:
    """Dispatch of empty work to a pool of threads, until all threads are done.

    Threads that wait for work sleep if ``blocks``, else they spin.
    """

    count = 1.0

    def __init__(self, lib: ctypes.CDLL, threads: int, blocks: bool) -> None:
        self.lib, self.threads, self.blocks = lib, threads, blocks

    def sample(self, repeats: int) -> float:
        """Return the seconds of ``repeats`` rounds."""
        return float(self.lib.dispatch(self.threads, int(self.blocks), ctypes.c_int64(repeats)))

    def close(self) -> None:
        """Do nothing: no buffers are held."""


class Cpu:
    """Probes on the processor.

    Args:
        threads: number of threads; 0 for one per core that this process may use.
        compiler: False to measure with NumPy alone.
    """

    def __init__(self, threads: int = 0, *, compiler: bool = True) -> None:
        self.cpus = host.processors(threads)
        if threads and len(self.cpus) < threads:
            raise TargetError(f"{threads} threads requested, {len(self.cpus)} processors allowed")
        self.lib: ctypes.CDLL | None = None
        device = host.describe(self.cpus)
        state = {**device.state, "blas": blas.description()}
        notes = list(device.notes)
        try:
            if not compiler:
                raise compiled.NoCompilerError("compiled kernels are off")
            self.lib, state["compiler"] = compiled.load()
        except compiled.NoCompilerError as error:
            notes.append(f"{error}; caches, latencies and vector rates as far as NumPy shows them")
        if self.lib is not None:
            # without a type, ctypes would read the seconds as integers
            self.lib.run_here.restype = self.lib.run_threads.restype = ctypes.c_double
            self.lib.dispatch.restype = ctypes.c_double
            # bytes of a vector, chains of a kernel, and steps of a repeat, as compiled
            self.vector_bytes, self.chains, self.steps = map(self.lib.shape_of_work, range(3))
        self._device = replace(device, state=state, notes=tuple(notes))
        self.arenas = {Scope.ONE: Arena(), Scope.ALL: Arena()}

    @property
    def device(self) -> Device:
        """Return the processor."""
        return self._device

    def refuses(self, case: Case) -> str:
        """Return the reason why this backend cannot measure a case, "" if it can."""
        kind, _, what = case.probe.partition(".")
        probe, kernel = PROBES[case.probe], case.probe.replace(".", "_")
        if kind == "link":
            return "not applicable to processors: no link"
        # products are those of BLAS; without a compiler NumPy does the rest too
        if kind == "matrix" or self.lib is None:
            return numpy_runs.refuses(case, is_fallback=self.lib is None)
        match kind:
            case "fma" | "dot" if not hasattr(self.lib, f"{kind}_{what}"):
                return f"no instruction for {what}"
            case "special" if not hasattr(self.lib, f"special_{what}"):
                return "a processor computes it from the others"
            case _ if probe.quantity is ProbeQuantity.NETWORK and not hasattr(self.lib, kernel):
                return f"no instruction for {what}"
            case "launch" if what == "framework":
                return "not applicable to processors: no host"
            case "launch" if what in ("eager", "wake") and len(self.cpus) < 2:
                return "one thread needs no pool"
        return ""

    def answer(self, probe: Probe, given: Inputs) -> Array:
        """Return the results of the probe's kernel for the operands of its verification."""
        if probe.quantity is ProbeQuantity.MATRIX:
            return numpy_runs.product(given)
        if self.lib is None:
            return numpy_runs.answer(probe, given)
        match probe.quantity:
            case ProbeQuantity.VECTOR | ProbeQuantity.DOT:
                return self._chained(probe, given)
            case ProbeQuantity.LATENCY:
                return self._chased(given)
            case _:
                return self._streamed(probe, given)

    def _call(self, kernel: str, task: NativeTask) -> int:
        """Run a kernel on one thread and return its answer."""
        assert self.lib is not None
        timed(self.lib, kernel, [task], self.cpus[:1])
        return int(task.answer)

    def _chained(self, probe: Probe, given: Inputs) -> Array:
        """Return the result vector by vector: kernels use as many lanes as the processor has."""
        import numpy as np

        kernel = probe.id.replace(".", "_")
        # the first arguments of a task are the addresses of a result and of two operands
        rounds = reference.STEPS // self.steps
        if probe.quantity is ProbeQuantity.VECTOR:
            x = _aligned(given["x"])
            size = self.vector_bytes * self.chains
            for offset in range(0, x.nbytes, size):
                # the last chunk overlaps the one before, so each is computed from the operands
                offset = min(offset, x.nbytes - size)
                place = x.ctypes.data + offset
                source = _aligned(given["x"].view(np.uint8)[offset : offset + size])
                self._call(kernel, NativeTask(place, source.ctypes.data, repeats=rounds))
            return x
        lane_type = np.int32 if probe.dtype == "i8" else np.float32
        results: list[Array] = []
        p, q = _aligned(given["p"]), _aligned(given["q"])
        width = self.vector_bytes if probe.dtype == "bf16" else self._dot_bytes()
        sums = _aligned(np.zeros(self.vector_bytes * self.chains // 4, lane_type))
        # all chains of a kernel multiply one vector of p by one of q: the first has the answer
        for offset in range(0, p.nbytes, width):
            p_at, q_at = p.ctypes.data + offset, q.ctypes.data + offset
            self._call(kernel, NativeTask(sums.ctypes.data, p_at, q_at, repeats=rounds))
            # one lane of 32 bits for each four bytes of an operand
            results.append(sums[: width // 4].copy())
        return np.concatenate(results)

    def _dot_bytes(self) -> int:
        """Return the bytes of one operand of the dot product of bytes."""
        assert self.lib is not None
        return int(self.lib.dot_i8_bytes())

    def _chased(self, given: Inputs) -> Array:
        """Return the line at which a walk over pointers ends."""
        import numpy as np

        pointers = _pointers(given["next"])
        steps = int(given["steps"][0])
        end = self._call("pointer_chase", NativeTask(b=pointers.ctypes.data, repeats=steps))
        return np.array([end // LINE], np.int64)

    def _streamed(self, probe: Probe, given: Inputs) -> Array:
        """Return the result of one pass over the operands; of a read, the sum of its words."""
        import numpy as np

        operands = [_aligned(v) for v in given.values()]
        result = _aligned(np.zeros_like(operands[0]))
        kind, _, what = probe.id.partition(".")
        kernel = f"{what}_stream" if kind == "stream" else f"special_{what}"
        b, c = operands[0].ctypes.data, operands[-1].ctypes.data
        total = self._call(
            kernel, NativeTask(result.ctypes.data, b, c, bytes=result.nbytes, repeats=1)
        )
        return np.array([total], np.uint32) if what == "read" else result

    def prepare(self, case: Case) -> PreparedCase:
        """Allocate and fill the buffers of a case."""
        probe = PROBES[case.probe]
        if probe.quantity is ProbeQuantity.MATRIX or self.lib is None:
            return numpy_runs.prepare(case, self._device)
        cpus = self.cpus if case.scope is Scope.ALL else self.cpus[:1]
        what = case.probe.partition(".")[2]
        # a sweep of one scope goes on in its buffers, all others make room
        for scope, arena in self.arenas.items():
            if probe.quantity is not ProbeQuantity.BANDWIDTH or scope is not case.scope:
                arena.release()
        match probe.quantity:
            case ProbeQuantity.VECTOR | ProbeQuantity.DOT:
                return self._registers(probe, cpus)
            case ProbeQuantity.SPECIAL:
                return self._over_l1(what, cpus)
            case ProbeQuantity.BANDWIDTH:
                return self._stream(what, case, cpus)
            case ProbeQuantity.LATENCY:
                pointers = _pointers(reference.cycle(case.size // LINE, case.size))
                task = NativeTask(b=pointers.ctypes.data, repeats=case.size // LINE)
                # one walk before the measurement, where it is short, brings a cycle into its cache
                if case.size <= 64 << 20:
                    self._call("pointer_chase", task)
                return KernelRun(self.lib, "pointer_chase", [task], cpus, 1.0, pointers)
            case ProbeQuantity.NETWORK:
                return self._network(case.probe, cpus)
            case ProbeQuantity.CLOCK:
                # 64 dependent additions a repeat, each one clock
                return KernelRun(self.lib, "one_clock_each", [NativeTask()], cpus, 64.0)
            case ProbeQuantity.LAUNCH if what == "graph":
                return KernelRun(self.lib, "call", [NativeTask()], cpus[:1], 1.0)
            case ProbeQuantity.LAUNCH:
                return DispatchRun(self.lib, len(cpus), what == "wake")
            case _:
                raise MeasurementError(f"no way to measure {case.probe}")

    def _registers(self, probe: Probe, cpus: tuple[int, ...]) -> PreparedCase:
        """Return a kernel on values in registers, loaded once; its count is in lanes."""
        import numpy as np

        assert self.lib is not None
        kernel = probe.id.replace(".", "_")
        width = self.vector_bytes * self.chains
        # operands and a result for each core, in f32 of four bytes
        operands = _aligned(np.ones(width * 2 * len(cpus) // 4, np.float32))
        tasks = [
            NativeTask(start + width, start, start, repeats=1)
            for start in (operands.ctypes.data + 2 * width * i for i in range(len(cpus)))
        ]
        lanes = self.vector_bytes // _LANE_BYTES[probe.dtype]
        if kernel == "dot_i8":
            lanes = self._dot_bytes()
        count = lanes * self.chains * self.steps * len(cpus)
        return KernelRun(self.lib, kernel, tasks, cpus, float(count), operands)

    def _over_l1(self, what: str, cpus: tuple[int, ...]) -> PreparedCase:
        """Return a special function over buffers that stay in L1."""
        import numpy as np

        assert self.lib is not None
        size = 4 * _L1_FLOATS
        # any seed; between 0.5 and 4 every function has a finite result
        values = np.random.default_rng(2).uniform(0.5, 4, 2 * _L1_FLOATS * len(cpus))
        data = _aligned(values.astype(np.float32))
        tasks = [
            NativeTask(start, start + size, bytes=size, repeats=1)
            for start in (data.ctypes.data + 2 * size * i for i in range(len(cpus)))
        ]
        count = float(_L1_FLOATS * len(cpus))
        return KernelRun(self.lib, f"special_{what}", tasks, cpus, count, data)

    def _network(self, probe: str, cpus: tuple[int, ...]) -> PreparedCase:
        """Return a kernel with filled buffers, the first of them verified.

        Raises:
            MeasurementError: its answer is not that of plain loops.
        """
        import numpy as np

        assert self.lib is not None
        kernel, each_bytes = probe.replace(".", "_"), int(self.lib.network_bytes())
        # C functions: one fills a core's buffers and returns the error, one counts a repeat's work
        ready, count = (getattr(self.lib, f"{kernel}_{part}") for part in ("ready", "count"))
        ready.restype = count.restype = ctypes.c_double
        space = _aligned(np.zeros(each_bytes * len(cpus), np.uint8))
        tasks = [
            NativeTask(space.ctypes.data + i * each_bytes, repeats=1) for i in range(len(cpus))
        ]
        errors = [ready(ctypes.c_void_p(t.a), int(t is tasks[0])) for t in tasks]
        if any(errors):
            raise MeasurementError(f"{probe}: the kernel's answer is off by {max(errors):.2g}")
        return KernelRun(self.lib, kernel, tasks, cpus, count() * len(cpus), space)

    def _stream(self, what: str, case: Case, cpus: tuple[int, ...]) -> PreparedCase:
        """Return a bandwidth kernel whose buffers have the size of the case together."""
        assert self.lib is not None
        streams = _STREAMS[what]
        # multiples of the 512 bytes that a kernel passes over at once, eight vectors of AVX-512
        buffer_bytes = case.size // len(cpus) // streams // 512 * 512
        arena = self.arenas[case.scope]
        arena.reserve(self.lib, cpus, buffer_bytes * streams)
        tasks = list[NativeTask]()
        for i in range(len(cpus)):
            start = arena.address + i * arena.part
            places = [start + k * (buffer_bytes + PAD) for k in range(streams)]
            # the kernel of a single buffer gets it for every operand
            b = places[1] if streams > 1 else start
            tasks.append(NativeTask(start, b, places[-1], bytes=buffer_bytes, repeats=1))
        count = float(buffer_bytes * streams * len(cpus))
        return KernelRun(self.lib, f"{what}_stream", tasks, cpus, count)

    def state(self) -> Mapping[str, float]:
        """Return the current clock."""
        if self.lib is None:
            return {}
        task = NativeTask(repeats=1000)
        cpus = self.cpus[:1]
        best = min(timed(self.lib, "one_clock_each", [task], cpus) for _ in range(3))
        # 1000 repeats of 64 clocks
        return {"clock_hz": 64_000 / best} if best > 0 else {}

    def others(self, seconds: float) -> float | None:
        """Return the share by the system's count of busy processors."""
        others = host.Others()
        time.sleep(seconds)
        return others.share()

    def load(self, case: Case | None, seconds: float) -> PowerDraw | None:
        """Return the power by RAPL, None if the system does not permit reading it."""
        before = host.energy_j()
        if before is None:
            return None
        run = self.prepare(case) if case is not None else None
        start, done = time.perf_counter(), 0
        if run is None:
            time.sleep(seconds)
        else:
            # filling the buffers is no part of the load
            before = host.energy_j() or before
            start = time.perf_counter()
            while time.perf_counter() - start < seconds:
                run.sample(1)
                done += 1
        elapsed = time.perf_counter() - start
        after = host.energy_j()
        if run is not None:
            run.close()
        # The counter wraps within hours; one window without a reading is no loss.
        if after is None or after <= before:
            return None
        work = PROBES[case.probe].work * run.count * done / elapsed if case and run else 0.0
        return PowerDraw((after - before) / elapsed, work)


def _aligned(values: Array) -> Array:
    """Return a copy aligned to a cache line."""
    import numpy as np

    space = np.empty(values.nbytes + LINE, np.uint8)
    offset = -space.ctypes.data % LINE
    copy = space[offset : offset + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def _pointers(following: Array) -> Array:
    """Return one pointer per cache line, each to the line that follows."""
    import numpy as np

    slots = len(following)
    words = LINE // 8
    space = np.frombuffer(mapped(slots * LINE), np.uint64)
    space[::words] = np.uint64(space.ctypes.data) + following.astype(np.uint64) * np.uint64(LINE)
    return space


def open_cpu(threads: int) -> Backend:
    """Return the processor, with compiled kernels if a compiler is available."""
    return Cpu(threads)
