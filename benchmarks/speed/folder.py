"""Time one tool on every model of a list, in this process; seconds by path as JSON.

onnx-tool reads weights, which the files do not hold, so values are put in before its clock starts;
what it is timed on is parsing the graph, its shape inference and its profile.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sys
import time
import warnings
from pathlib import Path


def seconds_of_perfc(path: str) -> float:
    """Return the time to load, lower, infer shapes, cost, fuse, and bound by the roofline."""
    from tests.oracles import adapter

    began = time.perf_counter()
    adapter.analyze(path)
    return time.perf_counter() - began


def seconds_of_onnx_tool(path: str) -> float:
    """Return the time to load, infer shapes and profile."""
    import onnx
    import onnx_tool

    from benchmarks.shapes_models import bindings, feeds, fill_weights

    began = time.perf_counter()
    model = onnx.load_model_from_string(gzip.decompress(Path(path).read_bytes()))
    parsed = time.perf_counter() - began
    dims = bindings(model)
    fill_weights(model)
    given = feeds(model, dims)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        graph = onnx_tool.Model(model).graph
        graph.shape_infer(given)
        graph.profile()
        return parsed + time.perf_counter() - began


def main() -> None:
    tool, listing = sys.argv[1:3]
    measure = seconds_of_perfc if tool == "perfc" else seconds_of_onnx_tool
    times: dict[str, float | None] = {}
    for i, path in enumerate(Path(listing).read_text(encoding="utf-8").splitlines()):
        try:
            seconds = measure(path)
            times[path] = measure(path) if i == 0 else seconds  # the first one paid the imports
        except Exception as error:
            print(f"{tool} {Path(path).name}: {type(error).__name__}: {str(error)[:150]}")
            times[path] = None
    print(json.dumps(times))


if __name__ == "__main__":
    main()
