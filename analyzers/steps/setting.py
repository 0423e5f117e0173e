"""Setting of a measured or predicted run: precision, layout, compiler, version, training."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from perfc.common.choice import member
from perfc.deployment import Deployment
from perfc.deployment.fields import Mode as Run
from perfc.errors import ModelError, ParseError
from perfc.ir import dtype_named, record
from perfc.passes.runtimes import LaunchMode, Layout, Runtime, Steps, Tf32, of_steps, tables


class Precision(Enum):
    """Types in which tensors are stored and multiplied."""

    AMP_F16 = "amp f16"
    """Weights in f32, products in f16 under autocast."""
    AMP_BF16 = "amp bf16"
    """Weights in f32, products in bf16 under autocast."""
    BF16 = "bf16"
    """Tensors and products in bf16."""
    F16 = "f16"
    """Tensors and products in f16."""
    F32 = "f32"
    """Tensors and products in f32."""
    TF32 = "tf32"
    """Tensors in f32, products in TF32."""

    @property
    def is_mixed(self) -> bool:
        """Return True if autocast chooses the type of each operator."""
        return self in (Precision.AMP_F16, Precision.AMP_BF16)

    @property
    def dtype(self) -> str:
        """Return the element type of products."""
        match self:
            case Precision.AMP_F16 | Precision.F16:
                return "f16"
            case Precision.AMP_BF16 | Precision.BF16:
                return "bf16"
            case Precision.F32 | Precision.TF32:
                return str(self.value)

    @property
    def twin(self) -> Precision:
        """Return the precision with the other half-precision type; itself without one."""
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
        """Return the bits of an element of a product's operand."""
        return 32 if self in (Precision.F32, Precision.TF32) else 16


def precision_of(name: str, where: str) -> Precision:
    """Return a precision by its name here or in frameworks, such as ``amp_fp16``.

    Raises:
        ParseError: unknown precision.
    """
    words = name.lower().replace("_", " ").replace("-", " ").split()
    # ``amp_fp16`` is ``amp`` and an element type in any spelling
    is_mixed = words[:1] == ["amp"]
    element = " ".join(words[1:]) if is_mixed else " ".join(words)
    try:
        plain = dtype_named(element).code if element else Precision.F16.value  # "amp" is in f16
    except ParseError:
        plain = element  # `member` reports it with the names that exist
    return member(Precision, f"amp {plain}" if is_mixed else plain, where)


PRECISIONS = {
    "f16": Precision.F16,
    "bf16": Precision.BF16,
    "amp-f16": Precision.AMP_F16,
    "amp-bf16": Precision.AMP_BF16,
}
"""Precisions by the value of ``--dtype``, for those in which whole runs were measured."""


def is_measured_whole(table: Runtime) -> bool:
    """Return True if whole runs under a runtime were measured: PyTorch's steps on one stream.

    Eager steps that are replayed as a CUDA graph were not measured.
    """
    is_replayed = table.is_recorded and table.steps is Steps.EAGER
    return table.known_steps is not None and not is_replayed and table.streams == 1


class RunMode(Enum):
    """Execution modes that have separate weights."""

    EAGER = "eager"
    CHANNELS_LAST = "channels last"
    COMPILED = "compiled"
    TRAINING = "training"


@record
class Setting:
    """Setting of a run of a model, in PyTorch by default.

    Args:
        precision: precision of tensors and products.
        channels_last: True if feature maps are in NHWC layout.
        compiled: True under ``torch.compile`` with its default backend.
        version: version of the framework, major and minor.
        training: True for a whole step: forward, backward and optimizer.
        engine: name of another runtime than PyTorch, such as ``ort``; empty for PyTorch.
        host_launch_s: host time per launch; None if unknown. Comparisons of settings ignore it, as
            no measured row is selected by it.
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
        """Return a key of settings with equal launches: runtime, and bits of tensors."""
        precision = self.precision
        # f16 and bf16 launch the same kernels on the same bytes, as do f32 and TF32
        stored = "mixed" if precision.is_mixed else "narrow" if precision.bits == 16 else "wide"
        return f"{self.runtime}, {stored}"

    @classmethod
    def of(cls, deployment: Deployment, element: str = "") -> Setting:
        """Return the setting of a deployment, with the default version.

        Kernels of a CUDA graph are launched as a whole: the host time per launch is 0.

        Args:
            deployment: under a runtime that whole runs were measured under.
            element: type in which the model computes, for a deployment without a precision.

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
            known[deployment.dtype] if deployment.dtype else known.get(element, wide),
            deployment.layout is Layout.CHANNELS_LAST,  # channels_last
            table.steps is Steps.COMPILED,  # compiled
            training=deployment.mode is Run.TRAINING,
            host_launch_s=0.0 if table.launch is LaunchMode.GRAPH else deployment.host_launch,
        )

    @property
    def runtime(self) -> str:
        """Return the name of the runtime; older versions of PyTorch fuse differently."""
        if self.engine:
            return self.engine
        return of_steps(Steps.COMPILED if self.compiled else Steps.EAGER, self.version).name

    @property
    def mode(self) -> RunMode:
        """Return the execution mode, which selects the weights."""
        # one mode each: training and compilation change times more than the layout
        if self.training:
            return RunMode.TRAINING
        if self.compiled:
            return RunMode.COMPILED
        return RunMode.CHANNELS_LAST if self.channels_last else RunMode.EAGER

    @property
    def framework(self) -> str:
        """Return the name and version of the framework."""
        return f"{self.engine or 'torch'} {self.version[0]}.{self.version[1]}"
