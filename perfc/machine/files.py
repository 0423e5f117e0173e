"""Find target files by name, read and add them, and write the page that lists them.

Files are untrusted: their size is bounded, and a name becomes a path only after it was checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from perfc.common.toml_file import line_of
from perfc.common.whole_file import write_whole
from perfc.errors import TargetError

from .cluster_file import CLUSTER, is_cluster, parse_cluster
from .device_names import compact, spelled, without_memory, without_slice_marker
from .folders import CLUSTERS, SHIPPED, files_in, user_folder
from .machine import HOST, Listing, Machine, MemoryLevel, Peak, Rate, Unit
from .schema import parse
from .slices import sliced, split

MAX_FILE_BYTES = 131_072
"""Maximum bytes of a target file; shipped ones have less than a tenth."""
MAX_LINE_BYTES = 1_000  # a dotted key takes tomllib quadratic time in its parts
_HEAD_BYTES = 4_096
"""First bytes of a file, in which a search by name looks for the names of a target."""
CLOSE = 8  # names that are close to an unknown one
SUGGESTED = 3  # names of these that an error suggests
ROUNDED = 0.03
"""Largest relative difference of a card's memory to the size in its name, which is rounded."""
_MAX_LOCATED = 100
"""Maximum of problems that are reported with a line, as each search reads the whole file."""
_HEAD_STR = re.compile(r'^(name|kind|description)\s*=\s*"([^"\\\n]*)"', re.MULTILINE)
"""Texts before the first table: all that a list of targets needs of a file."""
_HEAD_ALIASES = re.compile(r"^aliases\s*=\s*\[([^\]]*)\]", re.MULTILINE)


def _content(path: Path) -> bytes:
    """Return the bytes of a file within the limits of size and line length."""
    try:
        if not path.is_file():
            raise TargetError("no such target file", where=str(path))
        with path.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise TargetError(f"cannot read: {error.strerror}", where=str(path)) from None
    if len(content) > MAX_FILE_BYTES:
        raise TargetError(f"target files end at {MAX_FILE_BYTES} bytes", where=path.name)
    if max(map(len, content.split(b"\n"))) > MAX_LINE_BYTES:
        raise TargetError(f"lines end at {MAX_LINE_BYTES} bytes", where=path.name)
    return content


def _machine(path: Path) -> Machine:
    """Return the machine of a file; files of the installation are read once."""
    if path.parent in (SHIPPED, CLUSTERS):
        with suppress(OSError):
            return _shipped_machine(path, path.stat().st_mtime_ns)
    return _read(path)[0]


@lru_cache(maxsize=512)
def _shipped_machine(path: Path, stamp: int) -> Machine:
    """Return the machine of a shipped file; a changed file has another time stamp."""
    return _read(path)[0]


def _read(path: Path) -> tuple[Machine, bytes]:
    """Return the machine and the content of a file; an error has the first problem."""
    content = _content(path)
    machine, problems = _parsed(content, path)
    if machine is None:
        more = f"{len(problems) - 1} more problems; " if len(problems) > 1 else ""
        hint = f"{more}`perfc targets validate` lists all"
        where, problem = _located(problems[0], content, path)
        raise TargetError(problem, hint=hint, where=where)
    return machine, content


def _parsed(content: bytes, path: Path) -> tuple[Machine | None, list[str]]:
    """Return the machine of a file, or the GPU of a cluster with the links of its nodes."""
    if is_cluster(content):
        return parse_cluster(content, path, load)
    machine, problems = _parsed_alone(content, path)
    return machine, list(problems)


@lru_cache(maxsize=512)
def _parsed_alone(content: bytes, path: Path) -> tuple[Machine | None, tuple[str, ...]]:
    """Return the machine of a file, cached by content: runs load it by name and by path."""
    machine, problems = parse(content, path)
    return machine, tuple(problems)


def problems_in(path: Path) -> list[str]:
    """Return problems, as ``a100.toml:49: compute.matrix.f16.peak_flop_per_s has no `from```."""
    try:
        content = _content(path)
    except TargetError as error:
        return [str(error)]
    problems = _parsed(content, path)[1]
    located = [": ".join(_located(p, content, path)) for p in problems[:_MAX_LOCATED]]
    return located + [f"{path.name}: {p}" for p in problems[_MAX_LOCATED:]]


def _located(problem: str, content: bytes, path: Path) -> tuple[str, str]:
    """Return the file, with the line of a problem if it has one, and the problem."""
    syntax = re.search(r" \(at line (\d+), column \d+\)$", problem)
    if syntax:
        return f"{path.name}:{syntax[1]}", problem[: syntax.start()]
    key = re.match(r"[\w.+-]+", problem)
    line = line_of(content.decode("utf-8", "replace"), key[0]) if key else 1
    return f"{path.name}:{line}" if line > 1 else path.name, problem


def _scan(folder: Path) -> Iterable[Listing]:
    """Return listings from the first lines of files, as parsing all of them takes long."""
    if folder not in (SHIPPED, CLUSTERS) or not folder.is_dir():
        return _read_heads(folder)
    return _shipped(folder, folder.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _shipped(folder: Path, stamp: int) -> tuple[Listing, ...]:
    """Return the listings of a shipped folder; its time stamp changes if files come or go."""
    return tuple(_read_heads(folder))


def _read_heads(folder: Path) -> Iterator[Listing]:
    """Yield the listing of each file, by regular expressions over its first bytes."""
    for path in files_in(folder):
        try:
            if not path.is_file():
                continue
            with path.open("rb") as stream:
                head = stream.read(_HEAD_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        # top-level keys precede the first table
        head = head.partition("\n[")[0]
        texts = dict(_HEAD_STR.findall(head))
        match = _HEAD_ALIASES.search(head)
        aliases = tuple(re.findall(r'"([^"]*)"', match[1])) if match else ()
        name = texts.get("name", path.stem)
        about = texts.get("description", "")
        is_shipped = folder in (SHIPPED, CLUSTERS)
        yield Listing(name, aliases, texts.get("kind", ""), about, path, is_shipped)


def listings() -> tuple[Listing, ...]:
    """Return all targets, the user's first."""
    return tuple(t for t in _listed(SHIPPED) if t.kind != CLUSTER)


def cluster_listings() -> tuple[Listing, ...]:
    """Return all clusters, the user's first."""
    return tuple(t for t in _listed(CLUSTERS) if t.kind == CLUSTER)


def _listed(shipped: Path) -> Iterator[Listing]:
    """Yield the user's files, then those of a shipped folder except for names that the user has."""
    users = list(_scan(user_folder()))
    hidden = {t.name for t in users}
    yield from users
    yield from (t for t in _scan(shipped) if t.name not in hidden)


def _find(name: str) -> Path | None:
    """Return the file with that file name, else the one that has it as name or alias."""
    folders = [_index(f, f.stat().st_mtime_ns) for f in (SHIPPED, CLUSTERS) if f.is_dir()]
    if (user := user_folder()).is_dir():
        folders.insert(0, _indexed(user))
    # file names of all folders come before names and aliases in the files
    return next((by[i][name] for i in (0, 1) for by in folders if name in by[i]), None)


def _names() -> list[str]:
    """Return the names and aliases of all targets and clusters."""
    return [n for t in (*listings(), *cluster_listings()) for n in (t.name, *t.aliases)]


def _like(wanted: str) -> Path | None:
    """Return the file of the one target that has a name up to separators and vendor; else None.

    If there is none, the size of the memory may be missing in either name; a given size must be
    that of the target.
    """
    known = _names()
    files = {_find(n) for n in known if compact(n) == compact(wanted)}
    base, size_gb = without_memory(wanted)
    if not files and base:
        for name in known:
            other, named_gb = without_memory(name)
            if compact(other) == compact(base) and (path := _find(name)) is not None:
                is_same = size_gb in (0, named_gb) or _holds(_machine(path), size_gb)
                files |= {path} if is_same else set()
    return files.pop() if len(files) == 1 else None


def _holds(machine: Machine, size_gb: int) -> bool:
    """Return True if the device memory has that many GB or GiB, as vendors round it."""
    memory = machine.level("device")
    nbytes = 0.0 if memory is None else memory.capacity_bytes
    return any(abs(nbytes / unit - size_gb) < ROUNDED * size_gb for unit in (1e9, 1 << 30))


@lru_cache(maxsize=4)
def _index(folder: Path, stamp: int) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return `_indexed`, cached until the time stamp of the folder changes."""
    return _indexed(folder)


def _indexed(folder: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the files of a folder by file name, and by name and alias."""
    every = tuple(_scan(folder))
    by_name: dict[str, Path] = {}
    for listing in every:
        for name in (listing.name, *listing.aliases):
            by_name.setdefault(name, listing.path)
    return {listing.path.stem: listing.path for listing in every}, by_name


def host_path() -> Path:
    """Return the file of this machine; without one it is measured (``calibrate.host``).

    The module that measures is in a higher layer, so it is imported by name, on first use.
    """
    path = import_module("perfc.measuring.calibrate.host").host_file()
    assert isinstance(path, Path)
    return path


def load(name: str | os.PathLike[str]) -> Machine:
    """Read a target by name, alias or path; ``host`` is this machine, ``a100/3g.40gb`` a slice."""
    text = without_slice_marker(os.fspath(name))
    card, profile = split(text)
    # a path that exists is a file, whatever its name looks like
    if profile and not os.path.exists(text):
        return sliced(load(card), profile)
    if text == HOST:
        return _read(host_path())[0]
    if not isinstance(name, str) or text.endswith(".toml") or "/" in text or os.sep in text:
        return _machine(Path(text))
    wanted = spelled(text)
    path = _find(wanted) or _like(wanted)
    if path is not None:
        return _machine(path)
    import difflib

    known = _names()
    # names of targets have no vendor
    wanted = wanted.removeprefix("nvidia-").removeprefix("geforce-")
    near = difflib.get_close_matches(wanted, known, n=CLOSE)
    # names with the same first letter first; before all of them, the longest name of a target that
    # the unknown name begins with, of which it is a variant
    near = sorted(near, key=lambda n: n[:1] != wanted[:1])
    prefixes = [n for n in known if len(n) > 2 and wanted.startswith(f"{n}-")]
    near = [*sorted(prefixes, key=len)[-1:], *near]
    # one name a target: others of the same file are its aliases
    by_file: dict[Path | None, str] = {}
    for name in near:
        by_file.setdefault(_find(name), name)
    near = [*by_file.values()][:SUGGESTED]
    hint = "`perfc targets list` shows all"
    guess = f": did you mean {' or '.join(near)}?" if near else ""
    raise TargetError(f"no such target {text[:64]!r}{guess}", hint=hint)


def install(path: Path, *, overwrite: bool) -> Path:
    """Copy a valid file to the user's folder; readers see the old file or the new one."""
    machine, content = _read(path)
    folder = user_folder()
    goal = folder / f"{machine.label}.toml"
    if goal.exists() and not overwrite and goal.read_bytes() != content:
        raise TargetError(f"{goal} is already there and differs", hint="say --force to replace it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(goal, content)
    except OSError as error:
        raise TargetError(f"cannot write: {error.strerror}", where=str(goal)) from None
    return goal


# SI prefixes and units of the page of targets, by the end of a key
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SUFFIXES = (
    ("flop_per_s", "flop/s"),
    ("op_per_s", "op/s"),
    ("bytes_per_s", "B/s"),
    ("_hz", "Hz"),
    ("_w", "W"),
)


def _shown(rate: Rate) -> str:
    """Return a number for reading: rates in powers of 1000, sizes in powers of 1024."""
    key, value = rate.key, rate.value
    if key.endswith("bytes"):
        for step, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if value >= step:
                return f"{value / step:.6g} {unit}"
    if key.endswith("_m"):
        return f"{value * 1e9:.4g} nm"
    if key.endswith("_s") and "_per_" not in key:
        return f"{value * 1e6:.4g} µs"
    unit = next((u for s, u in _SUFFIXES if key.endswith(s)), "")
    scale, prefix = next((p for p in _PREFIXES if unit and value >= p[0]), (1.0, ""))
    return f"{value / scale:.6g} {prefix}{unit}".strip()


def _pair(rates: Peak | MemoryLevel | None, unit: str, scale: float) -> str:
    """Return the nominal rate, and the measured one in brackets."""
    if rates is None:
        return ""
    measured = f" ({rates.sustained.value / scale:.4g})" if rates.sustained is not None else ""
    return f"{rates.nominal.value / scale:.4g}{measured} {unit}"


def _summary(machine: Machine) -> str:
    """Return the row of a target in the table."""
    cells = [machine.name, ", ".join(machine.aliases), machine.arch]
    for unit, dtype in ((Unit.MATRIX, "f16"), (Unit.MATRIX, "bf16"), (Unit.VECTOR, "f32")):
        cells.append(_pair(machine.compute.get((unit, dtype)), "Tflop/s", 1e12))
    for name in ("device", "l2"):
        level = machine.level(name)
        cells.append(f"{level.capacity_bytes / (1 << 20):,.6g} MiB" if level else "")
        cells.append(_pair(level, "GB/s", 1e9))
    return "| " + " | ".join(cells) + " |"


def _cluster_rows(machine: Machine) -> Iterator[str]:
    """Yield the table rows of the numbers that a cluster's file adds to those of its GPU."""
    added = [r for r in machine.facts.values() if r.key.startswith(("node.", "link.network."))]
    for i, rate in enumerate(added):
        names = ", ".join(machine.aliases) if i == 0 else ""
        first = (f"**{machine.cluster}**", names, machine.name, machine.description)
        named = first if i == 0 else ("", "", "", "")
        cells = (
            *named,
            f"`{rate.key}`",
            _shown(rate),
            machine.sources[rate.source].title,
            rate.note,
        )
        yield f"| {' | '.join(cells)} |"


_CLUSTERS = """\
A cluster is a target: a GPU of the table above, GPUs per node, how many of them NVLink connects,
and the rate of all network adapters of a node in one direction.
"""
_INTRODUCTION = """\
# Targets

Generated from `perfc/targets/*.toml` by `perfc.machine.render_markdown`; do not edit.

`perfc targets show NAME` prints every number of a target with its source, `perfc targets list`
the rates of all. The files in `perfc/targets` have notes, too. Sources are *vendor* (a document),
*measured* (the best published measurement) or *assumed* (the note has the reason).

- The first figure is the vendor's, the one in brackets was measured. Rates are dense: figures
  with 2:4 sparsity are halved. A multiply–accumulate is two operations, for integers too.
- Lower bounds use the highest rate of the hardware: the vendor's, or operations per clock ×
  multiprocessors × highest clock (`clock_max_hz`) if that is more, and the pin rate of the memory.
- FP16 matrix rates of GeForce boards are those with FP16 accumulation; FP32 accumulation has half.
- `perfc targets add my-card.toml` installs your own file in `~/.config/perfc/targets`, where it
  replaces a shipped one of the same name. `perfc targets validate my-card.toml` lists its errors.
"""


def page() -> str:
    """Return the page ``docs/targets.md``."""
    machines = [_read(p)[0] for p in files_in(SHIPPED)]
    titles = (
        "target|aliases|arch|f16 matrix|bf16 matrix|f32 vector|memory|bandwidth|L2|L2 bandwidth"
    )
    lines = [_INTRODUCTION, "| " + titles.replace("|", " | ") + " |"]
    lines.append("| --- | --- | --- |" + " ---: |" * 7)
    lines += [_summary(m) for m in machines]
    lines += ["", "## Clusters", "", _CLUSTERS]
    lines += ["| cluster | aliases | GPU | node | key | value | from | note |"]
    lines += ["| --- | --- | --- | --- | --- | ---: | --- | --- |"]
    for path in files_in(CLUSTERS):
        lines += _cluster_rows(_read(path)[0])
    return "\n".join(lines) + "\n"
