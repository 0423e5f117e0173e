"""No key of a repository's configuration starts a program or a connection."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from perfc import cli
from perfc.common.repository import git

from ..commands.test_mcp_command import with_client
from ..project.sources import LABORATORY, PRODUCT, place_of, sources, text_of

TREE_FORMAT = (
    "tree {tree}\nauthor a <a@b> 1700000000 +0000\ncommitter a <a@b> 1700000000 +0000\n"
    "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n =abcd\n"
    " -----END PGP SIGNATURE-----\n\nsigned\n"
)
ATTRIBUTES = "*.onnx filter=f diff=d merge=m\n*.py filter=a=b diff=d\n*.lock filter=f diff=d\n"
PROGRAMS = [
    "core.fsmonitor",
    "core.sshCommand",
    "core.gitProxy",
    "core.askPass",
    "core.editor",
    "core.pager",
    "core.alternateRefsCommand",
    "credential.helper",
    "credential.https://x.helper",
    "diff.external",
    "diff.d.command",
    "diff.d.textconv",
    "filter.f.clean",
    "filter.f.smudge",
    "filter.f.process",
    "filter.a=b.clean",
    "filter.a=b.smudge",
    "filter.a=b.process",
    "gpg.program",
    "gpg.openpgp.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "interactive.diffFilter",
    "merge.m.driver",
    "pager.log",
    "pager.diff",
    "pager.show",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "sequence.editor",
    "trailer.t.command",
    "trailer.t.cmd",
    "uploadpack.packObjectsHook",
]
"""Keys of `git help --config` that name a program; each is set to one that leaves a mark."""
OTHERS = {
    "log.showSignature": "true",
    "filter.f.required": "true",
    "submodule.recurse": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "core.repositoryformatversion": "1",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
}
"""Keys that let git come to the programs."""


def product(width: int) -> onnx.ModelProto:
    weight = numpy_helper.from_array(np.ones((64, width), np.float32), "w")
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 64])]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, width])]
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", inputs, results, [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def plain(*arguments: str, given: str = "") -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    command = ["git", *identity, *arguments]
    return subprocess.run(
        command, input=given, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of a signed commit and another, in which models have changed."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    plain("init", "-q", ".")
    onnx.save(product(64), "m.onnx")
    Path(".gitattributes").write_text(ATTRIBUTES)
    assert cli.run(["init", "m.onnx", "-t", "a100"]) == 0
    plain("add", "-A")
    text = TREE_FORMAT.format(tree=plain("write-tree"))
    signed = plain("hash-object", "-t", "commit", "-w", "--stdin", given=text)
    plain("reset", "-q", "--soft", signed)
    onnx.save(product(650), "m.onnx")
    plain("commit", "-qam", "second")
    onnx.save(product(6400), "m.onnx")
    return folder


def hostile(folder: Path, url: str) -> Path:
    """Set all keys and hooks to a program, and return the file that the program would write."""
    mark = folder.parent / "mark"
    program = folder.parent / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\nexit 1\n')
    program.chmod(0o755)
    for key in PROGRAMS:
        plain("config", key, str(program))
    for key, value in OTHERS.items():
        plain("config", key, value)
    plain("config", "remote.origin.url", url.format(program=program))
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"):
        Path(".git/hooks").mkdir(exist_ok=True)
        Path(".git/hooks", hook).symlink_to(program)
    return mark


DOORS = [
    ["--no-code", "check"],
    ["--no-code", "check", "--base", "HEAD~1"],
    ["--no-code", "check", "--write-baseline"],
    ["--no-code", "diff", "HEAD~1:m.onnx", "m.onnx", "-t", "a100"],
    ["init", "m.onnx", "-t", "a100", "--force"],
    ["--no-code", "lint", "m.onnx", "-t", "a100"],
]
TOOLS: dict[str, dict[str, Any]] = {
    "check": {"base": "HEAD~1"},
    "diff": {"old": "HEAD~1:m.onnx", "new": "m.onnx", "target": "a100"},
}


@pytest.mark.parametrize("command", DOORS, ids=" ".join)
def test_no_door_starts_a_program_of_a_repository(project: Path, command: Sequence[str]) -> None:
    mark = hostile(project, "ext::{program}")
    assert cli.run([*command]) in (0, 1, 2, 3)
    assert not mark.exists(), mark.read_text()


def test_no_tool_of_agents_starts_a_program_of_a_repository(project: Path) -> None:
    mark = hostile(project, "ext::{program}")

    async def use(client: Any) -> None:
        for name, arguments in TOOLS.items():
            result = await client.call_tool(name, arguments)
            assert not result.is_error
            assert "m.onnx" in result.content[0].text, name

    with_client(project, use)
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("url", ["ext::{program}", "ssh://x/y", "git://x/y", "evil::x"])
@pytest.mark.parametrize(
    "command",
    [
        ["--no-code", "check", "--base", "HEAD~1"],
        ["--no-code", "diff", "HEAD~1:m.onnx", "m.onnx", "-t", "a100"],
    ],
    ids=lambda command: command[1],
)
def test_content_that_a_clone_lacks_is_neither_fetched_nor_taken_for_new(
    project: Path, url: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = plain("rev-parse", "HEAD~1:m.onnx")
    Path(".git/objects", lacking[:2], lacking[2:]).unlink()
    mark = hostile(project, url)
    capsys.readouterr()
    assert cli.run(command) == 2
    assert not mark.exists(), mark.read_text()
    said = capsys.readouterr().err
    assert "this clone lacks the content of m.onnx in HEAD~1" in said
    assert "git cat-file -e" in said
    assert said.count("\n") == 1


def test_a_model_that_the_base_does_not_have_is_new(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(product(32), "other.onnx")
    budgets = project / "perfc.toml"
    budgets.write_text(budgets.read_text().replace("m.onnx", "*.onnx"))
    capsys.readouterr()
    assert cli.run(["check", "--base", "HEAD"]) in (0, 1)
    printed = capsys.readouterr().out
    assert "1 new" in printed
    assert str(project) not in printed


def test_the_programs_would_start_without_the_settings(project: Path) -> None:
    """The repository of the other tests is hostile: git alone runs its programs."""
    mark = hostile(project, "ext::{program}")
    subprocess.run(["git", "log", "-1", "HEAD~1"], capture_output=True, check=False)
    subprocess.run(["git", "diff", "HEAD"], capture_output=True, check=False)
    assert mark.read_text().count("\n") > 3
    mark.unlink()
    tree = str(project.parent / "tree")
    shown = [
        git(["log", "-1", "HEAD~1"]),
        git(["diff", "HEAD"]),
        git(["show", "HEAD:m.onnx"]),
        git(["worktree", "add", "--quiet", "--detach", tree, "HEAD"]),
    ]
    assert not mark.exists(), mark.read_text()
    assert [s.returncode for s in shown] == [0] * 4
    assert os.path.isfile(os.path.join(tree, "m.onnx"))


def test_one_module_of_the_product_runs_git() -> None:
    """`perfc data fetch` of the laboratory clones public sources, with the user's git-lfs."""
    running = {
        place_of(path)
        for path in sources(*PRODUCT, *LABORATORY)
        if '"git"' in text_of(path) or "'git'" in text_of(path)
    }
    assert running == {"perfc/common/repository.py", "lab/perfc_lab/data/fetch.py"}
