"""Results of analyses of a model, as text for a golden file.

A question of `tests/golden_estimates.py` names a model, then pipelines; the last pass of each is an
analysis, whose table is the answer (`tests/golden_tables.py`)::

    > tables windows.onnxtxt shapes,fuse{runtime=ort},liveness kernels batch=4
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from perfc.api import typed
from perfc.errors import PerfcError
from perfc.passes import Analysis
from perfc.passes.manager import Analyses
from perfc.passes.pipeline import parse_pipeline
from tests.golden_tables import kernels_by_runtime, table

SIZE = re.compile(r"(\w+)=(\d+)\Z")


def answer(path: Path, words: list[str]) -> Iterator[str]:
    """The table of each pipeline; ``kernels`` are those under every runtime."""
    sizes = [result for word in words if (result := SIZE.match(word))]
    dims = {result[1]: int(result[2]) for result in sizes}
    for text in words[: len(words) - len(sizes)]:
        am = Analyses()
        module = typed(path, dims, am=am)
        yield f"{text}:"
        if text == "kernels":
            yield from (f"  {line}" for line in kernels_by_runtime(module, am).splitlines() if line)
            continue
        pipeline = parse_pipeline(text)
        analysis = pipeline.passes[-1]
        assert isinstance(analysis, Analysis)
        try:
            lines = list(table(am.get(analysis, pipeline.run(module, am))))
        except PerfcError as error:
            lines = [f"error: {error}"]
        yield from (f"  {line}" for line in lines)
