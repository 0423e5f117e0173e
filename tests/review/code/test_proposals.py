"""Edits of code keep what a model computes, and leave out what they cannot keep."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from perfc.cli import run
from perfc.errors import ModelError
from perfc.frontend.reading.module_name import NamedModule
from perfc.review.code.proposals import attention, proposals, split_products
from perfc.review.code.worktree import patched

NET = '''\
from torch import nn


class Net(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.drop = nn.Dropout(0.1)
        self.stem = nn.Conv2d(3, d, 4, 4)

    def forward(self, x):
        """Return attended patches."""
        q, k, v = self.qkv(self.stem(x).flatten(2).mT).chunk(3, -1)
        attn = (q @ k.transpose(-2, -1)) * 0.2
        attn = attn.softmax(dim=-1)  # of keys
        attn = self.drop(attn)
        return attn @ v
'''


def fused(*statements: str) -> str:
    found = attention([ast.unparse(ast.parse(s)) for s in statements])
    return "" if found is None else found[1]


@pytest.mark.parametrize(
    ("between", "options"),
    [
        ((), "scale=1.0"),
        (("s = s / d ** 0.5",), "scale=1 / (d ** 0.5)"),
        (("s = s * 0.5", "s = s + m"), "scale=0.5, attn_mask=torch.atleast_2d(m)"),
        (("s = s.masked_fill(m == 0, float('-inf'))",), "scale=1.0, attn_mask=~(m == 0)"),
    ],
)
def test_scores_may_be_scaled_and_masked(between: tuple[str, ...], options: str) -> None:
    made = fused("s = torch.matmul(q, k.mT)", *between, "p = F.softmax(s, dim=-1)", "y = p @ v")
    assert made == f"y = torch.nn.functional.scaled_dot_product_attention(q, k, v, {options})"


@pytest.mark.parametrize(
    "statements",
    [
        ("s = q @ k.mT", "s = s.softmax(-1)", "return s @ v, s"),  # scores are a result
        ("s = q @ k.mT", "s = s + m", "s = s * 2", "s = s.softmax(-1)", "y = s @ v"),
        ("s = q @ k.mT", "s = s.softmax(1)", "y = s @ v"),
        ("s = q @ k.mT", "y = s @ v"),
        ("s = b + q @ k.mT", "s = s.softmax(-1)", "y = s @ v"),
        ("s = q @ k", "s = s.softmax(-1)", "y = s @ v"),
    ],
)
def test_other_products_stay(statements: tuple[str, ...]) -> None:
    assert fused(*statements) == ""


def test_only_linear_layers_are_split() -> None:
    code = "self.a = nn.Linear(4, 2)\ny = self.a(torch.cat([x, z], -1))\n"
    code += "z = self.b(torch.cat([x, z], -1))"
    made = split_products(code, "Net").partition("y = ")[2]
    assert "self.a.weight[:, : x.shape[-1]], self.a.bias" in made
    assert "self.b(torch.cat([x, z], -1))" in made


def test_patches_apply_to_a_copy(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "data").mkdir()
    module = NamedModule("net.py:Net", folder=str(tmp_path))
    made = {p.name: p.patch for p in proposals(module)}
    assert [*made] == ["fused attention", "autocast to bf16", "torch.compile", "channels last"]
    for name, patch in made.items():
        with patched(tmp_path, patch) as there:
            text = (there / "net.py").read_text()
            assert (there / "data").is_symlink()
            again = proposals(NamedModule("net.py:Net", folder=str(there)))
            assert name not in {p.name for p in again}
        ast.parse(text)
        # a decorator of torch needs it
        assert ("import torch\n" in text) == (name != "torch.compile")
    assert (tmp_path / "net.py").read_text() == NET


def test_a_patch_of_other_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    module = NamedModule("net.py:Net", folder=str(tmp_path))
    patch = next(proposals(module)).patch
    (tmp_path / "net.py").write_text(NET.replace("attn", "a"))
    for wrong in (patch, "", patch.replace("net.py", "../net.py")):
        with pytest.raises(ModelError, match="the patch does not apply"), patched(tmp_path, wrong):
            pass


def test_a_patch_that_does_not_apply_is_refused_before_an_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.py").write_text("raise SystemExit('imported')")
    (tmp_path / "one.patch").write_text("no patch")
    monkeypatch.chdir(tmp_path)
    assert run(["diff", "net.py:Net", "--patch", "one.patch"]) == 2
    assert "net.py:Net with a patch: the patch does not apply" in capsys.readouterr().err


def test_patches_are_priced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    assert run(["lint", "net.py:Net", "--input", "8x3x256x256", "--patch"]) == 0
    printed = capsys.readouterr().out
    headlines = [line for line in printed.splitlines() if line.startswith("# ")]
    assert headlines[0] == "# each is for the code as it is: git apply takes one of them"
    assert headlines[1].startswith("# fused attention: ")
    assert any(line.startswith("# channels last: ") for line in headlines)
    for patch in printed.split("\n\n# ")[1:]:
        (tmp_path / "one.patch").write_text(f"{patch}\n")
        options = ["--input", "8x3x256x256", "--patch", "one.patch", "--exit-code"]
        assert run(["diff", "net.py:Net", *options]) == 1
        # proposed and priced are one number
        saved = re.search(r", (-\d.* %), 90", patch)
        assert saved is not None
        assert saved[1] in capsys.readouterr().out
    assert run(["lint", "model.onnx", "--patch"]) == 2
