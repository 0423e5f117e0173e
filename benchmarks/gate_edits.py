"""Count edits that make a model worse and that `perfc check` passes in silence, by format.

    python -m benchmarks.gate_edits

Networks of ``gate_edits.toml`` have 33 edits of their code. A project of git has each as an ONNX
file, as a `.pt2` file and as a PyTorch module, under the budgets of `perfc init`. Every edit must
fail or warn in each. Edits that the export or ONNX Runtime removes are named: the graph that it
runs is equal.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import tomllib
from contextlib import chdir
from pathlib import Path
from typing import Any

from benchmarks.arguments import parser_of
from benchmarks.check_edits import git, said

DATA = Path(__file__).with_suffix(".toml")
FORMATS = ("m.onnx", "m.pt2", "net.py:Net")
BUDGETS = """
[[budget]]
model = ["*.onnx", "*.pt2"]
target = "a100"

[[models]]
source = "net.py:Net"
target = "a100"
"""


def write(code: str) -> str:
    """Write a network in each format and return the graph that ONNX Runtime runs."""
    import onnx
    import onnxruntime
    import torch

    Path("net.py").write_text(code)
    names: dict[str, Any] = {"__name__": "net"}
    exec(compile(code, "net.py", "exec"), names)
    model = names["Net"]()
    program = torch.export.export(model, model.example_inputs())
    torch.export.save(program, "m.pt2")
    torch.onnx.export(program, dynamo=True, verbose=False).save("m.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = "runs.ort.model"
    options.add_session_config_entry("session.save_model_format", "ONNX")
    onnxruntime.InferenceSession("m.onnx", options, providers=["CPUExecutionProvider"])
    graph = onnx.load("runs.ort.model").graph
    weights = sorted((w.data_type, *w.dims) for w in graph.initializer)
    nodes = sorted(f"{n.op_type} {n.attribute}" for n in graph.node)
    return str((nodes, weights, graph.input))


def outcomes(tree: dict[str, Any]) -> dict[str, str]:
    """Return the limits that each model exceeds; "" for a model that passes in silence."""
    if tree["errors"]:
        raise SystemExit("\n".join(map(str, tree["errors"])))
    words: dict[str, str] = {}
    for result in tree["results"]:
        exceeded = [(f["outcome"], f["metric"]) for f in result["findings"]]
        for level in ("fail", "warn"):
            metrics = [metric for outcome, metric in exceeded if outcome == level]
            if metrics:
                words[result["model"]] = f"{level} {', '.join(metrics)}"
                break
    return words


def main() -> int:
    """Print the outcome of every edit in each format, and how many were silent."""
    parser = parser_of(__doc__)
    parser.add_argument("--only", default="", help="part of the name of an edit")
    options = parser.parse_args()
    # the process that exports the module stays
    os.environ["PERFC_KEEP_S"] = "120"
    silent = edits = equal = 0
    for network in tomllib.loads(DATA.read_text())["network"]:
        with tempfile.TemporaryDirectory(prefix="perfc-gate-") as folder, chdir(folder):
            git(Path(), "init", "-q", ".")
            Path("perfc.toml").write_text(BUDGETS)
            base = write(network["code"])
            assert said("check", "--write-baseline")[0] == 0
            git(Path(), "add", "-A")
            git(Path(), "commit", "-qm", "one")
            for kind, old, new in network["edits"]:
                if options.only not in kind:
                    continue
                same = write(network["code"].replace(old, new)) == base
                limits = outcomes(json.loads(said("check", "--output-format", "json")[1]))
                edits += 1
                for name in FORMATS:
                    is_equal = same and name == "m.onnx"
                    words = limits.get(name) or ("equal graph" if is_equal else "SILENT")
                    silent += words == "SILENT"
                    equal += words == "equal graph"
                    print(f"{kind:24} {name:12} {words}", flush=True)
    print(f"{edits} edits, {len(FORMATS)} formats: {silent} silent, {equal} equal graphs")
    return int(silent > 0)


if __name__ == "__main__":
    sys.exit(main())
