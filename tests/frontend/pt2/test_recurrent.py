"""Recurrent layers and cells, and distances of batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perfc
from tests.frontend.pt2.programs import F32, graph, node, program, report_of

STEPS, BATCH, WIDTH, HIDDEN = 7, 3, 10, 20


def test_a_projection_is_a_product_of_each_step() -> None:
    p = 5
    types = {
        "x": (F32, (STEPS, BATCH, WIDTH)),
        "h": (F32, (1, BATCH, p)),
        "c": (F32, (1, BATCH, HIDDEN)),
        "wi": (F32, (4 * HIDDEN, WIDTH)),
        "wh": (F32, (4 * HIDDEN, p)),
        "bi": (F32, (4 * HIDDEN,)),
        "bh": (F32, (4 * HIDDEN,)),
        "wr": (F32, (p, HIDDEN)),
        "y": (F32, (STEPS, BATCH, p)),
        "hn": (F32, (1, BATCH, p)),
        "cn": (F32, (1, BATCH, HIDDEN)),
    }
    call = node(
        "aten.lstm.input",
        "y hn cn",
        input="$x",
        hx=["$h", "$c"],
        params=["$wi", "$wh", "$bi", "$bh", "$wr"],
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=False,
        bidirectional=False,
        batch_first=False,
    )
    top = graph("wi wh bi bh wr x h c", "y hn cn", [call], types)
    report = report_of(program(top, "wi wh bi bh wr"))
    products = 4 * HIDDEN * (WIDTH + p) + HIDDEN * p
    assert report.cost.work.mac == STEPS * BATCH * products
    assert [str(v.type) for v in report.source.graph.outputs] == [
        "f32[7, 3, 5]",
        "f32[1, 3, 5]",
        "f32[1, 3, 20]",
    ]


@pytest.mark.parametrize("lead", [(), (2,), (4, 2)])
@pytest.mark.parametrize(("order", "products"), [(2.0, 1), (1.0, 0), (float("inf"), 0)])
def test_distances_are_of_all_pairs_of_every_batch(
    lead: tuple[int, ...], order: float, products: int
) -> None:
    one, two = (*lead, 10, 6), (*lead[1:], 12, 6)
    types = {"a": (F32, one), "b": (F32, two), "y": (F32, (*lead, 10, 12))}
    call = node("aten.cdist.default", "y", x1="$a", x2="$b", p=order)
    report = report_of(program(graph("a b", "y", [call], types)))
    pairs = 10 * 12
    for extent in lead:
        pairs *= extent
    assert report.cost.work.mac == pairs * 6 * products
    assert report.cost.traffic.write_bytes == pairs * 4
    assert products or report.cost.work.alu >= pairs * 6


def variants() -> list[dict[str, Any]]:
    """Return arguments of recurrent layers of PyTorch."""
    names = ("num_layers", "bidirectional", "bias", "batch_first")
    rows = ((1, False, True, False), (2, True, False, True), (2, True, True, False))
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("name", ["LSTM", "LSTM projected", "GRU", "RNN", "RNN relu"])
def test_layers_do_what_their_cells_do_one_by_one(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    nn, (kind, _, form) = torch.nn, name.partition(" ")
    for given in variants():
        extra = {"projected": {"proj_size": 5}, "relu": {"nonlinearity": "relu"}}.get(form, {})
        layer = getattr(nn, kind)(WIDTH, HIDDEN, **given, **extra)
        first = given["batch_first"]
        x = torch.zeros(BATCH, STEPS, WIDTH) if first else torch.zeros(STEPS, BATCH, WIDTH)
        path = tmp_path / "net.pt2"
        torch.export.save(torch.export.export(layer.eval(), (x,)), path)
        report = perfc.analyze(path, "a100")
        gates = {"LSTM": 4, "GRU": 3}.get(kind, 1)
        state = extra.get("proj_size", HIDDEN)
        sides = 2 if given["bidirectional"] else 1
        products = 0
        for at in range(given["num_layers"]):
            width = state * sides if at else WIDTH
            cell = gates * HIDDEN * (width + state) + (HIDDEN * state if state != HIDDEN else 0)
            products += sides * cell
        assert report.cost.work.mac == STEPS * BATCH * products
        assert not report.cost.is_bound
        outputs = [v.type.shape for v in report.source.graph.outputs]  # type: ignore[union-attr]
        y, last = layer(x)
        states = last if kind == "LSTM" else (last,)
        assert outputs == [tuple(t.shape) for t in (y, *states)]


def test_cells_are_one_step_of_a_layer(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.gru = nn.LSTMCell(WIDTH, HIDDEN), nn.GRUCell(HIDDEN, HIDDEN, bias=False)
            self.rnn = nn.RNNCell(HIDDEN, WIDTH, nonlinearity="relu")

        def forward(self, x: Any) -> Any:
            h = c = torch.zeros(BATCH, HIDDEN)
            for at in range(STEPS):
                h, c = self.lstm(x[at], (h, c))
                h = self.gru(h, h)
            return self.rnn(h)

    path = tmp_path / "net.pt2"
    x = torch.zeros(STEPS, BATCH, WIDTH)
    torch.export.save(torch.export.export(Net().eval(), (x,)), path)
    cost = perfc.analyze(path, "a100").cost
    step = 4 * HIDDEN * (WIDTH + HIDDEN) + 3 * HIDDEN * 2 * HIDDEN
    assert cost.work.mac == BATCH * (STEPS * step + WIDTH * (HIDDEN + WIDTH))
    assert not cost.is_bound


def test_a_cell_needs_no_pytorch() -> None:
    types = {
        "x": (F32, (3, 10)),
        "h": (F32, (3, 20)),
        "wi": (F32, (60, 10)),
        "wh": (F32, (60, 20)),
        "y": (F32, (3, 20)),
    }
    call = node("aten.gru_cell.default", "y", input="$x", hx="$h", w_ih="$wi", w_hh="$wh")
    report = report_of(program(graph("wi wh x h", "y", [call], types), "wi wh"))
    assert (report.cost.work.mac, report.cost.is_bound) == (3 * 60 * (10 + 20), False)
    assert [str(v.type) for v in report.source.graph.outputs] == ["f32[3, 20]"]
