"""The workflow of examples/pytorch in real git, with PyTorch's own exports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
EXAMPLE = REPOSITORY / "examples" / "pytorch"
IDENTITY = {
    f"GIT_{who}_{what}": "n@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


PERFC = """\
#!{python}
from pathlib import Path
from perfc.cli import main
from perfc.frontend.pytorch import named

export = named.exported


def once(model, dims):
    # the second check of the workflow is of the same folders: each is exported once
    made = Path(__file__).with_name(Path(model.folder or ".").resolve().name)
    if not made.is_file():
        made.write_bytes(export(model, dims))
    return made.read_bytes()


named.exported = once
main()
"""


def step(name: str) -> str:
    """Return the script of a step of the workflow."""
    text = (EXAMPLE / ".github" / "workflows" / "perfc.yml").read_text()
    return textwrap.dedent(text.partition(f"- name: {name}\n")[2].partition("run: |\n")[2])


def test_a_pull_request_is_checked_and_annotated_at_its_lines(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    bin_, main, summary = tmp_path / "bin", tmp_path / "main", tmp_path / "summary.md"
    bin_.mkdir()
    (bin_ / "perfc").write_text(PERFC.format(python=sys.executable))
    (bin_ / "perfc").chmod(0o755)
    env = {
        **os.environ,
        **IDENTITY,
        "PYTHONPATH": str(REPOSITORY),
        "GITHUB_BASE_REF": "main",
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
    }

    def ran(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-ec", script]
        return subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False
        )

    shutil.copytree(EXAMPLE, main, ignore=shutil.ignore_patterns("__pycache__", ".perfc_cache"))
    made = ran(main, "perfc check --write-baseline; git init -qb main; git add .; git commit -qm 1")
    assert (made.returncode, made.stdout) == (0, "perfc.lock: 2 entries, 2 new, 0 gone\n")
    ran(tmp_path, "git clone -q main request")
    layers = tmp_path / "request" / "mynet" / "layers.py"
    layers.write_text(layers.read_text().replace("relu(x)", "relu(x) * x.sigmoid()"))
    commit = "git checkout -qb other; git commit -qam two"
    done = ran(tmp_path / "request", f"{commit}\n{step('check')}")
    line = 1 + layers.read_text().splitlines().index("    return torch.relu(x) * x.sigmoid()")
    assert done.returncode == 1, done.stderr
    assert f"::error file=mynet/layers.py,line={line}," in done.stdout
    assert f"at mynet/layers.py:{line}" in summary.read_text()
    sarif = "perfc check --base origin/main --output-format sarif"
    (run,) = json.loads(ran(tmp_path / "request", sarif).stdout)["runs"]
    places = [
        p["physicalLocation"]["artifactLocation"]["uri"]
        for r in run["results"]
        for p in r["relatedLocations"]
    ]
    assert {*places} == {"mynet/model.py"}, "the lines that call the changed one"
    assert ran(tmp_path / "request", "git worktree list").stdout.count("\n") == 1
