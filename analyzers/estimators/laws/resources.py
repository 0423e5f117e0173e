"""Compute the seconds of each resource that a kernel uses on a GPU, by the class of its law."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir import Kind, Numbers, Op, bits_of
from perfc.ir.ops.elementwise.activation import Gelu
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.elementwise.rounding import Erf
from perfc.ir.ops.movement.slice import Concat
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.problem import Attention, Product, Rows, SlidingWindow, Span, forward_of
from perfc.ir.problem.window import WindowOperation
from perfc.passes.fusion.kernel import ConvAlgorithm, Helper, Kernel

from ...features import power_limit, reach, tiling
from ...features.lowering import shape, stored_type
from .resource import BYTES, HALVES, TILE, Amounts, KernelResources, Resource, SingleLaunch, Tiles

if TYPE_CHECKING:
    from perfc.passes.roofline.roofline import KernelBound

    from ...features.sheet import Sheet

BLOCKED = {"half": (64, 128), "tf32": (32, 128), "f32": (1, 32)}
"""Input and output channels of a block in cuDNN's implicit products, by element type; extents count
in whole blocks."""
BOXED, ADA = 9.0, 8.9
"""Compute capability from which kernels copy boxes of 128 bytes (TMA), and that of Ada."""
COPIED = (32, 64)
"""Most input channels, and output channels, of a block of 16-bit types before `BOXED`, and of a
block of types that `BLOCKED` lacks on any GPU."""
LEAST_BLOCK, LEAST_BYTES = 16, 4
"""Input channels of a block that holds an image, and of such a block of types of one byte
(TensorRT's CHW4)."""
PATCH = 196
"""Least elements of a window that embeds patches of an image: 14 × 14, of vision transformers."""
ERF_ALU = 40.0
"""Operations of the error function, an assumption: 20 instructions that multiply and add."""
IMAGE_CHANNELS, IMAGE_TAPS = 4, 25
"""Most input channels, and most elements of a window, of a convolution that cuDNN computes on
vector units in every element type."""
UNALIGNED = "unaligned product"
"""Class of products with an extent that vectors cannot load whole."""
BLOCKS = 8
"""Blocks of threads that run on a multiprocessor at the same time."""
BLOCK = 32
"""Channels and positions that one block of threads transposes. Source: cuDNN, nchwToNhwcKernel."""
FEW_ROWS = 16
"""Most rows that one block of threads gathers in sequence. Source: PyTorch, Indexing.cu."""
WARP_COLUMNS = 1024
"""Longest row that softmax reads once into registers. Source: PyTorch, SoftMax.cu."""
VECTOR_COLUMNS = 4
"""Columns that normalization loads as one vector. Source: PyTorch, layer_norm_kernel.cu."""
VECTOR_BYTES = 16
"""Width of the widest load; rows that are no multiple of it start misaligned."""
_FITTED = constants_next_to(__file__)
_START, _CACHED = _FITTED["amd_paces"].numbers
AMD_PACES = {Resource.RAMP: _START, Resource.CACHE: _CACHED, Resource.PADDED: _CACHED}
"""Times of resources on GPUs of AMD over the times of laws, whose rows are of NVIDIA's GPUs, at the
rates of the data sheets."""
GROUP_BLOCK, GROUPED_TF32, GROUPED_F32 = _FITTED["grouped_blocks"].numbers
"""Filters and channels of a block within a group, and times of TF32 and f32 over those of f16."""
OLD_BYTES, NEW_BYTES = _FITTED["bytes_per_joule"].numbers
"""Products of bytes per joule over those of 16 bits, before Ada and since."""
Classified: TypeAlias = "tuple[str, Amounts] | tuple[str, Amounts, Tiles] | None"
"""Class of a kernel and the times of its specific resources, with products if it has any."""


def resources_of(
    kernels: Iterable[tuple[KernelBound, Numbers, float, float]], sheet: Sheet
) -> list[KernelResources | None]:
    """Return the class and the resources of one launch of each kernel; None without a class.

    Args:
        kernels: each kernel with its counts, the evaluator of its formulas, and its shares of
            elements whose address is computed and of elements that are read along another axis
            than they are written.
        sheet: data sheet of the machine.
    """
    power = {t: power_limit.flop_per_s(t, sheet) for t in ("tf32", "f16")}
    rates = (
        reach.memory_bytes_per_s(sheet),
        sheet.vector_flop_per_s("f32"),
        sheet.special_op_per_s("f32"),
    )
    result = [_resources(*kernel, sheet, rates, power) for kernel in kernels]
    tiled = [(i, kernel.tiles) for i, kernel in enumerate(result) if kernel and kernel.tiles]
    # products last: the search for the best tiling takes all products with the same choice of
    # splits in one call
    for splits in {tiles.splits for _, tiles in tiled}:
        same = [(i, tiles) for i, tiles in tiled if tiles.splits == splits]
        m, n, k, batch = np.array([tiles.extents for _, tiles in same]).T
        bits, flop_per_s = np.array([(tiles.bits, tiles.flop_per_s) for _, tiles in same]).T
        nothing = np.zeros(len(same))
        products = tiling.TiledProduct(m, n, k, batch, nothing, nothing, nothing, bits, bits)
        times_s = tiling.tile_s(products, flop_per_s, sheet, splits).tolist()
        for (i, _), time_s in zip(same, times_s, strict=True):
            kernel_resources = result[i]
            assert kernel_resources is not None
            seconds = {**kernel_resources.seconds, Resource.PRODUCTS: time_s}
            result[i] = KernelResources(kernel_resources.name, kernel_resources.dtype, seconds)
    return result


def _resources(
    bound: KernelBound,
    at: Numbers,
    indexed: float,
    crossed: float,
    sheet: Sheet,
    rates: tuple[float, float, float],
    power: Mapping[str, float],
) -> KernelResources | None:
    """Return the class and the resources of one launch of a kernel, without the time of products.

    Args:
        bound: the kernel with its counts.
        at: evaluates its formulas.
        indexed: share of elements whose address is computed.
        crossed: share of elements that are read along another axis than they are written.
        sheet: data sheet of the machine.
        rates: bytes of device memory, vector and special operations per second.
        power: floating-point operations of products per second at the power limit, by type.
    """
    c, kernel = bound.counts, bound.kernel
    # no rows of other gradients were measured
    is_step = bound.is_gradient and not _is_of_maps(kernel)
    if is_step or c.write_bytes <= 0 or not bound.launches:
        return None
    extents = shape(kernel.writes[0], at) if kernel.writes else None
    launch = SingleLaunch(bound, at, sheet, _type(bound), float(math.prod(extents or ())))
    classified = _class_of(launch)
    if classified is None:
        return None
    name, amounts, *tiles = classified
    alu = c.alu + sum(_is_erf(n.op) for n in kernel.nodes) * ERF_ALU * launch.elements
    memory, vector, special = rates
    seconds = {
        Resource.RAMP: 1e-6,  # nominal, as laws multiply it by a factor
        Resource.DEVICE: launch.spilled_bytes / memory,
        Resource.CACHE: c.nbytes / sheet.l2_bytes_per_s,
        Resource.ELEMENTS: launch.elements * sheet.cycle_s,
        Resource.OPERATIONS: alu / vector + c.sfu / special,
        Resource.INDEXED: indexed * launch.elements * sheet.cycle_s,
        Resource.CROSSED: crossed * launch.elements * sheet.cycle_s,
    }
    if kernel.kind is Kind.MOVEMENT:
        # strides of all axes are prepared for computed addresses, which takes half a start more
        seconds[Resource.RAMP] *= 1 + indexed / 2
    if c.mac and launch.dtype != "f32":
        gain = (OLD_BYTES if sheet.generation < ADA else NEW_BYTES) if launch.is_of_bytes else 1.0
        seconds[Resource.POWER] = 2 * c.mac / gain / power[launch.matrix_type]
    seconds |= amounts
    if sheet.machine.vendor == "AMD":
        seconds |= {r: seconds[r] * pace for r, pace in AMD_PACES.items() if r in seconds}
    return KernelResources(name, launch.dtype, seconds, *tiles)


def _is_of_maps(kernel: Kernel) -> bool:
    """Return True for kernels of convolutions and batch norm, whose gradients have laws.

    They are the laws of the forward pass.
    """
    problem = forward_of(kernel.problem)
    is_batch_norm = isinstance(problem, Rows) and problem.span is Span.CHANNEL
    return is_batch_norm or isinstance(problem, SlidingWindow)


def _is_erf(op: Op) -> bool:
    """Return True for operators that compute the error function for each element."""
    return isinstance(op, Erf) or (isinstance(op, Gelu) and op.approximate == "none")


def _type(bound: KernelBound) -> str:
    """Return the element type by which laws are named: ``half``, ``tf32`` or a type of the IR.

    It is that of the products; without products it is half if operand or result has 16 bits.
    """
    if bound.counts.mac:
        code = bound.dtype.code
        halves = HALVES if bound.kernel.kind is Kind.MATMUL else (*HALVES, *BYTES)
        return "half" if code in halves else "tf32" if code == "f32" and bound.tf32 else code
    values = (*bound.kernel.reads[:1], *bound.kernel.writes[:1])
    codes = {stored_type(v) for v in values}
    # poolings and copies of bytes have the kernels of 16 bits
    halves = (*HALVES, *BYTES) if bound.kernel.kind in (Kind.POOL, Kind.MOVEMENT) else HALVES
    # `min` chooses one of two types, independently of the order of a set
    return "half" if codes & {*halves} else min(codes, default="f32")


def _class_of(launch: SingleLaunch) -> Classified:
    """Return the class and specific resources of a launch.

    Rules for launches that a runtime inserts come first, then rules by problem, then by kind.
    """
    bound, at, sheet = launch.bound, launch.at, launch.sheet
    cycle_s, kernel = sheet.cycle_s, bound.kernel
    match kernel.helper:
        case Helper.LAYOUT | Helper.WEIGHT_LAYOUT if bound.dtype.code not in BYTES:
            blocks = blocked(shape(kernel.anchor.inputs[0], at) or ())
            element_bytes = bound.counts.write_bytes / max(launch.elements, 1.0)
            # 2: read and written
            return "layout", {Resource.PADDED: 2 * blocks * element_bytes / sheet.l2_bytes_per_s}
        case Helper.STATISTICS | Helper.FILL:
            return kernel.helper.value, {}
        case Helper.BIAS:
            return "elementwise", {Resource.INDEXED: launch.elements * cycle_s}
    match forward_of(kernel.problem):
        case SlidingWindow() as problem:
            return _window(problem, launch)
        case Rows() as problem if kernel.kind in (Kind.NORMALIZATION, Kind.SOFTMAX):
            return _rows(problem, launch)
        case Product() as problem:
            return _product(problem, launch)
        case Attention() as problem:
            return _attention(problem, launch)
    match kernel.kind:
        case Kind.ELEMENTWISE | Kind.QUANTIZE:
            missing = launch.beyond_bytes / bound.counts.nbytes
            converted = missing * launch.elements if isinstance(kernel.anchor.op, Cast) else 0
            return "elementwise", {Resource.CONVERTED: converted * cycle_s}
        case Kind.MOVEMENT:
            return "concatenation" if isinstance(kernel.anchor.op, Concat) else "movement", {}
        case Kind.GATHER:
            index = math.prod(shape(kernel.anchor.inputs[1], at) or ())
            name = "gather" if launch.elements > index else "element gather"
            few = index if index <= FEW_ROWS else 0
            return name, {Resource.LONGEST: few * 1e3 / sheet.clock_hz}  # 1,000 clocks per row
    return None


def blocked(extents: tuple[int, ...]) -> float:
    """Return the elements of a feature map with channels and positions rounded up to whole blocks.

    >>> blocked((1, 3, 5, 5))
    1024.0
    """
    batch, channels, *positions = (*extents, 1, 1)
    blocks = math.ceil(channels / BLOCK) * math.ceil(math.prod(positions) / BLOCK)
    return float(batch * blocks * BLOCK * BLOCK)


def _window(problem: SlidingWindow, launch: SingleLaunch) -> Classified:
    """Return the class of a pooling or convolution, by cuDNN's algorithm for it."""
    bound, at, sheet, dtype = launch.bound, launch.at, launch.sheet, launch.dtype
    cycle_s = sheet.cycle_s
    is_transposed = problem.form is WindowOperation.TRANSPOSED
    # the gradient of a strided convolution skips the zeros between positions
    taps, step = at(problem.taps), problem.stride if is_transposed else 1
    positions = at(problem.positions) / step
    results = positions * at(problem.out_channels)
    if (is_transposed and not bound.is_gradient) or not taps or not positions:
        return None
    is_last = bound.kernel.algorithm is ConvAlgorithm.DIRECT_LAST
    if problem.form is WindowOperation.POOL:
        if is_last:
            # channels last: a thread computes a vector of channels
            results *= bits_of(stored_type(bound.kernel.reads[0])) / VECTOR_BYTES / 8
        amounts = {Resource.ELEMENTS: results, Resource.TAPS: results * taps}
        return "pool", {r: cycle_s * amount for r, amount in amounts.items()}
    depth = at(problem.depth)
    # filters of one channel sum over no depth, like those of a launch for a single group
    if problem.is_depthwise or depth <= 1:
        if not is_last:
            return "depthwise convolution", {Resource.TAPS: results * taps * cycle_s}
        # one instruction multiplies a pair of 16-bit numbers
        taps_s = results * taps * cycle_s * (0.5 if dtype == "half" else 1)
        return "depthwise convolution channels last", {Resource.TAPS: taps_s}
    if problem.groups > 1:
        filters = math.ceil(at(problem.filters) / GROUP_BLOCK) * GROUP_BLOCK
        of_units = {"half": (GROUP_BLOCK, 1), "tf32": (GROUP_BLOCK, GROUPED_TF32)}
        block, slowdown = of_units.get(dtype, (1, GROUPED_F32))
        per_group = filters * math.ceil(depth / block) * block
        products = positions * problem.groups * per_group * taps * slowdown
        return "grouped convolution", {Resource.TAPS: products * cycle_s}
    if 1 < taps <= IMAGE_TAPS and depth <= IMAGE_CHANNELS:
        # filters in whole warps of 32 threads
        extents = positions, math.ceil(at(problem.filters) / 32) * 32, depth * taps, 1
        return "image convolution", *launch.tiled(extents, (1,), is_vector=True)
    block, width = BLOCKED.get(dtype, COPIED)  # all other convolutions are implicit products
    if dtype == "half" and sheet.generation < BOXED:
        # blocks as small as a power of two that holds the channels, from 8 (one 16-byte vector)
        block, width = min(COPIED[0], 2 ** math.ceil(math.log2(max(depth, 8)))), COPIED[1]
    # images of few channels have kernels with smaller blocks, unless the window embeds patches:
    # such windows do not overlap and have many elements
    if depth <= IMAGE_CHANNELS and not problem.stride >= taps >= PATCH:
        block = min(block, LEAST_BYTES if bound.dtype.code in BYTES else LEAST_BLOCK)
    padded = math.ceil(depth / block) * block * taps
    filters = math.ceil(at(problem.filters) / width) * width
    name = "convolution" if taps > 1 else "pointwise convolution"
    if bound.kernel.algorithm is ConvAlgorithm.PLANES:
        return name, *_planes(problem, launch)
    return name, *launch.tiled((positions, filters, padded, 1), splits=(1,))


def _planes(problem: SlidingWindow, launch: SingleLaunch) -> tuple[Amounts, Tiles]:
    """Return one product per image (channels first): its rows are the positions of a channel."""
    bound, at = launch.bound, launch.at
    images = (shape(bound.kernel.anchor.inputs[0], at) or (1,))[0]
    plane = at(problem.positions) / images
    extents = plane, at(problem.filters), at(problem.depth), images
    amounts, tiles = launch.tiled(extents, splits=(1,))
    is_odd = plane * bound.dtype.bits / 8 % VECTOR_BYTES
    unaligned = 2 * math.prod(extents) / tiles.flop_per_s if is_odd else 0.0
    return {**amounts, Resource.UNALIGNED: unaligned}, tiles


def _rows(problem: Rows, launch: SingleLaunch) -> Classified:
    """Return the class of softmax or a normalization, by the span of its statistics."""
    bound, at, sheet = launch.bound, launch.at, launch.sheet
    kernel = bound.kernel
    rows, elements = float(at(problem.rows)), float(at(problem.elements))
    if not rows or not elements:
        return None
    cycle_s = sheet.cycle_s
    name = "softmax" if kernel.kind is Kind.SOFTMAX else "row normalization"
    match problem.span:
        case Span.CHANNEL:
            extents = shape(kernel.anchor.inputs[0], at) or (1, 1)
            # channels of one position each are adjacent: a block of threads takes many of them, so
            # that rows do not count
            planes = math.prod(extents[:2]) if math.prod(extents[2:]) > 1 else 0
            amounts = {Resource.ROWS: planes * cycle_s}
            op = kernel.anchor.op
            if bound.is_gradient or (isinstance(op, BatchNormalization) and op.training_mode):
                # sums over the batch first, then the result: operands are read twice
                reread_bytes = bound.counts.read_bytes / bound.counts.nbytes * launch.spilled_bytes
                device_s = (reread_bytes + launch.spilled_bytes) / reach.memory_bytes_per_s(sheet)
                amounts |= {Resource.ELEMENTS: 2 * elements * cycle_s, Resource.DEVICE: device_s}
            return "batch normalization", amounts
        case Span.GROUP:
            name = "group normalization"
    columns = elements / rows
    blocks = math.ceil(rows / BLOCKS / sheet.sm_count)
    longest = blocks * columns / sheet.clock_hz  # an element per clock, for all rows of a block
    if name == "softmax":
        # a row longer than a warp holds has two reductions over a block of threads: 1,000 clocks
        block_sums = rows * 1e3 if columns > WARP_COLUMNS else 0.0
        return name, {Resource.ROWS: rows * cycle_s, Resource.WAVES: block_sums * cycle_s}
    if name == "group normalization":
        missing = launch.beyond_bytes / bound.counts.nbytes
        return name, {Resource.LONGEST: longest * (1 + missing)}
    is_odd = columns % VECTOR_COLUMNS > 0
    return name, {
        # PyTorch computes the statistics of rows that vectors cannot load in a separate launch
        Resource.RAMP: 2e-6 if is_odd else 1e-6,
        Resource.ROWS: rows * cycle_s,
        Resource.REREAD: bound.counts.read_bytes / sheet.l2_bytes_per_s,
        Resource.LONGEST: longest,
        Resource.UNALIGNED: elements * cycle_s if is_odd else 0.0,
    }


def _product(problem: Product, launch: SingleLaunch) -> Classified:
    """Return the class of a dense product; None for quantized weights and grouped products."""
    at = launch.at
    batch, m, n, k = (float(at(d)) for d in (problem.products, problem.rows, problem.n, problem.k))
    if problem.weight_bits or problem.is_grouped or not launch.bound.counts.mac:
        return None
    vector = 8 if launch.dtype == "half" else 4  # elements of a 16-byte load
    name = "product" if math.gcd(int(n), int(k), vector) == vector else UNALIGNED
    return name, *launch.tiled((m, n, k, batch))


def _attention(problem: Attention, launch: SingleLaunch) -> Classified:
    """Return the resources of FlashAttention's prefill: blocks of queries pass over all keys.

    None for decode, windows and caches, which have no law.
    """
    at, sheet = launch.at, launch.sheet
    queries, keys = float(at(problem.query_len)), float(at(problem.kv_len))
    if queries < 2 or problem.window or problem.cache_bits:
        return None
    heads = float(at(problem.batch)) * float(at(problem.heads))
    # kernels exist for head sizes in multiples of 64
    widths = [math.ceil(at(d) / 64) * 64 for d in (problem.head_dim, problem.value_dim)]
    blocks = heads * math.ceil(queries / TILE)
    share = 0.5 if problem.is_causal and queries > TILE else 1.0  # a causal mask skips tiles
    filled = math.ceil(blocks / sheet.sm_count)
    rate = launch.flop_per_s
    depth = math.ceil(keys / TILE) * TILE
    flop = share * 2 * TILE * depth * sum(widths)
    return "attention", {
        Resource.WAVES: filled * 1e3 / sheet.clock_hz,
        Resource.PRODUCTS: filled * flop * sheet.sm_count / rate,
        Resource.ROWS: blocks * TILE * share * depth * sheet.cycle_s,
    }
