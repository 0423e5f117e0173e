"""OpenVINO models become graphs of the IR."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

import perfc
from perfc.errors import ModelError
from perfc.frontend import load
from perfc.frontend.lowering.builder import GraphBuilder
from perfc.passes.roofline.parameters import Role
from tests.frontend.damaged import check_damaged

BITS = {"FP32": 32, "FP16": 16, "I64": 64, "I32": 32, "I8": 8, "U8": 8, "U4": 4, "BOOL": 8}
ELEMENTS = {"FP32": "f32", "FP16": "f16", "BOOL": "boolean"}


class Document:
    """Layers, edges and weights of a model, as `openvino.save_model` writes them."""

    def __init__(self, weights: bytearray | None = None) -> None:
        self.layers: list[str] = []
        self.edges: list[str] = []
        self.ports: list[int] = []
        self.weights = bytearray() if weights is None else weights

    def layer(
        self,
        kind: str,
        sources: Sequence[int],
        *results: tuple[str, Sequence[int]],
        inside: str = "",
        **data: object,
    ) -> int:
        """Add a layer that reads the first results of others; return its number."""
        index, ports = len(self.layers), len(sources)
        for port, source in enumerate(sources):
            self.edges.append(
                f'<edge from-layer="{source}" from-port="{self.ports[source]}" '
                f'to-layer="{index}" to-port="{port}"/>'
            )
        self.ports.append(ports)
        given = " ".join(f"{k}={quoteattr(str(v))}" for k, v in data.items())
        entries = "".join(f'<port id="{p}"/>' for p in range(ports))
        made = "".join(
            f'<port id="{ports + at}" precision="{dtype}">'
            + "".join(f"<dim>{d}</dim>" for d in shape)
            + "</port>"
            for at, (dtype, shape) in enumerate(results)
        )
        self.layers.append(
            f'<layer id="{index}" name="{kind}_{index}" type="{kind}" version="opset1">'
            f"<data {given}/><input>{entries}</input><output>{made}</output>{inside}</layer>"
        )
        return index

    def const(self, dtype: str, shape: Sequence[int], values: Sequence[int] = ()) -> int:
        """Add a constant; elements are zeros without ``values``."""
        count, offset = 1, len(self.weights)
        for size in shape:
            count *= size
        size = (count * BITS[dtype] + 7) // 8
        self.weights += struct.pack(f"<{len(values)}q", *values) if values else bytes(size)
        element = ELEMENTS.get(dtype, dtype.lower())
        return self.layer(
            "Const",
            (),
            (dtype, shape),
            element_type=element,
            offset=offset,
            size=size,
            shape=",".join(map(str, shape)),
        )

    def parameter(self, dtype: str, shape: Sequence[int]) -> int:
        """Add an input."""
        return self.layer("Parameter", (), (dtype, shape), element_type=ELEMENTS.get(dtype, ""))

    def body(self, name: str = "net") -> str:
        """Return the element of a graph."""
        return (
            f'<{name} name="test" version="11"><layers>{"".join(self.layers)}</layers>'
            f"<edges>{''.join(self.edges)}</edges></{name}>"
        )

    def save(self, folder: Path) -> Path:
        """Write the model and return its path."""
        path = folder / "model.xml"
        path.write_text('<?xml version="1.0"?>' + self.body(), encoding="utf-8")
        path.with_suffix(".bin").write_bytes(self.weights)
        return path


WINDOW = {"strides": "2,2", "pads_begin": "1,1", "pads_end": "1,1", "dilations": "1,1"}


def network() -> Document:
    """Return a convolution, a normalization and a product, of a dynamic batch."""
    d = Document()
    x = d.parameter("FP32", (-1, 3, 8, 8))
    halves = d.const("FP16", (16, 3, 3, 3))
    filters = d.layer("Convert", (halves,), ("FP32", (16, 3, 3, 3)), destination_type="f32")
    conv = d.layer("Convolution", (x, filters), ("FP32", (-1, 16, 4, 4)), **WINDOW)
    rows = d.layer(
        "Reshape", (conv, d.const("I64", (2,), (-1, 16))), ("FP32", (-1, 16)), special_zero="true"
    )
    normal = d.layer(
        "MVN",
        (rows, d.const("I64", (1,), (1,))),
        ("FP32", (-1, 16)),
        eps="1e-5",
        normalize_variance="true",
    )
    scaled = d.layer("Multiply", (normal, d.const("FP32", (1, 16))), ("FP32", (-1, 16)))
    shifted = d.layer("Add", (scaled, d.const("FP32", (1, 16))), ("FP32", (-1, 16)))
    y = d.layer(
        "MatMul",
        (shifted, d.const("FP32", (10, 16))),
        ("FP32", (-1, 10)),
        transpose_a="false",
        transpose_b="true",
    )
    d.layer("Result", (y,))
    return d


def test_layers_are_the_operators_of_onnx(tmp_path: Path) -> None:
    module = load(network().save(tmp_path))
    # the scale and bias are fused into the normalization; the stored matrix is transposed
    assert [n.op.mnemonic for n in module.graph.nodes] == [
        "conv",
        "reshape",
        "layer_norm",
        "matmul",
    ]
    (x,) = module.graph.inputs
    assert str(x.type) == "f32[batch, 3, 8, 8]"
    extents = sorted(
        str(v.type) for v in module.graph.weights if v.weight and v.weight.is_parameter
    )
    assert extents == ["f32[16, 10]", "f32[16, 3, 3, 3]", "f32[16]", "f32[16]"]


def test_the_work_is_that_of_the_layers(tmp_path: Path) -> None:
    report = perfc.analyze(network().save(tmp_path), "a100", batch=4)
    assert str(report.cost.work.mac) == f"{4 * 4 * 16 * 3 * 9 + 4 * 4 * 160}*batch"


def test_a_missing_file_of_weights_leaves_the_graph(tmp_path: Path) -> None:
    path = network().save(tmp_path)
    path.with_suffix(".bin").unlink()
    assert load(path).graph.nodes[0].op.mnemonic == "conv"
    assert load(path.read_bytes()).graph.nodes[0].op.mnemonic == "conv"


@pytest.mark.parametrize(
    ("dtype", "weights", "scales", "stored", "groups"),
    [
        ("I8", (10, 64), (10, 1), "i8[64, 10]", "f32[10]"),
        ("U4", (10, 2, 32), (10, 2, 1), "u4[64, 10]", "f32[2, 10]"),
    ],
)
def test_weights_of_whole_numbers_have_scales(
    tmp_path: Path,
    dtype: str,
    weights: tuple[int, ...],
    scales: tuple[int, ...],
    stored: str,
    groups: str,
) -> None:
    d = Document()
    x = d.parameter("FP32", (-1, 64))
    real = d.layer("Convert", (d.const(dtype, weights),), ("FP32", weights))
    zero = d.layer("Convert", (d.const(dtype, scales),), ("FP32", scales))
    moved = d.layer("Subtract", (real, zero), ("FP32", weights))
    made = d.layer("Multiply", (moved, d.const("FP32", scales)), ("FP32", weights))
    if len(weights) == 3:
        made = d.layer("Reshape", (made, d.const("I64", (2,), (10, 64))), ("FP32", (10, 64)))
    y = d.layer("MatMul", (x, made), ("FP32", (-1, 10)), transpose_b="true")
    d.layer("Result", (y,))
    graph = load(d.save(tmp_path)).graph
    assert [n.op.mnemonic for n in graph.nodes] == ["dequantize_linear", "matmul"]
    first, scale, *_ = graph.nodes[0].inputs
    assert first is not None
    assert scale is not None
    assert (str(first.type), str(scale.type)) == (stored, groups)


def test_a_fake_quantization_makes_whole_numbers(tmp_path: Path) -> None:
    d = Document()
    x = d.parameter("FP32", (1, 64))
    ends = [d.const("FP32", ()) for _ in range(4)]
    q = d.layer("FakeQuantize", (x, *ends), ("FP32", (1, 64)), levels=256)
    weight = d.layer(
        "FakeQuantize", (d.const("FP32", (10, 64)), *ends), ("FP32", (10, 64)), levels=255
    )
    y = d.layer("MatMul", (q, weight), ("FP32", (1, 10)), transpose_b="true")
    d.layer("Result", (y,))
    report = perfc.analyze(d.save(tmp_path), "a100")
    assert [n.op.mnemonic for n in report.module.graph.nodes] == [
        "quantize_linear",
        "dequantize_linear",
        "dequantize_linear",
        "matmul",
    ]
    assert "i8[64, 10]" in {str(v.type) for v in report.module.graph.weights}


def test_a_branch_has_both_graphs(tmp_path: Path) -> None:
    d = Document()
    condition, x = d.parameter("BOOL", ()), d.parameter("FP32", (4,))
    bodies = ""
    for branch, kind in (("then", "Exp"), ("else", "ReLU")):
        inner = Document(d.weights)
        held = inner.parameter("FP32", (4,))
        inner.layer("Result", (inner.layer(kind, (held,), ("FP32", (4,))),))
        bodies += (
            f'<{branch}_port_map><input external_port_id="1" internal_layer_id="0"/>'
            f'<output external_port_id="2" internal_layer_id="2"/></{branch}_port_map>'
            + inner.body(f"{branch}_body")
        )
    d.layer("Result", (d.layer("If", (condition, x), ("FP32", (4,)), inside=bodies),))
    (node,) = load(d.save(tmp_path)).graph.nodes
    assert node.op.mnemonic == "if"
    assert [r.nodes[0].op.mnemonic for r in node.regions] == ["exp", "relu"]


def test_an_iterator_runs_its_graph_for_each_part(tmp_path: Path) -> None:
    d = Document()
    x, state = d.parameter("FP32", (1, 7, 4)), d.parameter("FP32", (1, 1, 4))
    inner = Document(d.weights)
    part, held = inner.parameter("FP32", (1, 1, 4)), inner.parameter("FP32", (1, 1, 4))
    total = inner.layer("Add", (part, held), ("FP32", (1, 1, 4)))
    product = inner.layer("MatMul", (total, inner.const("FP32", (4, 4))), ("FP32", (1, 1, 4)))
    inner.layer("Result", (product,))
    ports = (
        '<port_map><input external_port_id="0" internal_layer_id="0" axis="1"/>'
        '<input external_port_id="1" internal_layer_id="1"/>'
        '<output external_port_id="2" internal_layer_id="5" axis="1"/></port_map>'
        '<back_edges><edge from-layer="5" to-layer="1"/></back_edges>'
    )
    made = d.layer(
        "TensorIterator", (x, state), ("FP32", (1, 7, 4)), inside=ports + inner.body("body")
    )
    d.layer("Result", (made,))
    report = perfc.analyze(d.save(tmp_path), "a100")
    assert "loop" in {n.op.mnemonic for n in report.module.graph.nodes}
    assert str(report.module.graph.outputs[0].type) == "f32[1, 7, 4]"
    assert report.cost.work.mac == 7 * 16


RECURRENT = {"LSTM": (4, 2), "GRU": (3, 1), "RNN": (1, 1)}
"""Gates and states of recurrent layers."""


@pytest.mark.parametrize("bias_rows", [None, 4])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("kind", RECURRENT)
def test_sequences_of_two_layers_have_their_macs_and_stored_biases(
    tmp_path: Path, kind: str, directions: int, bias_rows: int | None
) -> None:
    (gates, states), d, h = RECURRENT[kind], Document(), 20
    if bias_rows and kind != "GRU":
        pytest.skip("only units that reset after the product have two biases of a gate")
    rows = bias_rows or gates
    data = {
        "hidden_size": h,
        "direction": "bidirectional" if directions > 1 else "REVERSE",
        "linear_before_reset": str(bool(bias_rows)),
        "activations": "tanh",
    }
    if kind != "RNN":
        del data["activations"]
    source, width, total = d.parameter("FP32", (3, 7, 10)), 10, 0
    for _ in range(2):
        initial = [d.const("FP32", (3, directions, h)) for _ in range(states)]
        weights = [
            d.const("FP32", (directions, n, *rest))
            for n, rest in ((gates * h, (width,)), (gates * h, (h,)), (rows * h, ()))
        ]
        lengths = d.const("I32", (3,))
        state = ("FP32", (3, directions, h))
        made = d.layer(
            f"{kind}Sequence",
            (source, *initial, lengths, *weights),
            ("FP32", (3, directions, 7, h)),
            *[state] * states,
            **data,
        )
        total += directions * h * (gates * (width + h) + rows)
        width = directions * h
        order = d.layer(
            "Transpose", (made, d.const("I64", (4,), (0, 2, 1, 3))), ("FP32", (3, 7, directions, h))
        )
        source = d.layer(
            "Reshape", (order, d.const("I64", (3,), (3, 7, width))), ("FP32", (3, 7, width))
        )
    d.layer("Result", (source,))
    report = perfc.analyze(d.save(tmp_path), "a100")
    mac = sum(3 * 7 * directions * gates * h * (i + h) for i in (10, directions * h))
    assert (report.cost.work.mac, report.cost.is_bound) == (mac, False)
    assert report.parameter_table.count(Role.PARAMETER) == total


@pytest.mark.parametrize("kind", RECURRENT)
def test_cells_are_one_step_of_their_sequence(tmp_path: Path, kind: str) -> None:
    (gates, states), d, h = RECURRENT[kind], Document(), 20
    given = [d.parameter("FP32", (3, n)) for n in (10, *[h] * states)]
    weights = [d.const("FP32", (gates * h, *rest)) for rest in ((10,), (h,), ())]
    made = d.layer(f"{kind}Cell", (*given, *weights), *[("FP32", (3, h))] * states, hidden_size=h)
    d.layer("Result", (made,))
    report = perfc.analyze(d.save(tmp_path), "a100")
    assert (report.cost.work.mac, report.cost.is_bound) == (3 * gates * h * (10 + h), False)
    assert report.parameter_table.count(Role.PARAMETER) == gates * h * (10 + h + 1)
    assert str(report.module.graph.outputs[0].type) == f"f32[3, {h}]"


def test_names_made_for_nodes_are_no_names_of_results() -> None:
    builder = GraphBuilder()
    given = builder.reserved("lstm.1")
    made = [builder.fresh("lstm") for _ in range(3)]
    after = [builder.reserved(name) for name in made]
    assert len({given, *made, *after}) == 7


@pytest.mark.parametrize("version", ["opset4", "opset11"])
def test_a_resized_map_of_a_dynamic_batch_has_the_sizes_of_its_version(
    tmp_path: Path, version: str
) -> None:
    d = Document()
    sizes, axes = d.const("I64", (2,), (16, 24)), d.const("I64", (2,), (2, 3))
    # version 4 has sizes and scales, version 11 one operand for either
    scales = (d.const("FP32", (2,)),) if version == "opset4" else ()
    y = d.layer(
        "Interpolate",
        (d.parameter("FP32", (-1, 3, 8, 8)), sizes, *scales, axes),
        ("FP32", (-1, 3, 16, 24)),
        mode="nearest",
        shape_calculation_mode="sizes",
    )
    d.layers[y] = d.layers[y].replace("opset1", version)
    d.layer("Result", (y,))
    module = perfc.analyze(d.save(tmp_path), "a100", batch=4).source
    resized = next(n for n in module.graph.nodes if n.loc.op_type == "Resize")
    assert [str(s) for s in resized.results[0].shape or ()][1:] == ["3", "16", "24"]
    assert resized.op.axes == (2, 3)


def test_an_unknown_layer_keeps_its_name_and_bytes(tmp_path: Path) -> None:
    d = Document()
    made = d.layer("Shiny", (d.parameter("FP32", (1, 100)),), ("FP32", (1, 50)))
    d.layer("Result", (made,))
    (node,) = load(d.save(tmp_path)).graph.nodes
    assert node.loc.op_type == "Shiny"
    assert str(node.results[0].type) == "f32[1, 50]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE net [<!ENTITY a "b">]><net>&a;</net>', "type declaration"),
        ("<a>" * 300, "nested deeper"),
        ("<net", "damaged XML"),
        ("<html/>", "not a model of OpenVINO"),
        ("<net/>", "no layers"),
        ('<net><layers><layer id="x" type="Const"/></layers></net>', "does not keep"),
    ],
)
def test_other_documents_are_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(b'<?xml version="1.0"?>' + text.encode())


def test_damaged_documents_end_in_one_line(tmp_path: Path) -> None:
    path = network().save(tmp_path)
    text = path.read_bytes()
    rng = random.Random(11)
    digits = [i for i, c in enumerate(text) if chr(c).isdigit()]

    def damaged() -> Iterator[bytes]:
        for _ in range(150):
            data = bytearray(text)
            for _ in range(rng.choice((1, 2, 8))):
                place = rng.choice(digits) if rng.random() < 0.8 else rng.randrange(len(data))
                value = rng.choice((b"9", b"0", b"-1", b"99999999999", b'"', b"<"))
                data[place : place + 1] = value
            yield bytes(data)

    def saved(data: bytes) -> Path:
        path.write_bytes(data)
        return path

    check_damaged(damaged(), saved)
