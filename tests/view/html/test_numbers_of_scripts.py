"""Numbers that the scripts of a page print: the same limits as in text."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import perfc
from perfc.view.report.units import Unit, quantity

FORMAT = Path(perfc.__file__).with_name("view") / "html" / "scripts" / "format.js"
CALLS = """
const document = { getElementById: () => ({ textContent: '{"reports": [null]}' }) };
%s
const times = [-2e-10, 2e-10, 2e-9, 0, 0.0012];
console.log(JSON.stringify([times.map((v) => quantity(v, "s")), times.map((v) => signed(v, "s")),
  [1.5, 100, 100.1].map((v) => ratio(v, 2))]));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_scripts_print_no_time_below_a_nanosecond_and_no_ratio_above_a_hundred() -> None:
    program = CALLS % FORMAT.read_text(encoding="utf-8")
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    times, changes, ratios = json.loads(done.stdout)
    assert times == [quantity(v, Unit.SECOND) for v in (-2e-10, 2e-10, 2e-9, 0, 0.0012)]
    assert changes == ["<1 ns", "<1 ns", "+2.00 ns", "0 s", "+1.20 ms"]
    assert ratios == ["1.50", "100.00", ">100"]
