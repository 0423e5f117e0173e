"""How a framework runs a model: precision, memory format, compiler, version, training or not."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from perfc.common.choice import member
from perfc.deployment import Deployment
from perfc.deployment.fields import Mode as Run
from perfc.errors import ModelError, ParseError
from perfc.ir.record import record
from perfc.ir.tensors.types import dtype_named
from perfc.passes.runtimes import LaunchMode, Layout, Runtime, Steps, Tf32, of_steps, tables


class Precision(Enum):
    """What tensors are stored and multiplied in."""

    AMP_F16 = "amp f16"
    """f32 weights, products in f16 under autocast."""
    AMP_BF16 = "amp bf16"
    """f32 weights, products in bf16 under autocast."""
    BF16 = "bf16"
    """Everything in bf16."""
    F16 = "f16"
    """Everything in f16."""
    F32 = "f32"
    """Everything in f32."""
    TF32 = "tf32"
    """Stored in f32, products in TF32."""

    @property
    def is_mixed(self) -> bool:
        """Whether autocast decides."""
        return self in (Precision.AMP_F16, Precision.AMP_BF16)

    @property
    def dtype(self) -> str:
        """Element type of products."""
        match self:
            case Precision.AMP_F16 | Precision.F16:
                return "f16"
            case Precision.AMP_BF16 | Precision.BF16:
                return "bf16"
            case Precision.F32 | Precision.TF32:
                return str(self.value)

    @property
    def twin(self) -> Precision:
        """The same in the other type of half precision; itself where there is none."""
        match self:
            case Precision.AMP_F16:
                return Precision.AMP_BF16
            case Precision.AMP_BF16:
                return Precision.AMP_F16
            case Precision.F16:
                return Precision.BF16
            case Precision.BF16:
                return Precision.F16
            case Precision.F32 | Precision.TF32:
                return self

    @property
    def bits(self) -> int:
        """Of an element of a product's operand."""
        return 32 if self in (Precision.F32, Precision.TF32) else 16


def precision_of(name: str, where: str) -> Precision:
    """A precision by its name or by what frameworks call it, ``amp_fp16``.

    Raises:
        ParseError: there is none.
    """
    words = name.lower().replace("_", " ").replace("-", " ").split()
    is_mixed = words[:1] == ["amp"]
    element = " ".join(words[1:]) if is_mixed else " ".join(words)
    try:
        plain = dtype_named(element).code if element else Precision.F16.value
    except ParseError:
        plain = element
    return member(Precision, f"amp {plain}" if is_mixed else plain, where)


PRECISIONS = {
    "f16": Precision.F16,
    "bf16": Precision.BF16,
    "amp-f16": Precision.AMP_F16,
    "amp-bf16": Precision.AMP_BF16,
}
"""What-if precisions that whole runs were measured in, or under autocast to."""


def is_measured_whole(table: Runtime) -> bool:
    """Whether whole runs under a runtime were measured: as PyTorch launches them, on one stream."""
    is_replayed = table.is_recorded and table.steps is Steps.EAGER
    return table.known_steps is not None and not is_replayed and table.streams == 1


class RunMode(Enum):
    """Ways of running so different that each has weights of its own."""

    EAGER = "eager"
    CHANNELS_LAST = "channels last"
    COMPILED = "compiled"
    TRAINING = "training"


@record
class Setting:
    """One way of running a model, in PyTorch where nothing else is said.

    Args:
        precision: of tensors and products.
        channels_last: whether feature maps lie as NHWC.
        compiled: ``torch.compile`` with its default backend.
        version: of the framework, major and minor.
        training: a whole step, forward, backward and optimiser.
        engine: table of fusions of another framework than PyTorch, as ``ort``; empty for PyTorch.
        host_launch_s: what the host takes for a launch, None where nobody says; settings that
            differ in nothing else are one.
    """

    precision: Precision = Precision.AMP_F16
    channels_last: bool = False
    compiled: bool = False
    version: tuple[int, int] = (2, 9)
    training: bool = False
    engine: str = ""
    host_launch_s: float | None = field(default=None, compare=False, repr=False)

    @property
    def launch_key(self) -> str:
        """What of it changes the launches."""
        precision = self.precision
        stored = "mixed" if precision.is_mixed else "narrow" if precision.bits == 16 else "wide"
        return f"{self.runtime}, {stored}"

    @classmethod
    def of(cls, deployment: Deployment, own: str = "") -> Setting:
        """The way of running whole models that a deployment is, the version aside.

        Kernels of a recorded graph are launched as a whole: their host takes nothing for each.

        Args:
            deployment: under a runtime that whole runs were measured under.
            own: what the model computes in, where the deployment says no precision.

        Raises:
            ModelError: no whole runs were measured in such a way.
        """
        table = deployment.table
        if not is_measured_whole(table):
            offer = " or ".join(t.name for t in tables() if is_measured_whole(t))
            raise ModelError(
                f"no whole runs under {table.name} were measured", hint=f"--runtime {offer}"
            )
        wide = Precision.TF32 if deployment.rounded is not Tf32.NONE else Precision.F32
        known = {**PRECISIONS, "": wide, "f32": wide, "tf32": Precision.TF32}
        if deployment.dtype not in known:
            offer = ", ".join(filter(None, known))
            raise ModelError(
                f"no whole runs in {deployment.dtype} were measured", hint=f"--dtype {offer}"
            )
        return cls(
            known[deployment.dtype] if deployment.dtype else known.get(own, wide),
            deployment.layout is Layout.CHANNELS_LAST,
            table.steps is Steps.COMPILED,
            training=deployment.mode is Run.TRAINING,
            host_launch_s=0.0 if table.launch is LaunchMode.GRAPH else deployment.host_launch,
        )

    @property
    def runtime(self) -> str:
        """The fusion table of such steps, whose kernels may be others in old versions."""
        if self.engine:
            return self.engine
        return of_steps(Steps.COMPILED if self.compiled else Steps.EAGER, self.version).name

    @property
    def mode(self) -> RunMode:
        """Whose weights know it."""
        if self.training:
            return RunMode.TRAINING
        if self.compiled:
            return RunMode.COMPILED
        return RunMode.CHANNELS_LAST if self.channels_last else RunMode.EAGER

    @property
    def way(self) -> str:
        """Framework and version, and what the weights of its mode have several of: layouts."""
        lies = ", channels last" if self.training and self.channels_last else ""
        return self.framework + lies

    @property
    def framework(self) -> str:
        """Name and version."""
        return f"{self.engine or 'torch'} {self.version[0]}.{self.version[1]}"
