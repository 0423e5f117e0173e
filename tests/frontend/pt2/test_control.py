"""Graphs that a program runs never, once or many times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perfc
from tests.frontend.pt2.programs import BOOL, F32, I64, graph, node, program, report_of

STEP = 4 * 16 * 16
"""Products of one step."""
CARRIED = {"i": (I64, ()), "h": (F32, (4, 16)), "w": (F32, (16, 16))}


def loop(limit: int, begin: str = "c_zero") -> dict[str, Any]:
    """Return a program that multiplies a state by a matrix ``limit`` times."""
    condition = graph(
        "i h w",
        "lt",
        [node("aten.lt.Scalar", "lt", self="$i", other=limit)],
        {**CARRIED, "lt": (BOOL, ())},
        "condition",
    )
    body = graph(
        "i h w",
        "next mm",
        [
            node("aten.add.Tensor", "next", self="$i", other=2),
            node("aten.mm.default", "mm", self="$h", mat2="$w"),
        ],
        {**CARRIED, "next": (I64, ()), "mm": (F32, (4, 16))},
    )
    call = node("higher_order.while_loop", "last y", condition, body, [f"${begin}", "$x"], ["$w"])
    values = {
        begin: (I64, ()),
        "x": (F32, (4, 16)),
        "w": (F32, (16, 16)),
        "last": (I64, ()),
        "y": (F32, (4, 16)),
    }
    return program(graph(f"{begin} w x", "y", [call], values), "c_zero w")


@pytest.mark.parametrize("limit", [1, 2, 7, 10])
def test_steps_of_a_loop_from_a_constant_are_counted(limit: int) -> None:
    cost = report_of(loop(limit), {"c_zero": bytes(8)}).cost
    assert cost.work.mac == -(-limit // 2) * STEP
    assert not cost.is_bound


@pytest.mark.parametrize("elements", [{}, {"c_zero": bytes(7)}, {"c_zero": b"\xff" * 16}])
def test_steps_from_an_unread_constant_are_a_bound(elements: dict[str, bytes]) -> None:
    cost = report_of(loop(7), elements).cost
    assert (cost.work.mac, cost.is_bound) == (0, True)


@pytest.mark.parametrize(("limit", "steps"), [(1, 0), (2, 1), (100, 7)])
def test_a_loop_that_does_not_count_is_followed(limit: int, steps: int) -> None:
    document = loop(limit)
    body = document["graph_module"]["graph"]["nodes"][0]["inputs"][1]["arg"]["as_graph"]["graph"]
    body["nodes"][0]["target"] = "torch.ops.aten.mul.Tensor"
    cost = report_of(document, {"c_zero": (1).to_bytes(8, "little")}).cost
    assert (cost.work.mac, cost.is_bound) == (steps * STEP, False)


def test_a_loop_that_never_begins_does_nothing() -> None:
    assert report_of(loop(0), {"c_zero": bytes(8)}).cost.work.mac == 0


@pytest.mark.parametrize(
    ("test", "change", "step", "begin", "limit", "steps"),
    [
        ("lt", "add", 1, 0, 1_000_000, 1_000_000),
        ("le", "add", 1, 0, 6, 7),
        ("gt", "sub", 2, 9, 0, 5),
        ("ge", "add", -3, 9, 0, 4),
        ("lt", "add", 1, 5, 5, 0),
    ],
)
def test_a_counter_has_its_steps(
    test: str, change: str, step: int, begin: int, limit: int, steps: int
) -> None:
    document = loop(limit)
    graphs = [
        a["arg"]["as_graph"]["graph"]
        for a in document["graph_module"]["graph"]["nodes"][0]["inputs"][:2]
    ]
    graphs[0]["nodes"][0]["target"] = f"torch.ops.aten.{test}.Scalar"
    counter = graphs[1]["nodes"][0]
    counter["target"] = f"torch.ops.aten.{change}.Tensor"
    counter["inputs"][1]["arg"] = {"as_int": step}
    cost = report_of(document, {"c_zero": begin.to_bytes(8, "little")}).cost
    assert (cost.work.mac, cost.is_bound) == (steps * STEP, False)


def test_a_counter_up_to_a_size_has_a_formula() -> None:
    document = loop(0)
    top = document["graph_module"]["graph"]
    size = {"as_expr": {"expr_str": "s0"}}
    condition = top["nodes"][0]["inputs"][0]["arg"]["as_graph"]["graph"]
    condition["sym_int_values"] = {"n": size}
    condition["nodes"][0]["inputs"][1]["arg"] = {"as_sym_int": {"as_name": "n"}}
    # PyTorch writes a size among tensors as one of them
    condition["inputs"].append({"as_sym_int": {"as_name": "n"}})
    top["nodes"][0]["inputs"][3]["arg"]["as_tensors"].append({"name": "n"})
    top["sym_int_values"] = {"n": size}
    for values in (
        top["tensor_values"],
        condition["tensor_values"],
        top["nodes"][0]["inputs"][1]["arg"]["as_graph"]["graph"]["tensor_values"],
    ):
        for name in ("x", "y", "h", "mm"):
            if name in values:
                values[name]["sizes"][0] = size
    cost = report_of(document, {"c_zero": bytes(8)}).cost
    assert str(cost.work.mac) == "256*((batch + 1)//2)*batch"
    assert not cost.is_bound


def test_steps_of_a_scan_and_of_a_map_are_the_first_extent() -> None:
    types = {"h": (F32, (4, 16)), "x": (F32, (4, 16)), "w": (F32, (16, 16)), "mm": (F32, (4, 16))}
    product = node("aten.mm.default", "mm", self="$x", mat2="$w")
    outer = {"x": (F32, (10, 4, 16)), "w": (F32, (16, 16)), "y": (F32, (10, 4, 16))}
    mapped = graph("x w", "mm", [product], types)
    call = node("higher_order.map_impl", "y", mapped, ["$x"], ["$w"])
    cost = report_of(program(graph("w x", "y", [call], outer), "w")).cost
    assert (cost.work.mac, cost.is_bound) == (10 * STEP, False)
    body = graph(
        "h x w",
        "mm sum",
        [product, node("aten.add.Tensor", "sum", self="$mm", other="$h")],
        {**types, "sum": (F32, (4, 16))},
    )
    call = node("higher_order.scan", "last y", body, ["$h"], ["$x"], ["$w"])
    top = graph("w h x", "last y", [call], {**outer, "h": (F32, (4, 16)), "last": (F32, (4, 16))})
    report = report_of(program(top, "w"))
    assert (report.cost.work.mac, report.cost.is_bound) == (10 * STEP, False)
    assert [str(v.type) for v in report.source.graph.outputs] == ["f32[4, 16]", "f32[10, 4, 16]"]


def test_a_choice_counts_its_dearer_side() -> None:
    types = {"x": (F32, (4, 16)), "w": (F32, (16, 16))}
    once = graph(
        "x w",
        "a",
        [node("aten.mm.default", "a", self="$x", mat2="$w")],
        {**types, "a": (F32, (4, 16))},
        "once",
    )
    twice = graph(
        "x w",
        "b",
        [
            node("aten.mm.default", "a", self="$x", mat2="$w"),
            node("aten.mm.default", "b", self="$a", mat2="$w"),
        ],
        {**types, "a": (F32, (4, 16)), "b": (F32, (4, 16))},
        "twice",
    )
    for sides in ((once, twice), (twice, once)):
        call = node("higher_order.cond", "y", "$p", *sides, ["$x", "$w"])
        outer = {**types, "p": (BOOL, ()), "y": (F32, (4, 16))}
        cost = report_of(program(graph("w p x", "y", [call], outer), "w")).cost
        assert (cost.work.mac, cost.is_bound) == (2 * STEP, False)
        assert sum(c.work.mac for c in cost.others.values()) == STEP


def test_steps_are_those_of_pytorch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    operators = pytest.importorskip("torch._higher_order_ops")
    counter = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)

        def forward(self, x: Any) -> Any:
            def step(h: Any, part: Any) -> Any:
                made = torch.tanh(self.one(h) + self.two(part))
                return made, made.clone()

            last, _ = operators.scan(step, torch.zeros(4, 16), x, dim=1)
            _, last = operators.while_loop(
                lambda i, _h: i < 5, lambda i, h: (i + 1, self.one(h)), (torch.tensor(0), last)
            )
            return last

    x, path = torch.zeros(4, 6, 16), tmp_path / "net.pt2"
    torch.export.save(torch.export.export(Net().eval(), (x,)), path)
    net = Net().eval()
    with counter(display=False) as counted, torch.no_grad():
        h = torch.zeros(4, 16)
        for at in range(6):
            h = torch.tanh(net.one(h) + net.two(x[:, at]))
        for _ in range(5):
            h = net.one(h)
    cost = perfc.analyze(path, "a100").cost
    assert (2 * cost.work.mac, cost.is_bound) == (counted.get_total_flops(), False)
