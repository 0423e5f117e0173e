"""Extras and options that pages name are there, and every extra is on a page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest

from perfc.cli import cli
from perfc.commands.shared import listing
from perfc.deployment import KEYS

ROOT = Path(__file__).resolve().parents[2]
# pages of benchmarks have the options of scripts
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")} - {ROOT / "docs/status.md"})
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?![\w-])")
FOREIGN = {
    "pip": {"--no-compile"},
    "slurm": {"--array"},
    "vllm": {"--enable-metrics", "--enable-log-requests"},
    "sglang": {"--enable-mixed-chunk", "--scheduler-recv-interval"},
    "ncu": {"--clock-control", "--page"},
    "nsys": {"--type"},
}
"""Options of other tools that pages name."""


def extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])


def options(command: click.Command) -> set[str]:
    """Return the options of a command and of those in it."""
    found = {f for p in command.params for f in (*p.opts, *p.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        inner = (command.get_command(context, name) for name in command.list_commands(context))
        found.update(*(options(c) for c in inner if c is not None))
    return found


def test_every_extra_is_in_the_table_once() -> None:
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8").partition("| extra | for |")[2]
    rows = re.findall(r"^\| (`.*?) \|", text.partition("\n\n")[0], re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(.+?)`", row)) == sorted(extras())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_extras_of_a_page_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"pip install [^`\n]*?'\.\[([\w,-]+)\]'", text)
    assert {name for names in named for name in names.split(",")} <= extras()


def test_options_that_pages_name_are_there() -> None:
    known = options(cli).union(*FOREIGN.values(), {"--help", "--help-all"})
    named = {
        (page.name, option)
        for page in PAGES
        if page.name not in ("CHANGELOG.md", "CONTRIBUTING.md")  # removed ones, those of scripts
        for span in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))
        for option in OPTION.findall(span)
    }
    assert len(named) > 200
    assert not {(page, option) for page, option in named if option not in known}
    assert set().union(*FOREIGN.values()) <= {option for _, option in named}


def test_the_page_of_deployments_names_commands_and_keys_that_are_there() -> None:
    text = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
    sentence = text.partition(" for `analyze`")[2].partition("\n\n")[0]
    named = {"analyze", *re.findall(r"`([a-z ]+)`", sentence)}
    flags = {path: listing.flags_of(command) for path, command in listing.all_commands()}
    flags |= {"dev reduce": flags["analyze"], "op": flags["op matmul"]}
    assert named <= flags.keys()
    assert all("--target" in flags[name] for name in named)
    keys = re.findall(r"^\| `[^|]*\| `([a-z0-9-]+)` \|", text, re.MULTILINE)
    assert len(keys) > 20
    assert {key.replace("-", "_") for key in keys} <= set(KEYS)
