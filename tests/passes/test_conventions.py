"""Operations as other FLOP counters count them: sums by hand, and names that operators have."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.commands.analysis.analyze import command
from perfc.errors import PassError
from perfc.ir.ops import operator_for
from perfc.passes.conventions import convention, conventions, tally

CONV_MAC = 8 * 3 * 9 * 16 * 16
MAPS = 8 * 16 * 16


def network():
    """Convolution with bias, batch normalisation, Relu, global pooling, product with bias."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "s", "s", "s"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("ReduceMean", ["r", "axes"], ["p"], keepdims=0),
        helper.make_node("Gemm", ["p", "v", "d"], ["y"]),
    ]
    stored = {
        "w": np.ones((8, 3, 3, 3), np.float32),
        "b": np.ones(8, np.float32),
        "s": np.ones(8, np.float32),
        "axes": np.array([2, 3]),
        "v": np.ones((8, 10), np.float32),
        "d": np.ones(10, np.float32),
    }
    return model(nodes, [2, 3, 16, 16], [2, 10], stored)


def attention():
    """Scores, softmax and values of three inputs, then a product with a weight and its bias."""
    nodes = [
        helper.make_node("MatMul", ["x", "t"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"]),
        helper.make_node("MatMul", ["shares", "x"], ["mixed"]),
        helper.make_node("MatMul", ["mixed", "w"], ["z"]),
        helper.make_node("Add", ["z", "b"], ["y"]),
    ]
    stored = {"w": np.ones((8, 8), np.float32), "b": np.ones(8, np.float32)}
    return model(
        [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]), *nodes],
        [1, 6, 8],
        [1, 6, 8],
        stored,
    )


def model(nodes, given, result, stored):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, given)],
        [value("y", TensorProto.FLOAT, result)],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


PRODUCTS = 2 * (CONV_MAC + 80)


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("torch", 2 * PRODUCTS),
        ("fvcore", PRODUCTS + 2 * MAPS * 2 + 2 * MAPS),
        ("ptflops", PRODUCTS + 2 * MAPS + 20 + 2 * MAPS * 2 + 2 * MAPS + 2 * MAPS),
        ("thop", PRODUCTS + 2 * MAPS * 4 + 2 * MAPS + 2 * 8),
        ("calflops", 2 * PRODUCTS + 2 * MAPS + 2 * MAPS * 2 + 2 * MAPS + 2 * MAPS),
        ("deepspeed", 2 * PRODUCTS + 2 * MAPS + 2 * MAPS * 2 + 2 * MAPS + 2 * MAPS),
    ],
)
def test_a_network_is_counted_as_each_tool_counts_it(name, operations):
    report = perfc.analyze(network())
    assert tally(report.cost, convention(name)).total == operations


@pytest.mark.parametrize(
    ("name", "operations", "in_attention"),
    [
        ("torch", 2 * (288 * 2 + 384), 2 * 288 * 2),
        ("fvcore", 288 * 2 + 384, 288 * 2),
        ("ptflops", 288 * 2 + 36 + 384 + 48, 288 * 2 + 36),
        ("thop", 384, 0),
        ("calflops", 2 * (288 * 2 + 384) + 36, 2 * 288 * 2 + 36),
    ],
)
def test_attention_is_separate_from_products_with_weights(name, operations, in_attention):
    counted = tally(perfc.analyze(attention()).cost, convention(name))
    assert (counted.total, counted.attention) == (operations, in_attention)


@pytest.mark.parametrize("name", conventions())
def test_conventions_name_operators_that_exist(name):
    assert [o for o in convention(name).operators if operator_for("", o) is None] == []


def test_an_unknown_convention_names_the_known():
    with pytest.raises(PassError, match=r"no convention 'flop'.*calflops.*torch"):
        convention("flop")


def run(*args):
    return CliRunner().invoke(command, args)


def test_the_command_prints_the_count(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(network().SerializeToString())
    result = run(str(path), "--count-as", "fvcore", "--no-predict")
    assert result.exit_code == 0
    assert "counted as fvcore" in result.output
    result = run(str(path), "--count-as", "fvcore", "--output-format", "json")
    assert json.loads(result.output)["counts"]["total"]["value"] == PRODUCTS + 6 * MAPS
    assert perfc.analyze(path).count_as("fvcore").total.value == PRODUCTS + 6 * MAPS
    result = run(str(path), "--view", "counts")
    assert result.exit_code == 2
    assert "--count-as" in result.output


def test_a_configuration_has_the_head_of_every_token():
    """Published by calflops for llama2-7b of 128 tokens: 1700.06 GFLOPs, 850.00 GMACs."""
    report = perfc.analyze("llama-2-7b", "h100", batch=1, seq=128)
    assert report.count_as("calflops").total.value == pytest.approx(1700.06e9, rel=1e-4)
    assert report.count_as("fvcore").total.value == pytest.approx(850.00e9, rel=1e-4)
