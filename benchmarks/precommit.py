"""A commit of one changed model among twenty, under the real pre-commit with perfc's hook.

    pip install pre-commit
    python -m benchmarks.precommit --models ../shared/models      # the perfc that is installed
    python -m benchmarks.precommit --install                   # the hook as pre-commit installs it
    python -m benchmarks.precommit --modules                   # ten modules in code; the hook alone

Times are of ``git commit`` as a whole: git, pre-commit and perfc. Afterwards what else a commit
may hold is tried: external data, a git-LFS pointer, a damaged file, a model over budget.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import chdir
from pathlib import Path

import onnx

from benchmarks.arguments import parser_of
from benchmarks.code_edits import DATA, write
from perfc.frontend.reading.process import KEEP_S
from tests.oracles.edits import edited

HERE = Path(__file__).resolve().parent
BUDGETS = """\
[[budget]]
model = "models/**/*.onnx"
target = "a100"
dims = { batch = 8 }
flop = { warn = "+0%", fail = "+100%" }
peak_memory = { fail = "+300%" }
time = { max = "1 s", fail = "+50%" }
unknown = "1%"
"""
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n".format("0" * 64)


class Project:
    """A git repository with models, budgets, a baseline and the hook."""

    def __init__(self, root: Path, *, is_installed: bool) -> None:
        self.root = root
        self.env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self.run("git", "init", "-q", ".")
        self.run("git", "config", "user.email", "bench@example.org")
        self.run("git", "config", "user.name", "bench")
        (root / "models").mkdir()
        (root / "perfc.toml").write_text(BUDGETS)
        (root / ".gitignore").write_text(".perfc_cache\n")
        hook = "- id: perfc-check\n        verbose: true\n"
        if is_installed:
            revision = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=HERE, text=True)
            text = f"- repo: {HERE.parent}\n    rev: {revision.strip()}\n    hooks:\n      {hook}"
        else:
            text = (
                "- repo: local\n    hooks:\n      - id: perfc-check\n        name: perfc check\n"
                "        entry: perfc check\n        language: system\n        verbose: true\n"
                "        files: \\.onnx(\\.gz)?$\n        require_serial: true\n"
            )
        (root / ".pre-commit-config.yaml").write_text(f"repos:\n  {text}")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project and return its output and errors together."""
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def commit(self, message: str) -> tuple[float, int, str]:
        """Stage everything and commit; return seconds, exit status and output."""
        self.run("git", "add", "-A")
        began = time.perf_counter()
        result = self.run("git", "commit", "-m", message)
        return time.perf_counter() - began, result.returncode, result.stdout


def sources(folder: Path | None, count: int) -> list[Path]:
    """Return the files of models, evenly spread over their names."""
    if folder is None:
        return sorted((HERE.parent / "examples" / "models").glob("*.onnx.gz"))
    paths = sorted(folder.glob("timm__*.onnx.gz"))
    return paths[:: max(len(paths) // (count - 1), 1)][: count - 1]


def main() -> int:
    parser = parser_of(__doc__, models=None, count=20, repeats=7, install=False, modules=False)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="perfc-precommit-"))
    try:
        measure = modules if options.modules else run
        measure(Project(folder, is_installed=options.install), options)
    finally:
        shutil.rmtree(folder)
    return 0


def run(project: Project, options: argparse.Namespace) -> None:
    """Fill the project, then commit changes of one ResNet-50."""
    models = project.root / "models"
    paths = sources(options.models, options.count)
    for k in range(options.count - 1):
        path = paths[k % len(paths)]
        name = path.name.removesuffix(".onnx.gz")
        (models / f"{k:02}-{name}.onnx").write_bytes(gzip.decompress(path.read_bytes()))
    plain = gzip.decompress((HERE.parent / "examples/models/resnet50.onnx.gz").read_bytes())
    (models / "resnet50.onnx").write_bytes(plain)
    print(project.run("perfc", "check", "--write-baseline").stdout.strip())
    print(project.run("pre-commit", "install", "--install-hooks").stdout.strip())
    seconds, status, _ = project.commit("all")
    print(f"first commit, {options.count} models: {seconds:.2f} s, status {status}")
    rng = random.Random(0)
    times = []
    for k in range(options.repeats):
        edit = edited(onnx.load_model_from_string(plain), 0, rng)
        assert edit is not None
        edit.model.doc_string = f"edit {k}"
        (models / "resnet50.onnx").write_bytes(edit.model.SerializeToString())
        seconds, status, out = project.commit(f"edit {k}")
        line = next((s.strip() for s in out.splitlines() if "analyzed," in s), "no summary")
        if k == 0:
            print(out)
        assert status == 0, out
        assert "1 analyzed, 0 from the cache" in line, line
        times.append(seconds)
    print(
        f"git commit of one changed model of {options.count}: median "
        f"{statistics.median(times):.2f} s, worst {max(times):.2f} s, of {len(times)}; each: {line}"
    )
    alone = []
    for _ in range(options.repeats):
        began = time.perf_counter()
        project.run("perfc", "check", "--no-cache", "models/resnet50.onnx")
        alone.append(time.perf_counter() - began)
    print(f"perfc check by itself: median {statistics.median(alone):.2f} s")
    others(project, plain)


def modules(project: Project, options: argparse.Namespace) -> None:
    """Print the time of the hook for ten modules in code: nothing changed, and one.

    A worker stays between the runs.
    """
    project.env[KEEP_S], tables = "60", ""
    for repository in tomllib.loads(DATA.read_text())["repository"]:
        with chdir(project.root):
            write(repository["files"])
        tables += f'[[models]]\nsource = "{repository["module"]}"\n'
        tables += f'input = "{repository["input"]}"\n'
    (project.root / "perfc.toml").write_text(tables)
    print(project.run("perfc", "check", "--write-baseline").stdout.strip())
    project.commit("all")
    path = project.root / "models" / "blocks.py"
    text = path.read_text()
    for what in ("unchanged", "one changed"):
        times = []
        for k in range(options.repeats):
            if what != "unchanged":
                path.write_text(text.replace("kernel=3", f"kernel={2 * k + 5}"))
            began = time.perf_counter()
            result = project.run("perfc", "check", "models/blocks.py")
            times.append(time.perf_counter() - began)
        median, worst = statistics.median(times), max(times)
        print(
            f"{what}: median {median:.2f} s, worst {worst:.2f} s; {result.stdout.splitlines()[-1]}"
        )


def others(project: Project, plain: bytes) -> None:
    """Print what else a commit may hold, a line for each."""
    models = project.root / "models"
    cases: dict[str, bytes] = {
        "pointer of git-LFS": POINTER.encode(),
        "damaged": plain[: len(plain) // 2],
        "text": b"not a model\n",
    }
    for what, content in cases.items():
        (models / "odd.onnx").write_bytes(content)
        _, status, out = project.commit(what)
        lines = [s.strip() for s in out.splitlines() if "odd.onnx" in s]
        print(f"{what}: status {status}, {lines[:1]}")
        project.run("git", "rm", "-qf", "models/odd.onnx")
    model = onnx.load_model_from_string(plain)
    (models / "external.onnx").write_bytes(model.SerializeToString())
    _, status, out = project.commit("external data, not there")
    print(f"external data that is not there: status {status}")
    (models / "resnet50.onnx").write_bytes(
        gzip.decompress((HERE.parent / "examples/models/vit-b16.onnx.gz").read_bytes())
    )
    _, status, out = project.commit("another network under the same name")
    lines = [s.strip() for s in out.splitlines() if "FAIL" in s]
    print(f"over budget: status {status}, {lines[:1]}")


if __name__ == "__main__":
    raise SystemExit(main())
