"""LiteRT in the worker process, with the XNNPACK delegate that it applies by default."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any


class LitertRun:
    """An interpreter with its inputs; whole runs alone are timed, kernels are not profiled.

    Args:
        request: JSON of the parent process; ``model`` and ``threads`` are used.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.version = f"litert {version('ai-edge-litert')}"
        self.interpreter: Any = None

    def load(self, *, profile: bool) -> None:
        """Create the interpreter; ``profile`` has no effect."""
        from ai_edge_litert.interpreter import Interpreter

        path, threads = self.request["model"], self.request["threads"]
        self.interpreter = Interpreter(path, num_threads=threads)

    def feed(self, path: str) -> None:
        """Read the inputs of a case from a file, and allocate tensors of their shapes."""
        import numpy as np

        arrays = np.load(path, allow_pickle=False)
        inputs = self.interpreter.get_input_details()
        for i, tensor in enumerate(inputs):
            self.interpreter.resize_tensor_input(tensor["index"], arrays[f"i{i}"].shape)
        # tensors can be set only after all shapes are allocated
        self.interpreter.allocate_tensors()
        for i, tensor in enumerate(inputs):
            self.interpreter.set_tensor(tensor["index"], arrays[f"i{i}"].astype(tensor["dtype"]))

    def step(self) -> None:
        """Run once."""
        self.interpreter.invoke()

    def is_finite(self) -> bool:
        """Return True if the last results contain neither NaN nor infinity."""
        import numpy as np

        indices = (tensor["index"] for tensor in self.interpreter.get_output_details())
        return all(bool(np.isfinite(self.interpreter.get_tensor(i)).all()) for i in indices)

    def close(self) -> str:
        """Release the interpreter, and return "": there is no profile."""
        self.interpreter = None
        return ""
