"""Mutated and hostile ONNX files: one line of refusal or a result, in 10 s and 1 GB.

The seconds are the processor's. A third are one node of an operator with operands and attributes
that no definition foresees.

    python benchmarks/fuzz.py                    # 10,000 files through the API, 40 through the CLI
    python benchmarks/fuzz.py --only 123         # one file
    python benchmarks/fuzz.py --dump 123 x.onnx  # save it
    python benchmarks/fuzz.py --formats --files 1500 --cli-files 0  # other formats and traces

Exit status 1 on any traceback, hang, memory error or crash, and on any file opened outside the
model's folder.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import fuzz_files
from fuzz_worker import FILE_S, MEMORY_BYTES

from benchmarks.arguments import parser_of

HERE = Path(__file__).resolve().parent
ENVIRONMENT = os.environ | {
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")]),
}
"""Environment of the processes that read the files."""
PATIENCE_S = 300.0
"""Time of the clock after which a file is given up, however busy the machine."""
GOOD = ("analyzed", "refused")


class Workers:
    """One worker process, replaced when it dies or does not answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def run(self, path: Path) -> dict[str, Any]:
        """Return the outcome of one file."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "fuzz_worker.py"), str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=ENVIRONMENT,
            )
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.write(f"{path}\n")
            self.process.stdin.flush()
            # the worker's timer comes before: this is for one that waits, or does not react to it
            if select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
                line = self.process.stdout.readline()
                if line:
                    answer: dict[str, Any] = json.loads(line)
                    return answer
                why = "the process died"
            else:
                why = "no answer, not even to the timer"
        except BrokenPipeError:
            why = "the process died"
        return {"path": str(path), "outcome": "crash", "why": f"{why}: {self.stop()}"}

    def stop(self) -> str:
        """End the worker; return the last line that it wrote to standard error."""
        if self.process is None:
            return ""
        self.process.kill()
        _, err = self.process.communicate()
        self.process = None
        return err.strip().splitlines()[-1][:200] if err and err.strip() else ""


def prepare(root: Path) -> Path:
    """Return the folder of the models, in a folder with a file that must not be read."""
    folder = root / "models"
    folder.mkdir()
    (root / "secret.bin").write_bytes(bytes(64))
    (folder / "link.bin").symlink_to(root / "secret.bin")
    os.mkfifo(folder / "fifo")
    (folder / "warm.onnx").write_bytes(fuzz_files.seeds()[0])
    return folder


def write(folder: Path, number: int, seed: int) -> tuple[Path, str]:
    """Write one file; return its path and kind."""
    data, suffix, kind = fuzz_files.make(number, seed)
    path = folder / f"case{number}{suffix}"
    path.write_bytes(data)
    return path, kind


def run_api(
    numbers: Iterable[int],
    seed: int,
    keep: Path | None = None,
    write: Callable[[Path, int, int], tuple[Path, str]] = write,
) -> tuple[Counter[str], list[str], dict[str, Any]]:
    """Return the outcomes, descriptions of the bad ones, and the extremes."""
    outcomes: Counter[str] = Counter()
    bad: dict[str, list[int]] = {}
    extremes: dict[str, Any] = {"seconds": 0.0, "peak_mb": 0}
    with tempfile.TemporaryDirectory() as root:
        folder = prepare(Path(root))
        workers = Workers(folder)
        for number in numbers:
            path, kind = write(folder, number, seed)
            result = workers.run(path)
            outcomes[result["outcome"]] += 1
            for key in extremes:
                extremes[key] = max(extremes[key], result.get(key, 0))
            if result["outcome"] not in GOOD:
                label = f"{result['outcome']}: {result['why']} [{kind}]"
                bad.setdefault(label.replace(str(path), "FILE"), []).append(number)
                if keep:
                    keep.mkdir(parents=True, exist_ok=True)
                    shutil.rmtree(keep / f"case{number}", ignore_errors=True)
                    for leftover in folder.glob("case*"):
                        (shutil.copytree if leftover.is_dir() else shutil.copy)(
                            leftover, keep / leftover.name
                        )
            for leftover in folder.glob("case*"):
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        workers.stop()
    rows = sorted(bad.items(), key=lambda kv: -len(kv[1]))
    return outcomes, [f"{len(n):5} x {label}  e.g. --only {n[0]}" for label, n in rows], extremes


def run_cli(numbers: Iterable[int], seed: int) -> tuple[Counter[str], list[str]]:
    """Return the same through the command line: exit status and what it wrote."""
    outcomes: Counter[str] = Counter()
    bad = []
    limits = {"AS": MEMORY_BYTES, "CPU": FILE_S + 5}
    code = "import resource as r; "
    code += "".join(f"r.setrlimit(r.RLIMIT_{k}, ({n}, {n})); " for k, n in limits.items())
    code += "from perfc.cli import main; main()"
    with tempfile.TemporaryDirectory() as root:
        folder = prepare(Path(root))
        for number in numbers:
            path, kind = write(folder, number, seed)
            try:
                result = subprocess.run(
                    [sys.executable, "-c", code, "analyze", str(path), "--target", "a100"],
                    capture_output=True,
                    timeout=PATIENCE_S,
                    env=ENVIRONMENT,
                )
            except subprocess.TimeoutExpired:
                outcomes["hang"] += 1
                bad.append(f"hang in the command line [{kind}] --only {number}")
                continue
            err = result.stderr.decode("utf-8", "replace")
            # exit codes of perfc: done, findings, refused, incomplete
            if result.returncode in (0, 1, 2, 3) and "Traceback" not in err:
                outcomes["refused" if result.returncode == 2 else "analyzed"] += 1
            else:
                outcomes["traceback"] += 1
                last = err.strip().splitlines()[-1][:160] if err.strip() else ""
                bad.append(f"exit {result.returncode} [{kind}] {last} --only {number}")
    return outcomes, bad


def main() -> int:
    parser = parser_of(__doc__, files=10000, cli_files=40, seed=0)
    parser.add_argument("--formats", action="store_true", help="files of other formats")
    parser.add_argument("--kind", default="", help="beginning of the kind, e.g. operator.LSTM")
    parser.add_argument("--only", type=int, help="one file's number")
    parser.add_argument("--dump", nargs=2, metavar=("NUMBER", "FILE"), help="save one file")
    parser.add_argument("--keep", type=Path, help="folder for the files that were trouble")
    args = parser.parse_args()
    if args.dump:
        data, suffix, kind = fuzz_files.make(int(args.dump[0]), args.seed)
        Path(args.dump[1]).write_bytes(data)
        print(f"{kind}{suffix}, {len(data)} bytes -> {args.dump[1]}")
        return 0
    numbers = [args.only] if args.only is not None else list(range(args.files))
    if args.formats:
        import fuzz_formats as maker
    else:
        maker = fuzz_files
    if args.kind:
        numbers = [n for n in numbers if maker.make(n, args.seed)[-1].startswith(args.kind)]
    began = time.perf_counter()
    how = maker.write if args.formats else write
    outcomes, bad, extremes = run_api(numbers, args.seed, args.keep, how)
    seconds = time.perf_counter() - began
    print("\n".join(bad))
    step = max(1, len(numbers) // max(1, args.cli_files))
    by_cli, bad_cli = run_cli(numbers[::step][: args.cli_files], args.seed)
    print("\n".join(bad_cli))
    faults = {k: v for k, v in outcomes.items() if k not in GOOD}
    print(
        f"SUMMARY fuzz: {sum(outcomes.values())} files in {seconds:.0f} s:"
        f" {outcomes['analyzed']} analyzed, {outcomes['refused']} refused in one line,"
        f" {sum(faults.values())} faults {faults or ''}; slowest {extremes['seconds']:.2f} s,"
        f" peak {extremes['peak_mb']} MB; command line {sum(by_cli.values())} files,"
        f" {len(bad_cli)} faults"
    )
    return 1 if faults or bad_cli else 0


if __name__ == "__main__":
    sys.exit(main())
