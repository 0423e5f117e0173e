"""Collect the values and nodes of one module: weights by name, products by format, inputs.

Every function of the lowering takes a `Builder` as ``b``, adds nodes to it and returns their
result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from perfc.errors import ModelError
from perfc.ir import (
    UNKNOWN,
    Dim,
    DType,
    Graph,
    Inputs,
    Known,
    Loc,
    Module,
    Node,
    Op,
    SymbolDecl,
    TensorType,
    Value,
    Weight,
)
from perfc.ir.ops import (
    Add,
    AllReduce,
    Concat,
    Gather,
    Gemm,
    LayerNormalization,
    Reshape,
    RMSNormalization,
    Split,
)
from perfc.machine.parallel import Parallel

from ...checkpoints.stored import StoredWeight
from ..model import Adapters, Norm, NormKind
from ..precision import ServingPrecision, WeightFormat
from .module_code import ModuleCode
from .quantised import (
    adapted_product,
    block_product,
    low_rank_product,
    quantised_product,
)
from .written_out import rms_norm

# operators without state, shared by all nodes
ADD, RMS, GATHER = Add(), RMSNormalization(), Gather()
LAYER_NORM = LayerNormalization()
LINEAR = Gemm(transB=1)
RESHAPE = Reshape()
JOIN = Concat(axis=-1)
ROW_JOIN = Concat(axis=0)
CUT = Split(axis=-1)


class Builder:
    """Nodes, weights and inputs of one lowering, with methods that add them.

    Args:
        name: name of the model.
        precision: element types.
        parallel: degrees of parallelism.
        family: family of the configuration, where layers are written out as its modules write them;
            "" for the kernels of serving engines.
        code: code of the modules of a release, to lower attention and positions to an operator for
            each of its kernels; None to lower each of them to one operator.
    """

    def __init__(
        self,
        name: str,
        precision: ServingPrecision,
        parallel: Parallel,
        family: str = "",
        code: ModuleCode | None = None,
    ) -> None:
        self.name, self.precision, self.parallel = name, precision, parallel
        self.half = precision.half  # type of activations
        self.family = family
        self.code = code
        self.inputs: list[Value] = []
        self.weights: list[Value] = []
        self.nodes: list[Node] = []
        # rows that are added to the KV cache, further results of the module
        self.cached: list[Value] = []
        # constants and buffers that several nodes share
        self.tables: dict[tuple[object, ...], Value] = {}
        # activations in the type of a product, by the value and the format
        self.quantised: dict[tuple[Value, WeightFormat], Value] = {}
        # adapters that are served, and the number of each token's adapter
        self.adapters: Adapters | None = None
        self.adapter_of: Value | None = None
        # exponent by which tokens choose experts unevenly; None for the fit of measured models
        self.expert_skew: float | None = None
        # tensors of the model's file that lowered weights stand for; `rest` adds all other tensors
        self.lowered_tensors: set[str] = set()
        self.lora_rank, self.expert_groups = 0, 1  # set by `layer_part`, for trained layers
        # what experts store for a backward pass, as in `MoE`: 0 nothing, 1 what modules keep
        self.keeps_rows = int(self.writes_out)
        # llama.cpp computes angles as it rotates, and stores only the tensors of the file
        self.table = BUFFER if precision.stored is None else COMPUTED

    def module(self, outputs: Sequence[Value], symbols: Sequence[SymbolDecl]) -> Module:
        """Return the built module: its outputs, then the rows that are added to caches."""
        results = (*outputs, *self.cached)
        graph = Graph(
            self.name, tuple(self.inputs), results, tuple(self.nodes), tuple(self.weights)
        )
        return Module(graph, tuple(symbols))

    def input(self, name: str, dtype: DType, shape: tuple[Dim, ...]) -> Value:
        """Add and return an input of the module."""
        value = Value(name, TensorType(dtype, shape))
        self.inputs.append(value)
        return value

    def stored(self, name: str) -> StoredWeight | None:
        """Return a weight's tensors in the model's file; None without a file or such tensors."""
        tensors = self.precision.stored
        stored = None if tensors is None else tensors.weight(name)
        self.lowered_tensors.update(() if stored is None else stored.names)
        return stored

    def rest(self) -> None:
        """Add the tensors of the model's file that no operator reads, as one buffer of bytes."""
        tensors = self.precision.stored
        # a stage loads a part of the file, and it is unknown which of these tensors
        if tensors is None or self.parallel.pipeline > 1:
            return
        rest_bytes = sum(
            t.nbytes for name, t in tensors.tensors.items() if name not in self.lowered_tensors
        )
        if rest_bytes:
            self.weights.append(Value(REST, TensorType(DType.U8, (rest_bytes,)), None, RESIDENT))

    def weight(self, name: str, shape: tuple[int, ...], dtype: DType | None = None) -> Value:
        """Add and return a stored parameter; in the type of the model's file if it has one."""
        of_file = self.stored(name)
        if dtype is None and of_file is not None and of_file.dtype is DType.F32:
            dtype = DType.F32
        # with adapters, the weights of the model are frozen
        weight_kind = BUFFER if self.lora_rank else PARAMETER
        value = Value(name, TensorType(dtype or self.half, shape), None, weight_kind)
        self.weights.append(value)
        return value

    def adapter(self, name: str, shape: tuple[int, int]) -> Value:
        """Add and return the weight of a low-rank adapter, which alone is trained."""
        value = Value(name, TensorType(self.half, shape), None, PARAMETER)
        self.weights.append(value)
        return value

    def buffer(self, name: str, shape: tuple[int, ...], dtype: DType) -> Value:
        """Return a stored tensor that is no parameter, such as a scale or angles; one per name."""
        key = (name, shape, dtype)
        value = self.tables.get(key)
        if value is None:
            value = self.tables[key] = Value(name, TensorType(dtype, shape), None, self.table)
            self.weights.append(value)
        return value

    def scales(self, name: str, shape: tuple[int, ...], dtype: DType) -> Value:
        """Add and return a stored tensor of one layer that is no parameter, such as its scales."""
        self.stored(name)
        value = Value(name, TensorType(dtype, shape), None, BUFFER)
        self.weights.append(value)
        return value

    def numbers(self, items: Sequence[Dim]) -> Value:
        """Return a constant vector of extents; equal ones are one value."""
        key = tuple(items)
        value = self.tables.get(key)
        if value is None:
            type_ = TensorType(DType.I64, (len(key),))
            name = f"extents.{len(self.tables)}"
            value = self.tables[key] = Value(name, type_, Known.vector(key), self.table)
            self.weights.append(value)
        return value

    def number(self, item: float, dtype: DType | None = None) -> Value:
        """Return a constant of one element, in 16 bits by default; equal ones are one value."""
        type_ = TensorType(dtype or self.half, ())
        key = (item, type_)
        value = self.tables.get(key)
        if value is None:
            name = f"number.{item}" if dtype is None else f"number.{item}.{dtype}"
            value = self.tables[key] = Value(name, type_, Known.scalar(item), self.table)
            self.weights.append(value)
        return value

    def node(self, op: Op, inputs: Inputs, name: str) -> Value:
        """Add a node with one result, and return the result."""
        result = Value(name, UNKNOWN)
        self.nodes.append(Node(op, inputs, (result,), (), Loc(name)))
        return result

    def several(self, op: Op, inputs: Inputs, name: str, names: Sequence[str]) -> list[Value]:
        """Add a node with several results, and return the results."""
        result = [Value(f"{name}.{result_name}", UNKNOWN) for result_name in names]
        self.nodes.append(Node(op, inputs, tuple(result), (), Loc(name)))
        return result

    def cut(self, x: Value, parts: Sequence[int], name: str) -> list[Value]:
        """Return ``x`` cut along its last axis."""
        names = [str(i) for i in range(len(parts))]
        return self.several(CUT, (x, self.numbers(parts)), name, names)

    def shaped(self, x: Value, shape: Sequence[Dim], name: str) -> Value:
        """Return the same elements in another shape; one extent may be -1."""
        return self.node(RESHAPE, (x, self.numbers(shape)), name)

    def norm(self, x: Value, norm: Norm | None, name: str) -> Value:
        """Return ``x`` normalised; as it is without a norm."""
        if norm is None:
            return x
        scale = self.weight(f"{name}.weight", (norm.width,)) if norm.is_scaled else None
        if norm.kind is NormKind.RMS:
            return self.rms(x, scale, (norm.width,), name)
        if scale is None:
            scale = self.buffer(f"ones.{norm.width}", (norm.width,), self.half)
        bias = self.weight(f"{name}.bias", (norm.width,)) if norm.is_biased else None
        return self.node(LAYER_NORM, (x, scale, bias) if bias else (x, scale), name)

    def rms(self, x: Value, scale: Value | None, shape: tuple[int, ...], name: str) -> Value:
        """Return ``x`` over its root mean square along the axes of ``shape``."""
        if self.writes_out:
            return rms_norm(self, x, scale, name)
        if scale is None:
            scale = self.buffer(f"ones.{'x'.join(map(str, shape))}", shape, self.half)
        return self.node(RMS, (x, scale), name)

    @property
    def writes_out(self) -> bool:
        """Return True if layers are lowered to the operators of their PyTorch modules."""
        return bool(self.family)

    def product(
        self,
        x: Value,
        extents: tuple[int, int],
        name: str,
        *,
        is_biased: bool = False,
        weights: WeightFormat | None = None,
        slices: int = 1,
    ) -> Value:
        """Return ``x @ W`` with a weight of ``extents``: contracted, columns.

        Args:
            x: [rows, contracted].
            extents: extents of this rank's share of the weight.
            name: name of the weight and of the node.
            is_biased: whether a bias is added.
            weights: another format than that of the linear layers.
            slices: linear layers whose columns lie side by side, each adapted by itself; 0 for a
                layer that has no adapters.
        """
        whole = self._whole_product(x, extents, name, is_biased, weights)
        if self.lora_rank and weights is None and slices:
            return low_rank_product(self, x, whole, extents, name, slices)
        if weights is not None or self.adapter_of is None or not slices:
            return whole
        return adapted_product(self, x, whole, extents, name, slices)

    def _whole_product(
        self,
        x: Value,
        extents: tuple[int, int],
        name: str,
        is_biased: bool,
        weights: WeightFormat | None,
    ) -> Value:
        """Return `product` before adapters change it."""
        contracted, columns = extents
        form = weights or self.precision.format_of(name, self.precision.weights)
        bias = self.weight(f"{name}.bias", (columns,)) if is_biased else None
        of_file = self.stored(f"{name}.weight")
        if of_file is not None and of_file.dtype is None:
            return block_product(self, x, extents, name, bias, of_file)
        # the file stores this weight as floats, although other weights are quantised
        if of_file is not None:
            form = WeightFormat.HALF
        if form is WeightFormat.HALF:
            weight = self.weight(f"{name}.weight", (columns, contracted))
            return self.node(LINEAR, (x, weight, bias) if bias else (x, weight), name)
        return quantised_product(self, x, extents, name, bias, form)

    def all_reduce(self, x: Value, name: str) -> Value:
        """Return the sum over the ranks that share each product; ``x`` on one rank."""
        if self.parallel.tensor == 1:
            return x
        return self.node(AllReduce(self.parallel.tensor, self.group_nodes), (x,), name)

    @property
    def group_nodes(self) -> int:
        """Return the number of nodes that the ranks of one tensor-parallel group span."""
        # ranks of one group that a node has, if ranks fill nodes in order
        ranks_per_node = -(
            -self.parallel.tensor * self.parallel.attention_data // self.parallel.nodes
        )
        return max(1, -(-self.parallel.tensor // ranks_per_node))

    def share(self, total: int, what: str) -> int:
        """Return one rank's part of heads, columns or rows.

        Raises:
            ModelError: they do not divide evenly.
        """
        return self.parallel.share(total, what, self.name)

    def share_at_least(self, total: int, what: str) -> int:
        """Return one rank's part; every rank has a copy if there are fewer parts than ranks."""
        return self.parallel.share_at_least(total, what, self.name)

    def refuse(self, message: str) -> NoReturn:
        """Stop with one line.

        Raises:
            ModelError: always.
        """
        raise ModelError(message, where=self.name)


PARAMETER = Weight()
BUFFER = Weight(is_parameter=False)
# a buffer without memory
COMPUTED = Weight(nbytes=0, is_parameter=False)
# in memory although no operator reads it
RESIDENT = Weight(is_parameter=False, is_resident=True)
REST = "file.rest"
"""Name of the buffer of what no operator reads of a file."""
