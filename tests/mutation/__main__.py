"""Which share of drawn faults the tests find.

    python -m tests.mutation --count 24 --seed 7
    python -m tests.mutation --count 6 --folder analyzers --limit-s 300
    python -m tests.mutation --write-map          # once: which test runs which line; minutes

Faults are put into a copy of the tree, one at a time. A fault is *killed* if a test fails that does
not fail without it. It *survives* if all tests pass. *Late* ones ran out of time, or pytest ended
in another way; they count as neither.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from importlib.util import cache_from_source
from pathlib import Path

from .mutants import FOLDERS, Mutant, draw
from .tests_of import MAP, SECONDS, stages, write_map

ROOT = Path(__file__).resolve().parents[2]
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - |$)", re.MULTILINE)
PASSED, FOUND = 0, (1, 2)
"""Exit codes of pytest: all passed; some failed, or a file could not be imported."""
NOT_FOUND, NOTHING_COLLECTED = 4, 5
NOT_COLLECTED = "not collected"
OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)
PATIENCE = 20
"""How many times as long as its processor time a run may take by the clock."""


class Fate(Enum):
    """What became of a fault."""

    KILLED = "killed"
    SURVIVED = "survived"
    LATE = "late"


def copy_tree(place: Path) -> Path:
    """Tracked and new files of the repository, without what git ignores, as one of its own.

    Commands name files from the root of the repository: without one golden files would differ.
    """
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.is_file():
            shutil.copy2(source, target)
    return place


def run_tests(
    tree: Path, arguments: Sequence[str], limit_s: float, *, is_all: bool = False
) -> tuple[int | None, str]:
    """Exit code of pytest, None where its time ran out, and what it printed.

    The limit is of processor time, so that a machine that does other things too makes no fault
    late; what waits for nothing is stopped by the clock, after ``PATIENCE`` times as long.
    """
    # what one run compiled serves the next: half of the time of a short one
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = str(tree)
    # the plug-in of perfc would import the package of the tree before a test does
    without = ["-p", "no:cacheprovider", "-p", "no:perfc"]
    options = [*([] if is_all else ["-x"]), "-q", "--tb=no", "-rfE", *without]
    whole_s = math.ceil(limit_s)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *arguments],
            cwd=tree,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE * limit_s,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (whole_s,) * 2),
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return (None if done.returncode in OUT_OF_TIME else done.returncode), done.stdout


def spent_s() -> float:
    """Processor time of all that was run before."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fate_of(
    mutant: Mutant, tree: Path, clean: Path, limit_s: float, broken: set[str] | None = None
) -> tuple[Fate, str]:
    """What becomes of a fault in ``tree``, and the test that found it.

    ``clean`` is a copy without it, where ``confirmed`` lets that test run too. With a set of
    ``broken`` tests that is done at once: those that fail there too join it and are left out, as
    nothing would be known of a fault behind them.
    """
    path = tree / mutant.path
    text = path.read_text(encoding="utf-8")
    deadline_s = spent_s() + limit_s
    rewritten(path, mutant.applied(text))
    try:
        for stage in stages(clean, mutant.path, mutant.line):
            code, out = run_sound(tree, clean, stage, deadline_s, broken)
            if code == NOT_FOUND:
                # parameters may read otherwise than when the map was written
                bare = list(dict.fromkeys(name.partition("[")[0] for name in stage))
                code, out = run_tests(tree, bare, max(deadline_s - spent_s(), 1.0))
            if code is None:
                return Fate.LATE, ""
            if code in (PASSED, NOTHING_COLLECTED):
                continue
            if code == NOT_FOUND:
                # a test that is asked for by its name, in a file that cannot be imported
                is_there = run_tests(clean, ["--collect-only", *stage], limit_s)[0] == PASSED
                return (Fate.KILLED if is_there else Fate.LATE), f"{NOT_COLLECTED}: {stage[0]}"
            names = FAILED.findall(out)
            if code in FOUND and names:
                return Fate.KILLED, names[0]
            return Fate.LATE, f"pytest exits with {code}: {names[:1]}"
    finally:
        rewritten(path, text)
    return Fate.SURVIVED, ""


def run_sound(
    tree: Path, clean: Path, stage: Sequence[str], deadline_s: float, broken: set[str] | None
) -> tuple[int | None, str]:
    """Run a stage as `run_tests` does, again without each test that fails in ``clean`` too."""
    while (left_s := deadline_s - spent_s()) > 1:
        left_out = [f"--deselect={name}" for name in sorted(broken or ())]
        code, out = run_tests(tree, [*stage, *left_out], left_s)
        found = [n for n in FAILED.findall(out) if "::" in n] if code in FOUND else []
        if broken is None or not found or not failing(found[:1], clean, left_s):
            return code, out
        broken.add(found[0])
    return None, ""


def rewritten(path: Path, text: str) -> None:
    """Write a file, and forget what was compiled of it: Python compares seconds and sizes only."""
    path.write_text(text, encoding="utf-8")
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def confirmed(
    fates: Sequence[tuple[Mutant, Fate, str]], clean: Path, limit_s: float
) -> list[tuple[Mutant, Fate, str]]:
    """The same, where what fails in ``clean`` too has found nothing."""
    found = sorted({how for _, fate, how in fates if fate is Fate.KILLED})
    failed = failing(found, clean, limit_s)
    return [
        (m, Fate.LATE, f"fails without it too: {how}") if how in failed else (m, fate, how)
        for m, fate, how in fates
    ]


def failing(names: Sequence[str], tree: Path, limit_s: float) -> set[str]:
    """Those of some tests that fail, and those of some files that cannot be imported."""
    tests = [n for n in names if "::" in n and not n.startswith(NOT_COLLECTED)]
    files = [n for n in names if "::" not in n]
    failed: set[str] = set()
    for chosen, options in ((tests, []), (files, ["--collect-only"])):
        if not chosen:
            continue
        code, out = run_tests(tree, [*options, *chosen], limit_s * len(chosen), is_all=True)
        # one name that cannot be asked for hides the others; and some fail after others only
        bad = [n for n in FAILED.findall(out) if n in chosen] if code in FOUND else chosen
        if code != PASSED and len(chosen) > 1:
            failed |= {n for n in bad if failing([n], tree, limit_s)}
        elif code != PASSED:
            failed |= {*chosen}
    return failed


def summary(fates: Sequence[tuple[Mutant, Fate]]) -> str:
    """Share killed by folder and by kind, then every survivor."""
    lines = [f"{'':28s} {'drawn':>6s} {'killed':>7s} {'survived':>9s} {'late':>5s}  share killed"]
    folders = dict.fromkeys(m.path.parts[0] for m, _ in fates)
    kinds = dict.fromkeys(m.fault.value for m, _ in fates)
    for name in (*folders, *kinds, "all"):
        counts = Counter(f for m, f in fates if name in (m.path.parts[0], m.fault.value, "all"))
        decided = counts[Fate.KILLED] + counts[Fate.SURVIVED]
        share = f"{100 * counts[Fate.KILLED] / decided:.0f} %" if decided else "-"
        numbers = (counts.total(), counts[Fate.KILLED], counts[Fate.SURVIVED], counts[Fate.LATE])
        row = "{:6d} {:7d} {:9d} {:5d}".format(*numbers)
        lines.append(f"{name:28s} {row}  {share}")
    for fate in (Fate.SURVIVED, Fate.LATE):
        lines += [f"{fate.value}: {m}" for m, f in fates if f is fate]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", choices=FOLDERS, action="append")
    parser.add_argument("--limit-s", type=float, default=120.0, help="processor time of one fault")
    parser.add_argument("--list", action="store_true", help="only say what is drawn")
    parser.add_argument("--write-map", action="store_true")
    args = parser.parse_args(arguments)
    if args.write_map:
        return write_map(ROOT)
    drawn = draw(ROOT, args.count, args.seed, tuple(args.folder or FOLDERS))
    if args.list:
        print("\n".join(map(str, drawn)))
        return 0
    fates: list[tuple[Mutant, Fate, str]] = []
    broken: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        tree, clean = (copy_tree(Path(place) / name) for name in ("tree", "clean"))
        for name in (MAP, SECONDS):
            if (ROOT / name).is_file():
                shutil.copy2(ROOT / name, clean / name)
        for mutant in drawn:
            fate, how = fate_of(mutant, tree, clean, args.limit_s, broken)
            fates.append((mutant, fate, how))
            print(f"{fate.value:8s} {mutant}{f'  ({how})' if how else ''}", flush=True)
        fates = confirmed(fates, clean, args.limit_s)
    print(summary([(mutant, fate) for mutant, fate, _ in fates]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
