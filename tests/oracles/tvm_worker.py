"""Process that imports an ONNX file into TVM's Relax and fuses it; no code is made.

Usage: ``python -m tests.oracles.tvm_worker MODEL GROUPS``, with the shapes of inputs by
name on standard input, as JSON. It writes the kernels with the names of their nodes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perfc.frontend.pytorch.torch_module import why


def main() -> None:
    """Write the groups, or the error."""
    source, reply = sys.argv[1:3]
    answer: dict[str, Any]
    try:
        answer = {"groups": fused_groups(source, json.load(sys.stdin))}
    except ModuleNotFoundError as error:
        answer = {"missing": error.name}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {why(error)}"[:500]}
    Path(reply).write_text(json.dumps(answer), encoding="utf-8")


def fused_groups(source: str, shapes: Mapping[str, list[int]]) -> list[dict[str, Any]]:
    """Return the kernels of the default pipeline of Relax, in the order in which they run.

    Source: tvm.relax.backend.cpu_generic, legalize_passes.
    """
    import tvm
    from tvm.relax import transform

    module, owners = imported(source, shapes)
    passes = [
        transform.LegalizeOps(),
        transform.AnnotateTIROpPattern(),
        transform.FoldConstant(),
        transform.DeadCodeElimination(),
    ]
    single = tvm.transform.Sequential(passes)(module)
    return list(FusedBindings(single, owners).groups(transform.FuseOps()(single)))


def imported(source: str, shapes: Mapping[str, list[int]]) -> tuple[Any, dict[str, str]]:
    """Return the Relax module of an ONNX file, and the node that computes each variable by name.

    The importer does not write where a variable comes from, so that each result of a node gets
    a separate variable.
    """
    import onnx
    from tvm import relax
    from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter

    owners: dict[str, str] = {}

    class Importer(ONNXGraphImporter):  # type: ignore[misc]
        def _convert_operator(self, op_name: str, inputs: Any, attrs: Any, opset: int) -> Any:
            made = super()._convert_operator(op_name, inputs, attrs, opset)
            if isinstance(made, relax.Tuple):
                return relax.Tuple([self.named(part, attrs) for part in made.fields])
            return self.named(made, attrs)

        def named(self, made: Any, attrs: Any) -> Any:
            if isinstance(made, relax.Call | relax.TupleGetItem):
                made = self.bb.emit(made, name_hint="node")
            if isinstance(made, relax.Var):
                owners.setdefault(made.name, attrs["tvm_custom"]["name"])
            return made

    model = onnx.load(source)
    versions = {o.domain: o.version for o in model.opset_import}
    importer = Importer(dict(shapes), "float32")
    inputs = {i.name for i in model.graph.input}
    owners.update(dict.fromkeys(inputs, ""))
    return importer.from_onnx(model.graph, versions.get("", versions.get("ai.onnx", 1))), owners


class FusedBindings:
    """Bindings of a module before fusion, by what they compute.

    Fused functions that are equal are one function, so that the names in it are those of one call:
    the bindings of each call are matched by operator and operands.
    """

    def __init__(self, module: Any, owners: Mapping[str, str]) -> None:
        self.by_key: dict[Any, deque[int]] = {}
        self.nodes: list[str] = []
        at: dict[Any, Any] = {}
        names: list[str] = []
        for i, binding in enumerate(bindings(module["main"])):
            self.by_key.setdefault(key_of(binding.value, at), deque()).append(i)
            at[hash(binding.var)] = i
            names.append(str(binding.var.name))
        count = Counter(names)
        self.nodes = [owners.get(n, "") if count[n] == 1 else "" for n in names]

    def groups(self, module: Any) -> Iterator[dict[str, Any]]:
        """Yield the kernels of the fused module."""
        from tvm import relax

        at: dict[Any, Any] = {}
        for binding in bindings(module["main"]):
            value = binding.value
            called = value.op if isinstance(value, relax.Call) else None
            if isinstance(called, relax.GlobalVar):
                function = module[called]
                inside = {
                    hash(p): key_of(a, at) for p, a in zip(function.params, value.args, strict=True)
                }
                members = [self.matched(b, inside) for b in bindings(function)]
                at[hash(binding.var)] = key_of(function.body.body, inside)
                yield self.group(str(called.name_hint), members)
                continue
            key = key_of(value, at)
            if isinstance(value, relax.TupleGetItem) and key not in self.by_key:
                at[hash(binding.var)] = key_of(value.tuple_value, at)[value.index]
                continue
            members = [self.matched(binding, at)]
            if isinstance(value, relax.Call):
                yield self.group(name_of(value), members)

    def matched(self, binding: Any, at: dict[Any, Any]) -> int:
        """Return the binding before fusion, and record its variable."""
        at[hash(binding.var)] = self.by_key[key_of(binding.value, at)].popleft()
        return int(at[hash(binding.var)])

    def group(self, name: str, members: list[int]) -> dict[str, Any]:
        """Return a kernel as JSON."""
        return {"name": name, "nodes": [self.nodes[i] for i in members if self.nodes[i]]}


def bindings(function: Any) -> Iterator[Any]:
    """Yield the bindings of a function in order."""
    for block in function.body.blocks:
        yield from block.bindings


def key_of(value: Any, at: Mapping[Any, Any]) -> Any:
    """Return what a value is computed by and from; equal for equal computations.

    Args:
        value: an expression.
        at: keys of variables.
    """
    from tvm import relax

    match value:
        case relax.Var():
            return at.get(hash(value), ("input", str(value.name)))
        case relax.Tuple():
            return tuple(key_of(part, at) for part in value.fields)
        case relax.TupleGetItem():
            return ("item", value.index, key_of(value.tuple_value, at))
        case relax.Call():
            return (str(value.op), *(key_of(part, at) for part in value.args))
        case relax.GlobalVar() | relax.ShapeExpr():
            return str(value)
        case _:
            return ("constant", hash(value))


def name_of(call: Any) -> str:
    """Return the name of the function that an operator was lowered to, or of the operator."""
    first = call.args[0] if len(call.args) else call.op
    return str(getattr(first, "name_hint", "") or call.op)


if __name__ == "__main__":
    main()
