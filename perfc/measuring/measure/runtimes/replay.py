"""Run one operator of a trace, with random operands, through ``torch.ops.aten``.

The code runs in a worker process. Only operators of ATen are looked up, and none gets a text from
the trace, so that none opens a file.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from perfc.common.fitted import data_next_to

ATEN = re.compile(r"aten::([A-Za-z_]\w{0,99})")
"""Operators of PyTorch alone are replayed: a name from a file calls nothing else."""
TYPES: Mapping[str, str] = data_next_to(__file__)
"""Names of element types in PyTorch, by perfc's: ``bf16`` is ``bfloat16``."""
LEAST_S = 1e-3
"""Minimum seconds between two readings of the clock; shorter times depend on its resolution."""
MOST_REPEATS = 200
"""Maximum executions between two readings of the clock, for operators that take less than 5 µs."""
LONGEST = 200
"""Maximum characters of an error message."""
ROOM = 3.0
"""Memory that operands, results and workspaces may take together, as a multiple of the operands."""
Given = Mapping[str, Any] | None
"""Recorded argument, by one of the keys ``tensor``, ``list`` (of tensors) and ``value``; None if it
was not recorded."""


class TorchProcess:
    """PyTorch on the device of a request."""

    def __init__(self, request: dict[str, Any]) -> None:
        from importlib import import_module

        self.request = request
        self.torch: Any = import_module("torch")
        self.version = f"torch {self.torch.__version__}"
        self.device = str(request["device"])
        if self.device != "cpu" and not self.torch.cuda.is_available():
            raise RuntimeError("this torch sees no CUDA device")
        self.torch.set_num_threads(int(request["threads"]))
        self.torch.set_grad_enabled(False)


class ReplayRun(TorchProcess):
    """An operator with its operands on a device.

    Args:
        request: JSON of the parent process: operator, arguments, device, threads, seed, room_bytes.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__(request)
        # repeated in-place operators drive values to denormals, with which processors are slow
        self.torch.set_flush_denormal(True)
        self.repeats = 1

    def load(self, *, profile: bool) -> None:
        """Find the overload that takes the recorded arguments, and create its operands."""
        del profile
        if self.device == "cpu":
            bound_memory(int(self.request["room_bytes"]))
        self.torch.manual_seed(int(self.request["seed"]))
        match = ATEN.fullmatch(str(self.request["operator"]))
        packet = getattr(self.torch.ops.aten, match[1], None) if match else None
        if packet is None:
            raise RuntimeError("this torch has no such operator")
        given: list[Given] = self.request["arguments"]
        overloads = [getattr(packet, name) for name in packet.overloads()]
        # the trace has the arguments of the overload that ran, in order
        overloads.sort(key=lambda o: abs(len(o._schema.arguments) - len(given)))
        overload = next((o for o in overloads if not unfit(o._schema, given)), None)
        if overload is None:
            name = unfit(overloads[0]._schema, given)
            raise RuntimeError(f"its {name} are not recorded, or not as this torch has them")
        arguments = overload._schema.arguments[: len(given)]
        self.given = {a.name: g for a, g in zip(arguments, given, strict=True)}
        self.call, self.args, self.named = overload, [], {}
        for argument in arguments:
            operand = self.operand(argument, self.given[argument.name])
            if argument.kwarg_only:
                self.named[argument.name] = operand
            else:
                self.args.append(operand)

    def operand(self, argument: Any, given: Given) -> Any:
        """Return an argument in the form that the overload accepts."""
        if given is None:
            if argument.has_default_value():
                return argument.default_value
            # any number serves, as `fits` says
            return 1 if str(argument.type) == "number" else None
        if "tensor" in given:
            return self.tensor(argument.name, given["tensor"])
        if "list" in given:
            is_optional = "Optional[Tensor]" in str(argument.type)
            return [
                None if is_optional and not t["sizes"] else self.tensor(argument.name, t, at)
                for at, t in enumerate(given["list"])
            ]
        value, kind = given["value"], str(argument.type)
        if isinstance(value, list):
            return list(map(bool, value)) if "bool" in kind else value
        return float(value) if "float" in kind else value

    def tensor(self, name: str, given: Mapping[str, Any], at: int = 0) -> Any:
        """Return a tensor of random numbers; integers may be indices, and are valid ones."""
        torch, sizes = self.torch, given["sizes"]
        dtype = getattr(torch, TYPES[given["dtype"]])
        # with strides, numbers are drawn for all the storage, of which the tensor is a view
        strides, count = given["strides"], given["elements"]
        shape = [count] if strides else sizes
        place = {"device": self.device}
        if dtype.is_floating_point or dtype.is_complex:
            # PyTorch draws no 8-bit floats
            drawn = dtype if dtype.itemsize > 1 else torch.float16
            storage = torch.randn(shape, dtype=drawn, **place).to(dtype)
        else:
            high = 2 if dtype is torch.bool else self.rows(name, at)
            storage = torch.randint(high, shape, dtype=dtype, **place)
        return storage.as_strided(sizes, strides) if strides else storage

    def rows(self, name: str, at: int) -> int:
        """Return the number of values, from 0, that integers may have to be valid indices."""
        named = self.given
        sizes = [g["tensor"]["sizes"] for g in named.values() if g and "tensor" in g]
        first: list[int] = sizes[0] if sizes else []  # the tensor that is indexed
        dim = (named.get("dim") or {}).get("value")
        if name == "offsets":
            rows = [1]  # the first must be 0
        elif (number := (named.get("num_weights") or {}).get("value")) is not None:
            rows = [number]
        elif name == "indices" and "list" in (named[name] or {}):
            rows = first[at : at + 1]  # one list of indices for each axis
        elif name == "indices" and "weight" in named:
            rows = first[:1]  # rows of an embedding
        elif name == "index" and type(dim) is int and -len(first) <= dim < len(first):
            rows = [first[dim]]
        else:
            # the role is unknown: values fit int8, and every axis that they might index
            rows = [127, *(extent for each in sizes for extent in each)]
        return max(1, min(rows, default=1))

    def feed(self, path: str) -> None:
        """Execute twice, and choose the number of executions between two readings of the clock.

        Raises:
            RuntimeError: PyTorch refuses the operator; the message is its first line.
        """
        del path
        try:
            self.step()  # warms up: the first call may load code or choose a kernel
            time_s = self.step()
        except NotImplementedError:
            raise RuntimeError(f"PyTorch does not have it for {self.device}") from None
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            first, *_ = str(error).splitlines() or [type(error).__name__]
            raise RuntimeError(first[:LONGEST]) from None
        # the clock may show 0 s
        self.repeats = max(1, min(MOST_REPEATS, int(LEAST_S / max(time_s, 1e-7))))

    def step(self) -> float:
        """Return the seconds of one execution: the mean of ``repeats`` in a row."""
        if self.device == "cpu":
            begin = time.perf_counter()
            for _ in range(self.repeats):
                self.call(*self.args, **self.named)
            return (time.perf_counter() - begin) / self.repeats
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(self.repeats):
            self.call(*self.args, **self.named)
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3 / self.repeats

    def is_finite(self) -> bool:
        """Return True: with random operands a result that is not finite means nothing."""
        return True

    def close(self) -> str:
        """Release the operands, and return no profile."""
        self.args, self.named = [], {}
        return ""


def unfit(schema: Any, given: Sequence[Given]) -> str:
    """Return the first argument of an overload that cannot take its recorded value; "" if none."""
    arguments = schema.arguments
    if len(given) > len(arguments):
        return "arguments"
    padded = [*given, *[None] * (len(arguments) - len(given))]
    pairs = zip(arguments, padded, strict=True)
    return next((f"values of {a.name!r}" for a, g in pairs if not fits(a, g)), "")


def fits(argument: Any, given: Given) -> bool:
    """Return True if an argument of an overload can take a recorded value, or do without one."""
    kind = str(argument.type)
    if given is None:
        # a number that is not recorded is replaced: it seldom changes the time
        return argument.has_default_value() or kind.startswith("Optional") or kind == "number"
    # Optional[int] takes what int takes; List[int] keeps its bracket
    plain = kind.removeprefix("Optional[").removesuffix("]") if kind[:1] == "O" else kind
    if "tensor" in given:
        return plain == "Tensor"
    if "list" in given:
        return plain in ("List[Tensor]", "List[Optional[Tensor]]")
    if isinstance(given["value"], list):
        return plain in ("List[int]", "List[bool]", "List[float]")
    kinds = (
        ("number", "float")
        if isinstance(given["value"], float)
        else ("number", "int", "float", "bool")
    )
    return plain in kinds


def bound_memory(room_bytes: int) -> None:
    """Limit the process to its present memory and ``room_bytes``, on systems that can."""
    try:
        import resource
        from pathlib import Path

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + room_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ImportError, OSError, ValueError):
        return
