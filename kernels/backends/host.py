"""What the operating system says of the processor: model, cores, caches, memory, instructions."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator
from pathlib import Path

from .backend import Device

_SYSTEM = Path("/sys/devices/system/cpu")
_GROUP_FILES = {
    False: ("memory.max", "memory.current", "memory.stat"),
    True: ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat"),
}
"""Limit, use and what of it is cache, of a control group; keys: whether of the first version."""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _cpuinfo() -> dict[str, str]:
    """Fields of the first processor."""
    first = _text(Path("/proc/cpuinfo")).partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def processors(threads: int = 0) -> tuple[int, ...]:
    """Logical processors to use, one a core: what affinity and the control group's quota leave."""
    if hasattr(os, "sched_getaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
    else:
        allowed = list(range(os.cpu_count() or 1))
    one_each, seen = list[int](), set[str]()
    for cpu in allowed:
        siblings = _text(_SYSTEM / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu)
        if siblings not in seen:
            seen.add(siblings)
            one_each.append(cpu)
    quota = _quota()
    count = threads or min(len(one_each), quota or len(one_each))
    chosen = one_each if count <= len(one_each) else allowed
    return tuple(chosen[:count])


def _quota() -> int:
    """Processors that the control group grants, 0 where it sets no limit."""
    quota, _, period = _text(Path("/sys/fs/cgroup/cpu.max")).partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period):
        return max(int(quota) // int(period), 1)
    return 0


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]] if found else 0


def caches(cpus: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each level that these processors have together, by name ``l1`` ``l2`` ``l3``."""
    found: dict[str, dict[str, int]] = {}
    for cpu in cpus:
        for index in _indices(cpu):
            if _text(index / "type") not in ("Data", "Unified"):
                continue
            name = f"l{_text(index / 'level')}"
            shared = _text(index / "shared_cpu_list") or str(cpu)
            found.setdefault(name, {})[shared] = _size(_text(index / "size"))
    return {name: sum(by.values()) for name, by in sorted(found.items())}


def _indices(cpu: int) -> Iterator[Path]:
    folder = _SYSTEM / f"cpu{cpu}" / "cache"
    yield from sorted(folder.glob("index*")) if folder.is_dir() else ()


def memory() -> tuple[int, int]:
    """Bytes of memory in all, and available without swapping; 0 where nothing says."""
    info = _text(Path("/proc/meminfo"))
    total, free = (
        int(m[1]) * 1024 if (m := re.search(rf"^{key}:\s*(\d+) kB", info, re.MULTILINE)) else 0
        for key in ("MemTotal", "MemAvailable")
    )
    if not total and hasattr(os, "sysconf"):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        free = total // 2
    for limit, left in memory_limits():
        total = min(total, limit)
        free = min(free, left)
    return total, free


def memory_limits(
    root: Path = Path("/sys/fs/cgroup"), groups: Path = Path("/proc/self/cgroup")
) -> Iterator[tuple[int, int]]:
    """Bytes that control groups around this process grant, and what is left of them.

    Args:
        root: where control groups are mounted, of the first version under ``memory``.
        groups: which of them this process is in.
    """
    for line in _text(groups).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        base = root / "memory" if controllers else root
        # inside a container the path is that of outside, and the root is its own group
        own = base / path.strip("/")
        for folder in (own, *own.parents):
            if folder.is_relative_to(base):
                limit, used, cache = (_text(folder / n) for n in _GROUP_FILES[bool(controllers)])
                if limit.isdecimal() and used.isdecimal():
                    idle = re.findall(r"^(?:total_)?inactive_file (\d+)$", cache, re.MULTILINE)
                    kept = max(int(used) - max(map(int, idle), default=0), 0)
                    yield int(limit), max(int(limit) - kept, 0)


def describe(cpus: tuple[int, ...]) -> Device:
    """The processor as a device."""
    info = _cpuinfo()
    total, free = memory()
    highest = _text(_SYSTEM / f"cpu{cpus[0]}/cpufreq/cpuinfo_max_freq")
    features = info.get("flags") or info.get("Features") or ""
    name = info.get("model name") or platform.processor() or platform.machine()
    state = {
        "driver": f"{platform.system()} {platform.release()}",
        "clocks": _text(_SYSTEM / f"cpu{cpus[0]}/cpufreq/scaling_governor") or "not readable",
    }
    if "hypervisor" in features.split():
        state["clocks"] += ", virtual machine"
    return Device(
        kind="cpu",
        name=name,
        vendor=info.get("vendor_id", "unknown"),
        arch=platform.machine().lower().replace("_", "-") or "unknown",
        cores=len(cpus),
        memory_bytes=total,
        free_bytes=free,
        most_bytes=4 << 30,
        caches=caches(cpus),
        features=frozenset(features.split()),
        clock_max_hz=float(highest) * 1e3 if highest.isdecimal() else 0.0,
        state=state,
    )


def digest() -> str:
    """What compiled code may depend on: model and instruction sets."""
    import hashlib

    info = _cpuinfo()
    keys = ("model name", "cpu family", "model", "stepping", "flags", "Features", "CPU part")
    text = "\n".join([platform.machine(), *(info.get(k, "") for k in keys)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def busy_s() -> float | None:
    """Processor time used since the start, by everybody, and stolen by other virtual machines."""
    fields = _text(Path("/proc/stat")).partition("\n")[0].split()
    if len(fields) < 9 or fields[0] != "cpu" or not hasattr(os, "sysconf"):
        return None
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, fields[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def energy_j() -> float | None:
    """Energy counter of all processor packages by RAPL, in joules; None where not readable."""
    total, found = 0.0, False
    for zone in sorted(Path("/sys/class/powercap").glob("intel-rapl:?")):
        reading = _text(zone / "energy_uj")
        if reading.isdecimal():
            total, found = total + int(reading) * 1e-6, True
    return total if found else None


TICK_S = 0.01
"""In which a system counts the use of its processors."""
LEAST_S = 0.05
"""Shorter stretches say nothing in such ticks."""


BUSY_CORES = 0.2
"""Processors that others may use without a word."""


def busy_share() -> float:
    """Returns the share of all processors that others may use without a word."""
    return BUSY_CORES / (os.cpu_count() or 1)


def cores_used(share: float) -> str:
    """Returns a share of all processors in words: ``80 % of a core``, ``1.6 of 2 cores``."""
    cores = os.cpu_count() or 1
    used = share * cores
    return f"{100 * used:.0f} % of a core" if used < 0.995 else f"{used:.1f} of {cores} cores"


class Others:
    """How much of all processors other programs use, from when this is made."""

    def __init__(self) -> None:
        self.busy, self.own, self.start = busy_s(), time.process_time(), time.monotonic()

    def share(self) -> float | None:
        """1 is all processors; None where the system does not say."""
        now, elapsed = busy_s(), time.monotonic() - self.start
        if now is None or self.busy is None or elapsed < LEAST_S:
            return None
        cores = os.cpu_count() or 1
        # each processor's count may be a tick behind what this process knows of itself
        used = now - self.busy - (time.process_time() - self.own) - cores * TICK_S
        return min(max(used, 0.0) / (elapsed * cores), 1.0)
