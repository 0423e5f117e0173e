"""Exit codes of perfc's hook under the real pre-commit and git, in twelve layouts of a repository.

python -m benchmarks.precommit_layouts        # the perfc of this interpreter; 1 where one is wrong
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.precommit import POINTER, Project

BUDGET = '[[budget]]\nmodel = "models/*.onnx"\ntarget = "a100"\nflop = { fail = "+5%" }\n'


def put(path: Path, size: int) -> None:
    """Write a product of ``size`` rows and columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    w = numpy_helper.from_array(np.zeros((64, size), np.float32), "w")
    x = helper.make_tensor_value_info("x", 1, [size, 64])
    y = helper.make_tensor_value_info("y", 1, [size, size])
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [w])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path
    )


def based(project: Project, *folders: str) -> None:
    """Commit budgets, a model and a baseline in each folder."""
    (project.root / "perfc.toml").unlink()
    for name in folders or (".",):
        folder = project.root / name
        put(folder / "models" / "a.onnx", 64)
        (folder / "perfc.toml").write_text(BUDGET)
        assert project.run("sh", "-c", f"cd {name} && perfc check --write-baseline").returncode == 0
    project.run("pre-commit", "install")
    assert project.commit("base")[1] == 0


def layouts(project: Project) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each layout, the exit code wanted, and the one that came."""
    root, model = project.root, project.root / "models" / "a.onnx"
    based(project, ".", "services/vision", "services/speech")
    put(root / "services/vision/models/a.onnx", 256)
    yield "monorepo: sub-project grown", 1, project.commit("x")[1]
    yield (
        "absolute path",
        1,
        project.run("perfc", "check", str(root / "services/vision/models/a.onnx")).returncode,
    )
    yield (
        "Windows path",
        1,
        project.run("perfc", "check", "services\\vision\\models\\a.onnx").returncode,
    )
    yield (
        "sub-folder",
        1,
        project.run("sh", "-c", "cd services/vision/models && perfc check a.onnx").returncode,
    )
    put(root / "services/vision/models/a.onnx", 64)
    put(root / "services/speech/models/a.onnx", 256)
    put(model, 32)
    yield "two configurations, one grown", 1, project.commit("x")[1]
    put(root / "services/speech/models/a.onnx", 64)
    put(model, 64)
    put(root / "models" / "new.onnx", 64)
    yield "new file", 0, project.commit("x")[1]
    model.rename(root / "models" / "b.onnx")
    yield "renamed", 0, project.commit("x")[1]
    (root / "models" / "b.onnx").unlink()
    yield "deleted", 0, project.commit("x")[1]
    (root / "models" / "new.onnx").write_text(POINTER)
    yield "pointer of git-LFS", 1, project.commit("x")[1]
    put(root / "models" / "new.onnx", 63)
    (root / "perfc.lock").write_text("= damaged\n")
    yield "damaged baseline", 1, project.commit("x")[1]
    (root / "perfc.lock").unlink()
    tree = root.parent / f"{root.name}-tree"
    project.run("git", "worktree", "add", "-q", str(tree))
    put(tree / "services/vision/models/a.onnx", 256)
    command = f"cd {tree} && git add -A && git commit -qm x"
    yield "worktree: sub-project grown", 1, project.run("sh", "-c", command).returncode
    shutil.rmtree(tree)
    (root / "perfc.toml").write_text(BUDGET.replace("models/*", "none/*"))
    yield "no file matches", 2, project.run("perfc", "check").returncode


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="perfc-layouts-"))
    try:
        every = list(layouts(Project(folder, is_installed=False)))
    finally:
        shutil.rmtree(folder)
    for name, wanted, code in every:
        print(f"{'ok   ' if code == wanted else 'WRONG'} {name}: {code}, {wanted} wanted")
    right = sum(code == wanted for _, wanted, code in every)
    print(f"{right} of {len(every)} right")
    return right != len(every)


if __name__ == "__main__":
    raise SystemExit(main())
