"""PyTorch modules by name are exported in a separate process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfc.cli import run
from perfc.errors import MissingExtraError, ModelError
from perfc.frontend.formats import format_of
from perfc.frontend.pytorch import named
from perfc.frontend.pytorch.named import named_module
from perfc.frontend.pytorch.worker import made
from perfc.frontend.reading.module_name import NamedModule, is_named

FIXTURE = Path(__file__).parents[2] / "fixtures" / "small-conv.pt2"
NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.conv, self.head = torch.nn.Conv2d(3, width, 3), torch.nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.conv(x).mean((2, 3)))

class Text(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(50, 16)

    def forward(self, ids):
        return self.table(ids)

    def example_inputs(self):
        return {"ids": (12, "i64")}
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("timm:resnet50", True),
        ("package.module:Net.inner", True),
        ("folder/net.py:make", True),
        ("transformers:google/vit-base-patch16-224", True),
        ("model.onnx", False),
        ("C:/models/net.onnx", False),
        ("folder/net.onnx:Net", False),
    ],
)
def test_a_name_has_a_module_and_what_is_in_it(name: str, expected: bool) -> None:
    assert is_named(name) is expected
    assert format_of(name).__name__.endswith(".python") is expected


class Process:
    """Substitute of the process that exports a module: writes an answer, or ends without one."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer
        self.request: dict[str, Any] = {}

    def __call__(self, command: list[str], *, input: str, **_: Any) -> SimpleNamespace:
        self.request = json.loads(input)
        archive, reply = command[-2:]
        if self.answer is not None:
            Path(archive).write_bytes(FIXTURE.read_bytes())
            Path(reply).write_text(json.dumps(self.answer))
        return SimpleNamespace(returncode=9, stderr="Traceback\nMemoryError: too large")


def test_the_archive_of_the_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process({"batch": 6})
    monkeypatch.setattr(subprocess, "run", process)
    module = named_module(NamedModule("net.py:Net", ("6x3x16x16",), '{"width": 4}'), {})
    assert (module.name, [s.default for s in module.symbols]) == ("Net", [6])
    assert process.request["inputs"] == ["6x3x16x16"]
    assert process.request["kwargs"] == {"width": 4}


@pytest.mark.parametrize(("name", "exports"), [("timm:resnet18", 1), ("net.py:Net", 3)])
def test_models_of_a_catalog_are_exported_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, exports: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    process = Process({"batch": 6})
    made = []
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: (made.append(a), process(*a, **k))[1])
    modules = [named_module(NamedModule(name), dims) for dims in ({}, {}, {"batch": 7})]
    assert len({m.origin.digest for m in modules}) == 1
    assert len(made) == exports
    named_module(NamedModule(name, kwargs='{"width": 4}'), {})
    assert len(made) == exports + 1
    for entry in tmp_path.glob("perfc/exports/*"):
        entry.write_bytes(entry.read_bytes()[:-200])
    assert named_module(NamedModule(name), {}).origin == modules[0].origin
    assert len(made) == exports + 2


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ({"missing": "torch"}, MissingExtraError, r"a module needs torch \(pip install 'torch>="),
        ({"error": "no file net.py"}, ModelError, "net.py:Net: no file net.py"),
        (None, ModelError, "its process ended: MemoryError: too large"),
    ],
)
def test_failures_of_the_process_are_one_line(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any] | None, kind: type, message: str
) -> None:
    monkeypatch.setattr(subprocess, "run", Process(answer))
    with pytest.raises(kind, match=message) as raised:
        named_module(NamedModule("net.py:Net"), {})
    assert "\n" not in str(raised.value)


def test_an_export_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any, timeout: float, **__: Any) -> None:
        raise subprocess.TimeoutExpired("python", timeout)

    monkeypatch.setattr(subprocess, "run", late)
    monkeypatch.setattr(named, "LONGEST_S", 5)
    with pytest.raises(ModelError, match="did not export it in 5 s"):
        named_module(NamedModule("net.py:Net"), {})


@pytest.mark.parametrize("kwargs", ["{", "[1]"])
def test_arguments_are_a_json_object(kwargs: str) -> None:
    with pytest.raises(ModelError, match="--kwargs is no JSON"):
        named_module(NamedModule("net.py:Net", kwargs=kwargs), {})


@pytest.fixture
def net(tmp_path: Path) -> Path:
    pytest.importorskip("torch")
    path = tmp_path / "net.py"
    path.write_text(NET)
    return path


def request(name: str, *inputs: str, **kwargs: Any) -> dict[str, Any]:
    return {
        "name": name,
        "inputs": list(inputs),
        "kwargs": kwargs,
        "dims": {},
        "input": None,
        "examples": None,
    }


def test_a_class_of_a_file_is_made_with_its_arguments(net: Path, tmp_path: Path) -> None:
    from perfc.frontend import load
    from perfc.frontend.pytorch.worker import exported

    archive = tmp_path / "net.pt2"
    answer = exported(request(f"{net}:Net", "4x3x20x20", width=5), archive)
    assert answer == {"batch": 4, "step": {}}
    (x,) = load(archive).graph.inputs
    assert str(x.type) == "f32[batch, 3, 20, 20]"
    stored = {v.name: str(v.type) for v in load(archive).graph.weights}
    assert stored["conv.weight"] == "f32[5, 3, 3, 3]"


def test_names_as_traced_are_those_of_pytorch(
    net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from perfc.frontend import load
    from perfc.frontend.pytorch.worker import archive_names_as_traced, exported

    serialize = pytest.importorskip("torch._export.serde.serialize")
    canonicalize, renamed = serialize.canonicalize, []

    def counted(*given: Any) -> Any:
        renamed.append(given)
        return canonicalize(*given)

    monkeypatch.setattr(serialize, "canonicalize", counted)
    archive, graphs = tmp_path / "net.pt2", []
    for _ in range(2):
        exported(request(f"{net}:Net", "4x3x20x20"), archive)
        graphs.append(load(archive).graph)
        archive_names_as_traced()
    assert len(renamed) == 1
    names = [[*(n.name for n in g.nodes), *(v.name for v in g.weights)] for g in graphs]
    assert names[0] == names[1]


def test_a_module_gives_its_example_inputs(net: Path, tmp_path: Path) -> None:
    from perfc.frontend import load
    from perfc.frontend.pytorch.worker import exported

    archive = tmp_path / "net.pt2"
    assert exported(request(f"{net}:Text"), archive) == {"batch": None, "step": {}}
    (ids,) = load(archive).graph.inputs
    assert str(ids.type) == "i64[batch, seq]"


def test_rotary_embeddings_of_transformers_are_exported(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from perfc.frontend import load
    from perfc.frontend.pytorch.worker import exported

    small = {
        "num_hidden_layers": 1,
        "hidden_size": 64,
        "intermediate_size": 128,
        "head_dim": 16,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 100,
    }
    archive = tmp_path / "net.pt2"
    assert exported(request("transformers:llama-3.2-1b", **small), archive) == {
        "batch": None,
        "step": {},
    }
    (ids,) = load(archive).graph.inputs
    assert str(ids.type) == "i64[batch, seq]"


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("Absent", (), "has no Absent .it has .*Net"),
        ("Net", (), "says nothing of its input .--input 8x3x224x224"),
        ("Net", ("8x3xa",), "--input 8x3xa is no shape"),
        ("Net", ("y=8x3",), "do not fit Net.forward"),
    ],
)
def test_modules_that_cannot_be_created_are_errors(
    net: Path, tmp_path: Path, name: str, inputs: tuple[str, ...], message: str
) -> None:
    from perfc.frontend.pytorch.worker import exported

    with pytest.raises(ModelError, match=message):
        exported(request(f"{net}:{name}", *inputs), tmp_path / "net.pt2")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from perfc.frontend.pytorch.worker import exported

    with pytest.raises(ModelError, match=r"no file absent\.py"):
        exported(request("absent.py:Net"), tmp_path / "net.pt2")


@pytest.mark.parametrize("form", ["text", "html"])
def test_several_targets_have_the_given_inputs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    process = Process({"batch": 6})
    monkeypatch.setattr(subprocess, "run", process)
    output = str(tmp_path / f"out.{form}")
    arguments = ["analyze", "net.py:Net", "--input", "6x3x16x16", "-t", "a100,h100"]
    assert run([*arguments, "--output-format", form, "-o", output]) == 0
    assert process.request["inputs"] == ["6x3x16x16"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "net.py:Net"],
        ["compare", "--price", "net.py:Net", "-t", "a100"],
        ["dev", "ir", "net.py:Net"],
        ["explain", "net.py:Net", "#0"],
        ["fit", "net.py:Net"],
        ["lint", "net.py:Net"],
        ["mig", "net.py:Net"],
        ["plan", "net.py:Net", "--gpus", "8"],
        ["roofline", "a100", "net.py:Net"],
        ["sweep", "net.py:Net", "--batch", "1,8"],
    ],
)
def test_commands_on_a_model_give_a_module_its_inputs(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    process = Process({"batch": 6})
    monkeypatch.setattr(subprocess, "run", process)
    assert run([*arguments, "--input", "6x3x16x16", "--kwargs", '{"width": 4}']) in (0, 1)
    assert process.request["inputs"] == ["6x3x16x16"]
    assert process.request["kwargs"] == {"width": 4}


def test_inputs_of_a_file_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", str(FIXTURE), "--input", "8x3"]) == 2
    assert "--input and --kwargs are for PyTorch modules" in capsys.readouterr().err


def test_python_gives_a_name_shapes_tensors_and_scalars(net: Path) -> None:
    torch = pytest.importorskip("torch")
    from perfc.frontend.pytorch import graph_of

    for inputs in ((3, 8, 8), {"x": torch.zeros(2, 3, 8, 8)}, ((3, 8, 8, torch.float32),)):
        (x,) = graph_of(f"{net}:Net", inputs=inputs).graph.inputs
        assert str(x.type) == "f32[batch, 3, 8, 8]"
    with pytest.raises(ModelError, match="object is no shape, tensor or scalar"):
        graph_of(f"{net}:Net", inputs=(object(),))


@pytest.mark.parametrize("library", ["timm", "torchvision"])
def test_the_nearest_model_of_a_library_is_named_first(library: str) -> None:
    pytest.importorskip(library)
    with pytest.raises(ModelError, match=r"no model resnet5 \(did you mean resnet50 or "):
        made(library, "resnet5", {})
