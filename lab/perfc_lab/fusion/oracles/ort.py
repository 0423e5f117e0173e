"""Read the fusion of ONNX Runtime from the graph that its session writes for the CPU provider."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from perfc.api import typed
from perfc.errors import MissingExtraError, ModelError
from perfc.frontend.reading.process import child_environment
from perfc.measuring.measure.tables.weights import runnable
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes import runtime

from .. import OracleAnswer, OracleGroup, OracleRequest, leading_to

TABLE = runtime("ort-cpu")
"""Runtime whose fusion the oracle checks."""
LONGEST_S = 600
"""Seconds after which a session is given up."""
SESSION = """
import sys
import onnxruntime as ort
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
options.optimized_model_filepath = sys.argv[2]
options.log_severity_level = 3
options.intra_op_num_threads = 1
key = "session.optimized_model_external_initializers_"
options.add_session_config_entry(key + "file_name", "optimized.bin")
options.add_session_config_entry(key + "min_size_in_bytes", "256")
ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
"""
"""Program that writes the optimized graph of a model; initializers go to a file of no use here."""


def answer(request: OracleRequest) -> OracleAnswer:
    """Return the groups: the nodes of the model that a node of the optimized graph computes.

    Raises:
        PerfcError: onnxruntime is not installed, or does not run the model.
    """
    import onnx

    # the same simplification as before our fusion, so that nodes correspond
    module = Analyses().apply(Canonicalize(), typed(request.model, request.dims))
    with tempfile.TemporaryDirectory(prefix="perfc-fusion-") as folder:
        written = Path(folder, "optimized.onnx")
        run(str(runnable(request.model, Path(folder)).path), written)
        graph = onnx.load(str(written), load_external_data=False).graph
    # values have the same names in both graphs: they tie our nodes to nodes of the optimized graph
    producers = {v.name: n for n in module.graph.nodes for v in n.results}
    # a group of nodes ends at values that another optimized node writes
    borders = frozenset(name for n in graph.node for name in n.output)
    groups = [
        OracleGroup(n.name, n.op_type, frozenset(leading_to(iter(n.output), producers, borders)))
        for n in graph.node
        # QuantizeLinear and DequantizeLinear may be in several kernels
        if not n.op_type.endswith(("quantizeLinear", "QuantizeLinear"))
    ]
    return OracleAnswer(module, tuple(groups))


def run(model: str, written: Path) -> None:
    """Write the optimized graph of a model in a separate process.

    Raises:
        MissingExtraError: onnxruntime is not installed.
        ModelError: it fails on the model, or takes too long.
    """
    command = [sys.executable, "-c", SESSION, model, str(written)]
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
            env=child_environment(),
            cwd=written.parent,
        )
    except subprocess.TimeoutExpired:
        raise ModelError(f"onnxruntime did not optimize it in {LONGEST_S} s") from None
    if result.returncode == 0:
        return
    # the last line of a traceback is the error
    last_line = (result.stderr.strip() or f"exit code {result.returncode}").splitlines()[-1]
    if "No module named 'onnxruntime'" in last_line:
        from perfc.common.extras import install_package

        hint = install_package("onnxruntime")
        raise MissingExtraError("this oracle needs onnxruntime", hint=hint)
    raise ModelError(f"onnxruntime does not run it: {last_line[:300]}")
