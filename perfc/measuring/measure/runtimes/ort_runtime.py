"""ONNX Runtime in the worker process: loads, feeds, runs, profiles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

OPTIMIZED = "optimized.onnx"
"""File with the graph after the session's optimizations, whose nodes the profile names."""
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
"""Execution providers by kind of device."""


class OrtRun:
    """One session with the buffers of its inputs and outputs.

    Args:
        request: JSON of the parent process: device, folder, threads, path of the model, and name,
            ONNX element type and ``is_plain`` of each input.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        import onnxruntime

        self.request = request
        self.ort: Any = onnxruntime
        self.version = f"onnxruntime {onnxruntime.__version__}"
        self.session: Any = None
        self.feeds: dict[str, Any] = {}
        self.outputs: list[Any] = []
        self.binding: Any = None
        kind, _, number = str(request["device"]).partition(":")
        self.is_cpu = kind == "cpu"
        self.index = int(number or 0)
        self.provider = PROVIDERS[kind]
        if self.provider not in onnxruntime.get_available_providers():
            raise RuntimeError(f"this onnxruntime has no {self.provider}")

    def load(self, *, profile: bool) -> None:
        """Create the session; with ``profile`` it also writes its optimized graph."""
        ort, folder = self.ort, Path(self.request["folder"])
        options = ort.SessionOptions()
        options.log_severity_level = 4  # fatal errors only
        options.intra_op_num_threads = self.request["threads"]
        options.inter_op_num_threads = 1  # nodes run one after the other
        if profile:
            options.enable_profiling = True
            options.profile_file_prefix = str(folder / "profile")
            options.optimized_model_filepath = str(folder / OPTIMIZED)
            # weights go to a separate file, deleted below: the graph is read without them, and one
            # file of protobuf with weights of 2 GiB or more cannot be written
            external = "session.optimized_model_external_initializers_"
            options.add_session_config_entry(external + "file_name", "optimized.bin")
            options.add_session_config_entry(external + "min_size_in_bytes", "256")
        options_of_provider = {} if self.is_cpu else {"device_id": str(self.index)}
        providers: list[Any] = [(self.provider, options_of_provider)]
        if not self.is_cpu:
            # nodes that the GPU's provider lacks run on the host
            providers.append(PROVIDERS["cpu"])
        self.session = ort.InferenceSession(self.request["model"], options, providers=providers)
        if self.provider not in self.session.get_providers():
            raise RuntimeError(f"{self.provider} could not be initialised")
        if profile:
            (folder / "optimized.bin").unlink(missing_ok=True)

    def feed(self, path: str) -> None:
        """Read the inputs of a case from a file."""
        import numpy as np

        arrays = np.load(path, allow_pickle=False)
        names = [n for n, _, _ in self.request["inputs"]]
        self.feeds = {}
        for i, (name, number, is_plain) in enumerate(self.request["inputs"]):
            make = self.ort.OrtValue
            array = arrays[f"i{i}"]
            # NumPy has no bfloat16, float8 or int4: arrays of their bits need the ONNX type
            self.feeds[name] = (
                make.ortvalue_from_numpy(array)
                if is_plain
                else make.ortvalue_from_numpy_with_onnx_type(array, number)
            )
        self.outputs = []
        if not self.is_cpu:
            # inputs are copied to the device once, so that runs do not time the copies
            self.binding = self.session.io_binding()
            for name in names:
                on_device = self.ort.OrtValue.ortvalue_from_numpy(
                    self.feeds[name].numpy(), "cuda", self.index
                )
                self.binding.bind_ortvalue_input(name, on_device)
            for out in self.session.get_outputs():
                self.binding.bind_output(out.name, "cuda", self.index)

    def step(self) -> None:
        """Run once; results stay on the device."""
        if self.binding is not None:
            self.session.run_with_iobinding(self.binding)
            self.binding.synchronize_outputs()
            return
        self.outputs = self.session.run_with_ort_values(None, self.feeds)

    def is_finite(self) -> bool:
        """Return True if results of f32 and f64 of the last run have neither NaN nor infinity.

        Results on a GPU are not copied back; those of other types may have no NumPy type.
        """
        import numpy as np

        for value in self.outputs:
            if not value.is_tensor() or value.data_type() not in (
                "tensor(float)",
                "tensor(double)",
            ):
                continue
            if not np.isfinite(value.numpy()).all():
                return False
        return True

    def close(self) -> str:
        """Release the session, and return its profile's file, if any."""
        profile = ""
        if self.session is not None and self.session.get_session_options().enable_profiling:
            profile = os.path.basename(self.session.end_profiling())
        self.feeds, self.outputs, self.binding, self.session = {}, [], None, None
        return profile
