from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import fuzz
import fuzz_files
import fuzz_formats
import pytest
from fuzz_hostile import HOSTILE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and timers are POSIX")


def hostile_numbers(seed: int = 0) -> list[int]:
    """For each maker of hostile models the first number whose draw calls it.

    The draw alone is repeated here: to make all files before it takes longer than to read some.
    """
    first: dict[int, int] = {}
    for number in range(3000):
        draw = random.Random(f"{seed}/{number}").random()
        if number % 3 != 2 and draw < fuzz_files.HOSTILE_SHARE:
            first.setdefault(number // 3 % len(HOSTILE), number)
    return sorted(first.values())


def test_every_maker_of_hostile_models_is_called() -> None:
    kinds = {fuzz_files.make(number)[2] for number in hostile_numbers()}
    assert kinds == {f"hostile.{maker.__name__}" for maker in HOSTILE}


def test_damaged_and_hostile_files_are_analyzed_or_refused_in_one_line() -> None:
    numbers = sorted({*hostile_numbers(), *range(0, 1400, 10)})
    assert len(numbers) >= 150
    outcomes, bad, extremes = fuzz.run_api(numbers, seed=0)
    assert bad == []
    assert outcomes["refused"] > 20
    assert outcomes["analyzed"] > 20
    assert extremes["peak_mb"] < 1024


def test_damaged_files_of_other_formats_are_analyzed_or_refused_in_one_line() -> None:
    """Two of each kind of seed, and an index of weights with wrong names of files."""
    numbers = [*range(2 * len(fuzz_formats.seeds())), 242, 922]
    outcomes, bad, extremes = fuzz.run_api(numbers, seed=0, write=fuzz_formats.write)
    assert bad == []
    assert min(outcomes["refused"], outcomes["analyzed"]) > 10
    assert extremes["peak_mb"] < 1024


WATCH = """
import sys, pathlib
import fuzz_worker
folder = pathlib.Path(sys.argv[1])
watch = fuzz_worker.Watch(str(folder))
(folder / "inside").read_text()
print(len(watch.seen))
(folder / "link").read_text()
print(*watch.seen)
"""


def test_the_watch_sees_a_file_opened_outside_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret").write_text("s")
    (folder / "inside").write_text("i")
    (folder / "link").symlink_to(tmp_path / "secret")
    # In a process of its own: an audit hook can never be taken away again.
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(folder)],
        cwd=fuzz.HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["0", str((tmp_path / "secret").resolve())]
