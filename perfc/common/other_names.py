"""Names of commands and options in other tools, for usage messages."""

from __future__ import annotations

from collections.abc import Mapping

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "-t NAME": ("--gpu", "--gpus", "--device", "--devices", "--machine", "--hardware", "--hw",
                "--accelerator", "--arch", "--on"),
    "--batch N": ("--batch-size", "--batchsize", "--bs", "--batches", "-b"),
    "--seq N": ("--seq-len", "--seqlen", "--sequence-length", "--seq-length", "--max-seq-len",
                "--context", "--tokens", "--sequence"),
    "--dtype f16": ("--fp16", "--half", "--f16", "--float16"),
    "--dtype bf16": ("--bf16", "--bfloat16"),
    "--dtype i8": ("--int8", "--i8"),
    "--dtype f8e4m3": ("--fp8", "--f8"),
    "--dtype f32": ("--fp32", "--f32", "--float32"),
    "--dtype amp-f16": ("--amp",),
    "--dtype NAME": ("--precision", "--data-type", "--quantization", "--type"),
    "--runtime NAME": ("--backend", "--engine", "--compiler", "--provider"),
    "--runtime tensorrt": ("--trt", "--tensorrt"),
    "--output-format json": ("--json",),
    "--output-format NAME": ("--format", "--fmt"),
    "-o FILE": ("--out", "--output-file", "--save", "--html"),
    "--dim NAME=N": ("--shape", "--shapes", "--input-shape", "--dims", "--size"),
    "--train NAME": ("--training", "--optimizer", "--optimiser", "--backward"),
    "--isl N": ("--input-len", "--input-length", "--prompt-tokens", "--input-tokens"),
    "--osl N": ("--output-len", "--output-length", "--output-tokens", "--max-tokens",
                "--new-tokens"),
    "--concurrency N": ("--users", "--max-concurrency", "--clients"),
    "--rate N": ("--qps", "--request-rate", "--rps"),
    "--tp N": ("--tensor-parallel-size", "--tensor-parallel", "--tp-size"),
    "--pp N": ("--pipeline-parallel-size", "--pipeline-parallel", "--pp-size"),
    "--dp N": ("--data-parallel-size", "--data-parallel", "--dp-size"),
    "--max-num-seqs N": ("--max-batch-size",),
    "--token-budget N": ("--max-num-batched-tokens",),
    "--utilization SHARE": ("--gpu-memory-utilization", "--mem-fraction-static"),
    "--slo TIME": ("--latency", "--max-latency", "--deadline"),
    "--model FILE": ("--onnx",),
    "--full": ("--verbose", "-v"),
}  # fmt: skip
"""Options of other tools, by the perfc option."""
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "analyze": ("profile", "report", "estimate", "run", "flops", "latency", "summary", "inspect",
                "simulate", "analyse", "show"),
    "measure": ("bench", "benchmark", "time"),
    "fit": ("memory", "mem", "vram", "capacity"),
    "targets": ("gpus", "devices", "machines", "hardware", "target", "list"),
    "llm": ("serve", "serving", "inference"),
    "cost": ("price", "prices", "energy"),
    "--version": ("version",),
}  # fmt: skip
"""Commands of other tools, by the perfc command."""
SUFFIXES = (".onnx", ".onnx.gz", ".onnxtxt", ".pir", ".pb", ".pt2")
"""Suffixes of model files."""
_OPTION_OF = {other: spelled for spelled, others in OPTIONS.items() for other in others}
_COMMAND_OF = {other: name for name, others in COMMANDS.items() for other in others}


def option_for(other: str, known: frozenset[str]) -> str:
    """Return the perfc option for an option of another tool, "" if there is none.

    Args:
        other: the option as typed.
        known: options of the command.

    >>> option_for("--gpu", frozenset({"-t"})), option_for("--gpu", frozenset())
    ('-t NAME', '')
    """
    spelled = _OPTION_OF.get(other.partition("=")[0].replace("_", "-").lower(), "")
    return spelled if spelled.partition(" ")[0] in known else ""


def command_for(other: str) -> str:
    """Return the perfc command for another tool's command, "" if there is none."""
    return _COMMAND_OF.get(other.lower(), "")


def is_model(word: str) -> bool:
    """Return True if a word of the command line has the suffix of a model, or names a module."""
    return ":" in word or word.lower().endswith(SUFFIXES)
