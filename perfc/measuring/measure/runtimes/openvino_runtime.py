"""OpenVINO in the worker process: compiles for the shapes of a case, runs, reads counters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROFILE = "openvino-profile.json"
"""File of the times of layers, in the form of ONNX Runtime's profiles, which one reader reads."""


class OpenVinoRun:
    """A compiled model and the inputs of its runs.

    Args:
        request: JSON of the parent process: model, inputs, threads, dtype and folder.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        import openvino

        self.request = request
        self.openvino: Any = openvino
        self.version = f"openvino {openvino.__version__.partition('-')[0]}"
        self.infer: Any = None
        self.feeds: dict[str, Any] = {}
        self.members: dict[str, list[str]] = {}
        self.events: list[dict[str, object]] = []
        self.is_profiled = False

    def load(self, *, profile: bool) -> None:
        """Read the model; with ``profile`` its runs are counted layer by layer."""
        self.core = self.openvino.Core()
        self.model = self.core.read_model(self.request["model"])
        self.is_profiled = profile

    def feed(self, path: str) -> None:
        """Read the inputs of a case from a file, and compile the model for their shapes."""
        import numpy as np

        arrays = np.load(path, allow_pickle=False)
        names = [name for name, _, _ in self.request["inputs"]]
        self.feeds = {name: arrays[f"i{i}"] for i, name in enumerate(names)}
        self.model.reshape({name: list(array.shape) for name, array in self.feeds.items()})
        options = {
            "INFERENCE_NUM_THREADS": self.request["threads"],
            "NUM_STREAMS": 1,
            "PERF_COUNT": self.is_profiled,
        }
        if self.request["dtype"]:
            options["INFERENCE_PRECISION_HINT"] = self.request["dtype"]
        compiled = self.core.compile_model(self.model, "CPU", options)
        self.infer = compiled.create_infer_request()
        if self.is_profiled:
            # layers of the compiled model list the layers of the file that they stand for
            for op in compiled.get_runtime_model().get_ordered_ops():
                origins = op.get_rt_info()["originalLayersNames"].astype(str)
                self.members[op.get_friendly_name()] = [n for n in origins.split(",") if n]

    def step(self) -> None:
        """Run once."""
        self.infer.infer(self.feeds, share_inputs=True, share_outputs=True)
        if self.is_profiled:
            for layer in self.infer.get_profiling_info():
                if layer.status.name == "EXECUTED":
                    self.record(layer)
            # ends the run for the reader; its time is measured without a profile
            self.events.append({"cat": "Session", "name": "model_run", "dur": 0, "ts": 0})

    def record(self, layer: Any) -> None:
        """Record the time of one layer of the last run."""
        duration_us = layer.real_time.total_seconds() * 1e6
        op = f"{layer.node_type} {layer.exec_type}".replace(" ", ":")
        args = {"op_name": op, "members": self.members.get(layer.node_name, [])}
        name = f"{layer.node_name}_kernel_time"
        event = {"cat": "Node", "name": name, "dur": duration_us, "args": args}
        # so far from each other that no layer seems to lie within another
        self.events.append({**event, "ts": len(self.events) * 1e9})

    def is_finite(self) -> bool:
        """Return True if the last results contain neither NaN nor infinity."""
        import numpy as np

        outputs = (self.infer.get_output_tensor(i).data for i in range(len(self.model.outputs)))
        return all(bool(np.isfinite(o).all()) for o in outputs if o.dtype.kind == "f")

    def close(self) -> str:
        """Release the model, and return the profile's file, if any."""
        self.infer, self.model = None, None
        if not self.events:
            return ""
        path = Path(self.request["folder"]) / PROFILE
        path.write_text(json.dumps(self.events), encoding="utf-8")
        return PROFILE
