"""Measures many models on this machine's CPU under ONNX Runtime, and writes the rows as a dataset.

    python benchmarks/campaign.py --models ../shared/models --out datasets/cpu-zen5-2c

Run it again to go on: what is measured lies in the state folder, one file for each model and
number of threads. Models go in turn over families, all threads first, so that a part is already
useful. Every model runs in a process of its own, which is killed when it takes too long.
`--again` measures runs that something else disturbed once more; `--write` only writes the dataset
from what is there.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import gzip
import hashlib
import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from perfc.api import analyze
from perfc.common.whole_file import write_whole
from perfc.errors import PerfcError
from perfc.ir.symbolic.dim import Poly
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import TensorType
from perfc.measuring.measure.process import MeasurementProtocol, all_threads, workspace
from perfc.measuring.measure.session import measure_cases
from perfc.measuring.measure.tables import dataset, rows
from perfc.measuring.measure.tables.weights import runnable

TABLE = "ort-cpu-blocked"
BATCHES = (1, 4)
LIMIT_WEIGHT_BYTES = 3 << 30
SLOWEST_S = 6.0
"""A run that takes longer is not repeated for other batches."""


@dataclass(frozen=True)
class Candidate:
    """A model file."""

    path: Path
    family: str
    exporter: str


def family_of(stem: str) -> str:
    """The architecture's name up to its first number or separator: ``resnet`` of ``resnet50``."""
    name = stem.removeprefix("legacy__")
    source, _, rest = name.partition("__")
    first = re.match(r"[a-z]+", rest or source)
    return f"{source}:{first.group() if first else rest}"


def candidates(folder: Path) -> list[Candidate]:
    """Models in turn over families, exporters alternating; the same order every time."""
    index = folder / "INDEX.csv"
    exporters: dict[str, str] = {}
    if index.is_file():
        with index.open(encoding="utf-8", newline="") as stream:
            exporters = {r["file"]: r["exporter"] for r in csv.DictReader(stream)}
    families: dict[str, list[Candidate]] = {}
    for path in sorted(folder.glob("*.onnx*")):
        stem = rows.model_name(path.name)
        named = "legacy" if stem.startswith("legacy__") else "dynamo"
        exporter = exporters.get(path.name, named)
        families.setdefault(family_of(stem), []).append(Candidate(path, family_of(stem), exporter))

    def place(c: Candidate) -> str:
        return hashlib.sha256(c.path.name.encode()).hexdigest()

    turns: list[list[Candidate]] = []
    for family in families.values():
        by_exporter = [
            sorted((c for c in family if c.exporter == e), key=place) for e in ("dynamo", "legacy")
        ]
        by_exporter.sort(key=lambda cs: place(cs[0]) if cs else "~")
        mixed = [c for pair in zip_longest(*by_exporter) for c in pair if c is not None]
        for i, c in enumerate(mixed):
            while len(turns) <= i:
                turns.append([])
            turns[i].append(c)
    return [c for turn in turns for c in sorted(turn, key=place)]


def zip_longest(
    a: list[Candidate], b: list[Candidate]
) -> Iterator[tuple[Candidate | None, Candidate | None]]:
    for i in range(max(len(a), len(b))):
        yield (a[i] if i < len(a) else None), (b[i] if i < len(b) else None)


@dataclass
class Campaign:
    """What is asked for, and where its state lies."""

    options: argparse.Namespace
    start: float

    def left_s(self) -> float:
        """Seconds of the budget that are left."""
        budget: float = self.options.budget_s
        return budget - (time.monotonic() - self.start)

    def state(self, c: Candidate, threads: int) -> Path:
        """The file that holds what was measured of a model."""
        folder: Path = self.options.state
        return folder / f"{rows.model_name(c.path.name)}__t{threads}.json.gz"

    def run(self) -> None:
        """Measure until everything is done or the budget is spent."""
        chosen = candidates(self.options.models)
        self.options.state.mkdir(parents=True, exist_ok=True)
        for threads in self.options.threads or dict.fromkeys((all_threads(), 1)):
            good = 0
            for c in chosen:
                if good >= self.options.count or self.left_s() < 10:
                    break
                good += self.one(c, threads)
            print(f"{threads} threads: {good} models", flush=True)

    def one(self, c: Candidate, threads: int) -> bool:
        """Measure one model unless it is done; whether there are rows of it."""
        path = self.state(c, threads)
        if path.exists():
            earlier = load(path)
            if not (self.options.again and disturbed(earlier)):
                return not earlier.get("error")
        begin = time.monotonic()
        try:
            content = self.measured(c, threads)
        except PerfcError as error:
            content = {"error": str(error)[:300], "family": c.family}
        except MemoryError:
            content = {"error": "out of memory", "family": c.family}
        write_whole(path, gzip.compress(json.dumps(content).encode()))
        models = content.get("models") or []
        assert isinstance(models, list)
        text = ", ".join(f"{m['dims']}: {m['time_s'] * 1e3:.1f} ms" for m in models)
        spent = time.monotonic() - begin
        name = rows.model_name(c.path.name)
        print(f"{name} t{threads}: {content.get('error') or text} ({spent:.1f} s)", flush=True)
        return not content.get("error")

    def measured(self, c: Candidate, threads: int) -> dict[str, object]:
        """Rows of every batch that is fast enough."""
        o = self.options
        path = os.fspath(c.path)
        first = analyze(path, o.target, runtime=TABLE)
        work = evaluate(first.cost.work.mac, first.env)
        weights = evaluate(first.cost.weight_bytes, first.env)
        if work > o.largest_gmac * 1e9 or weights > LIMIT_WEIGHT_BYTES:
            text = f"skipped: {work / 1e9:.1f} G multiply-accumulates, {weights / 2**30:.1f} GiB"
            return {"error": text, "family": c.family}
        symbol = batch_symbol(first)
        reports = [first]
        if symbol is not None:
            reports += [
                analyze(path, o.target, dims={symbol: b}, runtime=TABLE)
                for b in BATCHES
                if b != first.env[symbol]
            ]
        protocol = MeasurementProtocol(
            threads=threads, repeat=7, min_time_s=o.min_time_s, max_time_s=SLOWEST_S,
            limit_s=min(o.limit_s, max(self.left_s(), 10)),
        )  # fmt: skip
        with workspace() as folder:
            ready = runnable(path, folder)
            done = measure_cases(
                path, o.target, [r.env for r in reports], protocol,
                reports=reports, folder=folder, stand_in=ready,
            )  # fmt: skip
            date = datetime.datetime.now(datetime.UTC).date().isoformat()
            return {
                "family": c.family,
                "exporter": c.exporter,
                "kernels": [asdict(r) for m in done for r in rows.kernel_rows(m)],
                "models": [asdict(rows.model_row(m, date)) for m in done],
                "notes": list(done[0].notes),
            }

    def write(self) -> None:
        """Write the dataset from the state."""
        out: Path = self.options.out
        out.mkdir(parents=True, exist_ok=True)
        kernels: list[rows.KernelRow] = []
        models: list[rows.ModelRow] = []
        failed: dict[str, str] = {}
        legacy: set[str] = set()
        for path in sorted(self.options.state.glob("*.json.gz")):
            content = load(path)
            if content.get("exporter") == "legacy":
                legacy.add(path.name.rpartition("__")[0])
            if content.get("error"):
                failed[path.name.removesuffix(".json.gz")] = str(content["error"])
            kernels += [rows.KernelRow(**r) for r in content.get("kernels", ())]
            models += [rows.ModelRow(**r) for r in content.get("models", ())]
        # equal rows of different runs lie side by side, where gzip sees them
        kernels.sort(key=lambda r: (r.model, r.part, r.kernel, r.dims, r.threads))
        models.sort(key=lambda r: (r.model, r.dims, r.threads))
        if not models:
            print("nothing is measured yet")
            return
        dataset.write(out / "kernels.csv.gz", kernels)
        dataset.write(out / "models.csv.gz", models)
        (out / "README.md").write_text(
            self.readme(kernels, models, failed, len(legacy)), encoding="utf-8"
        )
        sizes = ", ".join(f"{p.name} {p.stat().st_size / 2**20:.2f} MiB" for p in out.iterdir())
        print(f"{out}: {len(models)} runs, {len(kernels)} kernels; {sizes}")

    def readme(
        self,
        kernels: list[rows.KernelRow],
        models: list[rows.ModelRow],
        failed: dict[str, str],
        legacy: int,
    ) -> str:
        """What the rows are, and how they were measured."""
        names = {m.model for m in models}
        dates = sorted({m.date for m in models})
        runs = {(m.dims, m.threads) for m in models}
        thread_counts = sorted({t for _, t in runs})
        left_out = sum(1 for why in failed.values() if why.startswith("skipped"))
        versions = ", ".join(sorted({m.version for m in models}))
        attributed = sum(m.attributed * m.kernel_s for m in models)
        share = attributed / max(sum(m.kernel_s for m in models), 1e-12)
        return README.format(
            machine=machine(), system=f"{platform.system()} {platform.machine()}",
            versions=f"{versions}, Python {platform.python_version()}",
            dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))),
            models=len(names), runs=len(models), kernels=len(kernels),
            legacy=legacy,
            threads=" and ".join(map(str, thread_counts)), min_time=self.options.min_time_s,
            slowest=SLOWEST_S, limit=self.options.limit_s,
            largest=self.options.largest_gmac, left_out=left_out,
            failed=len(failed) - left_out, share=share, target=models[0].target,
        )  # fmt: skip


README = """# {models} models on a CPU under ONNX Runtime

Machine: {machine}; {system}, a virtual machine.
Versions: {versions}. Measured {dates} by `benchmarks/campaign.py`.

| file | rows | one row is |
| --- | --- | --- |
| `models.csv.gz` | {runs} | one run: a model at one batch and number of threads |
| `kernels.csv.gz` | {kernels} | a kernel of perfc's in one run, with its time in ONNX Runtime |

{models} models, {legacy} of them from the TorchScript exporter; batch 1 and 4 where the batch is
symbolic, {threads} threads of the runtime's pool. The columns are those of
`perfc/measuring/measure/tables/rows.py`; units are in their names, `mac` is a multiply-accumulate.

## Protocol
- Weights are random with the deviation that keeps activations at their size; inputs are random,
  ids within the vocabulary, masks of ones. Default session options, CPU provider.
- `time_s` of a model: median of at least 7 runs and {min_time:g} s after warming up, or of what
  fits in {slowest:g} s; no profiling, results stay in the runtime's memory. `iqr_s`: distance of
  the quartiles, `best_s`: the shortest.
- Kernels: medians from a second session with the runtime's profiler on. Their sum is `kernel_s`;
  it contains what profiling costs. Half a microsecond is added to each event, as the profiler cuts
  durations to whole ones. {share:.2%} of the time was traced to ONNX nodes.
- Runs whose quartiles lie over 25 % apart, whose best is under 0.8 of the median, or whose kernels
  tell another time were measured once more by `--again` and replaced; some remain disturbed.
- `part`: rows of one run with the same part were timed together, as the runtime merged what
  perfc keeps apart; `time_s` then is a share of `part_s`.
- `peak_rss_bytes`: highest resident memory of the process. The batches of a model run in one
  process, smallest first, so a later one includes the earlier; `base_rss_bytes` is the process
  without a model.
- `floor_s` and `sustained_s` are those of the target `{target}`, for orientation.
- Left out: {left_out} runs of models with more than {largest:g} G multiply-accumulates or 3 GiB
  of weights, and {failed} that failed or took longer than {limit:g} s.
"""


def batch_symbol(report: object) -> str | None:
    """The symbol that is the first extent of the first input."""
    for v in report.source.graph.inputs:  # type: ignore[attr-defined]
        if isinstance(v.type, TensorType) and v.type.shape and v.weight is None:
            d = v.type.shape[0]
            atoms = list(d.atoms()) if isinstance(d, Poly) else []
            return atoms[0].key if len(atoms) == 1 else None
    return None


def disturbed(content: dict[str, list[dict[str, object]]]) -> bool:
    """Whether something else used the machine: runs far apart, or kernels of another time."""
    for m in content.get("models") or ():
        time_s, best_s, iqr_s, kernel_s = (
            float(str(m[k])) for k in ("time_s", "best_s", "iqr_s", "kernel_s")
        )
        if best_s < 0.8 * time_s or iqr_s > 0.25 * time_s:
            return True
        # the profiler adds a little to each kernel and takes nothing away
        if time_s > 2e-3 and not 0.75 * time_s < kernel_s < 1.6 * time_s:
            return True
    return False


def load(path: Path) -> dict[str, list[dict[str, object]]]:
    """The content of a state file."""
    found: dict[str, list[dict[str, object]]] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def machine() -> str:
    """The processor in words; no name of this machine."""
    fields: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        return platform.processor() or platform.machine()
    flags = set(fields.get("flags", "").split())
    wide = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "SSE"
    text = f"{fields.get('model name', 'unknown')}, family {fields.get('cpu family', '?')} model "
    text += f"{fields.get('model', '?')}, {all_threads()} processors, {wide}"
    return f"{text}, {memory_gib():.0f} GiB of memory"


def memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=Path, default=Path("../shared/models"))
    parser.add_argument("--out", type=Path, required=True, help="folder of the dataset")
    parser.add_argument("--state", type=Path, default=Path("build/campaign"))
    parser.add_argument("--target", default="generic-x86-64")
    parser.add_argument("--count", type=int, default=240, help="models")
    parser.add_argument("--budget-s", type=float, default=3600.0)
    parser.add_argument("--threads", type=int, nargs="*", help="all and one by default")
    parser.add_argument("--largest-gmac", type=float, default=30.0, help="at batch 1")
    parser.add_argument("--limit-s", type=float, default=90.0, help="of one process")
    parser.add_argument("--min-time-s", type=float, default=0.6, help="of one case")
    parser.add_argument("--again", action="store_true", help="measure disturbed runs once more")
    parser.add_argument("--write", action="store_true", help="only write what is there")
    options = parser.parse_args()
    campaign = Campaign(options, time.monotonic())
    try:
        if not options.write:
            campaign.run()
    except KeyboardInterrupt:
        print("interrupted; run again to go on", file=sys.stderr)
    finally:
        campaign.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
