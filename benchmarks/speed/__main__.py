"""Wall time and peak memory of whole processes, perfc and onnx-tool in turn.

    python -m benchmarks.speed                                  # all but the model folder
    python -m benchmarks.speed --models ../shared/models --only models

Every figure is a median of interleaved runs of fresh processes; ratios are of medians. Timings
depend on the machine and on what else it does: read the ratios.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.arguments import index_rows, sampled

from .processes import (
    AT_A100,
    CASES,
    MODEL,
    RESNET,
    ROOT,
    Sample,
    build,
    measured,
    run,
    succeeded,
)

ONNX_TOOL = "import sys, onnx_tool; onnx_tool.model_profile(sys.argv[1])"


def on(path: Path) -> list[str]:
    """Return the command that analyses a file with prediction."""
    return [str(path) if a == MODEL else a for a in AT_A100]


def perfc(path: Path) -> Sample:
    """Run perfc on a file as a user types it, without prediction."""
    return run([*on(path), "--no-predict"])


def onnx_tool(path: Path) -> Sample:
    """Run onnx-tool on a file."""
    return run(["-c", ONNX_TOOL, str(path)])


def compare(name: str, path: Path, repeats: int) -> str:
    """Run both tools on one file in turn, and return medians of processor time and memory."""
    samples: list[tuple[Sample, Sample, Sample]] = []
    for _ in range(repeats):
        predicted = succeeded(run(on(path)))
        samples.append((succeeded(perfc(path)), succeeded(onnx_tool(path)), predicted))
    # time (t, u, p) and memory (m, n, q) of perfc, of onnx-tool, and of perfc with predictions
    t, u, p = (statistics.median(s.cpu_s for s in x) for x in zip(*samples, strict=True))
    m, n, q = (statistics.median(s.peak_mib for s in x) for x in zip(*samples, strict=True))
    print(f"{name}: perfc {t:.3f} s {m:.0f} MB; onnx-tool {u:.3f} s {n:.0f} MB")
    print(f"{name} with predictions: {p:.3f} s {q:.0f} MB, x{p / u:.2f} of onnx-tool")
    return f"{name} x{t / u:.2f} time, x{m / n:.2f} memory of onnx-tool ({t:.2f} s, {u:.2f} s)"


STARTED = (
    "help",
    "weights",
    "weights-quiet",
    "weights-no-predict",
    "check",
    "compare-all",
    "llm",
)
BUDGET = '[[budget]]\nmodel = "*.onnx"\ntarget = "a100"\ntime = { fail = "+5%" }\n'


def start(folder: Path, args: argparse.Namespace) -> str:
    """Return the time of commands with byte code and without any, as in a container."""
    sources = folder / "tree"
    shutil.copytree(ROOT / "perfc", sources / "perfc", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "perfc.toml").write_text(BUDGET, encoding="utf-8")
    compiled = {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    bare = {"PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    lines = []
    for name in STARTED:
        command = CASES[name].command(folder)
        first = run(command, folder, sources, bare)
        samples: list[list[Sample]] = [[], []]
        for turn in range(args.repeats + 1):
            for way, variables in enumerate((compiled, bare)):
                sample = succeeded(run(command, folder, sources, variables))
                samples[way] += [sample] if turn else []  # the first turn is warm-up
        with_, without = (statistics.median(s.cpu_s for s in way) for way in samples)
        peak = max(s.peak_mib for way in samples for s in way)
        text = f"{name} {with_:.3f} s, without byte code {without:.3f} s"
        print(f"{text}, the first time {first.cpu_s:.3f} s, {peak:.0f} MiB", flush=True)
        lines.append(text)
    return ", ".join(lines)


LINEAR = """
import sys, time, json
from tests.oracles import adapter
adapter.analyze(sys.argv[1])
out = []
for path in sys.argv[2:]:
    t = time.perf_counter(); adapter.analyze(path); out.append(time.perf_counter() - t)
print(json.dumps(out))
"""


def linearity(folder: Path, _: argparse.Namespace) -> str:
    """Return the slope of time over nodes, 1,000 to 100,000, on logarithmic axes."""
    sizes = (1_000, 3_000, 10_000, 30_000, 100_000)
    paths = [str(build("chain", folder, n, 64, False)) for n in sizes]
    sample = run(["-c", LINEAR, paths[0], *paths])
    if sample.status:
        return f"linearity failed: {sample.out[-300:]}"
    seconds = json.loads(sample.out.splitlines()[-1])
    for n, s in zip(sizes, seconds, strict=True):
        print(f"{n:7} nodes {s:8.3f} s  {1e6 * s / n:6.1f} us a node")
    slope = math.log(seconds[-1] / seconds[1]) / math.log(sizes[-1] / sizes[1])
    return f"time grows as nodes^{slope:.2f} from 3,000 to 100,000 ({seconds[-1]:.1f} s)"


WATCHED = """
import sys, os
opened = []
def hook(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)) and b"model.onnx.data" in os.fsencode(
        args[0]
    ):
        opened.append(args[0])
sys.addaudithook(hook)
from tests.oracles import adapter
r = adapter.analyze(sys.argv[1], {"batch": 1, "seq": 128})
print("PARAMETERS", r.cost.parameters, "OPENED", len(opened))
"""


def language_model(folder: Path, args: argparse.Namespace) -> str:
    """Time a billion parameters whose weights are missing, then there but never opened."""
    path = build("llama", folder)
    missing = [perfc(path) for _ in range(args.repeats)]
    with (folder / "model.onnx.data").open("wb") as f:
        f.truncate(5 << 30)  # sparse: the file system stores none of it
    watched = run(["-c", WATCHED, str(path)])
    seconds = statistics.median(s.seconds for s in missing)
    last = watched.out.strip().splitlines()[-1] if watched.out.strip() else ""
    print(f"language model: {seconds:.2f} s, exit {missing[0].status}; {last}")
    if missing[0].status:
        print(missing[0].out[-400:])
    return (
        f"1.1 B parameters with weights missing {seconds:.2f} s, weight file {last.lower()} times"
    )


def resnet(folder: Path, args: argparse.Namespace) -> str:
    """Compare the tools on ResNet-50 with its weights inside the file."""
    return compare("ResNet-50", build("resnet50", folder), args.repeats)


def chain(folder: Path, args: argparse.Namespace) -> str:
    """Compare the tools on 5,000 nodes of Conv and Relu, weights inside."""
    path = build("chain", folder, 5_000, args.channels)
    return compare("5,000-node chain", path, max(1, args.repeats // 2))


def prediction(folder: Path, _: argparse.Namespace) -> str:
    """Return the processor time of 100,000 nodes with and without prediction, run in turn."""
    command = CASES["100000-nodes-predicted"].command(folder)
    with_, without = [], []
    for _turn in range(3):
        with_.append(measured(command).cpu_s)
        without.append(measured([*command, "--no-predict"]).cpu_s)
    ours, bare = statistics.median(with_), statistics.median(without)
    print(f"100,000 nodes: {ours:.2f} s with prediction, {bare:.2f} s without")
    return f"100,000 nodes with prediction x{ours / bare:.2f} of without ({ours:.1f} s)"


def million(folder: Path, _: argparse.Namespace) -> str:
    """Return time and memory of a million nodes with prediction, as a user types it."""
    path = build("chain", folder, 1_000_000, 64, False)
    sample = run(on(path))
    return (
        f"a million nodes {sample.seconds:.1f} s ({sample.cpu_s:.1f} s of processor),"
        f" {sample.peak_mib:.0f} MiB, exit {sample.status}"
    )


def growth(folder: Path, _: argparse.Namespace) -> str:
    """Return how much more than twice the time doubled graphs take, each the worst of something.

    From 25,000 nodes the fixed time of a process counts little, and so does what is only done
    for few kernels.
    """
    names = run(["-c", "from speed import graphs; print(*[f.__name__ for f in graphs.GROWING])"])
    worst = ("", 0.0)
    for name in names.out.split():
        few = 1_000 if name == "symbolic" else 25_000
        times = []
        for nodes in (few, 2 * few, 4 * few):
            sample = run(on(build(name, folder, nodes)))
            if sample.status:
                return f"{name} of {nodes} nodes failed: {sample.out[-300:]}"
            times.append(sample.cpu_s)
        print(f"{name:10} {few:6} nodes and doubled twice", *[f"{t:6.2f} s" for t in times])
        worst = max(worst, (name, times[2] / times[1] / 2), key=lambda x: x[1])
    return f"twice the nodes at most x{worst[1]:.2f} of linear ({worst[0]})"


IN_A_LOOP = """
import gzip, itertools, json, statistics, sys, time
import onnx, perfc
from perfc.machine import list_machines
path, runtime = sys.argv[1:]
model = onnx.load_model_from_string(gzip.decompress(open(path, "rb").read()))
activations = [n for n in model.graph.node if n.op_type == "Relu"]
def changed(number):
    activations[number].op_type = "Sigmoid"
    data = model.SerializeToString()
    activations[number].op_type = "Relu"
    return data
base = perfc.analyze(path, "a100", runtime=runtime)
batches, layers = itertools.count(3), map(changed, itertools.count())
targets = (m.name for m in list_machines() if m.kind == "cuda")
calls = {
    "same model": lambda: perfc.analyze(path, "a100", runtime=runtime),
    "another batch": lambda: base.at(batch=next(batches)),
    "another target": lambda: base.on(next(targets)),
    "one layer changed": lambda: perfc.analyze(next(layers), "a100", runtime=runtime),
}
for name, call in calls.items():
    for result in ("roofline", "prediction"):
        spent = []
        for _ in range(11):
            began = time.process_time()
            getattr(call(), result)
            spent.append(time.process_time() - began)
        print(f"{runtime} {name}, {result}: {1e3 * statistics.median(spent[3:]):.1f} ms")
"""


def loop(_: Path, __: argparse.Namespace) -> str:
    """Return the median processor time of a call on ResNet-50, again and again in one process."""
    samples = [run(["-c", IN_A_LOOP, str(RESNET), name]) for name in ("eager", "ort")]
    return "; ".join(line for sample in samples for line in sample.out.splitlines())


REPEATED = """
import gc, sys
import perfc
from perfc.view.html import page
from perfc.view.report import collect
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
for i in range(60):
    report = perfc.analyze(sys.argv[1], "a100")
    page(report, collect(report))
    if i == 9:
        begin = resident()
print((resident() - begin) / 50)
"""


def repeated(_: Path, __: argparse.Namespace) -> str:
    """Return the memory that an analysis with its page leaves, of sixty in one process."""
    sample = run(["-c", REPEATED, str(RESNET)])
    return f"analyze and its page leave {float(sample.out.split()[-1]):.2f} MiB a call"


def models(folder: Path, args: argparse.Namespace) -> str:
    """Return the time of every real model in one process, by both tools."""
    rows = sampled(index_rows(args.models), args.limit)
    small = [r for r in rows if int(r["parameters"] or 0) <= args.largest]
    every = folder / "every.txt"
    every.write_text("\n".join(str(args.models / r["file"]) for r in rows), encoding="utf-8")
    some = folder / "some.txt"
    some.write_text("\n".join(str(args.models / r["file"]) for r in small), encoding="utf-8")
    ours = run(["-m", "speed.folder", "perfc", str(every)])
    theirs = run(["-m", "speed.folder", "onnx-tool", str(some)])
    mine = json.loads(ours.out.splitlines()[-1])
    other = json.loads(theirs.out.splitlines()[-1])
    done = {p: s for p, s in other.items() if s is not None}
    common = sum(mine[p] or 0.0 for p in done)
    failed = sum(s is None for s in mine.values())
    whole = sum(s or 0.0 for s in mine.values())
    print(
        f"perfc {len(mine) - failed} of {len(mine)} models, {whole:.1f} s, {ours.peak_mib:.0f} MB"
    )
    print(f"onnx-tool {len(done)} of {len(other)} models up to {args.largest:,} parameters")
    return (
        f"{len(mine) - failed} of {len(mine)} models in {whole:.1f} s; on the {len(done)} of"
        f" {len(other)} that onnx-tool finishes x{common / sum(done.values()):.3f} its time"
        f" ({common:.1f} s, {sum(done.values()):.1f} s)"
    )


PARTS: dict[str, Callable[[Path, argparse.Namespace], str]] = {
    "resnet": resnet,
    "chain": chain,
    "linearity": linearity,
    "llama": language_model,
    "prediction": prediction,
    "million": million,
    "growth": growth,
    "loop": loop,
    "repeated": repeated,
    "models": models,
    "start": start,
}


def main() -> int:
    parser = argparse.ArgumentParser("benchmarks.speed", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=sorted(PARTS))
    parser.add_argument("--models", type=Path, help="folder with INDEX.csv")
    parser.add_argument("--limit", type=int, default=0, help="evenly spaced sample of models")
    parser.add_argument("--largest", type=int, default=100_000_000, help="parameters, onnx-tool")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--channels", type=int, default=64)
    args = parser.parse_args()
    lines = []
    for name, part in PARTS.items():
        if (args.only and name != args.only) or (name == "models" and not args.models):
            continue
        with tempfile.TemporaryDirectory() as folder:
            lines.append(part(Path(folder), args))
    print("SUMMARY speed: " + "; ".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
