"""Precision and recall of `perfc check` on edits that cost time and on others.

    python -m benchmarks.check_edits --models ../shared/models --seed 1
    python -m benchmarks.check_edits                      # the models of examples/

In a project of git each: the baseline is written and committed with the model, the model is edited,
and the check must fail on time and name the operator. Edits are ResNet-50's first convolution at
stride 1, then seeded ones that add a twentieth of the work at least. Then as many of names and of
order, none of which may fail. The limit is `+0%`: that a run takes longer must be sure.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

import onnx

from benchmarks.arguments import parser_of
from benchmarks.diff_edits import executes, files, read
from perfc.api import analyze
from perfc.cli import run as perfc
from perfc.errors import ModelError, PerfcError
from perfc.frontend import load
from perfc.ir.record import record
from perfc.review.diff.figures import Metric, figures
from tests.oracles.edits import KINDS, Editor, edited, renamed

RESNET = Path(__file__).parents[1] / "examples" / "models" / "resnet50.onnx.gz"
GROWING = tuple(
    k
    for k, kind in enumerate(KINDS)
    if kind.__name__ in ("wider", "changed_stride", "larger_kernel")
)
"""Kinds of edits that can add work."""
LEAST_GROWTH = 0.05
"""Minimum share of the work that an edit adds."""
MOST_TRIES = 60
"""Edits tried in vain for each that is wanted, before giving up."""


@record
class Checked:
    """Result of a check of an edited model."""

    code: int
    outcome: str
    message: str
    why: str


def git(root: Path, *arguments: str) -> None:
    """Run git as somebody."""
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", *identity, *arguments], check=True, cwd=root, stdout=subprocess.DEVNULL)


def checked(old: onnx.ModelProto, new: onnx.ModelProto, options: argparse.Namespace) -> Checked:
    """Check ``new`` in a project of git whose baseline has ``old`` under the same name."""
    with tempfile.TemporaryDirectory(prefix="perfc-check-") as folder, chdir(folder):
        path = Path("m.onnx")
        path.write_bytes(old.SerializeToString())
        Path("perfc.toml").write_text(budget(path, options))
        git(Path(), "init", "-q", ".")
        assert said("check", "--write-baseline")[0] == 0
        git(Path(), "add", "-A")
        git(Path(), "commit", "-qm", "one")
        path.write_bytes(new.SerializeToString())
        code, out = said("check", "--output-format", "json")
    tree = json.loads(out)
    if not tree["results"]:
        raise ModelError(tree["errors"][0])
    (result,) = tree["results"]
    about = [f for f in result["findings"] if f["metric"] == "time"]
    outcome, message = (about[0]["outcome"], about[0]["message"]) if about else ("pass", "")
    return Checked(code, outcome, message, result["why"])


def said(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the output of a command of perfc."""
    out = StringIO()
    with redirect_stdout(out):
        code = perfc(list(arguments))
    return code, out.getvalue()


def budget(path: Path, options: argparse.Namespace) -> str:
    """Return one limit on time, at the requested batch where the model's is open."""
    extents = (v.type.shape for v in load(path).graph.inputs if getattr(v.type, "shape", None))
    first = next((shape[0] for shape in extents if shape), 1)
    dims = "" if isinstance(first, int) else f'dims = {{ "{first}" = {options.batch} }}\n'
    return (
        f'[[budget]]\nmodel = "*.onnx"\ntarget = "{options.target}"\n{dims}'
        f'time = {{ fail = "{options.limit}" }}\n'
    )


def stem() -> tuple[onnx.ModelProto, onnx.ModelProto, str]:
    """Return ResNet-50 with its first convolution at stride 2 and at 1, and the node's name."""
    old = onnx.load_model_from_string(gzip.decompress(RESNET.read_bytes()))
    editor = Editor(old)
    node = next(n for n in editor.graph.node if n.op_type == "Conv")
    next(a for a in node.attribute if a.name == "strides").ints[:] = [1, 1]
    return old, editor.model, node.name


def growth(old: onnx.ModelProto, new: onnx.ModelProto, node: str) -> float:
    """Return the share of the work that an edit adds; -1 if it is of a node that does not run."""
    before, after = (analyze(m.SerializeToString()) for m in (old, new))
    if not executes(after, {node}):
        return -1.0
    flop, more = (figures(r)[Metric.FLOP].value for r in (before, after))
    return more / flop - 1 if flop else -1.0


def reordered(model: onnx.ModelProto, rng: random.Random) -> onnx.ModelProto:
    """Return the model with its nodes in another order that can run, and its weights in any."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    nodes = list(copy.graph.node)
    maker = {o: k for k, n in enumerate(nodes) for o in n.output if o}
    needs = [{maker[i] for i in captured(n) if i in maker} - {k} for k, n in enumerate(nodes)]
    readers: dict[int, list[int]] = {}
    for k, before in enumerate(needs):
        for m in before:
            readers.setdefault(m, []).append(k)
    missing = [len(before) for before in needs]
    # any order in which producers come first: one of the nodes that are ready, at random
    ready = [k for k, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        k = ready.pop(rng.randrange(len(ready)))
        order.append(k)
        for reader in readers.get(k, ()):
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    assert len(order) == len(nodes)
    moved = [onnx.NodeProto.FromString(nodes[k].SerializeToString()) for k in order]
    weights = [w.SerializeToString() for w in copy.graph.initializer]
    rng.shuffle(weights)
    del copy.graph.node[:], copy.graph.initializer[:]
    copy.graph.node.extend(moved)
    copy.graph.initializer.extend(map(onnx.TensorProto.FromString, weights))
    return copy


def captured(node: onnx.NodeProto) -> set[str]:
    """Return the values that a node reads, bodies included."""
    names = set(node.input)
    for a in node.attribute:
        for graph in (*a.graphs, *([a.g] if a.HasField("g") else [])):
            names |= {name for inner in graph.node for name in captured(inner)}
    return names


def grown(options: argparse.Namespace, rng: random.Random) -> int:
    """Check edits that add work; return how many did not fail on time with the operator named."""
    pool = files(options.models)
    right = tried = attempts = 0
    while tried < options.count and attempts < MOST_TRIES * options.count:
        attempts += 1
        path = rng.choice(pool)
        model = read(path)
        if len(model.graph.node) > options.largest:
            continue
        edit = edited(model, rng.choice(GROWING), rng)
        try:
            more = growth(model, edit.model, edit.node) if edit else -1.0
            if edit is None or more < LEAST_GROWTH:
                continue
            outcome = checked(model, edit.model, options)
        except PerfcError as error:
            print(f"{path.name}: not valid: {error}")
            continue
        tried += 1
        words = f"{path.name}: {edit.kind} at {edit.node}, {100 * more:+.0f} % work"
        right += shown(words, outcome, edit.node)
    print(f"edits that add work: {right} of {tried} fail on time with the operator named")
    return tried - right


def shown(words: str, checked_edit: Checked, node: str) -> bool:
    """Print a line; return whether the check failed on time and names the operator first."""
    is_named = f" from {node} (" in checked_edit.why
    ok = (checked_edit.code, checked_edit.outcome) == (1, "fail") and is_named
    print(f"{'ok   ' if ok else 'WRONG'} {words}: {checked_edit.message or checked_edit.outcome}")
    if not is_named:
        print(f"      named: {checked_edit.why}")
    sys.stdout.flush()
    return ok


def neutral(options: argparse.Namespace, rng: random.Random) -> int:
    """Check edits of names and order; return how many failed or warned."""
    pool = files(options.models)
    wrong = tried = 0
    while tried < options.count:
        path = rng.choice(pool)
        model = read(path)
        if len(model.graph.node) > options.largest:
            continue
        new = reordered(renamed(model, rng)[0], rng)
        outcome = checked(model, new, options)
        tried += 1
        if (outcome.code, outcome.outcome) != (0, "pass"):
            wrong += 1
            print(f"WRONG {path.name}: another order and names: {outcome.message}")
    print(f"edits of names and order: {wrong} of {tried} fail or warn")
    return wrong


def main() -> int:
    parser = parser_of(__doc__, models=None, seed=1, count=20, batch=32, target="a100")
    parser.add_argument("--limit", default="+0%", help="of time")
    parser.add_argument("--largest", type=int, default=1500, help="nodes of a model at most")
    options = parser.parse_args()
    # checks run in other folders, each a repository of its own
    options.models = options.models and options.models.resolve()
    os.environ.pop("GIT_DIR", None)
    old, new, node = stem()
    wrong = not shown("resnet50: first convolution at stride 1", checked(old, new, options), node)
    wrong += grown(options, random.Random(options.seed))
    wrong += neutral(options, random.Random(options.seed))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
