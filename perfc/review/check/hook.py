"""Entry of `perfc check` in ``.pre-commit-config.yaml``."""

from __future__ import annotations

import re

FILE = ".pre-commit-config.yaml"
"""Configuration of pre-commit in a repository."""
LARGEST_BYTES = 1 << 20
"""Maximum bytes of the configuration of hooks, to which an entry is added."""
ENTRY = """\
- repo: local
  hooks:
    - id: perfc-check
      name: perfc check
      entry: perfc check
      language: system
      files: \\.(onnx(\\.gz)?|py)$
      require_serial: true
      verbose: true
"""
"""Hook that runs the installed perfc; ``verbose``, as else warnings are not shown."""
_REPOS = re.compile(r"^repos:[ \t]*(#.*)?$", re.MULTILINE)
"""Line above the list of hooks; with the list on the same line there is no place for an entry."""
_FIRST = re.compile(r"^([ \t]*)- ", re.MULTILINE)
"""The first entry of a list, whose indentation others follow."""
_OWN = re.compile(r"\bperfc[ -]check\b")
"""A hook of perfc, which is not added twice."""


def entered(text: str) -> str | None:
    r"""Insert the entry into a pre-commit configuration; None if there is no clear place.

    >>> print(entered("repos:\n- repo: local\n").splitlines()[1:4])
    ['- repo: local', '  hooks:', '    - id: perfc-check']
    """
    if _OWN.search(text):
        return text
    if not text.strip():
        return "repos:\n" + indented("  ")
    repos = _REPOS.search(text)
    if repos is None:
        return None
    at = repos.end() + 1  # the line after `repos:`
    first = _FIRST.search(text, repos.end())
    head = text if text.endswith("\n") else f"{text}\n"
    return head[:at] + indented(first[1] if first else "  ") + head[at:]


def indented(margin: str) -> str:
    """Return the entry with ``margin`` before every line."""
    return "".join(f"{margin}{line}\n" for line in ENTRY.splitlines())
