"""PyTorch models are exported: what is traced, of which type, and how the model is left."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import onnx
import pytest

torch = pytest.importorskip("torch")

import perfc
from perfc.analyzers.features.rows import DataError
from perfc.errors import MissingExtraError, ModelError
from perfc.frontend.pytorch.torch_module import exported
from perfc.frontend.pytorch.torch_program import archived
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import TensorType
from perfc_lab.training import export

MODEL = """<ir_version: 10, opset_import: ["" : 21]>
net (float[batch, 4] x) => (float[batch, 4] y) { y = Relu (x) }"""


class Program:
    """What PyTorch's exporter gives: a file, and one for its weights."""

    def save(self, path: str, *, external_data: bool) -> None:
        assert external_data
        onnx.save(onnx.parser.parse_model(MODEL), path)
        Path(f"{path}.data").write_bytes(b"weights")


class Exporter:
    """Substitute of PyTorch's exporter: records its calls and raises the given errors."""

    def __init__(self, *fails: Exception) -> None:
        self.calls: list[tuple[Any, Any, dict[str, Any]]] = []
        self.states: list[tuple[bool, object]] = []
        self.fails = list(fails)
        self.program: Program | None = Program()

    def __call__(self, model: Any, inputs: tuple[Any], **options: Any) -> Program | None:
        self.calls.append((model, inputs[0], options))
        config = getattr(model, "config", None)
        self.states.append((model.training, getattr(config, "use_cache", None)))
        if self.fails:
            raise self.fails.pop(0)
        return self.program


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Exporter:
    result = Exporter()
    monkeypatch.setitem(sys.modules, "onnxscript", ModuleType("onnxscript"))
    monkeypatch.setattr(torch.onnx, "export", result)
    return result


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Exporter:
    """PyTorch's exporter, whose calls are recorded."""
    result, trace = Exporter(), torch.export.export

    def traced(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any) -> Any:
        result(model, args, **options)
        return trace(model, args, kwargs, **options)

    monkeypatch.setattr(torch.export, "export", traced)
    return result


def test_a_module_is_exported_in_evaluation_and_left_as_it_was(tracer: Exporter) -> None:
    inner = torch.nn.Dropout().eval()
    model = torch.nn.Sequential(torch.nn.Linear(4, 4).half(), inner).train()
    inner.eval()
    model.config = SimpleNamespace(use_cache=True)
    module = exported(model, (4,))
    (_, given, options) = tracer.calls[0]
    assert (tuple(given.shape), given.dtype) == ((2, 4), torch.float16)
    assert options["strict"] is False
    assert list(options["dynamic_shapes"]["input"]) == [0]
    assert tracer.states == [(False, False)]
    assert (model.training, inner.training, model.config.use_cache) == (True, False, True)
    (value,) = module.graph.inputs
    assert isinstance(value.type, TensorType)
    assert value.type.shape is not None
    assert (str(value.type.shape[0]), value.type.shape[1:]) == ("batch", (4,))


@pytest.mark.parametrize(
    ("extents", "types"),
    [((7,), ["int64", "float32"]), ((7, 3), ["float32", "int64"])],
)
def test_token_numbers_are_tried_where_they_are_looked_up(
    tracer: Exporter, extents: tuple[int, ...], types: list[str]
) -> None:
    tracer.fails = [RuntimeError(text) for text in ("0", "1", "first\nmore", "second")]
    model = torch.nn.Sequential(torch.nn.Embedding(10, 4))
    with pytest.raises(ModelError, match=r"PyTorch cannot export it: first\Z"):
        exported(model, extents)
    # once with the batch as a symbol, once at one batch
    assert [str(given.dtype) for _, given, _ in tracer.calls] == [f"torch.{t}" for t in types] * 2
    assert [len(given) for _, given, _ in tracer.calls] == [2, 2, 1, 1]


def test_a_module_without_parameters_gets_floats(tracer: Exporter) -> None:
    exported(torch.nn.ReLU(), (4,))
    assert tracer.calls[0][1].dtype == torch.float32


def test_the_cause_has_no_color_codes(tracer: Exporter) -> None:
    cause, failed = ValueError("\x1b[31mno such operator\x1b[0m"), RuntimeError("outer")
    failed.__cause__ = cause
    tracer.fails = [failed, failed]
    with pytest.raises(ModelError, match=r"it: no such operator\Z"):
        exported(torch.nn.ReLU(), (4,))
    tracer.fails = [KeyError(), KeyError()]
    with pytest.raises(ModelError, match=r"it: KeyError\Z"):
        exported(torch.nn.ReLU(), (4,))


def test_what_cannot_be_written_is_traced_strictly(tracer: Exporter) -> None:
    tracer.fails = [RuntimeError("Failed serializing node flat_apply")]
    assert exported(torch.nn.ReLU(), (4,)).graph.nodes
    assert [options["strict"] for _, _, options in tracer.calls] == [False, True]


def test_nothing_exported_is_an_error(exporter: Exporter, tmp_path: Path) -> None:
    exporter.program = None
    with pytest.raises(DataError, match="torch exported nothing"):
        export.write(torch.nn.ReLU(), 8, False, tmp_path / "m.onnx")


def test_without_pytorch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="a module needs torch"):
        exported(torch.nn.ReLU(), (4,))


def test_weights_of_a_program_stay_where_they_are() -> None:
    program = torch.export.export(torch.nn.Linear(64, 512), (torch.zeros(2, 64),))
    assert len(archived(program)) < 20_000
    assert {t.device.type for t in program.state_dict.values()} == {"cpu"}


@dataclass
class Sum:
    """Output of a module as a class that exporters do not know."""

    sum: Any
    note: str = ""


class Rows(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Sums 8 dense columns and rows that are looked up, both as vectors of 16."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.table = torch.nn.Linear(8, 16), torch.nn.Embedding(10, 16)

    def forward(self, dense: Any, rows: Any, scale: Any = None, mask: Any = None) -> Sum:
        result = self.dense(dense) + self.table(rows[0]).sum(1)
        result = result if scale is None else result * scale
        return Sum(result if mask is None else result.masked_fill(mask, 0.0))


class Pair(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Multiplies two inputs that are given as ``*args``, the first reshaped to any given batch."""

    def __init__(self, batch: int = -1) -> None:
        super().__init__()
        self.batch = batch

    def forward(self, *args: Any) -> dict[str, Any]:
        return {"product": args[0].reshape(self.batch, 4) @ args[1].transpose(0, 1), "none": None}


def inputs_of(report: perfc.Report) -> list[str]:
    return [str(v.type) for v in report.source.graph.inputs]


def macs_of(report: perfc.Report) -> object:
    return evaluate(report.cost.work.mac, report.env)


DENSE, ROWS = torch.zeros(6, 8), torch.zeros(6, 3, dtype=torch.int64)


@pytest.mark.parametrize(
    ("inputs", "batch"),
    [
        (((8,), [(3,)]), 1),
        ({"rows": [(3, "i64")], "dense": (8,)}, 1),
        (((8, torch.float32), [(3, "int64")]), 1),
        ((DENSE, (ROWS,)), 6),
        ((DENSE, [(3,)], 2.0), 6),
        ({"dense": DENSE[:1], "rows": [ROWS[:1]], "scale": None}, 1),
        ({"dense": DENSE.numpy(), "rows": [ROWS], "mask": (16, "bool")}, 6),
    ],
)
def test_several_inputs_are_shapes_tensors_and_scalars(inputs: Any, batch: int) -> None:
    report = perfc.analyze(Rows(), "a100", inputs=inputs)
    (extent,) = report.env
    floats, rows = f"f32[{extent}, 8]", f"i64[{extent}, 3]"
    assert {floats, rows} <= set(inputs_of(report))
    assert report.env == {extent: batch}
    assert macs_of(report) == batch * 8 * 16
    assert perfc.analyze(Rows(), "a100", inputs=inputs, batch=9).env == {extent: 9}


def test_a_module_for_one_batch_is_analyzed_at_that_batch() -> None:
    both = {"inputs": (torch.zeros(4, 4), torch.zeros(5, 4))}
    report = perfc.analyze(Pair(4), "a100", **both)  # type: ignore[arg-type]
    assert (inputs_of(report), report.cost.work.mac) == (["f32[4, 4]", "f32[5, 4]"], 80)
    report = perfc.analyze(Pair(), "a100", batch=3, **both)  # type: ignore[arg-type]
    assert inputs_of(report) == ["f32[batch, 4]", "f32[5, 4]"]
    assert macs_of(report) == 60


def test_inputs_are_given_to_comparisons_and_predictions_too() -> None:
    inputs = (DENSE, [ROWS])
    (row,) = perfc.compare(Rows(), ["a100"], inputs=inputs).rows
    assert list(row.sizes.values()) == [6]
    assert perfc.predict(Rows(), "rtx4090", inputs=inputs).batch == 6
    assert perfc.predict(Rows(), "rtx4090", inputs=inputs, dims={"batch": 2}).batch == 2


def test_an_exported_program_has_its_inputs() -> None:
    program = torch.export.export(torch.nn.Linear(4, 4), (torch.zeros(2, 4),))
    assert inputs_of(perfc.analyze(program, "a100")) == ["f32[2, 4]"]
    assert macs_of(perfc.analyze(program, "a100", batch=5)) == 80
    with pytest.raises(ModelError, match="an ExportedProgram has its inputs"):
        perfc.analyze(program, "a100", input=(4,))


def test_a_model_of_transformers_says_its_input() -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    text = transformers.BertModel(transformers.BertConfig(vocab_size=10, **sizes))
    report = perfc.analyze(text, "a100", seq=12, batch=3)
    assert (inputs_of(report), report.env) == (["i64[batch, 12]"], {"batch": 3})
    with pytest.raises(ModelError, match=r"no length of its token inputs \(seq=128"):
        perfc.analyze(text, "a100")
    config = transformers.ViTConfig(image_size=8, patch_size=4, **sizes)
    report = perfc.analyze(transformers.ViTModel(config), "a100")
    assert inputs_of(report) == ["f32[batch, 3, 8, 8]"]


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (Rows, {"input": (8,)}, r"Rows is a class, not a module \(an instance: Rows\(\.\.\.\)\)"),
        (Rows(), {}, "a module does not record its input shape"),
        (Rows(), {"input": (8,)}, "missing a required argument: 'rows'"),
        (Rows(), {"inputs": {"dense": (8,), "other": (3,)}}, "do not fit Rows.forward"),
        (Rows(), {"inputs": ((9,), [(3,)])}, "PyTorch cannot export it"),
        (Rows(), {"inputs": ((8, "q7"), [(3,)])}, "no element type 'q7'"),
        (Rows(), {"inputs": ((-8,), [(3,)])}, "are no extents of an input"),
        (Rows(), {"inputs": ((8,), {3})}, "set is no shape, tensor or scalar"),
        (Rows(), {"input": 8}, "8 are no extents of an input"),
        (Rows(), {"input": (8,), "inputs": ((8,),)}, "input and inputs exclude each other"),
        (b"", {"inputs": ((8,),)}, "inputs are for PyTorch modules"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_in_one_line(
    model: Any, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message) as raised:
        perfc.analyze(model, "a100", **given)
    assert "\n" not in str(raised.value)


def test_a_script_module_is_refused() -> None:
    traced = torch.jit.trace(torch.nn.Linear(4, 4), torch.zeros(1, 4))
    with pytest.raises(ModelError, match="PyTorch cannot export a ScriptModule"):
        perfc.analyze(traced, "a100", input=(4,))


def test_what_exporters_print_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:

    class Branch(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x + 1 if x.sum() > 0 else x

    with pytest.raises(ModelError, match="data-dependent"):
        perfc.analyze(Branch(), "a100", input=(4,))
    assert capsys.readouterr() == ("", "")


class Language(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Stands for a model of transformers: logits of a vocabulary of 5, and other results."""

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.settings = settings
        self.table = torch.nn.Embedding(5, 5)
        self.register_buffer("positions", torch.ones(3))
        self.given: dict[str, Any] = {}
        if settings.is_encoder:
            self.encoder = torch.nn.Identity()

    def forward(self, **given: Any) -> dict[str, Any]:
        self.given = given
        states = self.table(given["input_ids"])
        return {"logits": states, "states": states, "start_logits": states, "end_logits": None}


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> list[Language]:
    """Transformers with one class; the models that it made."""
    made: list[Language] = []

    def from_config(settings: Any, attn_implementation: str) -> Language:
        assert attn_implementation == "eager"
        made.append(Language(settings))
        return made[-1]

    def for_model(kind: str, **content: Any) -> Any:
        return SimpleNamespace(kind=kind, content=content, is_encoder=kind == "t5")

    fake = ModuleType("transformers")
    for name in ("NetLM", "NetOther"):
        setattr(fake, name, SimpleNamespace(_from_config=from_config))
    fake.AutoConfig = SimpleNamespace(for_model=for_model)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", fake)
    return made


CONFIGURATION = """{"model_type": "net", "architectures": ["NetLM"], "n_layer": 12,
                    "dtype": "float32", "transformers_version": "4"}"""


def test_a_published_configuration_is_built_with_fewer_layers(
    exporter: Exporter, library: list[Language], tmp_path: Path
) -> None:
    path = export.exported("net", CONFIGURATION, 16, 2, training=False, folder=tmp_path / "new")
    assert path == tmp_path / "new" / "net-NetLM-inf-s16-l2.onnx"
    assert onnx.load(path, load_external_data=False).graph.name == "net"
    # weights are not kept
    assert path.with_name(f"{path.name}.data").stat().st_size == 0
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name, f"{path.name}.data"]
    settings = library[0].settings
    assert (settings.kind, settings.use_cache) == ("net", False)
    assert settings.content == {"architectures": ["NetLM"], "n_layer": 2}
    _, ids, options = exporter.calls[0]
    assert (tuple(ids.shape), ids.dtype) == ((2, 16), torch.int64)
    assert list(options["dynamic_shapes"][0]) == [0]
    assert exporter.states == [(False, None)]
    assert torch.equal(library[0].positions.cpu(), torch.zeros(3))
    # a file that is there is not built again
    again = export.exported("net", CONFIGURATION, 16, 2, training=False, folder=tmp_path / "new")
    assert (again, len(library)) == (path, 1)
    other = export.exported(
        "net", CONFIGURATION, 16, 2, training=True, folder=tmp_path, architecture="NetOther"
    )
    assert other.name == "net-NetOther-train-s16-l2.onnx"
    assert exporter.states[1] == (True, None)


def test_without_transformers_the_extra_is_named(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match="building models needs transformers"):
        export.exported("net", CONFIGURATION, 16, 2, training=False, folder=tmp_path)


@pytest.mark.parametrize("is_encoder", [False, True])
def test_logits_alone_come_out_and_an_encoder_gets_the_same_tokens(is_encoder: bool) -> None:
    model = Language(SimpleNamespace(is_encoder=is_encoder))
    ids = torch.tensor([[1, 2, 3]])
    heads = export.logits_of(model, encodes=hasattr(model, "encoder"))(ids)
    assert [tuple(head.shape) for head in heads] == [(1, 3, 5)] * 2
    assert ("decoder_input_ids" in model.given) is is_encoder
    assert model.given["use_cache"] is False
    if is_encoder:
        assert torch.equal(model.given["decoder_input_ids"], ids)
        assert torch.equal(model.given["attention_mask"], torch.ones_like(ids))


def test_every_expert_gets_as_many_tokens_as_it_holds() -> None:
    layer = torch.nn.Module()
    layer.router = torch.nn.Module()
    layer.router.classifier = torch.nn.Linear(3, 2, bias=False)
    layer.router.num_experts, layer.router.expert_capacity = 2, 2
    torch.nn.init.zeros_(layer.router.classifier.weight)
    layer.experts = torch.nn.ModuleDict({f"expert_{i}": torch.nn.Identity() for i in range(2)})
    layer.experts["expert_1"].forward = lambda states: states * 10
    export.make_static(torch.nn.Sequential(layer))
    states = torch.arange(1.0, 22.0).reshape(1, 7, 3)
    # equal shares of a half; two tokens each, the other three pass by
    factors = torch.tensor([1, 1, 10, 10, 1, 1, 1.0]).reshape(1, 7, 1)
    assert torch.allclose(layer(states), 0.5 * states * factors)
    # three tokens are one for each expert, although two would fit
    factors = torch.tensor([1, 10, 1.0]).reshape(1, 3, 1)
    assert torch.allclose(layer(states[:, :3]), 0.5 * states[:, :3] * factors)
