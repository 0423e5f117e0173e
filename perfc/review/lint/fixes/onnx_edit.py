"""Edits of an ONNX model with onnx-graphsurgeon; what it drops is restored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perfc.errors import message_line
from perfc.ir import Node, Value

from .edit import Edit, FixError, ReadInstead, Remove, Rewire, Store, Unname, Unstore

if TYPE_CHECKING:
    import onnx

    from ..finding import Finding


class RefusedError(Exception):
    """The place in the file does not match the edit; the finding remains."""


@dataclass(slots=True)
class OnnxEditor:
    """Editor of one model.

    Value names in the main graph are those of the file, so edits locate values by name. Edits:
    `ReadInstead` replaces a value by an equal one, `Rewire` changes inputs and attributes of a
    node, `Remove` an unused node, `Unname` an unused output, `Unstore` an unused stored tensor;
    `Store` computes values and stores them.

    Attributes:
        graph: graph of onnx-graphsurgeon.
        tensors: its tensors by name.
        makers: node that produces each tensor, by its name.
        dropped: names of stored tensors that an edit removes.
        arrays: contents of values to store, computed when their edit is checked.
    """

    model: onnx.ModelProto
    graph: Any = field(init=False)
    tensors: dict[str, Any] = field(init=False)
    makers: dict[str, Any] = field(init=False)
    dropped: set[str] = field(default_factory=set)
    arrays: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        import onnx_graphsurgeon as gs
        from onnx_graphsurgeon.logger.logger import G_LOGGER

        G_LOGGER.severity = G_LOGGER.ERROR  # its warnings are for programmers, not for users
        if self.model.graph.sparse_initializer:
            raise FixError("it has sparse weights, which onnx-graphsurgeon does not keep")
        try:
            self.graph = gs.import_onnx(self.model)
        except Exception as error:  # graphsurgeon raises whatever its reading stumbles upon
            raise FixError(f"cannot be rewritten: {message_line(error)}") from error
        self.tensors = dict(self.graph.tensors())
        self.makers = {t.name: n for n in self.graph.nodes for t in n.outputs if t.name}

    def apply(self, findings: Iterable[Finding]) -> list[Finding]:
        """Apply findings whose edits do not overlap, and return the fixed ones."""
        applied: list[Finding] = []
        busy: set[str] = set()
        for finding in findings:
            names = self._beside(finding)
            # edits at values that another edit changed are for the graph before it: their finding
            # waits for the next round
            if names & busy:
                continue
            try:
                for e in finding.edits:
                    self._check(e)
            except RefusedError:
                continue
            for e in finding.edits:
                self._carry_out(e)
            self._forget_shapes(finding)
            busy |= names
            applied.append(finding)
        return applied

    def exported(self) -> onnx.ModelProto:
        """Export the edited model.

        Raises:
            FixError: onnx-graphsurgeon cannot write it.
        """
        import onnx_graphsurgeon as gs

        try:
            self.graph.toposort(recurse_subgraphs=False, recurse_functions=False)
            model: onnx.ModelProto = gs.export_onnx(self.graph, do_type_check=False)
        except Exception as error:  # as in reading
            raise FixError(f"cannot be rewritten: {message_line(error)}") from error
        restore(self.model, model, self.dropped)
        return model

    def _beside(self, finding: Finding) -> set[str]:
        """Return the values that the nodes of a finding, by `Finding.stored`, read and write."""
        nodes = (n for n in self.graph.nodes if _label(n) in finding.stored)
        return {t.name for n in nodes for t in (*n.inputs, *n.outputs) if t.name}

    def _tensor(self, v: Value) -> Any:
        """Return the tensor of a value; refuse a value that the file does not have."""
        if v.name not in self.tensors:
            raise RefusedError
        return self.tensors[v.name]

    def _node(self, node: Node) -> Any:
        """Return the node of the file; refuse a node that perfc expanded from another one."""
        maker = next((self.makers[v.name] for v in node.results if v.name in self.makers), None)
        if maker is None or maker.op != node.loc.op_type or node.loc.is_expanded:
            raise RefusedError
        return maker

    def _check(self, edit: Edit) -> None:
        """Reject an edit that the file does not allow, before changing anything."""
        match edit:
            case ReadInstead(old, new):
                old_tensor, new_tensor = self._tensor(old), self._tensor(new)
                if old.name not in self.makers or self._leaves_subgraph(old_tensor):
                    raise RefusedError
                is_output = any(t is old_tensor for t in self.graph.outputs)
                if is_output and not self._can_take_over(new_tensor):
                    raise RefusedError
            case Rewire(node, inputs):
                self._node(node)
                for v in inputs:
                    if v is not None:
                        self._tensor(v)
            case Remove(node):
                self._node(node)
            case Unname(node, index):
                maker = self._node(node)
                if index >= len(maker.outputs) or maker.outputs[index].outputs:
                    raise RefusedError
            case Unstore(value):
                stored = (t.name for t in self.model.graph.initializer)
                if value.name not in set(stored):
                    raise RefusedError
            case Store(values):
                for v in values:
                    self._tensor(v)
                    if v.name not in self.makers:
                        raise RefusedError
                self._compute(values)

    def _can_take_over(self, tensor: Any) -> bool:
        """Return True if a graph output can be renamed to this tensor."""
        return tensor.name in self.makers and not any(t is tensor for t in self.graph.outputs)

    def _leaves_subgraph(self, tensor: Any) -> bool:
        """Return True if a tensor is an output of a subgraph."""
        subgraphs = (s for n in self.graph.nodes for s in n.subgraphs(recursive=True))
        return any(t is tensor for s in subgraphs for t in s.outputs)

    def _carry_out(self, edit: Edit) -> None:
        """Apply an edit that was checked."""
        match edit:
            case ReadInstead(old, new):
                self._read_instead(self._tensor(old), self._tensor(new))
            case Rewire(node, inputs, attributes):
                import onnx_graphsurgeon as gs

                target = self._node(node)
                before = list(target.inputs)
                empty = gs.Variable.empty()
                target.inputs = [empty if v is None else self._tensor(v) for v in inputs]
                target.attrs.update({k: list(v) for k, v in attributes.items()})
                self._sweep(n for t in before for n in t.inputs)
            case Remove(node):
                self._sweep([self._node(node)])
            case Unname(node, index):
                self._unname(self._node(node), index)
            case Unstore(value):
                self.dropped.add(value.name)
            case Store(values):
                self._store(values)

    def _read_instead(self, old: Any, new: Any) -> None:
        """Let all readers of a tensor read another one, and remove what nothing reads then."""
        import onnx_graphsurgeon as gs

        maker = old.inputs[0]
        if any(t is old for t in self.graph.outputs):
            # the output keeps its name: the producer of `new` produces `old` in its place
            maker.outputs[_index(maker.outputs, old)] = gs.Variable(f"{old.name}/unread")
            source = new.inputs[0]
            _replace_reads(new, old)
            source.outputs[_index(source.outputs, new)] = old
            self.makers[old.name] = source
            self.makers.pop(new.name, None)
        else:
            _replace_reads(old, new)
        self._sweep([maker])

    def _unname(self, node: Any, index: int) -> None:
        """Remove an output of a node, with an empty name if others follow."""
        import onnx_graphsurgeon as gs

        if index == len(node.outputs) - 1:
            del node.outputs[index]
        else:
            node.outputs[index] = gs.Variable.empty()
        # an optional output at the end needs no empty name
        while node.outputs and not node.outputs[-1].name:
            del node.outputs[len(node.outputs) - 1]

    def _compute(self, values: Sequence[Value]) -> None:
        """Compute values to store; refuse those that onnxruntime cannot compute."""
        from .constants import computed

        try:
            self.arrays.update(computed(self.model, values))
        except FixError:
            raise RefusedError from None

    def _store(self, values: Sequence[Value]) -> None:
        """Replace computed values by stored tensors, and remove their producers."""
        import onnx_graphsurgeon as gs

        for v in values:
            old = self._tensor(v)
            maker = old.inputs[0] if old.inputs else None
            constant = gs.Constant(f"{v.name}/stored", self.arrays[v.name])
            _replace_reads(old, constant)
            if maker is not None:
                self._sweep([maker])

    def _sweep(self, candidates: Iterable[Any]) -> None:
        """Remove nodes that nothing reads, then producers of their inputs that nothing reads."""
        outputs = {id(t) for t in self.graph.outputs}
        waiting = list(candidates)
        present = {id(n) for n in self.graph.nodes}
        while waiting:
            node = waiting.pop()
            is_read = any(t.outputs or id(t) in outputs for t in node.outputs)
            if is_read or id(node) not in present:
                continue
            waiting += [m for t in node.inputs for m in t.inputs]
            present.discard(id(node))
            node.inputs.clear()
            for t in node.outputs:
                if self.makers.get(t.name) is node:
                    del self.makers[t.name]
            self.graph.nodes.remove(node)

    def _forget_shapes(self, finding: Finding) -> None:
        """Remove declared shapes of results of a finding's nodes, which may be wrong now."""
        declared = {id(t) for t in (*self.graph.outputs, *self.graph.inputs)}
        for node in self.graph.nodes:
            if _label(node) in finding.stored:
                for t in node.outputs:
                    if id(t) not in declared:
                        t.shape = None


def _label(node: Any) -> str:
    """Return the name of a node of the file; the name of its first output if it has none."""
    return str(node.name or (node.outputs[0].name if node.outputs else ""))


def _replace_reads(old: Any, new: Any) -> None:
    """Let every reader of a tensor read another one; graphsurgeon updates the lists of readers."""
    for reader in list(old.outputs):
        for i, t in enumerate(reader.inputs):
            if t is old:
                reader.inputs[i] = new


def _index(tensors: Any, wanted: Any) -> int:
    """Return the place of a tensor in a list."""
    # graphsurgeon compares tensors by name, and two may have one name during an edit
    return next(i for i, t in enumerate(tensors) if t is wanted)


def restore(source: onnx.ModelProto, exported: onnx.ModelProto, dropped: set[str]) -> None:
    """Restore what onnx-graphsurgeon drops: properties, documentation, unread weights."""
    exported.ir_version = source.ir_version
    exported.producer_name, exported.producer_version = (
        source.producer_name,
        source.producer_version,
    )
    exported.domain, exported.model_version = source.domain, source.model_version
    exported.doc_string, exported.graph.doc_string = source.doc_string, source.graph.doc_string
    del exported.metadata_props[:]
    exported.metadata_props.extend(source.metadata_props)
    exported.graph.metadata_props.extend(source.graph.metadata_props)
    del exported.graph.quantization_annotation[:]
    exported.graph.quantization_annotation.extend(source.graph.quantization_annotation)
    before = {o: n for n in source.graph.node for o in n.output if o}
    for node in exported.graph.node:
        old = next((before[o] for o in node.output if o in before), None)
        if old is not None and old.op_type == node.op_type:
            node.doc_string = old.doc_string
            node.overload = old.overload
            node.metadata_props.extend(old.metadata_props)
    read = {name for n in source.graph.node for name in n.input}
    stored = {t.name for t in exported.graph.initializer}
    for tensor in source.graph.initializer:
        is_unread = tensor.name not in read and tensor.name not in dropped
        if is_unread and tensor.name not in stored and not _is_captured(source, tensor.name):
            exported.graph.initializer.append(tensor)


def _is_captured(model: onnx.ModelProto, name: str) -> bool:
    """Return True if a node in a subgraph reads a value."""
    waiting = [a.g for n in model.graph.node for a in n.attribute if a.HasField("g")]
    while waiting:
        graph = waiting.pop()
        for node in graph.node:
            if name in node.input:
                return True
            waiting += [a.g for a in node.attribute if a.HasField("g")]
    return False
