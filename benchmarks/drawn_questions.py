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

# One of (a|b) is drawn; what stands in [ ] is left out in half of the questions.
IMAGES = "examples/models/(resnet50|vit-b16|swin-t).onnx.gz"
TOKENS = "examples/models/(bert-base|gpt2).onnx.gz"
SEQ = "--seq (64|128|512)"
NETWORK = f"({IMAGES}|{TOKENS} {SEQ})"
MODEL = f"{NETWORK} --batch (1|2|8|32)"
SMALL_BATCH = f"{NETWORK} --batch (1|2|8)"
NVIDIA = "(a100|h100|t4|l4|v100|rtx4090|b200|a10g|l40s|h200|rtx3090|rtx5090)"
OTHER = "(mi300x|m3-max|xeon-platinum-8480plus|jetson-agx-orin-64gb|tpu-v5e|gaudi2)"
TARGET = f"({NVIDIA}|{NVIDIA}|{OTHER})"
SEVERAL = "(a100,t4|h100,l4,mi300x|rtx4090,v100,b200|l40s,a10g)"
SIZE = "(256|512|1000|1024|2048|4096)"
LLM = (
    "(llama-3.1-8b|mistral-7b-v0.3|qwen3-8b|gemma-2-9b|mixtral-8x7b|gpt-oss-20b|phi-4"
    "|qwen3-30b-a3b|deepseek-v2-lite|llama-3.2-1b|granite-3.0-8b)"
)
SERVED = f"{LLM} -t (h100|h200|b200|a100|mi300x) --runtime (vllm|sglang|trtllm) --tp (1|2|4)"
LENGTHS = "--isl (128|1024|4000) --osl (64|256)"
TRAINED = "(llama-3.1-8b|llama-2-7b|llama-2-13b|mixtral-8x7b|gpt2-xl) -t (dgx-h100|dgx-a100)"
KERNEL_OF = f"--dtype (f32|f16) -t {TARGET}"

TEMPLATES: tuple[tuple[int, str], ...] = (
    (20, f"analyze {MODEL} -t {TARGET} --runtime (ort|eager) [--dtype (f32|f16)] [--streams 2]"),
    (
        8,
        f"analyze {MODEL} -t {NVIDIA} --runtime (inductor|tensorrt|cudagraph|torchscript)"
        " --mode inference [--dtype (f16|tf32)] [--host-launch 30us]",
    ),
    (
        2,
        "analyze examples/models/resnet50.onnx.gz -t (a100|rtx4090) --runtime eager"
        " --layout channels-last --dtype (amp-f16|f16) --batch (4|16)",
    ),
    (
        14,
        f"analyze {MODEL} -t {NVIDIA} --train (adamw|sgd|adam8bit|momentum|adafactor)"
        " [--dtype (amp-f16|amp-bf16)] [--checkpointing (block|selective|optimal)]"
        " [--accumulate (2|4)]",
    ),
    (6, f"op matmul --m (1|16|{SIZE}) --n {SIZE} --k {SIZE} {KERNEL_OF}"),
    (
        6,
        "op conv --batch (1|8|16) --channels (32|64|256) --filters (32|64|256) --height (14|56)"
        f" --width 28 --kernel (1|3|5) --stride (1|2) --groups (1|1|32) {KERNEL_OF}",
    ),
    (
        5,
        "op attention --batch (1|8) --heads 32 --head-dim (64|128) --seq (128|777|2048)"
        f" --function (full|causal) {KERNEL_OF}",
    ),
    (
        5,
        "op attention --batch (1|8|32) --heads 32 --head-dim (64|128) --seq 1"
        f" --keys (512|2048|8192) --kv-heads (4|8|32) {KERNEL_OF}",
    ),
    (
        5,
        "op experts --tokens (1|64|1024) --hidden (1024|4096) --inner (512|1408) --chosen (1|2|8)"
        f" --experts 64 --function (gated|plain) {KERNEL_OF}",
    ),
    (4, f"op softmax --rows {SIZE} --columns {SIZE} {KERNEL_OF}"),
    (4, f"op norm --rows {SIZE} --columns {SIZE} --function (layer_norm|rms_norm) {KERNEL_OF}"),
    (4, f"op elementwise --elements (999|12345678) --function (relu|gelu|add|mul) {KERNEL_OF}"),
    (
        5,
        "op collective --operation (all-reduce|all-gather|reduce-scatter|all-to-all)"
        " --bytes (64KiB|64MiB) --ranks (2|4|8) -t (a100|h100|b200|h200|v100)",
    ),
    (12, f"llm {SERVED} {LENGTHS} --concurrency (1|8|64) [--dtype (f8|i8|i4|half)]"),
    (8, f"llm {SERVED} {LENGTHS} --rate (0.5|2|5) [--cached-tokens 64] [--spread 0.5]"),
    (2, f"llm {LLM} -t h200 {LENGTHS} --offline --concurrency (4|32)"),
    (2, f"llm (llama-3.1-8b|qwen3-8b) -t h100 {LENGTHS} --rate 2 --prefill-gpus 1 --dp (1|2)"),
    (5, f"plan {TRAINED} --gpus (16|64) --seq (1024|4096)"),
    (6, f"scale {TRAINED} --gpus 16,64,256 --seq (1024|4096) --zero (1|3) --tp (1|2|8)"),
    (7, f"compare {MODEL} -t {SEVERAL} --dtype (f16|f32,f16)"),
    (6, f"sweep {NETWORK} --batch (1:16:*2|1,5,24) -t {TARGET}"),
    (6, f"fit {SMALL_BATCH} -t {NVIDIA} [--train adamw]"),
    (6, f"roofline {TARGET} {IMAGES} --batch (1|8)"),
    (5, f"mig {SMALL_BATCH} -t (a100|h100|h200|b200)"),
    (
        6,
        f"compare --price {MODEL} -t {SEVERAL} "
        "--items (1e6|1e9) --region (france|world) [--terms spot]",
    ),
    (
        5,
        "diffusion (pixart-sigma-xl-2-1024|sana1.5-1.6b-1024|wan2.1-t2v-1.3b|cogvideox-2b)"
        " --batch (1|2) --steps (10|20|50) -t (h100|b200|h200)",
    ),
    (10, f"analyze -q {MODEL} [--train sgd] -t (rtx4090|a100|v100|t4|h100)"),
    (6, f"explain {NETWORK} kernel:(0|3|9|20) --batch (1|8) -t {TARGET}"),
    (4, f"{PYTHON}analyze {IMAGES} {TARGET} dims={{'batch':(1|8)}} runtime='(ort|eager)'"),
    (2, f"{PYTHON}op matmul {TARGET} m=(1|333|4096) n=4096 k=1024 dtype='(f16|f32)'"),
    (4, f"{PYTHON}llm {LLM} h200 concurrency=(1|16) isl=(256|2048)"),
    (2, f"{PYTHON}compare {IMAGES} ['(a100|h100)','(t4|l4)'] dims={{'batch':(1|8)}}"),
    (2, f"{PYTHON}predict {IMAGES} (rtx4090|a100) dims={{'batch':(2|8)}}"),
    (2, "op matmul --m (4|8) --n 4 --k 4 -t a1000000"),
)
"""Number of questions that are drawn from each template."""


def draw(template: str, generator: random.Random) -> str:
    """Return one question of a template."""

    def optional(match: re.Match[str]) -> str:
        """Return what stands in brackets, or nothing."""
        return generator.choice((match[1], ""))

    def alternative(match: re.Match[str]) -> str:
        """Return one of the alternatives."""
        return generator.choice(match[1].split("|"))

    text = template
    if not text.startswith(PYTHON):
        text = re.sub(r" \[([^]]*)\]", lambda m: f" {optional(m)}", text)
    while "(" in text:
        text = re.sub(r"\(([^()]*)\)", alternative, text)
    return " ".join(text.split())


def questions() -> list[str]:
    """Return the 200 questions, all different."""
    generator, drawn = random.Random(SEED), list[str]()
    for count, template in TEMPLATES:
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
    """Return the numbers, truth values and nulls of a JSON value at their places."""
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
