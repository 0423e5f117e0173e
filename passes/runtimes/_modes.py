"""Ways in which runtimes execute kernels, one choice each."""

from __future__ import annotations

from enum import Enum

from perfc.ir import Kind, record


class LaunchMode(Enum):
    """Launch mechanism of kernels."""

    EAGER = "eager"
    """The host launches every kernel; its overhead shows when kernels are short."""
    GRAPH = "graph"
    """Kernels are recorded once and replayed; the device alone decides the gaps between them."""


class Framework(Enum):
    """Software that executes a model, named as in `perfc measure` and profiles."""

    TORCH = "torch"
    ORT = "ort"
    TENSORRT = "tensorrt"
    OPENVINO = "openvino"
    LITERT = "litert"
    OTHER = ""


class Tf32(Enum):
    """Which products of f32 the matrix units may round to TF32; files have these values."""

    NONE = False
    CONVOLUTIONS = "convolutions"
    """PyTorch's default: cuDNN may use TF32, cuBLAS may not."""
    ALL = True

    @property
    def title(self) -> str:
        """Return the name in reports."""
        return {Tf32.NONE: "off", Tf32.ALL: "on"}.get(self, f"{self.value} alone")

    def of(self, kind: Kind) -> bool:
        """Return True if kernels of a kind may use TF32."""
        return self is Tf32.ALL or (self is Tf32.CONVOLUTIONS and kind is Kind.CONV)


class Serving(Enum):
    """Whose kernels of attention and quantised products run, where models leave them open."""

    TRTLLM = "trtllm"
    VLLM = "vllm"
    SGLANG = "sglang"
    ANY = ""


class Steps(Enum):
    """Ways of running PyTorch whose whole steps were measured."""

    EAGER = "eager"
    """Operator by operator."""
    COMPILED = "compiled"
    """Through torch.compile with its default backend."""


class Layout(Enum):
    """Memory layout of feature maps."""

    CHANNELS_FIRST = "channels-first"
    CHANNELS_LAST = "channels-last"


@record
class AttentionKernels:
    """Fused attention kernels of a runtime; other attention runs as products and a softmax.

    Args:
        most_bits: maximum bits of an element.
        most_keys: maximum keys that a query attends to; None for any number.
    """

    most_bits: int = 64
    most_keys: int | None = None

    def takes(self, bits: int, keys: object) -> bool:
        """Return True if a kernel supports the element type and the number of keys, if known.

        >>> [AttentionKernels(16, 384).takes(16, keys) for keys in (197, 577)]
        [True, False]
        """
        is_long = self.most_keys is not None and isinstance(keys, int) and keys > self.most_keys
        return bits <= self.most_bits and not is_long
