"""Ask 400 drawn questions through the public interfaces and compare the answers of two commits.

    python -m benchmarks.drawn_questions -o before.jsonl
    python -m benchmarks.drawn_questions -o after.jsonl
    python -m benchmarks.drawn_questions --compare before.jsonl after.jsonl

There are 50 questions for each of eight rooms of the product. A question is some command lines,
joined by ``&&``, or a call of the Python API. Its answer is every exit code, the text of the
screen, every leaf of the JSON and the text of each file that was written. The comparison is exact,
names each question whose answer differs, and exits with 1 if there is one. Each side is a process
of its own, as a process keeps reports. Only ``perfc.cli.run`` and what ``perfc`` exports are used,
so files may move between the two runs.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

import perfc
from perfc.cli import run

ROOT = Path(__file__).resolve().parents[1]
SEED = 57
PYTHON = "perfc."
"""Prefix of a question that is a call of the Python API; the others are command lines."""
WHOLE_RUN_FIELDS = ("value", "low", "high", "floor_s", "batch")
"""Numbers of what ``perfc.predict`` returns."""

PARTS, ROOMS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).values()
"""Parts of templates by name; for each room the number of questions of each template."""
MOVING = (
    (re.compile(r"\bin \d[\d.]* m?s \([^)]*\)"), "in TIME"),
    (re.compile(r"(figures? repeat; )\d[\d.]* m?s"), r"\1TIME"),
)
"""Times of perfc itself on a screen, with the word that stands in their place."""
PROJECT = """\
[[budget]]
model = "*.onnx.gz"
target = "t4"
dims = { batch = 1, seq = 64 }
flop = { warn = "+0%", fail = "+20%" }
peak_memory = { max = "400 MiB" }
"""
"""Project file of the questions to ``perfc check``."""
FOLDERS = ("examples", "datasets", "tests")
"""Folders of the checkout that a question may name."""


def draw(template: str, generator: random.Random) -> str:
    """Return one question of a template."""

    def optional(match: re.Match[str]) -> str:
        """Return what stands in brackets, or nothing."""
        return generator.choice((match[1], ""))

    def alternative(match: re.Match[str]) -> str:
        """Return one of the alternatives."""
        return generator.choice(match[1].split("|"))

    text = template
    # parts first, as they may have options and alternatives, and the innermost alternatives first
    while "<" in text:
        text = re.sub(r"<(\w+)>", lambda m: PARTS[m[1]], text)
    if not text.startswith(PYTHON):
        text = re.sub(r" \[([^]]*)\]", lambda m: f" {optional(m)}", text)
    while "(" in text:
        text = re.sub(r"\(([^()]*)\)", alternative, text)
    return " ".join(text.split())


def questions() -> list[str]:
    """Return the 400 questions, all different."""
    generator, drawn = random.Random(SEED), list[str]()
    for template, count in (pair for room in ROOMS.values() for pair in room.items()):
        end = len(drawn) + count
        while len(drawn) < end:
            question = draw(template, generator)
            if question not in drawn:
                drawn.append(question)
    return drawn


@contextmanager
def own_folder() -> Iterator[Path]:
    """Change into a new folder that has the folders of the checkout and a project of its own."""
    with tempfile.TemporaryDirectory(prefix="drawn-") as name:
        folder = Path(name).resolve()
        for inside in FOLDERS:
            (folder / inside).symlink_to(ROOT / inside, target_is_directory=True)
        (folder / "project").mkdir()
        for model in (ROOT / "examples/models").glob("*.onnx.gz"):
            shutil.copy(model, folder / "project")
        (folder / "project/perfc.toml").write_text(PROJECT, encoding="utf-8")
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(ROOT)


def written(folder: Path) -> dict[str, Any]:
    """Return the text, JSON or rows of each file that a question left in its folder."""
    from pyarrow import parquet

    files: dict[str, Any] = {}
    for place, inside, names in os.walk(folder):
        inside[:] = sorted(n for n in inside if not Path(place, n).is_symlink())
        for path in (Path(place, n) for n in sorted(names)):
            if path.suffix == ".parquet":
                table = parquet.read_table(path).drop_columns("modified_ns")
                files[path.relative_to(folder).as_posix()] = table.to_pylist()
                continue
            with suppress(UnicodeDecodeError):
                text = fixed(path.read_text(encoding="utf-8"), folder)
                files[path.relative_to(folder).as_posix()] = (
                    json.loads(text) if path.suffix == ".json" else text
                )
    return files


def fixed(text: str, folder: Path) -> str:
    """Return text without names of this run's folders and without how long perfc took."""
    for name in (str(folder), str(ROOT)):
        text = text.replace(name, ".")
    for pattern, put in MOVING:
        text = pattern.sub(put, text)
    return text


def answer_of_command(words: Sequence[str], folder: Path) -> dict[str, Any]:
    """Run a command line; return its exit code and what it wrote on the screen."""
    screen, errors = StringIO(), StringIO()
    with redirect_stdout(screen), redirect_stderr(errors):
        try:
            code = run(list(words))
        except SystemExit as stop:
            code = int(stop.code or 0)
    texts = (fixed(s.getvalue(), folder).splitlines() for s in (screen, errors))
    return {"exit": code, **dict(zip(("screen", "errors"), texts, strict=True))}


def answer_of_commands(question: str, folder: Path) -> dict[str, Any]:
    """Run command lines, the last one also for JSON; return what they said and wrote."""
    lines = [shlex.split(line) for line in question.split("&&")]
    said = [answer_of_command(words, folder) for words in lines]
    data = answer_of_command([*lines[-1], "--output-format", "json", "-o", "answer.json"], folder)
    # the JSON of a command without such an option is its error: the screen has the whole answer
    return {"exit": max(s["exit"] for s in said), "said": [*said, data], "files": written(folder)}


def answer_of_call(question: str) -> dict[str, Any]:
    """Call a function that perfc exports; 2 stands for an error, as on the command line."""
    function, *words = question.removeprefix(PYTHON).split()
    named = [w.partition("=") for w in words if "=" in w]
    keywords = {name: ast.literal_eval(value) for name, _, value in named}
    given = [ast.literal_eval(w) if w[0] == "[" else w for w in words if "=" not in w]
    try:
        result = getattr(perfc, function)(*given, **keywords)
    except perfc.PerfcError as error:
        return {"exit": 2, "error": str(error)}
    if hasattr(result, "to_dict"):
        return {"exit": 0, "data": json.loads(json.dumps(result.to_dict())), "text": str(result)}
    return {"exit": 0, "data": {name: getattr(result, name) for name in WHOLE_RUN_FIELDS}}


def write(path: Path) -> None:
    """Write one answer a line, and print how many questions ended with each exit code."""
    codes = Counter[int]()
    with path.open("w", encoding="utf-8") as stream:
        for question in questions():
            with own_folder() as folder:
                is_call = question.startswith(PYTHON)
                answer = (
                    answer_of_call(question) if is_call else answer_of_commands(question, folder)
                )
            codes[answer["exit"]] += 1
            line = {"question": question, **answer}
            stream.write(json.dumps(line, separators=(",", ":")) + "\n")
            if answer["exit"]:
                print(f"exit {answer['exit']}: {question}", file=sys.stderr)
    print(", ".join(f"{count} with exit code {code}" for code, count in sorted(codes.items())))


def first_difference(before: Any, after: Any, place: str = "") -> str:
    """Return the first field that differs and both its values, "" where all are equal."""
    if type(before) is not type(after) or not isinstance(before, (dict, list)):
        return "" if repr(before) == repr(after) else f"{place}: {before} → {after}"
    pairs: Iterator[tuple[Any, Any, Any]]
    if isinstance(before, dict):
        pairs = ((n, before.get(n, "absent"), after.get(n, "absent")) for n in {**before, **after})
    else:
        pairs = ((i, *p) for i, p in enumerate(zip_longest(before, after, fillvalue="absent")))
    return next((d for n, b, a in pairs if (d := first_difference(b, a, f"{place}/{n}"))), "")


def compare(before: Path, after: Path) -> int:
    """Print how many answers are equal and name those that differ; return the exit code."""
    old, new = (
        {line["question"]: line for line in map(json.loads, path.read_text().splitlines())}
        for path in (before, after)
    )
    differences = {q: first_difference(old.get(q), new.get(q)) for q in {**old, **new}}
    differing = {question: text for question, text in differences.items() if text}
    print(f"{len(differences) - len(differing)} of {len(differences)} equal to the digit")
    for question, text in differing.items():
        print(f"{question}\n    {text[:200]}")
    return 1 if differing else 0


def main() -> int:
    """Write the answers of this commit, or compare those of two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("-o", "--output", type=Path, help="write the answers to this file")
    action.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    options = parser.parse_args()
    if options.compare:
        return compare(*options.compare)
    path = options.output.resolve()
    # the width of a terminal and its colors change no answer
    os.environ.update(COLUMNS="120", NO_COLOR="1")
    write(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
