"""Operations of the page: their command lines run, and no setting leads elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perfc.analyzers.graph import predictor
from perfc.analyzers.whole_runs import shipped
from perfc.commands.web import operations, session
from perfc.commands.web.build import PageBuild, add_perfc
from perfc.commands.web.operations import OPERATIONS, AnswerForm
from perfc.common import plugins
from perfc.errors import ParseError

ROOT = Path(__file__).resolve().parents[3]
WITHOUT_NUMPY = """
import json, sys
class Blocking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "onnx", "rich", "perfc_lab"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocking())
from perfc.commands.web import session
from perfc.commands.web.operations import OPERATIONS
for one in OPERATIONS:
    if one.quick:
        reply = session.run_operation(one.name, "resnet50", (), {}, "quick")
        print(json.dumps([one.name, reply["error"], len(reply["output"])]))
"""


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_each_operation_answers_at_its_usual_settings(
    operation: operations.PageOperation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    usual = {s.name: s.usual for s in operation.settings}
    model = "qwen2.5-0.5b" if operation.name in ("serve", "plan") else "resnet50"
    reply = session.run_operation(operation.name, model, (), usual, "page")
    assert reply["error"] == ""
    assert str(reply["output"]).startswith("<!DOCTYPE html>")
    assert str(reply["line"]).startswith("perfc ")


def test_lower_bounds_need_no_package_but_click_and_jinja() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMPY],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT)},
        timeout=300,
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _, _ in replies] == [o.name for o in OPERATIONS if o.quick]
    assert all(error == "" and size > 10_000 for _, error, size in replies), replies


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target", "/etc/passwd"),
        ("target", "../a.toml"),
        ("target", "-o"),
        ("batch", "1e9"),
        ("batch", "0"),
        ("batch", "--config"),
        ("dtype", "a b"),
        ("runtime", "--debug"),
        ("output", "x.html"),
        ("target", "a" * 81),
        ("batch", "8\n"[:1] + ";ls"),
    ],
)
def test_settings_name_no_file_and_no_option(key: str, value: str) -> None:
    with pytest.raises(ParseError):
        operations.arguments("analyze", {key: value}, AnswerForm.PAGE)


@pytest.mark.parametrize(
    "names",
    [["a.py"], ["../a.onnx"], ["/a.onnx"], ["-o.onnx"], ["a.onnx", "b.sh"], [], ["a.onnx\n"]],
)
def test_files_that_are_no_models_are_refused(names: list[str]) -> None:
    with pytest.raises(ParseError):
        operations.opened(names)


def test_weights_with_their_configuration_are_a_folder() -> None:
    assert operations.opened(["config.json", "a.safetensors"]) == ""
    assert operations.opened(["a.onnx"]) == "a.onnx"
    assert operations.opened(["a-00001-of-00002.gguf", "a-00002-of-00002.gguf"])[2:7] == "00001"


@pytest.mark.parametrize("name", ["os.path:join", "./x.py", "/etc/passwd", "torch:x", "a/b", ""])
def test_names_are_only_those_that_come_with_perfc(name: str) -> None:
    with pytest.raises(ParseError):
        operations.named(name)
    assert operations.named("llama-3.1-8b") == "llama-3.1-8b"
    assert operations.named("gpt2") == "gpt2"
    assert Path(operations.named("resnet50")).is_file()


def test_a_fault_of_the_model_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x07garbage")
    reply = session.run_operation("analyze", ".", ["bad.onnx"], {}, "page")
    assert reply["output"] == ""
    assert str(reply["error"]).startswith("bad.onnx")
    assert "\n" not in str(reply["error"])


def test_links_of_the_catalogue_lead_to_known_names() -> None:
    catalogue = operations.catalogue()
    machines = {name for name, _ in catalogue["machines"]}  # type: ignore[attr-defined]
    aliases = {"a100", "h100", "l4", "t4"}
    for one in OPERATIONS:
        for setting in one.settings:
            if setting.kind.value.startswith("machine"):
                assert set(setting.usual.split(",")) <= machines | aliases
            assert not setting.choices or setting.is_plugged_in or catalogue[setting.choices]


def predictor_of(operation: str, *, is_local: bool) -> dict[str, str] | None:
    """Setting of the predictor as the form gets it; None without one."""
    one = operations.form_of(operations.operation_named(operation), is_local=is_local)
    settings: list[dict[str, str]] = one["settings"]  # type: ignore[assignment]
    return next((s for s in settings if s["name"] == "predictor"), None)


@pytest.mark.parametrize("operation", ["analyze", "compare", "serve"])
def test_predictors_of_plug_ins_say_what_to_install(
    operation: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "entries", lambda group: {})
    setting = predictor_of(operation, is_local=True)
    assert setting is not None
    assert setting["empty"] == "perfc"
    assert setting["lacking"] == plugins.LAB_HINT
    assert predictor_of(operation, is_local=False) is None
    model = "gpt2" if operation == "serve" else "resnet50"
    reply = session.run_operation(operation, model, (), {"predictor": "absent"}, "page")
    assert reply["output"] == ""
    assert "absent" in str(reply["error"])
    assert "\n" not in str(reply["error"])
    if operation == "serve":
        assert plugins.LAB_HINT in str(reply["error"])
    monkeypatch.setattr(plugins, "entries", lambda group: {"papers": "some_lab.papers"})
    with_lab = predictor_of(operation, is_local=True)
    assert with_lab is not None
    assert with_lab["lacking"] == ""
    for read in (predictor.files, predictor.predictors, shipped.folders):
        # later tests see the plug-ins that are there
        read.cache_clear()


def test_whole_run_predictors_answer_one_at_a_time_and_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    usual = {"target": "a100", "batch": "8"}
    one = session.run_operation("analyze", "resnet50", (), {**usual, "predictor": "runs"}, "page")
    assert one["error"] == ""
    several = {**usual, "predictor": "runs,kernels"}
    refused = session.run_operation("compare", "resnet50", (), several, "page")
    assert "predictor is a name" in str(refused["error"])
    both = session.run_operation("compare", "resnet50", (), {**usual, "predictor": "all"}, "page")
    assert both["error"] == ""
    assert str(both["line"]).endswith("--predictors all")
    assert "step-law" in str(both["output"]).partition("<script")[0]


def test_encoders_are_known_as_such() -> None:
    catalogue = operations.catalogue()
    assert {"bert-large", "vit-base-16"} <= set(catalogue["encoders"])  # type: ignore[call-overload]
    assert "gpt2" not in catalogue["encoders"]  # type: ignore[operator]


@pytest.mark.parametrize("has_weights", [True, False])
def test_a_page_without_predictors_has_no_weights(has_weights: bool, tmp_path: Path) -> None:
    page = PageBuild(tmp_path / "page")
    add_perfc(page, tmp_path / "code", has_weights=has_weights)
    weights = [name for name, _, _ in page.lazy if "/weights/" in name]
    assert bool(weights) == has_weights
    assert any("/samples/" in name for name, _, _ in page.lazy)
    assert (tmp_path / "code" / "perfc" / "cli.py").is_file()
