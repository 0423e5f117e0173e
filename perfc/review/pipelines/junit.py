"""JUnit XML output, which CI shows as tests: one case per check.

Format: ``testsuites/testsuite/testcase`` with ``failure``, ``error`` and ``skipped`` as Jenkins,
GitLab and GitHub's reporters read them. No times and no dates: the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from perfc.common.plain_text import printable
from perfc.ir import record


@record
class TestCase:
    """One check.

    Args:
        name: name of the check.
        group: group of the check, shown as a class or a folder.
        failures: failures, one line each.
        error: why the check could not run; empty if it ran.
        skipped: why the check was skipped; empty if it ran.
        notes: additional output, one line each.
    """

    name: str
    group: str
    failures: tuple[str, ...] = ()
    error: str = ""
    skipped: str = ""
    notes: tuple[str, ...] = ()


def render(suite: str, cases: Sequence[TestCase], errors: Sequence[str]) -> str:
    """Return the XML document; errors are a line each, which begins with a file."""
    unread = [TestCase(e.partition(":")[0], "not analyzed", error=e) for e in errors]
    cases = [*cases, *unread]
    counts = {
        "tests": len(cases),
        "failures": sum(bool(c.failures) for c in cases),
        "errors": sum(bool(c.error) for c in cases),
        "skipped": sum(bool(c.skipped) for c in cases),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    root = Xml.Element("testsuites", {"name": "perfc", **numbers})
    parent = Xml.SubElement(root, "testsuite", {"name": suite, **numbers})
    for case in cases:
        names = {"name": printable(case.name), "classname": printable(case.group)}
        element = Xml.SubElement(parent, "testcase", names)
        if case.failures:
            # one element for all failures, as GitLab reads only the first element of a case
            first, *others = case.failures
            message = printable(first) + (f" and {len(others)} more" if others else "")
            child = Xml.SubElement(element, "failure", {"message": message})
            child.text = "\n".join(map(printable, case.failures))
        for tag, line in (("error", case.error), ("skipped", case.skipped)):
            if line:
                Xml.SubElement(element, tag, {"message": printable(line)})
        if case.notes:
            Xml.SubElement(element, "system-out").text = "\n".join(map(printable, case.notes))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"
