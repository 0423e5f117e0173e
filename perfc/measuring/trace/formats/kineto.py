"""Read traces of PyTorch's profiler, Kineto: kernels with the operators that launched them."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Sequence
from dataclasses import field
from functools import partial
from itertools import zip_longest
from typing import cast

from perfc.errors import ParseError
from perfc.ir import mutable

from ...measure.runtimes.events import Event, arrays, inner, integer, text
from ..analyses.collectives import Collective
from ..facts import (
    LARGEST_EXTENT,
    MOST_ARGUMENTS,
    Argument,
    DeviceFacts,
    DeviceTrace,
    Numbering,
    OperatorCall,
    TensorArgument,
    TraceSource,
    listed,
    nanoseconds,
    operator_name,
    sizes_of,
)
from ..timeline import Graph, HostKind, HostLabel, HostTimeline
from . import ort

MOST_DEVICES = 1024
"""Maximum devices with facts; hosts have up to 16."""
MOST_WORDS = 100_000
"""Maximum entries of each cache, of operators and of frames; further ones are not cached."""
LONGEST_WORDS = 2000
"""Maximum characters of a name that is the key of a cache or of a group of annotations."""
LONGEST_LITERAL = 200
"""Maximum characters of a number, a truth value or a list in text."""
ATEN = "aten::"  # namespace of PyTorch's operators
COLLECTIVE, NCCL = "Collective name", "nccl:"  # key of its arguments; start of its range's name
_ARGUMENTS = ("Input Dims", "Input type", "Concrete Inputs", "Input Strides")  # by argument
EVENTS, DEVICES = "traceEvents", "deviceProperties"  # lists of the file that are read
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
"""Categories of events on a device; names differ by version of Kineto."""
_OPERATOR = frozenset({"cpu_op", "operator"})  # categories of operators on the host
_HOST = re.compile(r"(\w+_)?(runtime|driver)")  # categories of calls: cuda_driver, hip_runtime
_ANNOTATIONS = {"user_annotation": 0, "gpu_user_annotation": 1}  # 1 for ranges on the device
_LEGACY = {"CUDA functions": "kernel", "CPU functions": "cpu_op"}
"""Categories of events without one, by process. Source: autograd profiler before Kineto."""
_STEP = re.compile(r"ProfilerStep#(\d{1,9})")
_MODULE = "nn.Module: "  # begin of the name of a module's frame
_FRAME = re.compile(r"([^()=]{1,1000})\((\d{1,9})\): ([\w.<>]{1,200})")
"""A Python frame: ``model.py(12): forward``."""
_BUILTIN = re.compile(r"<built-in (method|function) [\w.]{1,100}( of [\w.]{1,100})?")
_HOME = re.compile(r"^(/home|/Users|[A-Za-z]:[/\\]Users)[/\\][^/\\]+[/\\]")
"""Home folders, which name a user and differ between machines."""
_INSTALLED = re.compile(r"(site|dist)-packages[/\\]torch[/\\]")
"""Folder of torch. Source of these names: torch/csrc/profiler/collection.cpp."""
_WORDS = re.compile(
    r'"(deviceProperties|schemaVersion|External id|CUDA functions)"|"cat"\s*:\s*"(cpu_op|operator'
    r'|kernel|mem(cpy|set)|gpu_\w+|user_annotation|python_function|ac2g|\w+_(runtime|driver))"',
    re.IGNORECASE,
)
"""Words of Kineto in the first bytes; other writers use Chrome's format too."""


def reads(head: str) -> bool:
    """Return True for a Chrome trace of Kineto, an object or an array."""
    # profiles of onnxruntime have events of kernels too
    return _WORDS.search(head) is not None and not ort.reads(head)


@mutable
class KinetoEvents:
    """Reader of the events of a trace that are needed; others are ignored.

    Args:
        trace: trace that receives them.
        timeline: events of host and devices.
        words: number of an operator by the text of its arguments.
        groups: annotations by name without numbers.
        has_launches: the host launched kernels, not only functions (``cudaLaunchHostFunc``).
        has_frames: read functions of Python, modules and ranges.
        frames: label by the text of a frame.
    """

    trace: DeviceTrace
    timeline: HostTimeline
    words: dict[object, int] = field(default_factory=dict)
    groups: Numbering = field(default_factory=Numbering)
    has_launches: bool = False
    has_frames: bool = False
    frames: dict[str, HostLabel | None] = field(default_factory=dict)

    def event(self, e: Event) -> None:
        """Add one event to the trace or to its timeline."""
        if e.get("ph") != "X":  # no event with a duration
            return
        category = text(e, "cat").lower() or _LEGACY.get(text(e, "pid"), "")
        start, length = nanoseconds(e, "ts"), nanoseconds(e, "dur")
        args, name = inner(e, "args"), text(e, "name")
        if category in _DEVICE:
            place = integer(args, "device")
            self.timeline.kernel(
                name or "kernel without a name",
                0 if place is None else place,
                start,
                length,
                integer(args, "correlation"),
                identity_of(args),
                integer(args, "stream"),
                self.message(args),
            )
        elif start is None or length is None or length < 0:
            return
        elif category in _OPERATOR:
            self.operator(e, args, start, start + length)
        elif category == "python_function":
            if self.has_frames:
                self.frame(e, name, start, start + length)
        elif category in _ANNOTATIONS:
            if self.has_frames and category == "user_annotation":
                self.frame(e, name, start, start + length, is_range=True)
            self.annotation(name, start, start + length, _ANNOTATIONS[category])
            if category == "user_annotation" and name.startswith(NCCL):
                # all that PyTorch before 2.1 records: first argument's shape and type, or None
                (extents, *_), (dtype, *_) = (listed(args.get(k)) or [None] for k in _ARGUMENTS[:2])
                sizes = sizes_of(extents)
                count = math.prod(sizes) if sizes else None
                sent = {COLLECTIVE: name[len(NCCL) :], "In msg nelems": count, "dtype": dtype}
                self.send(e, sent, start, start + length)
        elif _HOST.fullmatch(category):
            self.has_launches |= "Launch" in name and "HostFunc" not in name
            correlation = integer(args, "correlation")
            if correlation is not None:
                end = start + length
                self.timeline.call(
                    name, thread_of(e), start, end, correlation, text(args, "kernel")
                )

    def message(self, args: Event) -> int:
        """Add the message of a collective to the trace, and return its row; -1 without one."""
        if COLLECTIVE not in args:
            return -1
        number = self.trace.collectives.number(Collective.of(args))
        place = integer(args, "Seq")
        self.trace.messages.add(number, -1 if place is None else place)
        return len(self.trace.messages) - 1

    def send(self, e: Event, args: Event, begin_ns: int, end_ns: int) -> None:
        """Add the call of a collective on the host."""
        thread = self.timeline.threads.number(thread_of(e))
        self.timeline.sends.append((thread, begin_ns, end_ns, self.message(args)))

    def operator(self, e: Event, args: Event, begin_ns: int, end_ns: int) -> None:
        """Add an execution of an operator on the host."""
        name = operator_name(text(e, "name"))
        if not name:
            return
        if COLLECTIVE in args:
            self.send(e, args, begin_ns, end_ns)
        if "Input dims" in args:  # PyTorch 1.8
            args = {**args, "Input Dims": args["Input dims"]}
        key = name, *(repr(args.get(k)) for k in _ARGUMENTS)
        call = self.words.get(key)
        if call is None:
            call = self.trace.operator_calls.number(call_of(name, args))
            if len(self.words) < MOST_WORDS and sum(map(len, key)) < LONGEST_WORDS:
                self.words[key] = call
        thread = thread_of(e)
        self.timeline.operator(thread, begin_ns, end_ns, call, identity_of(args))
        sequence = integer(args, "Sequence number") if self.has_frames else None
        if sequence is not None and sequence >= 0:
            # only nodes of the backward pass have the thread of their forward pass
            is_gradient = (integer(args, "Fwd thread id") or 0) > 0
            number = self.timeline.threads.number(thread)
            self.timeline.sequences.add(number, begin_ns, end_ns, sequence, is_gradient)

    def frame(
        self, e: Event, name: str, begin_ns: int, end_ns: int, *, is_range: bool = False
    ) -> None:
        """Add a call of a function of Python or of a module, or a range of the program."""
        if name in self.frames:
            label = self.frames[name]
        else:
            label = label_of(name)
            if is_range:
                label = HostLabel(HostKind.RANGE, name) if operator_name(name) else None
            if len(self.frames) < MOST_WORDS:
                self.frames[name] = label
        if label is not None:
            self.timeline.frame(thread_of(e), begin_ns, end_ns, label)

    def outermost(self) -> list[int]:
        """Return the outermost ATen execution around or at each execution; -1 without one."""
        calls, result = self.trace.calls, list[int]()
        numbers, parents = self.timeline.operators.columns[3], self.timeline.parents
        for at, around in enumerate(parents):
            # an operator comes later in the list than the operator around it
            outer = result[around] if around >= 0 else -1
            is_aten = calls[numbers[at]].operator.startswith(ATEN)
            result.append(at if outer < 0 and is_aten else outer)
        return result

    def annotation(self, name: str, begin_ns: int, end_ns: int, is_device: int) -> None:
        """Add a marked range; profiler steps are group 0, other groups ignore numbers in names."""
        step = _STEP.fullmatch(name)
        group = 0 if step else 1 + self.groups.number(re.sub(r"\d+", "#", name[:LONGEST_WORDS]))
        self.trace.annotations.add(group, int(step[1]) if step else -1, begin_ns, end_ns, is_device)


def job(trace: DeviceTrace, rest: str) -> None:
    """Record rank, size and clock of a process, from the text outside of the lists."""
    if match := re.search(r'"baseTimeNanoseconds":\s*(\d{1,19})\b', rest):
        trace.base_ns = int(match[1])
    if match := re.search(r'"distributedInfo":\s*(?=\{)', rest):
        try:
            facts, _ = json.JSONDecoder().raw_decode(rest, match.end())
        except (ValueError, RecursionError):
            return
        trace.rank, trace.world_size = integer(facts, "rank"), integer(facts, "world_size")


def label_of(frame: str) -> HostLabel | None:
    """Return the label of a function of Python or a module; None for text that is neither.

    Files are shortened to two components, without the folder of a user.

    >>> label_of("/home/ann/project/nets/resnet.py(12): forward").name
    'nets/resnet.py(12): forward'
    """
    frame = frame[:LONGEST_WORDS]
    if frame.startswith(_MODULE):
        name = operator_name(frame.removeprefix(_MODULE))
        return HostLabel(HostKind.MODULE, name) if name else None
    match = _FRAME.fullmatch(frame)
    if match is None:
        match = _BUILTIN.match(frame)
        return HostLabel(HostKind.LIBRARY, match[0] + ">") if match else None
    path, line, function = match.groups()
    parts = re.split(r"[/\\]", _HOME.sub("", path))
    is_torch = parts[0] == "torch" or _INSTALLED.search(path) or path.startswith("<")
    kind = HostKind.LIBRARY if is_torch else HostKind.PYTHON
    return HostLabel(kind, f"{'/'.join(parts[-2:])}({line}): {function}")


def seen_in(path: str, trace: DeviceTrace, *, has_frames: bool = False) -> KinetoEvents:
    """Return the events of a file; devices are those of the trace.

    Raises:
        ParseError: not JSON, or too large.
    """
    events = KinetoEvents(trace, HostTimeline(trace), has_frames=has_frames)
    for key, e in arrays(path, (EVENTS, DEVICES), trace.cut, partial(job, trace)):
        if key != DEVICES:
            events.event(e)
        elif len(trace.facts) < MOST_DEVICES:
            trace.facts[integer(e, "id")] = facts_of(e)
    return events


def read(path: str, capture: str = "", *, has_frames: bool = False) -> DeviceTrace:
    """Read the kernels of a trace with their operators.

    Args:
        path: path of the trace.
        capture: trace of the capture of its graphs; empty without one.
        has_frames: read functions of Python, modules and ranges of the host too.

    Raises:
        ParseError: not JSON, too large, or without the kernels that were launched.
    """
    trace = DeviceTrace(TraceSource.KINETO)
    events = seen_in(path, trace, has_frames=has_frames)
    events.timeline.fill(captured(capture, trace) if capture else ())
    if not trace.launches.kernel:
        from_host(trace, events)
    return trace


def captured(path: str, trace: DeviceTrace) -> Sequence[Graph]:
    """Return the CUDA graphs captured in a file; names and calls are numbered as in ``trace``.

    Raises:
        ParseError: the file has no capture, or cannot be read.
    """
    other = DeviceTrace(
        trace.source, kernel_names=trace.kernel_names, operator_calls=trace.operator_calls
    )
    timeline = seen_in(path, other).timeline
    timeline.nest()
    graphs = timeline.captured()
    if not graphs:
        raise ParseError("no capture of a graph in it", where=path)
    return graphs


def from_host(trace: DeviceTrace, events: KinetoEvents) -> None:
    """Add the outermost operators as kernels if no device was traced: a run on a CPU.

    Raises:
        ParseError: kernels were launched, or may have been in the part that is missing.
    """
    if trace.is_cut:
        raise ParseError("the file ends in the middle, before the first kernel")
    if events.has_launches:
        # with counters (`profiler_metrics`) Kineto records ranges of CUPTI in place of kernels
        hint = "record activities of the device too; ranges of counters have no kernels"
        raise ParseError("launches of kernels, but no kernel that ran", hint=hint)
    trace.is_host = True
    calls, outermost = trace.calls, events.outermost()
    for at, (_, begin, end, call, _) in enumerate(events.timeline.operators):
        if outermost[at] == at:
            trace.add(calls[call].operator, end - begin, "cpu", call=calls[call], execution=at)


def facts_of(e: Event) -> DeviceFacts:
    """Return the facts of a device."""
    capability = integer(e, "computeMajor") or 0, integer(e, "computeMinor") or 0
    sm_count, memory = integer(e, "numSms") or 0, integer(e, "totalGlobalMem") or 0
    return DeviceFacts(text(e, "name")[:100], memory, sm_count, capability)


def identity_of(args: Event) -> int | None:
    """Return the external number of an event; PyTorch 1.8 writes it in lower case."""
    identity = integer(args, "External id")
    return integer(args, "external id") if identity is None else identity


def thread_of(e: Event) -> object:
    """Return the thread of an event; some releases write its numbers as text."""
    return str(e.get("pid"))[:LONGEST_LITERAL], str(e.get("tid"))[:LONGEST_LITERAL]


def call_of(name: str, args: Event) -> OperatorCall:
    """Return an operator with its arguments, from the lists of Kineto."""
    dims, types, values, strides = (listed(args.get(key)) for key in _ARGUMENTS)
    arguments: list[Argument] = []
    for at, extents in enumerate(dims[:MOST_ARGUMENTS]):
        kind = types[at] if at < len(types) else ""
        value = values[at] if at < len(values) else ""
        steps = strides[at] if at < len(strides) else None
        arguments.append(argument_of(extents, kind, value, steps))
    return OperatorCall(name, tuple(arguments))


def argument_of(extents: object, kind: object, value: object, steps: object) -> Argument:
    """Return one argument of an operator."""
    dtype = kind if isinstance(kind, str) and operator_name(kind) else ""
    sizes = sizes_of(extents)
    if dtype in ("TensorList", "GenericList"):
        inner_steps = listed(steps)[:MOST_ARGUMENTS]
        members = zip_longest(map(sizes_of, listed(extents)[:MOST_ARGUMENTS]), inner_steps)
        return tuple(tensor_of("", sizes, its) for sizes, its in members if sizes is not None)
    if dtype and dtype not in ("Scalar", "ScalarList") and sizes is not None:
        return tensor_of(dtype, sizes, steps)
    return literal_of(value)


def tensor_of(dtype: str, sizes: tuple[int, ...], steps: object) -> TensorArgument:
    """Return a tensor; strides of another rank are none."""
    strides = sizes_of(steps)
    strides = strides if strides is not None and len(strides) == len(sizes) else None
    return TensorArgument(dtype, sizes, held_of(sizes, strides), strides)


def held_of(sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int | None:
    """Return the elements in memory of an expanded or overlapping tensor; None for other tensors.

    >>> held_of((8, 8, 128), (128, 0, 1))
    1024
    """
    if strides is None or 0 in sizes:
        return None
    # no more than the storage spans, nor than the product of extents with a stride
    span = 1 + sum((size - 1) * abs(step) for size, step in zip(sizes, strides, strict=True))
    shared = (s for s, step in zip(sizes, strides, strict=True) if step or s == 1)
    held = min(math.prod(shared), span)
    return held if held < math.prod(sizes) else None


def literal_of(value: object) -> Argument:
    """Return a number, a truth value or whole numbers; None for anything else."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_LITERAL:
        return None
    try:
        parsed: object = ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    if isinstance(parsed, list):
        return sizes_of(parsed)
    is_number = isinstance(parsed, int | float) and abs(parsed) <= LARGEST_EXTENT
    return cast("Argument", parsed) if is_number else None
