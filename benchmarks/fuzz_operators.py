"""One node of any operator, with attributes, operands and results that no definition foresees."""

from __future__ import annotations

import random
from dataclasses import Field, fields
from functools import cache
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from perfc.ir.op import Op
from perfc.ir.ops import load_all
from tests.oracles import sweep_cases

HUGE = (-(2**63), -(2**31), 2**31, 10**12, 2**63 - 1)
"""Integers at limits of 64 and 32 bits."""
INTEGERS = (*HUGE, -5, -2, -1, 0, 0, 1, 1, 2, 3, 4, 7, 16, 64)
"""Attributes: those that occur in models are listed more often, so that more nodes are valid."""
NUMBERS = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e-45, 0.5, 1.0, 2.0, 3e38)
MODES = ("NOTSET", "SAME_UPPER", "VALID", "nearest", "ij,jk->ik", "ALL")
TEXTS = (*MODES, "", "...", "\0", "é" * 40, "9")
EXTENTS = (0, 1, 1, 2, 2, 3, 4, 8, 12, 16, 64, 2**31, 10**12, "N", "M", None)
ELEMENTS = (1, 1, 1, 2, 3, 6, 7, 7, 8, 9, 10, 11, 14, 16, 17, 21, 23, 25, 27)
"""Element types by their number in ONNX; 1 is f32, 7 is i64."""
GRAPHS = ("If", "Loop", "Scan", "SequenceMap")
"""Operators with bodies."""


@cache
def operators() -> tuple[tuple[str, type[Op]], ...]:
    """Return every ONNX name an operator stands for, with its class."""
    by_name = {name: cls for cls in load_all().values() for name in cls.onnx.split()}
    return tuple(sorted(by_name.items()))


def attribute_value(r: random.Random, field: Field[Any]) -> object:
    """Return a value of the sort that the field takes, now and then of another."""
    sort = str(field.type).removesuffix(" | None")
    if r.random() < 0.04:
        sort = r.choice(("int", "float", "str", "tuple[int, ...]"))
    match sort:
        case "float":
            return r.choice(NUMBERS)
        case "str":
            return r.choice((*TEXTS, field.default if isinstance(field.default, str) else ""))
        case "tuple[float, ...]":
            return [r.choice(NUMBERS) for _ in range(r.randint(0, 5))]
        case "tuple[str, ...]":
            return [r.choice(TEXTS) for _ in range(r.randint(0, 4))]
        case "DType" | "int | DType":
            return r.choice((*ELEMENTS, -1, 0, 99, 2**31))
        case _ if sort.startswith("tuple") or sort.endswith("s"):
            return [r.choice(INTEGERS) for _ in range(r.choice((0, 1, 2, 2, 3, 4, 6)))]
        case _:
            return r.choice(INTEGERS)


def operand(r: random.Random, name: str) -> onnx.ValueInfoProto | onnx.TensorProto:
    """Return an input of any type, or a stored tensor with content."""
    elem = r.choice(ELEMENTS)
    shape = [r.choice(EXTENTS) for _ in range(r.choice((0, 1, 1, 2, 2, 3, 3, 4, 4, 5)))]
    if r.random() < 0.3:
        kind = r.choice((np.int64, np.int64, np.int32, np.float32, np.bool_))
        small = tuple(d if isinstance(d, int) and d < 5 else 2 for d in shape[:2])
        values = [r.choice((-1, 0, 1, 2, 3, 2**31 - 1)) for _ in range(prod(small))]
        return numpy_helper.from_array(np.array(values).astype(kind).reshape(small), name)
    if r.random() < 0.05:
        type_ = helper.make_tensor_type_proto(elem, shape)
        wrap = r.choice((helper.make_sequence_type_proto, helper.make_optional_type_proto))
        return helper.make_value_info(name, wrap(type_))
    return helper.make_tensor_value_info(name, elem, None if r.random() < 0.05 else shape)


@cache
def applications() -> dict[str, list[bytes]]:
    """Return the valid models by the ONNX name of the operator that they are about."""
    listed: dict[str, list[bytes]] = {}
    for case in sweep_cases.cases(seed=7, scale=0.01):
        domains = {n.domain for n in case.model.graph.node if n.op_type == case.op}
        for domain in domains:
            name = f"{domain}::{case.op}" if domain else case.op
            listed.setdefault(name, []).append(case.model.SerializeToString())
    return listed


def make(r: random.Random, name: str, cls: type[Op]) -> bytes:
    """Return a model with the operator ``name``: a damaged valid one, or one random node."""
    if name in applications() and r.random() < 0.6:
        return damaged(r, name, cls)
    return arbitrary(r, name, cls)


def damaged(r: random.Random, name: str, cls: type[Op]) -> bytes:
    """Return a valid model in which the operator's attributes, operands or results are others."""
    model = onnx.load_model_from_string(r.choice(applications()[name]))
    op = name.rpartition("::")[2]
    for node in (n for n in model.graph.node if n.op_type == op):
        for field in fields(cls):
            # one or two attributes of a node on average
            if r.random() < 1.5 / len(fields(cls)):
                set_attribute(r, node, field)
        match r.randrange(6):
            case 0 if node.input:
                node.input[r.randrange(len(node.input))] = ""
            case 1 if node.input:
                node.input.append(r.choice(node.input))
            case 2 if node.input:
                del node.input[r.randrange(len(node.input)) :]
            case 3 if node.output:
                node.output.extend(["", f"{node.output[0]}_2"])
            case _:
                continue
    return bytes(model.SerializeToString())


def set_attribute(r: random.Random, node: onnx.NodeProto, field: Field[Any]) -> None:
    """Give the attribute that the field takes another value, where it can be written."""
    value = attribute_value(r, field)
    kind = onnx.AttributeProto.INTS if value == [] else None
    try:
        attribute = helper.make_attribute(field.name, value, attr_type=kind)
    except (ValueError, TypeError):
        return
    others = [a for a in node.attribute if a.name != field.name]
    del node.attribute[:]
    node.attribute.extend([*others, attribute])


def arbitrary(r: random.Random, name: str, cls: type[Op]) -> bytes:
    """Return a model of one node of the operator ``name``, operands and attributes by chance."""
    domain, _, op = name.rpartition("::")
    wanted = len(cls.signature.names)
    count = r.choice((wanted, wanted, wanted, 0, 1, 2, max(wanted - 1, 0), wanted + 1, wanted + 9))
    names: list[str] = []
    infos: list[Any] = []
    inits: list[Any] = []
    for i in range(count):
        if r.random() < 0.12:
            names.append("")
            continue
        names.append(f"x{i}")
        given = operand(r, names[-1])
        (inits if isinstance(given, onnx.TensorProto) else infos).append(given)
    outputs = [f"y{i}" for i in range(r.choice((1, 1, 1, 2, 3, 4, 0, 9)))]
    node = helper.make_node(op, names, outputs, domain=domain)
    for field in fields(cls):
        if r.random() < 0.55:
            set_attribute(r, node, field)
    if op in GRAPHS and not domain:
        body = helper.make_graph([], "b", [], [onnx.ValueInfoProto(name="x0")])
        for attribute in ("body",) if op != "If" else ("then_branch", "else_branch"):
            node.attribute.append(helper.make_attribute(attribute, body))
    outs = [onnx.ValueInfoProto(name=o) for o in outputs]
    opsets = [helper.make_opsetid("", r.choice((7, 10, 13, 17, 21, 24)))]
    opsets += [helper.make_opsetid(domain, 1)] if domain else []
    graph = helper.make_graph([node], "g", infos, outs, inits)
    return bytes(helper.make_model(graph, opset_imports=opsets).SerializeToString())
