"""Launches of optimizers over lists of tensors, against PyTorch's own loop and a trace."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.ir import Kind
from perfc.ir.syntax.parse import parse_module
from perfc.machine import load_machine
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.layout.launches import launched
from perfc.passes.layout.lists import launch_count
from perfc.passes.manager import Analyses
from perfc.passes.runtimes import CHUNK, runtime
from perfc.passes.training.train import Train


def grids(sizes: Sequence[int], most_tensors: int, most_blocks: float) -> list[int]:
    """Blocks of each launch: ``multi_tensor_apply`` line by line."""
    launches, block, tensor = [], 0, 0
    for size in sizes:
        if not size:
            continue
        tensor += 1
        chunks = size // CHUNK + (size % CHUNK != 0)
        for chunk in range(chunks):
            block += 1
            if (tensor == most_tensors and chunk == chunks - 1) or block == most_blocks:
                launches.append(block)
                block, tensor = 0, 0 if chunk == chunks - 1 else 1
    return [*launches, block] if block else launches


def resnet50() -> list[int]:
    """Elements of the parameters of ResNet-50, in the order of the module."""
    sizes, channels = [64 * 3 * 49, 64, 64], 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(blocks):
            sizes += [width * channels, width, width, width * width * 9, width, width]
            sizes += [4 * width * width, 4 * width, 4 * width]
            if i == 0:
                sizes += [channels * 4 * width, 4 * width, 4 * width]
            channels = 4 * width
    return [*sizes, 1000 * 2048, 1000]


@pytest.mark.parametrize(("lists", "blocks"), [(1, [180, 320, 8]), (2, [71, 155, 282])])
def test_blocks_of_a_trace(lists: int, blocks: list[int]) -> None:
    # a step of ResNet-50 with SGD on an A100, PyTorch 2 with CUDA 12
    limit = runtime("eager-unfused").lists[-1]
    most = limit.tensors[lists - 1]
    assert grids(resnet50(), most, limit.chunks) == blocks
    assert launch_count(resnet50(), most, limit.chunks) == len(blocks)


@given(
    st.lists(st.integers(0, 9 * CHUNK) | st.sampled_from([CHUNK, 2 * CHUNK]), max_size=12),
    st.integers(1, 4),
    st.integers(1, 7),
)
def test_as_many_as_pytorch_launches(sizes: list[int], tensors: int, chunks: int) -> None:
    assert launch_count(sizes, tensors, chunks) == len(grids(sizes, tensors, chunks))


def step(optimizer: str, implementation: str, tensors: int, elements: int) -> KernelTable:
    """Kernels of a step that updates equal vectors."""
    lines = ["perfir 1", "module @m", f"graph @main(%x: f32[{elements}]) {{"]
    lines += [f"  %w{i} = weight : f32[{elements}]" for i in range(tensors)]
    value = "x"
    for i in range(tensors):
        lines.append(f"  %y{i} = mul(%{value}, %w{i}) : f32[{elements}]")
        value = f"y{i}"
    lines += [f"  return %{value}", "}", ""]
    am = Analyses()
    how = Train(optimizer=optimizer, implementation=implementation, loss="mse")
    return am.get(Fuse("eager"), am.apply(how, parse_module("\n".join(lines))))


@pytest.mark.parametrize(
    ("target", "version", "optimizer", "implementation", "launches"),
    [
        # 130 tensors: 36 of four lists, 48 of three, 64 of two, 110 of one under CUDA 12
        ("v100", None, "adamw", "fused", [4]),
        ("v100", None, "adamw", "foreach", [2, 3, 2, 3, 3, 2, 2, 3]),
        ("mi300x", None, "sgd", "foreach", [3]),
        # all at once under CUDA 13
        ("a100", None, "adamw", "foreach", [1] * 8),
        ("a100", (2, 6), "adamw", "fused", [4]),
        # tensor by tensor on processors
        ("epyc-7763", None, "sgd", "foreach", [130]),
        ("epyc-7763", None, "adamw", "single", [1] * 8 * 130),
    ],
)
def test_launches_by_machine(
    target: str,
    version: tuple[int, int] | None,
    optimizer: str,
    implementation: str,
    launches: list[int],
) -> None:
    table = step(optimizer, implementation, 130, 64)
    made = launched(table, load_machine(target), {}, version=version).kernels
    updates = [(a, b) for a, b in zip(table.kernels, made, strict=True) if a.kind is Kind.OPTIMIZER]
    assert [b.repeat for _, b in updates] == launches
    for a, b in updates:
        for whole, each in (
            (a.traffic.nbytes, b.traffic.nbytes),
            (a.work.alu, b.work.alu),
            (a.work.sfu, b.work.sfu),
        ):
            assert whole - 2 * b.repeat < each * b.repeat <= whole
