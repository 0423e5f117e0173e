"""Processes of the command line: terminals, pipes, shells and interrupts."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from perfc import cli

ROOT = Path(__file__).resolve().parents[2]
RESNET = ROOT / "examples" / "models" / "resnet50.onnx.gz"
FEWEST_FAULTS = 500
"""Of a loop whose calls cross the edge of a chunk of the interpreter's stack."""


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


def process(*args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "perfc", *args],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_two_processes_print_the_same_bytes() -> None:
    args = ("analyze", "examples/models/gpt2.onnx.gz", "--output-format", "json")
    first = process(*args, PYTHONHASHSEED="1")
    second = process(*args, PYTHONHASHSEED="2")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout


def test_reader_who_leaves_is_no_error() -> None:
    command = (
        f"{sys.executable} -m perfc analyze {RESNET} --top all | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_output_is_plain_where_only_ascii_is_possible() -> None:
    done = process("analyze", str(RESNET), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_piped_text_has_no_escape_sequences() -> None:
    assert "\x1b" not in process("analyze", str(RESNET), FORCE_COLOR="").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
@pytest.mark.parametrize("color", [True, False])
def test_terminal_gets_color_unless_told_otherwise(color: bool) -> None:
    import pty

    chunks: list[bytes] = []

    def read(descriptor: int) -> bytes:
        chunks.append(os.read(descriptor, 65536))
        return chunks[-1]

    code = (
        "import os, sys, runpy; os.environ.update(TERM='xterm-256color', COLUMNS='100');"
        f"os.environ.{'pop' if color else 'setdefault'}('NO_COLOR', '1');"
        f"sys.argv = ['perfc', 'analyze', {str(RESNET)!r}];"
        "runpy.run_module('perfc', run_name='__main__')"
    )
    saved = os.dup(1)
    with open(os.devnull, "w") as sink:
        os.dup2(sink.fileno(), 1)
        try:
            status = pty.spawn([sys.executable, "-c", code], read, lambda fd: b"")
        finally:
            os.dup2(saved, 1)
    text = b"".join(chunks).decode()
    assert status == 0
    # without color a terminal may still set what is bold or dim
    assert ("\x1b[3" in text) is color
    assert "where time goes" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_calls_back(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["dev", "completion", shell]) == 0
    assert "_PERFC_COMPLETE" in capsys.readouterr().out


def test_shell_completes_commands_and_options() -> None:
    done = process(_PERFC_COMPLETE="bash_complete", COMP_WORDS="perfc anal", COMP_CWORD="1")
    assert done.stdout == "plain,analyze\n"
    done = process(
        _PERFC_COMPLETE="bash_complete", COMP_WORDS="perfc analyze --out", COMP_CWORD="2"
    )
    assert done.stdout.splitlines() == ["plain,--output-format", "plain,--output"]


def calls_at(depth: int) -> None:
    """A loop of calls, so many frames below."""
    if depth:
        calls_at(depth - 1)
    else:
        for _ in range(FEWEST_FAULTS):
            returned_at_once()


def returned_at_once() -> None:
    """Takes a frame of the interpreter's stack and gives it back."""


def faults(args: list[str]) -> int:
    """Pages that loops at many depths fault in: one a turn where they cross a chunk's edge."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for depth in range(400):
        calls_at(depth)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_loops_of_calls_cross_no_edge_of_the_stack() -> None:
    assert faults([]) > FEWEST_FAULTS
    from perfc.commands.cli import with_stack

    assert with_stack(faults)([]) < FEWEST_FAULTS


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A line of a shell in which `perfc` is this one."""
    root = str(Path(__file__).parents[2])
    call = f'perfc() {{ {sys.executable} -m perfc "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", call],
        env=os.environ | {"PYTHONPATH": root},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("perfc --help >&-", 0),
        ("perfc --version >&-", 0),
        ("perfc schema check >&-", 0),
        ("perfc analyze MODEL >&-", 0),
        ("perfc analyze MODEL --no-predict --output-format html >&-", 0),
        ("perfc analyze MODEL -q <&- >&- 2>&-", 0),
        ("perfc analyze none.onnx 2>&-", 2),
        ("perfc check MODEL >&-", 1),
        ("perfc check MODEL | true", 1),
        ("perfc check MODEL --output-format json | head -c 1", 1),
        ("perfc analyze MODEL --full --output-format json | head -c 1", 0),
    ],
)
def test_closed_streams_are_no_failure_and_hide_none(line: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "perfc.toml").write_text('[[budget]]\nmodel = "*.gz"\nflop = "1 k"\n')
    (tmp_path / RESNET.name).write_bytes(RESNET.read_bytes())
    done = shell(line.replace("MODEL", RESNET.name), tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "bug in perfc" not in done.stderr + done.stdout


INTERRUPTING = """
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise {error}
sys.meta_path.insert(0, Interrupting())
sys.argv = ["perfc", "analyze", {model!r}]
from perfc.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "name", ["perfc.commands.cli", "click", "numpy", "perfc.commands.analysis.analyze"]
)
def test_an_interrupt_while_importing_is_no_traceback(name: str) -> None:
    code = INTERRUPTING.format(name=name, error="KeyboardInterrupt", model=str(RESNET))
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout) == (130, "", "")


def test_an_interrupt_that_an_import_hides_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_args: list[str]) -> int:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    monkeypatch.setattr("perfc.commands.cli.invoke", broken)
    assert cli.run(["analyze"]) == 130


@pytest.mark.parametrize(
    "command",
    [
        ["adapt", "-t", "a100", "-o", "mine.toml", "--from"],
        ["roofline", "a100", "--measured"],
    ],
)
def test_a_field_of_csv_that_is_too_long_is_one_line(
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for head in ("class,dtype,time_s,m", "model,time_s,target", "label,dtype,nodes,launches"):
        Path("rows.csv").write_text(f"{head}\nmatmul,f32,{'1' * 131_073},2\n")
        assert cli.run([*command, "rows.csv"]) == 2
        err = capsys.readouterr().err
        assert "bug in perfc" not in err
        assert err.count("\n") == 1
