"""PF502: kernels of a trace that only move data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from perfc.measuring.trace.facts import TensorArgument
from perfc.measuring.trace.summary import KernelTime
from perfc.review.lint.finding import Finding
from perfc.review.lint.traced import TracedSubject, TraceRule, amount, kernel_rows

COPIES = frozenset(("clone", "contiguous", "copy_", "reshape"))
"""Operators that copy a tensor, or do so where strides do not fit."""
SHORT_NS = 10_000
"""Mean time up to which transfers from the host count as small: 256 KiB at 25 GB/s, about as long
as the host takes to launch one."""
_LAYOUT = re.compile(r"nchwToNhwc|nhwcToNchw|nchw_?2_?nhwc|nhwc_?2_?nchw|batched_transpose_", re.I)
"""Kernels of cuDNN and MIOpen that change layouts around a convolution."""
_FILL = re.compile(r"\[?(CUDA )?memset|.*(fillBuffer|FillFunctor)", re.I)
"""Launches that fill memory, by CUDA's runtime, rocclr and PyTorch."""
_SENT = re.compile(r"HtoD|Host -> ")
"""Copies to the device in names of kernels."""
_WITH_HOST = re.compile(r"HtoD|DtoH|Host")
"""Copies from or to the host in names of kernels."""


def is_cast(k: KernelTime) -> bool:
    """Return True for a copy to another element type: its source and destination differ."""
    given = k.call.arguments[:2] if k.call else ()
    types = {a.dtype for a in given if isinstance(a, TensorArgument)}
    return name_of(k) == "_to_copy" or (name_of(k) == "copy_" and len(types) > 1)


def name_of(k: KernelTime) -> str:
    """Return the operator without its namespace; the kernel if it is not recorded."""
    return k.operator.removeprefix("aten::") or k.kernel


KINDS: tuple[tuple[Callable[[KernelTime], object], str, str], ...] = (
    (
        lambda k: _LAYOUT.search(k.kernel),
        "layout conversions around convolutions",
        "store model and input in channels_last (.to(memory_format=torch.channels_last))",
    ),
    (
        # the time is that of all launches
        lambda k: _SENT.search(k.kernel) and k.time_ns <= SHORT_NS * k.launches,
        "small copies from the host",
        "gather them in one pinned tensor, or make them on the device",
    ),
    (
        lambda k: is_cast(k) and not _WITH_HOST.search(k.kernel),
        "conversions of the element type",
        "store operands in the type of their readers, or fuse the conversion (torch.compile)",
    ),
    (
        lambda k: _FILL.match(k.kernel) or name_of(k) in ("zero_", "fill_"),
        "fills of memory",
        "allocate with empty where all is written, zero_grad(set_to_none=True)",
    ),
    (
        lambda k: name_of(k) in COPIES and not _WITH_HOST.search(k.kernel),
        "copies on the device",
        "write into the final layout; drop clone and contiguous where views do",
    ),
)
"""Test of a kernel, what the kernel is and what to do; the first test that holds counts."""


class AvoidableCopies(TraceRule):
    """Kernels of a trace that only move or fill data.

    What it does:
        Sums the time of layout conversions around convolutions, small copies from the host,
        conversions of types, copies on the device and fills, by operator. It saves at most their
        time.

    Why is this bad:
        They compute nothing; each passes memory once more and is one more launch.

    Example:
        model(x)                                   # nchwToNhwcKernel before each convolution

    Use instead:
        model.to(memory_format=torch.channels_last)(x.to(memory_format=torch.channels_last))

    Source:
        PyTorch, Performance tuning guide; NVIDIA, Convolutional layers user's guide.
    """

    code = "PF502"

    def check_trace(self, subject: TracedSubject) -> Iterator[Finding]:
        """Yield a finding for each kind and operator."""
        groups: dict[tuple[int, str], list[KernelTime]] = {}
        for k in subject.summary.kernels:
            kind = next((i for i, (test, _, _) in enumerate(KINDS) if test(k)), None)
            if kind is not None:
                groups.setdefault((kind, name_of(k)), []).append(k)
        for (kind, name), kernels in groups.items():
            _, words, advice = KINDS[kind]
            gain = subject.saves(sum(k.time_ns for k in kernels))
            yield self.at(name, f"{words}: {amount(kernel_rows(kernels))}", advice, gain)
