"""Analyses repeated in one process: equal to those of fresh processes, and bounded in memory."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.machine.folders import SHIPPED
from perfc.passes.manager import LAST_READ, MOST_MODULES, MOST_RESULTS, Timing

FRESH = """
import json, sys, perfc
print(json.dumps(perfc.analyze(sys.argv[1], **json.loads(sys.argv[2])).to_dict()))
"""
Fields = dict[str, Any]


def written(path: Path, activation: str = "Relu", shift: int = 0) -> Path:
    """Write a small convolutional network with a free batch."""
    weight = np.ones((8, 3, 3, 3), np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node(activation, ["c"], ["r"]),
        helper.make_node("Reshape", ["r", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", "m"], ["y"]),
    ]
    weights = [
        numpy_helper.from_array(weight, "w"),
        numpy_helper.from_array(np.array([0, -1]), "shape"),
        numpy_helper.from_array(np.ones((512, 16 + shift), np.float32), "m"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def fresh(path: Path, **fields: object) -> object:
    """Return the report of a process of its own as JSON."""
    command = [sys.executable, "-c", FRESH, str(path), json.dumps(fields)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def as_json(report: perfc.Report) -> object:
    return json.loads(json.dumps(report.to_dict()))


def test_changed_deployments_are_those_of_a_fresh_process(tmp_path: Path) -> None:
    path = written(tmp_path / "net.onnx")
    base = perfc.analyze(path, "a100")
    assert as_json(base) == as_json(perfc.analyze(path, "a100")) == fresh(path, target="a100")
    assert as_json(base.at(batch=4)) == fresh(path, target="a100", batch=4)
    again = perfc.analyze(path, "a100", batch=6)
    assert as_json(again) == as_json(base.at({"batch": 6})) == fresh(path, target="a100", batch=6)
    changed = base.with_(dtype="f16", runtime="inductor").on("h100").at(batch=3)
    fields = {"dtype": "f16", "runtime": "inductor", "batch": 3}
    assert as_json(changed) == fresh(path, target="h100", **fields)


@pytest.mark.parametrize("change", [{"activation": "Sigmoid"}, {"shift": 5}])
def test_a_changed_file_is_read_again(tmp_path: Path, change: Fields) -> None:
    path = written(tmp_path / "net.onnx")
    before = perfc.analyze(path, "t4")
    assert perfc.analyze(path, "t4") is before
    after = perfc.analyze(written(path, **change), "t4")
    assert after is not before
    assert as_json(after) == fresh(path, target="t4")
    assert perfc.analyze(written(path), "t4").cost == before.cost


def test_contents_in_another_file_are_compared(tmp_path: Path) -> None:
    path = written(tmp_path / "net.onnx")
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    before = perfc.analyze(path)
    assert perfc.analyze(path) is before
    places = {t.name: t for t in onnx.load(path, load_external_data=False).graph.initializer}
    offset = next(int(e.value) for e in places["shape"].external_data if e.key == "offset")
    content = bytearray((tmp_path / "w.bin").read_bytes())
    content[offset : offset + 16] = np.array([-1, 512]).tobytes()
    (tmp_path / "w.bin").write_bytes(content)
    after = perfc.analyze(path)
    assert after.source.origin.digest != before.source.origin.digest
    (tmp_path / "w.bin").unlink()
    assert perfc.analyze(path).source.origin.side_files == ()


def test_an_edited_target_is_read_again(tmp_path: Path) -> None:
    path, target = written(tmp_path / "net.onnx"), tmp_path / "card.toml"
    text = (SHIPPED / "t4.toml").read_text()
    target.write_text(text)
    before = perfc.analyze(path, target)
    assert perfc.analyze(path, target) is before
    target.write_text(text.replace('description = "', 'description = "edited '))
    after = perfc.analyze(path, target)
    assert after.machine.description == f"edited {before.machine.description}"
    assert before.on(target).machine == after.machine


def test_instruments_see_every_pass(tmp_path: Path) -> None:
    path = written(tmp_path / "net.onnx")
    perfc.analyze(path)
    timing = Timing()
    perfc.analyze(path, instruments=[timing])
    assert {"shapes", "fuse", "cost", "roofline"} <= {name for name, _, _ in timing.steps}


def test_what_is_retained_is_bounded(tmp_path: Path) -> None:
    path = written(tmp_path / "net.onnx")
    base = perfc.analyze(path)

    def sizes(first: int, last: int) -> int:
        for batch in range(first, last):
            assert base.at(batch=batch).roofline.floor_s > 0
            assert perfc.analyze(path, batch=batch).env == {"batch": batch}
        gc.collect()  # what the collector has yet to free is not retained
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        middle = sizes(2, 100)
        assert sizes(100, 200) - middle < 250_000
    finally:
        tracemalloc.stop()
    assert len(LAST_READ) <= MOST_MODULES
    assert all(len(results) <= MOST_RESULTS for results in LAST_READ.values())
