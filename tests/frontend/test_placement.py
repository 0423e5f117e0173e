"""Nodes of an export by `torch.onnx.export` have the modules and the lines of their program."""

from __future__ import annotations

import pytest
from onnx import NodeProto, TensorProto, helper

import perfc
from perfc.frontend import load
from perfc.ir import walk
from perfc.ir.graphs.locate import find_node
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import print_module

TRACE = """File "net.py", line 10, in forward
    x = self.layer1(x)
  File "/v/lib/python3.11/site-packages/torch/nn/modules/container.py", line 259, in forward
    input = module(input)
  File "parts/block.py", line 5, in forward
    return x + self.act(self.conv(x))"""


def made(
    op_type: str, name: str, ins: list[str], out: str, *scopes: str, **props: str
) -> NodeProto:
    node = helper.make_node(op_type, ins, [out], name)
    dynamo = {"name_scopes": str(["", *scopes]), "stack_trace": TRACE}
    for key, text in ({f"pkg.torch.onnx.{k}": v for k, v in dynamo.items()} | props).items():
        node.metadata_props.add(key=key, value=text)
    return node


def export() -> bytes:
    block = ("layer1", "layer1.0")
    folded = {"pkg.onnxscript.rewriter.rule_name": "FuseBatchNormIntoConv"}
    nodes = [
        made(
            "Conv",
            "node_Conv_3",
            ["x", "layer1.0.conv.weight"],
            "c",
            *block,
            "layer1.0.bn",
            "norm",
            **folded,
        ),
        made("Sigmoid", "node_Sigmoid_8", ["c"], "s", *block, "layer1.0.act", "silu"),
        made("Mul", "node_silu", ["c", "s"], "m", *block, "layer1.0.act", "silu"),
        helper.make_node("Add", ["x", "m"], ["y"], "node_add"),
    ]
    weight = helper.make_tensor("layer1.0.conv.weight", TensorProto.FLOAT, [4, 4, 1, 1], [0.5] * 16)
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4, 8, 8]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return bytes(model.SerializeToString())


def test_documentation_of_a_verbose_export_by_torchscript_has_the_lines() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], "/act/Relu")
    node.doc_string = (
        "/v/site-packages/torch/nn/functional.py(9): relu\nblock.py(5): forward\nnet.py(10): f\n"
    )
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy"]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    (relu,) = load(helper.make_model(graph).SerializeToString()).graph.nodes
    assert relu.loc.frames == ("net.py:10", "block.py:5")


def test_names_are_those_of_the_program() -> None:
    nodes = [*walk(load(export()).graph)]
    names = [n.name for n in nodes]
    assert names == [
        "layer1/0/conv/conv2d",
        "layer1/0/act/silu",
        "layer1/0/act/silu.Mul",
        "node_add",
    ]
    assert [n.loc.stored_name for n in nodes][:2] == ["node_Conv_3", "node_Sigmoid_8"]


def test_nodes_of_one_call_are_numbered() -> None:
    parts = [made("Relu", f"node_Relu_{i}", ["x"], f"s{i}", "swin", "roll") for i in range(3)]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("x", "s2")]
    model = helper.make_model(helper.make_graph(parts, "g", ends[:1], ends[1:]))
    names = [n.name for n in walk(load(bytes(model.SerializeToString())).graph)]
    assert names == ["swin/roll", "swin/roll.Relu", "swin/roll.Relu.2"]


def test_scopes_of_torchscript_become_paths_of_modules() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], "/layer1/layer1.0/blocks.2/act/Relu_1")
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:]))
    (relu,) = walk(load(bytes(model.SerializeToString())).graph)
    assert relu.name == "/layer1/0/blocks/2/act/Relu_1"
    assert relu.loc.stored_name == node.name


def test_lines_are_those_outside_of_the_framework_outermost_first() -> None:
    conv, *_, add = walk(load(export()).graph)
    assert conv.loc.frames == ("net.py:10", "parts/block.py:5")
    assert conv.loc.source == "parts/block.py:5"
    assert add.loc.source == ""


def test_a_node_is_found_by_either_name_and_by_its_module() -> None:
    graph = load(export()).graph
    for wanted in ("layer1/0/conv/conv2d", "node_Conv_3", "layer1.0.conv"):
        assert find_node(graph, wanted)[0] == 0


def test_text_has_both_names_and_all_lines() -> None:
    text = print_module(load(export()))
    assert 'at "net.py:10", at "parts/block.py:5", in_file "node_Conv_3"' in text
    assert print_module(parse_module(text)) == text


@pytest.mark.parametrize(("operand", "module"), [("f", "b"), ("plain", "b"), ("a.weight", "a")])
def test_a_rewritten_node_is_of_the_module_whose_parameter_it_reads(
    operand: str, module: str
) -> None:
    rule = {"pkg.onnxscript.rewriter.rule_name": "FuseBatchNormIntoConv"}
    conv = made("Conv", "node_Conv_1", ["x", operand], "y", "b", "norm", **rule)
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4, 8, 8]) for n in "xy"]
    filters = helper.make_tensor_value_info("f", TensorProto.FLOAT, [4, 4, 1, 1])
    stored = [
        helper.make_tensor(n, TensorProto.FLOAT, [4, 4, 1, 1], [0.5] * 16) for n in (operand,)
    ]
    graph = helper.make_graph([conv], "g", [ends[0], filters], ends[1:], stored[operand == "f" :])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    (node,) = perfc.analyze(model.SerializeToString(), "a100").module.graph.nodes
    assert node.name.partition("/")[0] == module
