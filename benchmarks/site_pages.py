"""Pages of the documentation site that are not files of docs/; mkdocs.yml names this as a hook.

The reference of commands is what ``--help`` prints, that of Python the names of ``perfc.__all__``,
that of schemas what ``perfc dev schema`` prints. Pages at the top of the repository and of the
laboratory (lab/) join the others.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import perfc
from perfc.cli import cli
from perfc.commands.dev.schema import documents, schema_named

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
LAB = ROOT / "lab"
AT_THE_TOP = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
WIDTH = 100
_LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")
_NAMED_FENCE = re.compile(r"^```(\w+) file=(\S+)$", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return Markdown by the path it would have in docs/."""
    by_path = {
        "reference/commands.md": commands(),
        "reference/python.md": python(),
        "reference/schemas.md": schemas(),
    }
    for path in (*(ROOT / name for name in AT_THE_TOP), *lab_files(".md")):
        by_path[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    return by_path


def lab_files(*suffixes: str) -> list[Path]:
    """Return the files of the laboratory's documentation with one of some suffixes."""
    folders = (LAB / "docs", LAB / "notes")
    return sorted(p for folder in folders for p in folder.rglob("*") if p.suffix in suffixes)


def commands() -> str:
    """Return every command with its help."""
    lines = ["# Commands", "", "What `--help` prints of each command.", ""]
    for path, context in contexts(cli, "perfc", None):
        level = "#" * min(path.count(" ") + 2, 4)
        lines += [f"{level} {path}", "", "```text", context.get_help().rstrip(), "```", ""]
    return "\n".join(lines)


def contexts(
    command: click.Command, path: str, parent: click.Context | None
) -> Iterator[tuple[str, click.Context]]:
    """Yield a command and those below it, each with the words that call it."""
    with click.Context(
        command, parent, path.rpartition(" ")[2], terminal_width=WIDTH, max_content_width=WIDTH
    ) as context:
        yield path, context
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                if inner is not None and not inner.hidden:
                    yield from contexts(inner, f"{path} {name}", context)


def python() -> str:
    """Return the names of ``import perfc``, each with its signature and docstring."""
    lines = [
        "# Python",
        "",
        "`import perfc` gives these names; nothing else is promised to stay.",
        "",
    ]
    for name in perfc.__all__:
        value = getattr(perfc, name)
        if callable(value):
            where = f"{value.__module__}.{value.__qualname__}"
            label = f"perfc.{name}"
            # mkdocstrings puts the signature and docstring in place of these lines
            lines += [f"::: {where}", "    options:", f"      heading: {label}"]
            lines += [f"      toc_label: {label}", ""]
    return "\n".join(lines)


def schemas() -> str:
    """Return every JSON document with the keys at its top, and a link to its schema."""
    lines = ["# Schemas", "", "JSON Schema, draft 2020-12, of what perfc writes.", ""]
    for name in documents():
        schema: dict[str, Any] = schema_named(name)
        lines += [
            f"## {name}",
            "",
            f"`perfc schema {name}`, or [the file]({name}.schema.json).",
            "",
        ]
        lines += ["| key | required | what it is |", "| --- | --- | --- |"]
        for key, value in schema["properties"].items():
            is_required = key in schema.get("required", [])
            text = " ".join(value.get("description", "").split()).replace("|", "\\|")
            lines.append(f"| `{key}` | {'yes' if is_required else 'no'} | {text} |")
        lines.append("")
    return "\n".join(lines)


def on_config(config: Any) -> Any:
    """Make the anchors of headings those of GitHub, since pages are read there too."""
    from pymdownx.slugs import slugify

    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are no files, the schemas and the notebooks."""
    from mkdocs.structure.files import File

    for path, content in pages().items():
        files.append(File.generated(config, path, content=content))
    for name in documents():
        content = json.dumps(schema_named(name), indent=2, sort_keys=True)
        files.append(File.generated(config, f"reference/{name}.schema.json", content=content))
    for path in (*sorted(EXAMPLES.glob("*.ipynb")), *lab_files(".svg", ".jsonl")):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Rewrite links to their targets in the site, and show the file name above named blocks."""
    return _NAMED_FENCE.sub(r'```\1 title="\2"', site_links(markdown, page.file.src_uri))


def site_links(markdown: str, page: str) -> str:
    """Rewrite the relative links of a page, given its path in the site.

    Links are written for the repository, where the pages of the site lie in docs/.
    """
    is_outside = page.startswith("lab/") or page in AT_THE_TOP
    source = posixpath.dirname(page if is_outside else f"docs/{page}")

    def rewritten(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(source, match[1]))
        moved = posixpath.relpath(target.removeprefix("docs/"), posixpath.dirname(page) or ".")
        return f"]({moved}{match[2] or ''})"

    return _LINK.sub(rewritten, markdown)
