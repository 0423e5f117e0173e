"""Ask 200 drawn questions through the public interfaces and compare the answers of two commits.

    python -m benchmarks.drawn_questions -o before.jsonl
    python -m benchmarks.drawn_questions -o after.jsonl
    python -m benchmarks.drawn_questions --compare before.jsonl after.jsonl

A question is a command line or a call of the Python API. Its answer is the exit code and every
number of the JSON; text is left out. The comparison is exact, names each question whose answer
differs, and exits with 1 if there is one. Only ``perfc.cli.run`` and what ``perfc`` exports are
used, so files may move between the two runs.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shlex
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
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

PARTS, TEMPLATES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).values()
"""Parts of templates by name, and the number of questions that are drawn from each template."""


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
    """Return the 200 questions, all different."""
    generator, drawn = random.Random(SEED), list[str]()
    for template, count in TEMPLATES.items():
        end = len(drawn) + count
        while len(drawn) < end:
            question = draw(template, generator)
            if question not in drawn:
                drawn.append(question)
    return drawn


def answer_of_command(words: Sequence[str]) -> tuple[int, Any]:
    """Run a command line in this process; return its exit code and the numbers of its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.json"
        try:
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                code = run([*words, "--output-format", "json", "-o", str(path)])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, numbers(json.loads(path.read_text())) if path.exists() else {}


def answer_of_call(function: str, words: Sequence[str]) -> tuple[int, Any]:
    """Call a function that perfc exports; 2 stands for an error, as on the command line."""
    named = [w.partition("=") for w in words if "=" in w]
    keywords = {name: ast.literal_eval(value) for name, _, value in named}
    given = [ast.literal_eval(w) if w[0] == "[" else w for w in words if "=" not in w]
    try:
        result = getattr(perfc, function)(*given, **keywords)
    except perfc.PerfcError:
        return 2, {}
    if hasattr(result, "to_dict"):
        return 0, numbers(json.loads(json.dumps(result.to_dict())))
    return 0, numbers({name: getattr(result, name) for name in WHOLE_RUN_FIELDS})


def numbers(value: Any) -> Any:
    """Return the numbers, truth values and nulls of a JSON value at their places.

    ``{}`` stands for a value without any, and is left out of the value around it.
    """
    if isinstance(value, Mapping):
        fields = ((k, numbers(v)) for k, v in value.items())
        return {k: v for k, v in fields if v != {}}
    if isinstance(value, (list, tuple)):
        return [v for v in map(numbers, value) if v != {}] or {}
    return value if value is None or isinstance(value, (bool, int, float)) else {}


def write(path: Path) -> None:
    """Write one answer a line, and print how many questions ended with each exit code."""
    codes = Counter[int]()
    with path.open("w", encoding="utf-8") as stream:
        for question in questions():
            first, *words = (
                question.split() if question.startswith(PYTHON) else shlex.split(question)
            )
            is_call = first.startswith(PYTHON)
            function = first.removeprefix(PYTHON)
            code, result = (
                answer_of_call(function, words) if is_call else answer_of_command([first, *words])
            )
            codes[code] += 1
            line = {"question": question, "exit": code, "answer": result}
            stream.write(json.dumps(line, separators=(",", ":")) + "\n")
            if code:
                print(f"exit {code}: {question}", file=sys.stderr)
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
    os.chdir(ROOT)
    write(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
