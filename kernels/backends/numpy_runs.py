"""Runs by NumPy: matrix products through BLAS, and streams if nothing is compiled."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from ..probe import Case, Probe, Scope
from . import blas

if TYPE_CHECKING:
    from ..reference import Array, Inputs
    from .backend import Device

MATRIX_TYPES = ("f32", "f64")
"""Element types that BLAS multiplies; NumPy multiplies the others in plain loops."""
_SPECIAL = ("exp", "exp2", "sqrt", "reciprocal")
"""Special functions that NumPy has under the name of the probe."""


class NumpyProduct:
    """``c = a b`` over rotating buffers, so that small operands are not cached either."""

    def __init__(self, size: int, dtype: str, threads: int, cache_bytes: int) -> None:
        import numpy as np

        self.threads, self.usual = blas.threads(), 0
        if self.threads is not None:
            self.usual = self.threads.get()
            self.threads.set(threads)
        rng = np.random.default_rng(size)
        kind = {"f32": np.float32, "f64": np.float64}[dtype]
        nbytes = 3 * size * size * np.dtype(kind).itemsize
        # at least two sets of matrices alternate; up to eight, so that they exceed the cache
        sets = max(2, min(8, 2 * cache_bytes // nbytes))
        shape = (sets, size, size)
        # operands of both signs, so that sums stay small
        self.a = rng.random(shape, np.float32).astype(kind) - kind(0.5)
        self.b = rng.random(shape, np.float32).astype(kind) - kind(0.5)
        self.c = np.zeros(shape, kind)
        self.multiply = np.matmul
        self.count = float(size) ** 3
        self.turn = 0

    def sample(self, repeats: int) -> float:
        """Time consecutive products."""
        sets = len(self.a)
        start = time.perf_counter()
        # matrices go on where the last sample ended, so that none is in cache
        for turn in range(self.turn, self.turn + repeats):
            i = turn % sets
            self.multiply(self.a[i], self.b[i], out=self.c[i])
        elapsed = time.perf_counter() - start
        self.turn += repeats
        return elapsed

    def close(self) -> None:
        """Release the matrices, and restore the number of BLAS threads."""
        if self.threads is not None:
            self.threads.set(self.usual)
        # a copy: a view without elements would hold all of ``a``
        self.a = self.b = self.c = self.a[:0].copy()


class Calls:
    """One repeated call per thread: NumPy functions that release the global interpreter lock."""

    def __init__(self, calls: list[Callable[[], object]], count: float) -> None:
        self.calls, self.count = calls, count
        self.pool = ThreadPoolExecutor(len(calls)) if len(calls) > 1 else None

    def sample(self, repeats: int) -> float:
        """Return the seconds from a common start to the last end."""

        def again(call: Callable[[], object]) -> None:
            for _ in range(repeats):
                call()

        start = time.perf_counter()
        if self.pool is None:
            again(self.calls[0])
        else:
            list(self.pool.map(again, self.calls))
        return time.perf_counter() - start

    def close(self) -> None:
        """End the threads and release the buffers."""
        if self.pool is not None:
            self.pool.shutdown()
        self.calls = []


def refuses(case: Case, *, is_fallback: bool) -> str:
    """Return the reason why NumPy cannot measure this case, "" if it can."""
    kind, _, what = case.probe.partition(".")
    if kind == "matrix":
        if what not in MATRIX_TYPES:
            return f"NumPy has no fast product of {what}"
        if case.scope is Scope.ONE and blas.threads() is None:
            return "this BLAS cannot be limited to one thread"
        return ""
    if is_fallback and (kind == "stream" or (kind == "special" and what in _SPECIAL)):
        return ""
    return "needs a C compiler" if is_fallback else "not done with NumPy"


def product(given: Inputs) -> Array:
    """Return the product of a verification's operands."""
    import numpy as np

    return np.asarray(np.matmul(given["a"], given["b"]))


def answer(probe: Probe, given: Inputs) -> Array:
    """Return the results of the fallback for a verification's operands."""
    import numpy as np

    kind, _, what = probe.id.partition(".")
    if kind == "matrix":
        return product(given)
    if kind == "special":
        return np.asarray(getattr(np, what)(given["x"]))
    source = given["b"]
    result = np.zeros_like(source)
    total = _stream(what, result, source, given.get("c", source))()
    return np.array([total], np.uint32) if what == "read" else result


def prepare(case: Case, device: Device) -> NumpyProduct | Calls:
    """Return the buffers and calls of a case."""
    import numpy as np

    kind, _, what = case.probe.partition(".")
    threads = device.cores if case.scope is Scope.ALL else 1
    if kind == "matrix":
        return NumpyProduct(case.size, what, threads, device.cache_bytes)
    rng = np.random.default_rng(case.size)
    if kind == "special":
        # 16 KiB of operands and 16 KiB of results for each thread, which its caches hold
        count = 4096
        x, y = rng.random((2, threads, count), np.float32)
        function = getattr(np, what)
        calls = [lambda i=i: function(x[i], out=y[i]) for i in range(threads)]
        return Calls(list(calls), float(count * threads))
    streams = {"read": 1, "write": 1, "copy": 2, "triad": 3}[what]
    # words of 32 bits for each thread and buffer
    words = case.size // threads // streams // 4
    # 1 MiB of random words fills the buffers, over and over; as f32 they are below 2, so that none
    # is infinite or NaN
    block = rng.integers(0, 1 << 30, min(words, 1 << 18)).astype(np.uint32)
    if what == "triad":
        block = block.view(np.float32)
    calls_by_thread = list[Callable[[], object]]()
    for _ in range(threads):
        # buffers that the stream does not use stay small
        a, b, c = (np.resize(block, words) if i < streams else block for i in range(3))
        source = b if streams > 1 else a
        calls_by_thread.append(_stream(what, a, source, c))
    # a triad of two functions goes over c and a, then over a, b and a: five buffers, not three
    passes = 5 / 3 if what == "triad" else 1.0
    return Calls(calls_by_thread, 4.0 * words * streams * threads * passes)


def _stream(what: str, a: Array, b: Array, c: Array) -> Callable[[], object]:
    """Return the function that goes over the buffers once."""
    import numpy as np

    match what:
        case "read":
            return lambda: np.sum(b, dtype=np.uint32)
        case "copy":
            return lambda: np.copyto(a, b)
        case "write":
            return lambda: a.fill(b[0])
        case _:

            def triad() -> None:
                np.multiply(c, np.float32(1.5), out=a)
                np.add(a, b, out=a)

            return triad
