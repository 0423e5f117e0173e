"""Accuracy of the blame line on seeded edits of operators of real models.

    python -m benchmarks.diff_edits --models ../shared/models --seed 1 --count 50
    python -m benchmarks.diff_edits                       # the models of examples/

Every edit is tried on a model whose other nodes and values were all renamed as well, so that
names cannot help. Models with regions are left as they are: an edit is of the main graph.
"""

from __future__ import annotations

import gzip
import random
import sys
import time
from collections import Counter
from pathlib import Path

import onnx

from benchmarks.arguments import parser_of
from perfc.api import Report, analyze
from perfc.errors import PerfcError
from perfc.review.diff import compare
from tests.oracles.edits import KINDS, edited, renamed

HERE = Path(__file__).resolve().parent


def files(folder: Path | None) -> list[Path]:
    """Return the models to draw from."""
    paths = sorted((folder or HERE.parent / "examples" / "models").glob("*.onnx.gz"))
    return [p for p in paths if folder is None or p.name.startswith(("timm__", "hf__", "rnd__"))]


def read(path: Path) -> onnx.ModelProto:
    """Return the model in a compressed file."""
    return onnx.load_model_from_string(gzip.decompress(path.read_bytes()))


def executes(report: Report, names: set[str]) -> bool:
    """Return True if a node of one of these names is left after folding."""
    return any(n.name in names for n in report.module.graph.nodes)


def main() -> int:
    parser = parser_of(__doc__, models=None, seed=0, count=50, batch=1, verbose=False)
    parser.add_argument("--largest", type=int, default=1500, help="nodes of a model at most")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    pool = files(options.models)
    right: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    misses = 0
    while sum(tried.values()) < options.count:
        path = rng.choice(pool)
        model = read(path)
        if len(model.graph.node) > options.largest:
            continue
        # kinds of edits in turn; one that fits no drawn model is skipped after 20 tries
        edit = edited(model, sum(tried.values()) + misses // 20, rng)
        if edit is None:
            misses += 1
            continue
        new, names = renamed(edit.model, rng)
        try:
            before = analyze(model.SerializeToString())
            after = analyze(new.SerializeToString())
        except PerfcError as error:
            print(f"{path.name}: {edit.kind} at {edit.node} is not valid: {error}")
            continue
        if not executes(before, {edit.node}) and not executes(
            after, {names.get(edit.node, edit.node)}
        ):
            print(f"{path.name}: {edit.kind} at {edit.node} is folded before running: no cost")
            continue
        began = time.perf_counter()
        comparison = compare(before, after)
        seconds = time.perf_counter() - began
        tried[edit.kind] += 1
        first = comparison.blame.culprits[0].name if comparison.blame.culprits else ""
        wanted = {edit.node, names.get(edit.node, edit.node)}
        ok = first in wanted
        right[edit.kind] += ok
        if not ok or options.verbose:
            back = {new_name: old for old, new_name in names.items()}
            culprits = [
                (back.get(c.name, c.name), c.op_type, c.what, round(c.share, 3))
                for c in comparison.blame.culprits[:4]
            ]
            verdict = "ok" if ok else "WRONG"
            print(
                f"{verdict} {path.name}: {edit.kind} at {edit.node} ({seconds:.2f} s): {culprits}"
            )
            sys.stdout.flush()
    for kind in KINDS:
        print(f"{kind.__name__:20} {right[kind.__name__]:3} of {tried[kind.__name__]:3}")
    print(f"named first: {sum(right.values())} of {sum(tried.values())}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
