"""Check that a runtime runs on a machine."""

from __future__ import annotations

from perfc.errors import ParseError
from perfc.machine import Machine
from perfc.passes.runtimes import Runtime, tables


def check_machine(table: Runtime, machine: Machine) -> Machine:
    """Return a machine; reject a runtime that does not run on it.

    Raises:
        ParseError: names the runtimes that serve or run models there.
    """
    if not table.is_excluded(machine.kind, machine.vendor):
        return machine
    like = (t for t in tables() if t.serves is table.serves)
    kind = "cpu" if machine.kind == "cpu" else "cuda"
    there = [t.name for t in like if t.runs_on(kind, machine.vendor)]
    message = f"{table.name.partition(':')[0]} does not run on {machine.name}"
    raise ParseError(message, where="--runtime", hint=f"{', '.join(there)} do")
