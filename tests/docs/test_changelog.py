"""The changelog has the headings that are agreed on, and its numbers are those of the product."""

from __future__ import annotations

import re
from pathlib import Path

from perfc.machine import list_machines
from perfc.machine.folders import SHIPPED
from perfc.review.lint.catalogue import infos

TEXT = (Path(__file__).resolve().parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_versions_and_kinds_of_changes_have_the_agreed_headings() -> None:
    versions = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    released = re.compile(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d")
    assert all(released.fullmatch(v) for v in versions[1:])
    for part in re.split(r"^## .*$", TEXT, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", part, re.MULTILINE)
        assert kinds == [k for k in KINDS if k in kinds], "each once, in this order"


def test_numbers_are_those_of_today() -> None:
    targets = re.search(r"on (\d+) targets", TEXT)
    assert targets is not None
    assert int(targets[1]) == len(list(SHIPPED.glob("*.toml")))
    assert {m.name for m in list_machines()} >= {p.stem for p in SHIPPED.glob("*.toml")}
    rules = re.search(r"(\d+) rules", TEXT)
    assert rules is not None
    assert int(rules[1]) == len(infos())
