"""Compilation of the C sources for this processor, once, and loading of the library.

The library is stored in ``$XDG_CACHE_HOME/perfc`` under a digest of sources, flags, compiler and
processor, so that a home directory shared by two machines has both; it is created atomically.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import platform
import shutil
import subprocess
import tempfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from perfc.common.cache_folder import cache_folder

from . import host
from .backend import MeasurementError

COMPILERS = ("cc", "gcc", "clang")
"""Names of C compilers, tried in order."""
FLAGS = (
    "-O3",
    "-std=gnu11",
    "-fPIC",
    "-shared",
    "-pthread",
    "-fno-math-errno",
    "-ffp-contract=fast",
)
"""The last two compile square roots inline, without errno, and a multiplication with the addition
of its result as one operation."""
TIMEOUT_S = 60
"""Time limit of a compiler in seconds."""
LINE = 64
"""Bytes of a cache line of x86 and most Arm processors: one element per line of a chase."""
PAD = 1344
"""Bytes between buffers, 21 cache lines: equal offsets in two buffers then differ modulo the page
size, and do not compete for the same sets of a cache."""
REFILLED_BYTES = 256 << 20
"""Maximum buffer size that is released after a case; larger ones take long to fill again."""
BLOCK = 1 << 20
"""Bytes of random numbers that fill the buffers, over and over."""


class NativeTask(ctypes.Structure):
    """``NativeTask`` of ``native/task.h``: buffers and repeats of one thread, and its answer."""

    _fields_ = (
        ("a", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        ("c", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("repeats", ctypes.c_int64),
        ("answer", ctypes.c_uint64),
    )


class NoCompilerError(MeasurementError):
    """No C compiler is available, or it cannot compile the sources."""


def sources(suffixes: tuple[str, ...] = (".c", ".h")) -> dict[str, str]:
    """Return the text of the native sources by file name."""
    folder = files("perfc.kernels.backends.native")
    names = sorted(f.name for f in folder.iterdir() if f.name.endswith(suffixes))
    return {n: (folder / n).read_text(encoding="utf-8") for n in names}


def find_compiler() -> str:
    """Return the path of the system's C compiler; first that in ``CC``, if it has no options.

    Raises:
        NoCompilerError: there is none.
    """
    for name in (os.environ.get("CC", ""), *COMPILERS):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise NoCompilerError("no C compiler", hint="install gcc or clang for full ceilings")


def _flags(compiler: str) -> tuple[str, ...]:
    """Return the flags for a compiler on this processor."""
    tuning = "-mcpu=native" if platform.machine() in ("aarch64", "arm64") else "-march=native"
    # Loops must stay loops: a call of memcpy would measure the C library.
    loops = ("-fno-tree-loop-distribute-patterns",) if "clang" not in _version(compiler) else ()
    return (*FLAGS, tuning, *loops)


def _version(compiler: str) -> str:
    """Return the first line of what a compiler prints as its version."""
    try:
        done = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, timeout=TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        raise NoCompilerError(f"{compiler} does not run") from None
    return (done.stdout.splitlines() or [""])[0]


def load() -> tuple[ctypes.CDLL, str]:
    """Return the compiled kernels, and a description of compiler and flags.

    Raises:
        NoCompilerError: no compiler, or it fails.
    """
    compiler = find_compiler()
    version, flags, texts = _version(compiler), _flags(compiler), sources()
    parts = (version, *flags, host.digest(), *(x for pair in texts.items() for x in pair))
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    try:
        cached = cache_folder("kernels").glob(f"{name}-*.so")
        # the digest in its name must match: a damaged library ends the process that loads it
        library = next((f for f in cached if f.stem == f"{name}-{_digest(f)}"), None)
        library = library or _build(compiler, flags, texts, name)
        return ctypes.CDLL(str(library)), f"{version} {' '.join(flags)}"
    except OSError as error:
        raise NoCompilerError(f"compiled kernels cannot be kept: {error}") from None


def _digest(library: Path) -> str:
    """Return the digest of a library, which is the last part of its file name."""
    return hashlib.sha256(library.read_bytes()).hexdigest()[:32]


def _build(compiler: str, flags: tuple[str, ...], texts: dict[str, str], name: str) -> Path:
    """Compile the sources in a temporary folder and return the library in the cache."""
    cache = cache_folder("kernels")
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".build-") as folder:
        for unit, text in texts.items():
            (Path(folder) / unit).write_text(text, encoding="utf-8")
        units = [n for n in texts if n.endswith(".c")]
        command = [compiler, *flags, "-o", "kernels.so", *units, "-lm"]
        try:
            finished = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            raise NoCompilerError(f"{compiler} took more than {TIMEOUT_S} s") from None
        if finished.returncode:
            errors = [line for line in finished.stderr.splitlines() if "error" in line]
            raise NoCompilerError(f"{compiler} fails: {(errors or ['no message'])[0][:160]}")
        library = Path(folder) / "kernels.so"
        return library.replace(cache / f"{name}-{_digest(library)}.so")


class Arena:
    """Memory of several threads, one part each, in huge pages if the system has them."""

    def __init__(self) -> None:
        self.map: mmap.mmap | None = None
        self.address = self.part = 0  # address of the first part, and bytes of each

    def reserve(self, lib: ctypes.CDLL, cpus: tuple[int, ...], part: int) -> None:
        """Reserve ``part`` bytes per thread; the thread that uses them touches them first."""
        # more than the two gaps between at most three buffers, rounded up to whole pages
        part = (part + 4 * PAD + 4095) // 4096 * 4096
        if self.part >= part and self.map is not None:
            return
        # the sizes of a sweep grow: reserving four times as much, up to 256 MiB, fills pages less
        # often
        if part < 1 << 28:
            part = max(part, min(4 * self.part, 1 << 28))
        self.map = None
        self.part = part
        # two pages to spare behind the last part
        fresh = mapped(part * len(cpus) + 2 * mmap.PAGESIZE)
        self.map, self.address = fresh, _address(fresh)
        import numpy as np

        block = np.random.default_rng(1).integers(0, 1 << 62, BLOCK // 8)
        # ``fill`` takes the length of the block in the place of repeats
        tasks = [
            NativeTask(self.address + i * part, block.ctypes.data, bytes=part, repeats=BLOCK)
            for i in range(len(cpus))
        ]
        timed(lib, "fill", tasks, cpus)

    def release(self) -> None:
        """Unmap buffers that can be filled again quickly."""
        if self.map is not None and len(self.map) <= REFILLED_BYTES:
            self.map, self.part = None, 0


def mapped(nbytes: int) -> mmap.mmap:
    """Return zeroed memory, in huge pages if the kernel has them."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, nbytes)
    # Shared memory, the default, would get small pages.
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _address(memory: mmap.mmap) -> int:
    """Return the address of mapped memory."""
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def timed(lib: ctypes.CDLL, kernel: str, tasks: list[NativeTask], cpus: tuple[int, ...]) -> float:
    """Return the seconds of a kernel on pinned threads, one task each; tasks get their answers."""
    function = ctypes.cast(getattr(lib, kernel), ctypes.c_void_p)
    if len(tasks) == 1:
        return float(lib.run_here(function, ctypes.byref(tasks[0])))
    array = (NativeTask * len(tasks))(*tasks)
    elapsed = float(lib.run_threads(function, array, len(tasks), (ctypes.c_int * len(cpus))(*cpus)))
    for task, done in zip(tasks, array, strict=True):
        task.answer = done.answer
    return elapsed
