"""Size of an HTML report and how soon a browser can use it.

    python benchmarks/html_report.py [MODEL ...]

Without a model: a residual network of 5,000 nodes, none of which folds away. Chromium runs headless
on this machine, once to warm its cache and then RUNS times; medians are printed. Interactive is
when the first chart is drawn and every key and click is heard, from the start of navigation.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.view.html import page
from perfc.view.report import collect

RUNS = 5
BLOCKS, WIDTH = 555, 64
"""Blocks of nine nodes, and extents of their matrices."""
CHROMIUM = "/usr/bin/chromium"


def residual_network(blocks: int) -> onnx.ModelProto:
    """Return ``9 * blocks`` nodes in modules ``/stage.s/block.b/{attn,mlp}``."""
    nodes: list[onnx.NodeProto] = []
    rng = np.random.default_rng(0)
    weight = numpy_helper.from_array(rng.normal(size=(WIDTH, WIDTH)).astype(np.float32), "w")
    scale = numpy_helper.from_array(np.ones(WIDTH, np.float32), "s")
    last = "x"
    for b in range(blocks):
        top = f"/stage.{b // 100}/block.{b}"
        steps = (
            ("LayerNormalization", (last, "s"), "norm"),
            ("MatMul", (f"{b}.0", "w"), "attn/q"),
            ("Softmax", (f"{b}.1",), "attn/softmax"),
            ("MatMul", (f"{b}.2", "w"), "attn/proj"),
            ("Add", (f"{b}.3", last), "attn/residual"),
            ("MatMul", (f"{b}.4", "w"), "mlp/up"),
            ("Erf", (f"{b}.5",), "mlp/act"),
            ("MatMul", (f"{b}.6", "w"), "mlp/down"),
            ("Add", (f"{b}.7", f"{b}.4"), "mlp/residual"),
        )
        for i, (op, inputs, name) in enumerate(steps):
            out = f"{b}.{i}"
            nodes.append(helper.make_node(op, list(inputs), [out], name=f"{top}/{name}/{op}"))
        last = f"{b}.8"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDTH])
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, ["n", WIDTH])
    graph = helper.make_graph(nodes, "residual", [x], [y], [weight, scale])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def main(models: list[str]) -> None:
    """Print the size of each page and the times of actions on it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for model in models or [""]:
            report = perfc.analyze(model or residual_network(BLOCKS), dims=None)
            started = time.perf_counter()
            text = page(report, collect(report))
            made_s = time.perf_counter() - started
            path = Path(folder) / "report.html"
            path.write_text(text, encoding="utf-8")
            nodes = len(report.cost.nodes)
            size = len(text.encode()) / 1e6
            print(f"{Path(model).name or 'residual network'}: {nodes} nodes executed, ", end="")
            print(f"{len(report.kernels.kernels)} kernels, {size:.2f} MB, made in {made_s:.2f} s")
            times: dict[str, list[float]] = {}
            for _ in range(RUNS + 1):
                tab = browser.new_page(viewport={"width": 1280, "height": 900})
                for name, value in measured(tab, path).items():
                    times.setdefault(name, []).append(value)
                tab.close()
            for name, values in times.items():
                # the first run fills the cache of the browser
                later = values[1:]
                print(f"  {name:34} {statistics.median(later):8.0f} ms  (max {max(later):.0f})")
        browser.close()


FRAME = "await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));"
"""Script that waits for two frames: the first may have begun before a change."""


def measured(tab: object, path: Path) -> dict[str, float]:
    """Return milliseconds from the start of navigation, and from actions to the next frame."""
    times: dict[str, float] = {}
    tab.goto(path.as_uri())  # type: ignore[attr-defined]
    run = tab.evaluate  # type: ignore[attr-defined]
    tab.wait_for_selector("html[data-ready]")  # type: ignore[attr-defined]
    times["interactive"] = run("performance.getEntriesByName('perfc-interactive')[0].startTime")
    times["key of a section, answered"] = answered(tab, "document.body", "4")
    show = "document.getElementById('{0}').scrollIntoView()"
    drawn = f"while (!document.querySelector('#{{0}}-chart canvas')) {FRAME}"
    for section in ("modules", "graph", "memory"):
        code = f"{show}; {drawn}".format(section)
        times[f"scroll to {section}, drawn"] = timed(tab, code)
    choose = (
        "const s = document.getElementById('graph-form'); s.value = 'whole';"
        "s.dispatchEvent(new Event('change'))"
    )
    tab.evaluate(show.format("graph"))  # type: ignore[attr-defined]
    times["all nodes of the graph, drawn"] = timed(tab, choose)
    times["zoom in all nodes, one frame"] = answered(tab, "graph-chart", "+")
    times["move in all nodes, one step"] = answered(tab, "graph-chart", "ArrowRight")
    return times


def timed(tab: object, code: str) -> float:
    """Return milliseconds until the second frame after ``code``, when its changes are visible."""
    body = f"const t = performance.now(); {code}; {FRAME} {FRAME} return performance.now() - t;"
    value: float = tab.evaluate(f"async () => {{ {body} }}")  # type: ignore[attr-defined]
    return value


def answered(tab: object, holder: str, key: str) -> float:
    """Return the milliseconds from a key to the frames after it."""
    target = holder if "." in holder else f"document.getElementById('{holder}')"
    press = f"new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }})"
    return timed(tab, f"{target}.dispatchEvent({press})")


if __name__ == "__main__":
    main(sys.argv[1:])
