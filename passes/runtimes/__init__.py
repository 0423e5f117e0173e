"""Fusion tables: what each runtime merges into one kernel; a runtime is the TOML file of its name.

Keys of a file are fields of `Runtime`; ``_reader.py`` says how their values are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache

from perfc.errors import PassError, suggestion
from perfc.ir import DType, Kind, Node, Numbers, record
from perfc.machine import Machine

from ..fusion.kernel import Kernel
from ..fusion.windows import WINDOWS, is_selection, window_steps
from ._engine_kind import Batching as Batching
from ._engine_kind import EngineKind as EngineKind
from ._engine_kind import PoolOf as PoolOf
from ._engine_kind import RecordedSteps as RecordedSteps
from ._engine_kind import StaticShare as StaticShare
from ._engine_kind import changes as changes
from ._launch_rules import Arithmetic as Arithmetic
from ._launch_rules import KernelTraits as KernelTraits
from ._launch_rules import LaunchRule as LaunchRule
from ._launch_rules import RuleOperation as RuleOperation
from ._list_limits import CHUNK as CHUNK
from ._list_limits import ListLimit as ListLimit
from ._modes import AttentionKernels
from ._modes import Framework as Framework
from ._modes import LaunchMode as LaunchMode
from ._modes import Layout as Layout
from ._modes import Serving as Serving
from ._modes import Steps as Steps
from ._modes import Tf32 as Tf32
from ._reader import STRIDED, fields_of, files

DEFAULT = "ort"
"""Default runtime of a graph."""
SERVING_DEFAULT, LOCAL_DEFAULT = "vllm", "llamacpp"
"""Default runtimes of a language model that is served, and of one that runs from a GGUF file."""
MAX_STREAMS = 128
"""Maximum kernels that run at once; CUDA C++ Programming Guide, compute capability 7 to 9."""

RANK: Mapping[Kind, int] = {
    Kind.ATTENTION: 9,
    Kind.CONV: 8,
    Kind.MATMUL: 8,
    Kind.RECURRENT: 8,
    Kind.COLLECTIVE: 7,
    Kind.SOFTMAX: 6,
    Kind.NORMALIZATION: 6,
    Kind.REDUCTION: 5,
    Kind.POOL: 5,
    Kind.GATHER: 4,
    Kind.SORT: 4,
    Kind.MOVEMENT: 2,
    Kind.QUANTIZE: 1,
    Kind.ELEMENTWISE: 1,
    Kind.VIEW: 0,
}
"""Weight of each kind, 3 for any other: a kernel is named after its heaviest node, and loops that
weigh less than a product may be merged."""

TRAINING_DEFAULT, TRAINER = "eager", "trainer"
"""Default runtimes of a training step: eager PyTorch for a graph, a trainer for a configuration."""
CLUSTER_DEFAULT = "cudagraph"
"""Runtime of training steps of graphs on many devices: PyTorch's kernels in a recorded graph."""
ANY_DEVICE: Mapping[str, frozenset[str]] = {"cpu": frozenset(), "cuda": frozenset()}
"""Kinds of devices with the makers that a runtime is limited to; empty for any maker."""


@record
class Runtime:
    """One runtime's table.

    Args:
        name: value of ``--runtime``.
        title: full name.
        launch: how kernels are launched.
        epilogue: for each kind of kernel the kinds of following operators that it absorbs.
        epilogue_tags: for each kind of kernel the only mnemonics or pattern tags that it absorbs,
            where it does not absorb all of a kind.
        epilogue_types: element types of the kernels that absorb; empty for any.
        patterns: patterns of several operators (``passes/fusion/patterns.toml``) that are one
            kernel, the preferred first.
        attention: limits of its attention kernels, among the attention that ``patterns`` match.
        stores_integers: whether kernels write quantised tensors as integers for their readers.
        views: mnemonics of operators that are views here, in addition to operators that always are;
            ``WINDOWS`` for lookups that are windows.
        keeps_shared: whether a kernel may write a value that others read, and go on to compute
            with it.
        max_nodes: maximum nodes in a kernel.
        streams: number of independent kernels that may run at once.
        framework: framework that executes the model.
        serving: serving framework whose kernels compute its attention and quantised products.
        engine: how it serves language models; None if it does not.
        tf32: which products of f32 use TF32 by default.
        stands_for: kinds of devices, ``cpu`` or ``cuda``, on which it is the default runtime of its
            framework.
        devices: kinds of devices on which it runs, each with the makers; no makers for any maker.
        trains, is_trainer: whether it runs training steps; whether it fuses their loss and update.
        steps: the measured steps that launched its kernels; None if no steps were measured.
        optimizes: name of the runtime whose model files are of this one once an optimizer of graphs
            has rewritten them.
        newest: name of the table of the newest version, if this table is of an older version.
        before: version from which on another table holds.
        below: compute capability from which on another table holds, 75 for ``sm_75``; 0 for any.
        measured_as: name of the runtime whose measured whole runs represent it; "" for itself.
        library: name of the library of its kernels, if runtimes share it; measured runs under one
            of them correct its kernels under all.
        has_parts: False if measured runs do not show their device, host and fixed time.
        is_versioned: whether whole runs under several of its versions were measured.
        layouts: layouts of feature maps that it offers; the default first.
        blocks_channels: whether channels lie in blocks around convolutions.
        launches: rules of helper launches around its kernels on GPUs; the first that matches holds.
        narrows: type in which it runs f32 models on processors with units for it, by maker.
        puts_last: function that decides whether it runs convolutions with channels last; None if
            it always follows the order of the model.
        lists: limits of one launch over lists of tensors; the first that holds on a device
            counts, and without any a launch takes all tensors.
        formats: formats of models whose default runtime it is, named by the module of
            ``perfc/frontend/formats``, converter or exporter that reads or writes them.
        aliases: other names that ``--runtime`` takes for it.
        source: where the table was read or measured.
    """

    name: str
    title: str
    launch: LaunchMode
    epilogue: Mapping[Kind, frozenset[Kind]] = field(default_factory=dict)
    epilogue_tags: Mapping[Kind, frozenset[str]] = field(default_factory=dict)
    epilogue_types: frozenset[DType] = frozenset()
    patterns: tuple[str, ...] = ()
    attention: AttentionKernels = AttentionKernels()
    stores_integers: bool = False
    views: frozenset[str] = frozenset()
    keeps_shared: bool = False
    max_nodes: int = 64
    streams: int = 1
    framework: Framework = Framework.OTHER
    serving: Serving = Serving.ANY
    engine: EngineKind | None = None
    tf32: Tf32 = Tf32.ALL
    stands_for: frozenset[str] = frozenset()
    devices: Mapping[str, frozenset[str]] = field(default_factory=lambda: ANY_DEVICE)
    trains: bool = True
    is_trainer: bool = False
    steps: Steps | None = None
    optimizes: str = ""
    newest: str = ""
    before: tuple[int, int] | None = None
    below: float = 0
    measured_as: str = ""
    library: str = ""
    has_parts: bool = True
    is_versioned: bool = False
    layouts: tuple[Layout, ...] = (Layout.CHANNELS_FIRST,)
    blocks_channels: bool = False
    launches: Callable[[], tuple[LaunchRule, ...]] | None = None
    narrows: Mapping[str, str] = field(default_factory=dict)
    puts_last: Callable[[Sequence[Kernel], Numbers], bool] | None = None
    lists: tuple[ListLimit, ...] = ()
    formats: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()
    source: str = ""

    def __hash__(self) -> int:
        # names are unique, and fields such as mappings have no hash
        return hash(self.name)

    @property
    def known_steps(self) -> Steps | None:
        """Return ``steps``, but None for old versions, because weights are for the newest one."""
        return self.steps if self.before is None else None

    @property
    def serves(self) -> bool:
        """Return True if language models are served under this name, not under older versions."""
        return self.engine is not None and self.before is None

    @property
    def measured_name(self) -> str:
        """Return the runtime whose measured runs represent it; "" if there is none.

        There is none with several streams.
        """
        name = self.measured_as or self.name
        # runs that were launched kernel by kernel do not stand for a recorded graph
        is_like = not self.is_recorded or runtime(name).is_recorded
        return name if is_like and self.streams == 1 else ""

    @property
    def tells_versions(self) -> bool:
        """Return True if predictions depend on the version."""
        is_known = self.is_versioned or self.is_library or self.known_steps is not None
        # the table of an older version names the newest one, and predictions of both depend on it
        return is_known or any(self.name in (t.newest, t.newest and t.name) for t in tables())

    @property
    def is_library(self) -> bool:
        """Return True for a library of PyTorch modules, whose version is the runtime's."""
        return self.engine is not None and self.framework is Framework.TORCH

    @property
    def fuses_attention(self) -> bool:
        """Return True if attention that an exporter split runs as one kernel."""
        return not {"attention", "sdpa"}.isdisjoint(self.patterns)

    @property
    def takes_exports(self) -> bool:
        """Return True if programs reach it as ONNX, whose attention no pattern of it fuses."""
        return self.framework is Framework.ORT and not self.fuses_attention

    @property
    def is_strided(self) -> bool:
        """Return True if views have strides, so that some operators need a copy.

        Compiled loops and engines write a tensor in the order in which it is read.
        """
        is_compiled = self.steps is Steps.COMPILED
        return self.framework is Framework.TORCH and not is_compiled and self.views >= STRIDED

    @property
    def is_recorded(self) -> bool:
        """Return True if recorded kernels are replayed as a graph."""
        return self.steps is not None and self.launch is LaunchMode.GRAPH

    @property
    def is_dispatched(self) -> bool:
        """Return True if the host launches operators one by one, and may be the bottleneck."""
        return self.steps is Steps.EAGER and not self.is_recorded

    def tf32_on(self, maker: str) -> Tf32:
        """Return which f32 products use TF32 by default on a maker's devices.

        AMD's libraries use TF32 only on request. Source: PyTorch,
        Context::allowTF32CuBLAS, HIPBLASLT_ALLOW_TF32; pull request 162943.
        """
        return Tf32.NONE if maker == "AMD" else self.tf32

    def narrowed_on(self, machine: Machine) -> str:
        """Return the type in which it runs f32 models on a processor; "" for f32."""
        dtype = self.narrows.get(machine.vendor, "")
        has_unit = any(name == dtype for _, name in machine.compute)
        return dtype if machine.kind == "cpu" and has_unit else ""

    def runs_on(self, kind: str, maker: str) -> bool:
        """Return True if it runs on a kind of device, ``cpu`` or ``cuda``, of a vendor."""
        return kind in self.devices and maker in (self.devices[kind] or (maker,))

    def is_excluded(self, kind: str, maker: str) -> bool:
        """Return True if it runs on devices of listed vendors only, and not on this one."""
        is_known = self.runs_on(kind if kind in ANY_DEVICE else "cuda", maker)
        return not is_known and any(self.devices.values())

    @staticmethod
    def rank(node: Node) -> int:
        """Return the weight of a node when a kernel is named after its heaviest."""
        return RANK.get(node.op.kind, 3)

    def is_view(self, node: Node) -> bool:
        """Return True if a node passes on the bytes of its first operand."""
        op = node.op
        if op.kind is Kind.VIEW or op.mnemonic in self.views:
            return True
        return WINDOWS in self.views and (is_selection(node) or window_steps(node) is not None)

    def absorbs(self, kernel: Kind, kind: Kind, tag: str, dtype: DType | None = None) -> bool:
        """Return True if a kernel absorbs a following operator.

        Args:
            kernel: kind of the kernel.
            kind: kind of the operator.
            tag: mnemonic of the operator, or tag of a pattern of operators.
            dtype: element type of the kernel's result; None if unknown.
        """
        if kind not in self.epilogue.get(kernel, ()) or dtype not in (
            self.epilogue_types or (dtype,)
        ):
            return False
        return tag in self.epilogue_tags.get(kernel, (tag,))


def runtimes() -> tuple[str, ...]:
    """Return the names of all tables."""
    return tuple(files())


def canonical(name: str, where: str = "") -> str:
    """Return the name of the runtime with the name or alias ``name``.

    Args:
        name: name or alias, without streams.
        where: option or field with the name, for the message.

    Raises:
        PassError: there is none; the message suggests similar names.
    """
    if name in runtimes():
        return name
    by_name = {alias: table.name for table in tables() for alias in (table.name, *table.aliases)}
    if name in by_name:
        return by_name[name]
    hint = suggestion(name, by_name, f"choose one of {', '.join(runtimes())}")
    raise PassError(f"no runtime {name[:32]!r}", hint=hint, where=where)


@cache
def runtime(name: str) -> Runtime:
    """Return the table named ``name``, also by an alias; ``NAME:N`` launches on N streams.

    Raises:
        PassError: there is none, or the number of streams is not allowed.
    """
    base, colon, streams = name.partition(":")
    plain = canonical(base, "fuse")
    # the table is cached under its name
    if plain != name and not colon:
        return runtime(plain)
    if not colon:
        return Runtime(**fields_of(plain), name=plain)
    # four digits exceed any limit; int() of a long text would fail
    if not streams.isascii() or not streams.isdigit() or not 1 <= int(streams[:4]) <= MAX_STREAMS:
        raise PassError(
            f"no number of streams: {streams!r}",
            where="fuse",
            hint=f"{plain}:2 launches on two, {MAX_STREAMS} at most",
        )
    table = runtime(plain)
    return replace(
        table,
        name=f"{plain}:{streams}",
        title=f"{table.title}, {streams} streams",
        streams=int(streams),
    )


def tables() -> tuple[Runtime, ...]:
    """Return every table, by name."""
    return tuple(map(runtime, runtimes()))


def standing_for(framework: Framework, device: str) -> Runtime:
    """Return the table of a session of ``framework`` on ``cpu`` or ``cuda``.

    Raises:
        PassError: no table stands for it.
    """
    for table in tables():
        if table.framework is framework and device in table.stands_for:
            return table
    raise PassError(f"no runtime stands for {framework.value or 'others'} on {device}")


def of_version(table: Runtime, version: tuple[int, ...] | None) -> Runtime:
    """Return the table of another version of the runtime of ``table``; the newest by default.

    >>> of_version(runtime("trtllm"), (0, 10)).name, of_version(runtime("ort"), (1, 20)).name
    ('trtllm-compiled', 'ort')
    """
    if not version:
        return table
    older = (t for t in tables() if t.newest == table.name and t.before is not None)
    matching = (t for t in older if t.before is not None and version < t.before)
    # several older tables may hold: the one that ends first is the one for this version
    return min(matching, key=lambda t: t.before or (), default=table)


def on_device(table: Runtime, machine: Machine) -> Runtime:
    """Return the table of the same framework for a machine; ``table`` itself if there is none."""
    device = machine.kind if machine.kind in ANY_DEVICE else "cuda"
    peers = (t for t in tables() if t.framework is table.framework and device in t.stands_for)
    matching = [t for t in peers if not t.below or 0 < machine.capability < t.below]
    # among several, the one for the highest compute capabilities, then the given table
    best = max(matching, key=lambda t: (t.below, t is table), default=table)
    return best if table.stands_for else table


@cache
def of_steps(steps: Steps, version: tuple[int, int] | None = None) -> Runtime:
    """Return the table of measured steps under a version of PyTorch, the newest by default.

    Raises:
        PassError: there is none.
    """
    for table in tables():
        if table.steps is steps and not table.is_recorded and not table.newest:
            return of_version(table, version)
    raise PassError(f"no runtime has the kernels of {steps.value} steps")


def recorded(table: Runtime) -> Runtime | None:
    """Return the table that replays the kernels of ``table`` as a graph; None if none exists."""
    return next((t for t in tables() if t.is_recorded and t.steps is table.steps), None)
