"""The processor by the operating system: model, cores, caches, memory, instruction sets."""

from __future__ import annotations

import math
import os
import platform
import re
import time
from collections.abc import Iterator
from pathlib import Path

from .backend import Device

_SYSTEM = Path("/sys/devices/system/cpu")
_GROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Mount of the control groups, and the file that lists those of this process."""
LOADED = 0.5
"""Share of the processors that others may use on average before a prediction says so."""
_GROUP_FILES = {
    False: ("memory.max", "memory.current", "memory.stat"),
    True: ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat"),
}
"""Files of a control group with limit, use and cached part; keys: True for version 1."""


def _text(path: Path) -> str:
    """Return the text of a file of the system; "" if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _cpuinfo() -> dict[str, str]:
    """Return the fields of the first processor."""
    first = _text(Path("/proc/cpuinfo")).partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def processors(threads: int = 0) -> tuple[int, ...]:
    """Return logical processors to use, one per core, by affinity and the control group's quota.

    Args:
        threads: number of processors; 0 for as many as cores and quota permit.
    """
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
    # a quota below one processor still runs one thread, more slowly
    count = threads or int(min(len(one_each), max(quota(), 1)))
    # more threads than cores share cores
    chosen = one_each if count <= len(one_each) else allowed
    return tuple(chosen[:count])


def quota(root: Path = _GROUPS, groups: Path = _OWN_GROUPS) -> float:
    """Return the processors that control groups around this process grant, infinite if all.

    Args:
        root: where control groups are mounted, of the first version under ``cpu``.
        groups: file that lists the groups of this process.
    """
    granted = math.inf
    for folder, is_first in _around("cpu", root, groups):
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if is_first else ("cpu.max",)
        parts = " ".join(_text(folder / n) for n in names).split()
        # ``max`` and -1 stand for no limit
        if len(parts) == 2 and all(map(str.isdecimal, parts)) and int(parts[1]):
            granted = min(granted, int(parts[0]) / int(parts[1]))
    return granted


def restrictions(cpus: tuple[int, ...]) -> str:
    """Return what leaves a process fewer threads than the machine has, "" if nothing does."""
    machine_cores, granted = os.cpu_count() or 1, quota()
    reasons = list[str]()
    if (
        hasattr(os, "sched_getaffinity")
        and (allowed := len(os.sched_getaffinity(0))) < machine_cores
    ):
        reasons.append(f"{allowed} of {machine_cores} processors may be used")
    if granted < machine_cores:
        slow = f", a long run takes {1 / granted:.3g} × as long" if granted < 1 else ""
        reasons.append(
            f"the control group grants {granted:.3g} of {machine_cores} processors{slow}"
        )
    if len(cpus) < min(machine_cores, granted) and not reasons:
        reasons.append(f"two or more of {machine_cores} processors share a core")
    threads = "1 thread" if len(cpus) == 1 else f"{len(cpus)} threads"
    return f"{threads}: {', '.join(reasons)}" if reasons else ""


def load() -> str:
    """Return what other programs use, on average over a minute; "" if little or unknown."""
    first = _text(Path("/proc/loadavg")).partition(" ")[0]
    share = min(float(first or 0) / (os.cpu_count() or 1), 1.0)
    return f"other programs use {cores_used(share)}" if share > LOADED else ""


def _size(text: str) -> int:
    """Return the bytes of a size such as ``48K``; 0 for any other text."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0


def caches(cpus: tuple[int, ...]) -> dict[str, int]:
    """Return bytes of each level of these processors together, by name ``l1`` ``l2`` ``l3``."""
    by_level: dict[str, dict[str, int]] = {}
    for cpu in cpus:
        for index in _indices(cpu):
            if _text(index / "type") not in ("Data", "Unified"):
                continue
            name = f"l{_text(index / 'level')}"
            shared = _text(index / "shared_cpu_list") or str(cpu)
            by_level.setdefault(name, {})[shared] = _size(_text(index / "size"))
    return {name: sum(sizes.values()) for name, sizes in sorted(by_level.items())}


def _indices(cpu: int) -> Iterator[Path]:
    """Yield the folders that describe the caches of a processor."""
    folder = _SYSTEM / f"cpu{cpu}" / "cache"
    yield from sorted(folder.glob("index*")) if folder.is_dir() else ()


def memory() -> tuple[int, int]:
    """Return total bytes of memory, and those available without swapping; 0 if unknown."""
    info = _text(Path("/proc/meminfo"))
    total, free = (
        int(m[1]) * 1024 if (m := re.search(rf"^{key}:\s*(\d+) kB", info, re.MULTILINE)) else 0
        for key in ("MemTotal", "MemAvailable")
    )
    if not total and hasattr(os, "sysconf"):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        # a guess, for systems that do not report it
        free = total // 2
    for limit, unused in memory_limits():
        total = min(total, limit)
        free = min(free, unused)
    return total, free


def memory_limits(root: Path = _GROUPS, groups: Path = _OWN_GROUPS) -> Iterator[tuple[int, int]]:
    """Yield bytes that control groups around this process grant, and the free part.

    Args:
        root: where control groups are mounted, of the first version under ``memory``.
        groups: file that lists the groups of this process.
    """
    for folder, is_first in _around("memory", root, groups):
        limit, used, cache = (_text(folder / n) for n in _GROUP_FILES[is_first])
        if limit.isdecimal() and used.isdecimal():
            # cached files that are not in use can be dropped, so they count as free
            idle = re.findall(r"^(?:total_)?inactive_file (\d+)$", cache, re.MULTILINE)
            in_use = max(int(used) - max(map(int, idle), default=0), 0)
            yield int(limit), max(int(limit) - in_use, 0)


def _around(controller: str, root: Path, groups: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the control groups around this process; True for those of the first version."""
    for line in _text(groups).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        base = root / controller if controllers else root
        # inside a container the path is that of the host, and the root is the container's group
        group = base / path.strip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(base):
                yield folder, bool(controllers)


def describe(cpus: tuple[int, ...]) -> Device:
    """Return the processor as a device."""
    info = _cpuinfo()
    total, free = memory()
    highest = _text(_SYSTEM / f"cpu{cpus[0]}/cpufreq/cpuinfo_max_freq")
    # x86 has flags, Arm has Features
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
        # with a dash, as target files write x86-64
        arch=platform.machine().lower().replace("_", "-") or "unknown",
        cores=len(cpus),
        memory_bytes=total,
        free_bytes=free,
        # far above eight times any last cache: larger working sets show no other level
        most_bytes=4 << 30,
        caches=caches(cpus),
        features=frozenset(features.split()),
        clock_max_hz=float(highest) * 1e3 if highest.isdecimal() else 0.0,
        state=state,
        notes=tuple(filter(None, [restrictions(cpus)])),
    )


def digest() -> str:
    """Return a digest of all that compiled code may depend on: model and instruction sets."""
    import hashlib

    info = _cpuinfo()
    keys = ("model name", "cpu family", "model", "stepping", "flags", "Features", "CPU part")
    text = "\n".join([platform.machine(), *(info.get(k, "") for k in keys)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def busy_s() -> float | None:
    """Return processor time since boot that programs used, or other virtual machines took."""
    fields = _text(Path("/proc/stat")).partition("\n")[0].split()
    if len(fields) < 9 or fields[0] != "cpu" or not hasattr(os, "sysconf"):
        return None
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, fields[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def energy_j() -> float | None:
    """Return the energy counter of all packages by RAPL, in joules; None if not readable."""
    total, is_readable = 0.0, False
    for zone in sorted(Path("/sys/class/powercap").glob("intel-rapl:?")):
        reading = _text(zone / "energy_uj")
        if reading.isdecimal():
            total, is_readable = total + int(reading) * 1e-6, True
    return total if is_readable else None


TICK_S = 0.01
"""Resolution of the system's count of processor use."""
LEAST_S = 0.05
"""Minimum interval of such a count: five ticks."""
BUSY_CORES = 0.2
"""Processors that others may use without a warning."""


def busy_share() -> float:
    """Return the share of all processors that others may use without a warning."""
    return BUSY_CORES / (os.cpu_count() or 1)


def cores_used(share: float) -> str:
    """Return a share of all processors as text: ``80 % of a core``, ``1.6 of 2 cores``."""
    cores = os.cpu_count() or 1
    used = share * cores
    # from 99.5 % on, a share of one core would be printed as 100 %
    return f"{100 * used:.0f} % of a core" if used < 0.995 else f"{used:.1f} of {cores} cores"


class Others:
    """Use of all processors by other programs since construction."""

    def __init__(self) -> None:
        self.busy, self.process_s, self.start = busy_s(), time.process_time(), time.monotonic()

    def share(self) -> float | None:
        """Return the share of all processors; None if the system does not report it."""
        now, elapsed = busy_s(), time.monotonic() - self.start
        if now is None or self.busy is None or elapsed < LEAST_S:
            return None
        cores = os.cpu_count() or 1
        # each processor's count may lag the process's own time by one tick
        used = now - self.busy - (time.process_time() - self.process_s) - cores * TICK_S
        return min(max(used, 0.0) / (elapsed * cores), 1.0)
