"""Apply the edits that perfc proposes for twenty models, run both with PyTorch, and compare.

    python -m benchmarks.code_patches

Edits that only switch the compiler on are run without it. Outputs may differ by 1e-4 of the
largest element, those in bf16 by 3e-2.
"""

from __future__ import annotations

import os
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from benchmarks import code_edits
from perfc.frontend.pytorch.torch_module import tensors_of, with_autocast
from perfc.frontend.pytorch.worker import given_call
from perfc.frontend.reading.module_name import NamedModule
from perfc.review.code.proposals import proposals
from perfc.review.code.worktree import patched


def repositories() -> Iterator[tuple[dict[str, Any], NamedModule]]:
    """Yield the repositories with their models, each in the current folder."""
    files = (code_edits.DATA, Path(__file__).with_suffix(".toml"))
    for repository in (r for f in files for r in tomllib.loads(f.read_text())["repository"]):
        with tempfile.TemporaryDirectory(prefix="perfc-patch-") as folder, chdir(folder):
            code_edits.write(repository["files"])
            yield repository, NamedModule(repository["module"], (repository["input"],))


def outputs(folder: Path, repository: dict[str, Any]) -> list[torch.Tensor]:
    """Return the outputs of the model in a folder, with the same weights and inputs each time."""
    where, _, name = repository["module"].partition(":")
    loaded, sys.path[:0] = {*sys.modules}, [str(folder)]
    try:
        torch.manual_seed(0)
        with torch.no_grad(), with_autocast():
            model = getattr(import_module(where), name)().eval()
            call = given_call([repository["input"]])
            assert call is not None
            given = [torch.rand_like(t) if t.is_floating_point() else t for t in call.args]
            return list(tensors_of(model(*given)))
    finally:
        sys.path.remove(str(folder))
        # the next folder has modules of the same names with other code
        for module in {*sys.modules} - loaded:
            if str(getattr(sys.modules[module], "__file__", "")).startswith(str(folder)):
                del sys.modules[module]


def distance(a: list[torch.Tensor], b: list[torch.Tensor]) -> float:
    """Return the largest difference of outputs, relative to the largest element of each."""
    return max(
        float((x.float() - y.float()).abs().max() / x.float().abs().max().clamp(min=1e-9))
        for x, y in zip(a, b, strict=True)
    )


def main() -> int:
    """Print each edit with the difference that it makes, and the number of models without one."""
    os.environ["TORCH_COMPILE_DISABLE"] = "1"
    right = list[bool]()
    for repository, module in repositories():
        before, is_right = outputs(Path.cwd(), repository), True
        for proposal in proposals(module):
            with patched(Path.cwd(), proposal.patch) as folder:
                error = distance(before, outputs(folder, repository))
            is_right &= error < (3e-2 if "bf16" in proposal.name else 1e-4)
            print(f"{module.name:20} {proposal.name:42} {error:.1e}", flush=True)
        right.append(is_right)
    print(f"{sum(right)} of {len(right)} models give the same outputs with each edit")
    return int(not all(right))


if __name__ == "__main__":
    sys.exit(main())
