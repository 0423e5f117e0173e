"""Overhead of training runs beyond their kernels and links, fitted to published runs.

Each kind of kernel has a factor, and so has exposed communication. Factors above 1 are due to
clocks under sustained power, older kernels and kernels that are not modeled; none was measured
separately. Every doubling of the nodes adds a share, as steps wait for the slowest rank.
`perfc train training` fits them, and `perfc eval training` tests them with models held out.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.fitted import read_records
from perfc.errors import ParseError
from perfc.ir import Kind, record
from perfc.ir.problem import Experts, forward_of

if TYPE_CHECKING:
    from perfc.machine import Machine
    from perfc.passes.fusion.kernel import Kernel

FILE = Path(__file__).with_suffix(".toml")
"""The shipped fits."""
COMMENT = "What training runs take beside kernels and links; `perfc train training` wrote it."
"""First line of the file."""


class Doing(Enum):
    """Kinds of kernels that a fit of training runs distinguishes."""

    PRODUCTS = "products"
    ATTENTION = "attention"
    EXPERTS = "experts"
    POINTWISE = "pointwise"

    __hash__ = object.__hash__  # members are unique; `Enum` hashes by name, which is slower

    @classmethod
    def of(cls, kernel: Kernel) -> Doing:
        """Return the kind of a kernel, by its problem and by the kind of its operator."""
        # experts first: the kind of their kernels is MATMUL as well
        if isinstance(forward_of(kernel.problem), Experts):
            return cls.EXPERTS
        match kernel.kind:
            case Kind.MATMUL | Kind.CONV:
                return cls.PRODUCTS
            case Kind.ATTENTION | Kind.RECURRENT:
                return cls.ATTENTION
            case _:
                return cls.POINTWISE


@record
class RunLaw:
    """Fitted run overhead of a framework on GPUs of one generation.

    The defaults are starting values of the fit, for frameworks and GPUs without runs.

    Args:
        products: factor on the time of matrix multiplications.
        attention: factor on attention and recurrences.
        experts: factor on grouped matmuls of experts.
        pointwise: factor on all other kernels.
        exchanges: factor on exposed communication.
        contention: share of hidden communication time that concurrent kernels lose.
        straggling: share of compute time that each doubling of nodes adds, as steps wait for the
            slowest rank.
        micro_s: overhead of each micro-batch, whatever its size.
        routing_s: overhead of each expert layer and micro-batch: launches that sort tokens.
        low: 5 % quantile of measured over predicted time on held-out rows.
        high: 95 % quantile of the same.
        rows: number of measurements that it was fitted to.
        models: models of those measurements.
        source: publisher of the measurements.
    """

    products: float = 1.2
    attention: float = 1.4
    experts: float = 1.3
    pointwise: float = 1.2
    exchanges: float = 1.0
    contention: float = 0.1
    straggling: float = 0.01
    micro_s: float = 0.0
    routing_s: float = 0.0005
    low: float = 0.7
    high: float = 1.5
    rows: int = 0
    models: tuple[str, ...] = ()
    source: str = ""

    @property
    def factors(self) -> dict[Doing, float]:
        """Return the factor on the time of each kind of kernel."""
        return {work: getattr(self, work.value) for work in Doing}

    def waited_s(self, exposed_s: float, exchanged_s: float) -> float:
        """Return the seconds that communication adds to a step: exposed time and contention.

        Args:
            exposed_s: communication that no computation overlaps.
            exchanged_s: all communication.
        """
        hidden_s = max(exchanged_s - exposed_s, 0.0)
        return self.exchanges * exposed_s + self.contention * hidden_s


LEARNED = (
    "products",
    "attention",
    "experts",
    "pointwise",
    "exchanges",
    "contention",
    "straggling",
    "micro_s",
    "routing_s",
)
"""Fields of `RunLaw` that are fitted."""
NO_LAWS: Mapping[str, RunLaw] = {}
"""Default of parameters for fits of further frameworks."""
USUAL = "any"
"""Name of the fit over all frameworks."""
F32_RUNS = "torch-f32"
"""Name of the fit over runs in f32."""
F32_TYPES = ("f32", "tf32")
"""Element types of products in runs of `F32_RUNS`."""


@cache
def laws() -> Mapping[str, RunLaw]:
    """Return the shipped fits, by framework and GPU generation."""
    # the file is missing while the laboratory fits the laws for the first time
    if not FILE.exists():
        return {}
    return read_records(FILE, RunLaw)


def frameworks() -> tuple[str, ...]:
    """Return the names of frameworks with a fit, sorted, including ``any``."""
    return tuple(sorted({name.partition(" ")[0] for name in laws()} | {USUAL}))


def law_of(framework: str = USUAL, arch: str = "") -> RunLaw:
    """Return the fit of a framework on a GPU generation, else of any framework, else of any GPU.

    Raises:
        ParseError: there are no runs of the framework.
    """
    known = laws()
    if framework not in frameworks():
        hint = f"there are {', '.join(frameworks())}"
        raise ParseError(f"no runs of {framework[:32]!r}", where="--trained-by", hint=hint)
    # the generation matters more than the framework: any framework on this generation comes before
    # the framework on any generation
    names = (f"{framework} {arch}", f"{USUAL} {arch}", framework, USUAL)
    return next((known[name] for name in names if name in known), RunLaw())


def law_on(machine: Machine, dtype: str, framework: str = USUAL) -> RunLaw:
    """Return the fit of a framework to steps with products in a type, on a machine's generation.

    Raises:
        ParseError: there are no runs of the framework.
    """
    is_f32 = framework == USUAL and dtype in F32_TYPES
    return law_of(F32_RUNS if is_f32 else framework, machine.arch)


def framework_laws(arch: str, *, is_f32: bool = False) -> Mapping[str, RunLaw]:
    """Return the fits of single frameworks on a GPU generation, by framework.

    Args:
        arch: GPU generation, as ``sm_90``.
        is_f32: True for runs in FP32, which have separate fits.
    """
    # names are ``framework arch``; for runs in FP32 the framework has the suffix "-f32"
    named = {name.partition(" ")[0]: law for name, law in laws().items() if name.endswith(arch)}
    return {n: law for n, law in named.items() if n != USUAL and n.endswith("-f32") is is_f32}
