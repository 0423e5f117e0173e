"""PyTorch in the worker process: runs an ONNX graph operator by operator, eagerly.

The run stands for a framework that runs the same operators, although the cost of Python on the host
differs. Kernels are timed by PyTorch's profiler on a device and by the clock on a processor, and
their times are written as a profile in the form of ONNX Runtime.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from .replay import TYPES, TorchProcess
from .torch_ops import OPERATORS

PROFILE = "torch-profile.json"
"""File of the times of nodes, in the form of ONNX Runtime's profiles."""
LABEL = "perfc-node-"
"""Prefix of a node's range in PyTorch's profile."""


@contextmanager
def stopwatch(seconds: list[float], index: int) -> Iterator[None]:
    """Write the wall time of the body to ``seconds[index]``."""
    begin = time.perf_counter()
    yield
    seconds[index] = time.perf_counter() - begin


def device_seconds(events: Iterable[Any], count: int) -> list[float]:
    """Return the device time of each of ``count`` nodes in seconds, without idle time.

    Only the operators inside a node's range count: the range itself is an event on the device too,
    but one with the gaps between kernels.
    """
    seconds = [0.0] * count
    for event in events:
        if event.name.startswith(LABEL):
            inner = (c.device_time_total for c in event.cpu_children)
            seconds[int(event.name.removeprefix(LABEL))] += sum(inner) * 1e-6
    return seconds


def forget_loading() -> None:
    """Return the memory that reading a file left in the heap, and reset the peak of memory."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        # 5: Linux resets the peak resident set of the process
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


class TorchRun(TorchProcess):
    """A graph with its tensors on a device."""

    def __init__(self, request: dict[str, Any]) -> None:
        import onnx  # noqa: F401 - memory without a model, read after this, includes the library

        super().__init__(request)
        self.values: dict[str, Any] = {}
        self.feeds: dict[str, Any] = {}
        self.outputs: dict[str, Any] = {}
        self.graph: list[NodeStep] = []
        self.steps: list[NodeStep] = []
        self.dtype = getattr(self.torch, TYPES[request["dtype"]]) if request.get("dtype") else None
        self.compiled: Callable[..., Any] | None = None
        self.events: list[dict[str, object]] = []
        self.is_profiled = False

    def load(self, *, profile: bool) -> None:
        """Read the graph and its tensors."""
        import onnx
        from onnx import numpy_helper

        path = Path(self.request["model"])
        graph = onnx.load(path, load_external_data=False).graph
        self.is_profiled = profile
        self.events = []
        self.values = {}
        read = {name for node in graph.node for name in node.input}
        for tensor in (t for t in graph.initializer if t.name in read):
            array = numpy_helper.to_array(tensor, str(path.parent))
            self.values[tensor.name] = self.tensor(array)
        self.graph = [NodeStep.of(n, self) for n in graph.node]
        self.names = [o.name for o in graph.output]

    def tensor(self, array: Any) -> Any:
        """Copy an array to the device; integers for shapes stay on the host."""
        tensor = self.torch.from_numpy(array.copy())
        # integers of a shape or of axes: no list of them is longer than 16
        is_shape = array.dtype.kind in "iu" and array.size <= 16
        return tensor if is_shape else self.narrowed(tensor).to(self.device)

    def narrowed(self, tensor: Any) -> Any:
        """Return a tensor in the precision of the run."""
        is_narrowed = self.dtype is not None and tensor.is_floating_point()
        return tensor.to(self.dtype) if is_narrowed else tensor

    def feed(self, path: str) -> None:
        """Read the inputs of a case from a file."""
        import numpy as np

        arrays = np.load(path, allow_pickle=False)
        self.feeds = {}
        for i, (name, number, is_plain) in enumerate(self.request["inputs"]):
            tensor = self.torch.from_numpy(arrays[f"i{i}"])
            if not is_plain and number == 16:  # onnx.TensorProto.BFLOAT16, stored as its bits
                tensor = tensor.view(self.torch.bfloat16)
            self.feeds[name] = self.narrowed(tensor).to(self.device)
        # `without_shapes` runs the whole graph once, so it frees values as a run does
        self.free_dead(self.graph)
        self.steps = self.without_shapes()
        self.free_dead(self.steps)
        forget_loading()
        # compiled kernels are not nodes of the graph: profiles are of the eager run
        if self.request.get("table") == "inductor" and not self.is_profiled:
            from torch.fx.experimental.proxy_tensor import make_fx

            traced = make_fx(lambda *feeds: self.results(dict(zip(self.feeds, feeds, strict=True))))
            self.compiled = self.torch.compile(traced(*self.feeds.values()))

    def free_dead(self, steps: list[NodeStep]) -> None:
        """Let each step free the values that no later step reads."""
        last: dict[str, int] = {}
        for i, s in enumerate(steps):
            s.frees.clear()
            last.update(dict.fromkeys(s.inputs, i))
        for name, i in last.items():
            if name and name not in self.values and name not in self.names:
                steps[i].frees.append(name)

    def without_shapes(self) -> list[NodeStep]:
        """Return the steps without those that compute shapes.

        Modules of PyTorch compute shapes in Python. Results of such steps join the stored tensors.
        """
        fixed, remaining = set(self.values), []
        values = {**self.values, **self.feeds}
        for s in self.graph:
            results = s.run(self.torch, *[values[n] if n else None for n in s.inputs])
            # nodes may leave out their last outputs
            named = dict(zip(s.outputs, results, strict=False))
            values.update(named)
            # shapes are fixed by those of the inputs, and so are values computed from them and from
            # stored tensors; steps with results of several floats are work, and stay in the run
            is_known = s.op in ("Shape", "Size") or fixed.issuperset(n for n in s.inputs if n)
            if is_known and not any(v.is_floating_point() and v.numel() > 1 for v in results):
                fixed.update(named)
                self.values.update(named)
            else:
                remaining.append(s)
            for name in s.frees:
                values.pop(name, None)
        return remaining

    def step(self) -> None:
        """Run once."""
        begin = time.perf_counter()
        if self.compiled is not None:
            self.outputs = self.compiled(*self.feeds.values())
            self.synchronize()
        elif not self.is_profiled:
            self.execute(lambda i: nullcontext())
            self.synchronize()
        elif self.device == "cpu":
            seconds = [0.0] * len(self.steps)
            self.execute(lambda i: stopwatch(seconds, i))
            self.record(seconds, time.perf_counter() - begin)
        else:
            profiler = self.torch.profiler
            activities = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
            with profiler.profile(activities=activities) as profile:
                self.execute(lambda i: profiler.record_function(f"{LABEL}{i}"))
                self.synchronize()
            run_s = time.perf_counter() - begin
            self.record(device_seconds(profile.events(), len(self.steps)), run_s)

    def execute(self, around: Callable[[int], AbstractContextManager[Any]]) -> None:
        """Run every node, each within ``around(index)``."""
        self.outputs = self.results(self.feeds, around)

    def results(
        self,
        feeds: Mapping[str, Any],
        around: Callable[[int], AbstractContextManager[Any]] = lambda _: nullcontext(),
    ) -> dict[str, Any]:
        """Return the outputs of the model, each node run within ``around(index)``."""
        values = {**self.values, **feeds}
        for i, s in enumerate(self.steps):
            with around(i):
                results = s.run(self.torch, *[values[n] if n else None for n in s.inputs])
            for name, value in zip(s.outputs, results, strict=False):
                values[name] = value
            for name in s.frees:
                values.pop(name, None)
        return {n: values[n] for n in self.names}

    def record(self, seconds: list[float], run_s: float) -> None:
        """Record the times of one run."""
        for s, duration in zip(self.steps, seconds, strict=True):
            args = {"op_name": s.op, "provider": self.device}
            name = f"{s.name}_kernel_time"
            event = {"cat": "Node", "name": name, "dur": duration * 1e6, "args": args}
            # readers use time stamps only for the order of events
            self.events.append({**event, "ts": len(self.events), "ph": "X"})
        self.events.append({"cat": "Session", "name": "model_run", "dur": run_s * 1e6, "ts": 0})

    def synchronize(self) -> None:
        """Wait for the device."""
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def is_finite(self) -> bool:
        """Return True if the last results contain neither NaN nor infinity."""
        floats = (v for v in self.outputs.values() if v.is_floating_point())
        return all(bool(self.torch.isfinite(v).all()) for v in floats)

    def close(self) -> str:
        """Release everything, and return the profile's file, if any."""
        result = ""
        if self.is_profiled and self.events:
            path = Path(self.request["folder"]) / PROFILE
            path.write_text(json.dumps(self.events), encoding="utf-8")
            result = PROFILE
        self.values, self.feeds, self.outputs, self.steps, self.graph = {}, {}, {}, [], []
        return result


class NodeStep:
    """One node with its attributes read; ``frees`` are names of values that no later step reads."""

    def __init__(
        self,
        name: str,
        op: str,
        inputs: list[str],
        outputs: list[str],
        call: Callable[..., Any],
        attributes: Mapping[str, Any],
    ) -> None:
        self.name = name
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self.call = call
        self.attributes = attributes
        self.frees: list[str] = []

    @staticmethod
    def of(node: Any, run: TorchRun) -> NodeStep:
        """Create the step of a node.

        Raises:
            RuntimeError: its operator is not among those that are run here.
        """
        import onnx

        call = OPERATORS.get(node.op_type)
        if call is None or node.domain not in ("", "ai.onnx"):
            raise RuntimeError(f"operator {node.op_type} is not run through torch here")
        attributes: dict[str, Any] = {}
        for a in node.attribute:
            value = onnx.helper.get_attribute_value(a)
            if isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            elif isinstance(value, onnx.TensorProto):
                value = run.tensor(onnx.numpy_helper.to_array(value))
            attributes[a.name] = value
        # for functions of several operators; no attribute of ONNX begins with an underscore
        attributes["_op"] = node.op_type
        attributes["_outputs"] = len(node.output)
        attributes["_device"] = run.device
        return NodeStep(
            node.name, node.op_type, list(node.input), list(node.output), call, attributes
        )

    def run(self, torch: Any, *inputs: Any) -> tuple[Any, ...]:
        """Return the results of the node."""
        tensor = self.call(torch, self.attributes, *inputs)
        return tensor if isinstance(tensor, tuple) else (tensor,)
