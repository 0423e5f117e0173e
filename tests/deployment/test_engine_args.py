"""Command lines and deployment files of engines, as options of ``perfc llm``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.errors import PerfcError
from perfc.serving.engine_args import read_engine_args
from perfc.serving.engine_commands import flag_tables

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
LINES: list[tuple[str, str, dict[str, Any], dict[str, int], tuple[str, ...]]] = [
    (f"vllm serve {LLAMA}", "vllm", {}, {}, ()),
    (
        f"vllm serve {LLAMA} --tensor-parallel-size=2 -pp 2 --max_num_seqs 64 --port 80 "
        "--max-model-len 8192",
        "vllm",
        {"max_num_seqs": 64, "max_model_len": 8192},
        {"tp": 2, "pp": 2},
        (),
    ),
    (
        f"CUDA_VISIBLE_DEVICES=0 python3 -m vllm.entrypoints.openai.api_server --model {LLAMA} "
        "--max-num-batched-tokens 16k --gpu-memory-utilization 0.85 --kv-cache-dtype fp8_e4m3",
        "vllm",
        {"token_budget": 16000, "utilization": 0.85, "kv_dtype": "fp8"},
        {},
        (),
    ),
    (
        f"vllm serve {LLAMA} --enforce-eager --block-size 32 --new-flag x -q awq_marlin",
        "vllm",
        {"dtype": "awq"},
        {},
        ("--enforce-eager", "--block-size 32", "--new-flag x"),
    ),
    (
        "vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --enable-expert-parallel "
        """--speculative-config '{"method": "mtp", "num_speculative_tokens": 2}'""",
        "vllm",
        {"draft_tokens": 2},
        {"attention_dp": 8, "ep": 8},
        (),
    ),
    (
        f"vllm serve {LLAMA} --no-enable-chunked-prefill --enable-lora --max-loras 4 "
        "--max-lora-rank 32 --dtype float32 --cuda-graph-sizes 64",
        "vllm",
        {"batching": "whole-prompts", "loras": 4, "lora_rank": 32},
        {},
        ("--dtype float32", "--cuda-graph-sizes 64"),
    ),
    (
        f"python -m sglang.launch_server --model-path {LLAMA} --tp 8 --dp 8 --enable-dp-attention "
        "--mem-fraction-static 0.9 --chunked-prefill-size 4096 --max-running-requests 128",
        "sglang",
        {"utilization": 0.9, "token_budget": 4096, "max_num_seqs": 128},
        {"attention_dp": 8},
        (),
    ),
    (
        f"sglang serve --model {LLAMA} --enable-mixed-chunk --attention-backend fa3 --ep 4 --tp 4 "
        "--scheduler-recv-interval 30",
        "sglang",
        {"batching": "mixed", "looks_every": 30},
        {"ep": 4, "tp": 4},
        ("--attention-backend fa3",),
    ),
    (
        f"trtllm-serve {LLAMA} --tp_size 4 --max_batch_size 256 --max_num_tokens 8192 "
        "--kv_cache_free_gpu_memory_fraction 0.9 --backend pytorch --enable_chunked_prefill",
        "trtllm",
        {"max_num_seqs": 256, "token_budget": 8192, "utilization": 0.9, "batching": "mixed"},
        {"tp": 4},
        (),
    ),
    (
        f"python3 -m dynamo.vllm --model {LLAMA} --tensor-parallel-size 2 --is-decode-worker",
        "vllm",
        {},
        {"tp": 2},
        (),
    ),
    (
        f"python3 -m dynamo.trtllm --model-path {LLAMA} --disaggregation-mode decode",
        "trtllm",
        {},
        {},
        (),
    ),
    (
        f"#!/bin/bash\nexport A=1 # a comment\nvllm serve \\\n  {LLAMA} \\\n  -tp 2 && echo -tp 8\n"
        "echo --max-num-seqs 3",
        "vllm",
        {},
        {"tp": 2},
        (),
    ),
    *(
        (
            f"python3 -m sglang.launch_server --model-path {LLAMA} --tp-size 72 --dp-size 72 "
            f"--enable-dp-attention {flag}",
            "sglang",
            {},
            {"ep": degree, "attention_dp": 72} if degree > 1 else {"attention_dp": 72},
            (),
        )
        for flag, degree in (
            ("--moe-a2a-backend deepep", 72),
            ("--moe-a2a-backend=mooncake", 72),
            ("--ep-size 8 --moe-a2a-backend deepep", 72),
            ("--enable-deepep-moe", 72),
            ("--enable-ep-moe", 72),
            ("--ep-size 8 --moe-a2a-backend none", 8),
            ("--moe-a2a-backend none", 1),
        )
    ),
    (
        "llama-server -m LLAMA -c 8192 -np 4 -ub 1024 -ngl 99 --port 8080 --n-cpu-moe 4".replace(
            "LLAMA", LLAMA
        ),
        "llamacpp",
        {"max_model_len": 8192, "max_num_seqs": 4, "token_budget": 1024, "n_cpu_moe": 4},
        {},
        (),
    ),
    (
        f"llama-server -m {LLAMA} --ctx-size 0 -fa on -ctk q8_0 -ctv q8_0",
        "llamacpp",
        {"flash_attention": True, "kv_dtype": "q8_0"},
        {},
        (),
    ),
    (f"llama-server -kvo -m {LLAMA}", "llamacpp", {}, {}, ()),
    (f"llama-server -nkvo -m {LLAMA}", "llamacpp", {"kv_offload": False}, {}, ()),
    (f"vllm serve {LLAMA} --cpu-offload-gb 10", "vllm", {"cpu_offload_gb": 10.0}, {}, ()),
]


@pytest.mark.parametrize(("line", "runtime", "options", "parallel", "unmodeled"), LINES)
def test_command_lines_are_read(
    line: str,
    runtime: str,
    options: dict[str, Any],
    parallel: dict[str, int],
    unmodeled: tuple[str, ...],
) -> None:
    read = read_engine_args(line)
    assert read.runtime == runtime
    assert read.model in (LLAMA, "deepseek-ai/DeepSeek-V3")
    assert dict(read.options) == options
    assert dict(read.parallel) == parallel
    assert read.unmodeled == unmodeled


FLAGS = "--tensor-parallel-size 2 --max-num-seqs 64"


@pytest.mark.parametrize(
    "line",
    [
        f"vllm serve {LLAMA} {FLAGS} --served-model-name {'x' * 300}",
        f"vllm serve {LLAMA} {FLAGS} --served-model-name {'x' * 100_000}",
        "VLLM_USE_V1=1 HF_TOKEN='a b' python -m vllm.entrypoints.openai.api_server "
        f"--model {LLAMA} {FLAGS}",
        f"vllm serve {LLAMA} \\\n --tensor-parallel-size 2 \\ \n --max-num-seqs 64 \\\r\n --port 8",
        f"vllm serve {LLAMA} `\n {FLAGS}",
        f"'vllm serve {LLAMA} {FLAGS}'",
        f'bash -lc "vllm serve {LLAMA} {FLAGS}"',
        f"ssh host \"sh -c 'exec vllm serve {LLAMA} {FLAGS}'\"",
        f"/opt/venv/bin/vllm serve {LLAMA} {FLAGS} > server.log 2>&1 &",
        "docker run --gpus all -v ~/.cache:/root -p 8000:8000 vllm/vllm-openai:v0.11.0 "
        f"--model {LLAMA} {FLAGS}",
        f"docker run --gpus all localhost:5000/vllm/vllm-openai {LLAMA} {FLAGS}",
        f"docker run --entrypoint vllm vllm/vllm-openai@sha256:{'0' * 64} serve {LLAMA} {FLAGS}",
        f"docker run --entrypoint sh vllm/vllm-openai:latest -c 'vllm serve {LLAMA} {FLAGS}'",
        f"export MODEL={LLAMA} TP=2\n"
        "vllm serve $MODEL --tensor-parallel-size ${TP} --max-num-seqs 64",
        f"MODEL={LLAMA}; echo 'now vllm serve other'; uv run vllm serve \"$MODEL\" {FLAGS}",
    ],
)
def test_a_command_is_read_however_it_is_written(line: str) -> None:
    read = read_engine_args(line)
    assert (read.runtime, read.model) == ("vllm", LLAMA)
    assert (read.options, read.parallel) == ({"max_num_seqs": 64}, {"tp": 2})


def test_every_command_and_image_of_an_engine_calls_it() -> None:
    for engine, table in flag_tables().items():
        degrees = {"tp": 2} if "tensor-parallel-size" in table["options"] else {}
        for call in (*table["commands"], *table.get("images", ())):
            for line in (call, f"/opt/{call}", f"numactl -N 0 {call}"):
                read = read_engine_args(f"{line} --model {LLAMA} --tensor-parallel-size 2")
                assert (read.runtime, read.model, read.parallel) == (engine, LLAMA, degrees)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm", "llamacpp"])
def test_a_flag_is_modeled_without_effect_or_named(engine: str) -> None:
    table = flag_tables()[engine]
    assert not set(table["options"]) & (set(table["without_effect"]) - {"enable-lora"})
    command = table["commands"][0]
    for flag in ("a-flag-of-the-future", *table["switches"]):
        read = read_engine_args(f"{command} --model {LLAMA} --{flag}")
        is_known = flag in table["without_effect"] or flag in table["options"]
        assert read.unmodeled == (() if is_known else (f"--{flag}",))


KUBERNETES = """\
kind: Deployment
spec:
  replicas: 3
  template:
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai
          command: ["/bin/sh", "-c"]
          args: ["vllm serve $(MODEL) --tensor-parallel-size 2 --max-num-seqs 99"]
          env: [{name: MODEL, value: meta-llama/Llama-3.1-8B-Instruct}]
"""
DYNAMO = """\
kind: DynamoGraphDeployment
spec:
  services:
    Frontend: {replicas: 1}
    VllmPrefillWorker:
      replicas: 2
      extraPodSpec:
        mainContainer:
          command: [python3, -m, dynamo.vllm]
          args: [--model, meta-llama/Llama-3.1-8B-Instruct, -tp, "2", --is-prefill-worker]
    VllmDecodeWorker:
      replicas: 4
      extraPodSpec:
        mainContainer:
          command: [python3, -m, dynamo.vllm]
          args: [--model, meta-llama/Llama-3.1-8B-Instruct, --max-num-seqs, "128"]
"""
COMPOSE = """\
services:
  server:
    image: vllm/vllm-openai:latest
    command: >
      --model meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 2
      --max-num-seqs 99
"""
IMAGE = """\
spec:
  containers:
    - image: registry.example/vllm/vllm-openai:v0.11.0
      args: [--model, meta-llama/Llama-3.1-8B-Instruct, --max-num-seqs, "99"]
"""
LLM_D = """\
modelArtifacts: {uri: "hf://meta-llama/Llama-3.1-8B-Instruct"}
decode:
  replicas: 2
  parallelism: {tensor: 4}
  containers: [{modelCommand: vllmServe, args: ["--max-num-seqs", "64"]}]
prefill:
  replicas: 1
  parallelism: {tensor: 2}
  containers: [{modelCommand: vllmServe, args: []}]
"""


@pytest.mark.parametrize(
    ("text", "options", "parallel"),
    [
        (KUBERNETES, {"max_num_seqs": 99}, {"tp": 2, "dp": 3}),
        (DYNAMO, {"max_num_seqs": 128, "prefill_gpus": 4, "prefill_parallel": "tp=2"}, {"dp": 4}),
        (COMPOSE, {"max_num_seqs": 99}, {"tp": 2}),
        (IMAGE, {"max_num_seqs": 99}, {}),
        (
            LLM_D,
            {"max_num_seqs": 64, "prefill_gpus": 2, "prefill_parallel": "tp=2"},
            {"tp": 4, "dp": 2},
        ),
    ],
    ids=["kubernetes", "dynamo", "compose", "image", "llm-d"],
)
def test_deployment_files_are_read(
    text: str, options: dict[str, Any], parallel: dict[str, int], tmp_path: Path
) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "deploy.yaml").write_text(text)
    read = read_engine_args(str(tmp_path / "deploy.yaml"))
    assert (read.model, dict(read.options), dict(read.parallel)) == (LLAMA, options, parallel)


def test_options_of_tensorrt_llm_in_a_file_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {"kv_cache_config": {"dtype": "fp8", "free_gpu_memory_fraction": 0.8}, "moe_x": {"y": 1}}
    more |= {"enable_attention_dp": True, "config": "more.json"}  # type: ignore[dict-item]
    (tmp_path / "more.json").write_text(json.dumps(more))
    monkeypatch.chdir(tmp_path)
    line = f"trtllm-serve {LLAMA} --tp_size 4 --extra_llm_api_options more.json"
    read = read_engine_args(line)
    assert dict(read.options) == {"kv_dtype": "fp8", "utilization": 0.8}
    assert dict(read.parallel) == {"attention_dp": 4}
    assert read.unmodeled == ("--moe-x.y 1", "--config more.json")
    assert read_engine_args(line.replace("more", "none")).unmodeled == (
        "file none.json (not found)",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("python train.py", "calls no serving engine"),
        ("vllm serve", "model is ''"),
        ("vllm serve $MODEL", "model is '\\$MODEL'"),
        (f"vllm serve {LLAMA} -tp two", "tp is 'two'"),
        (f"vllm serve {LLAMA} -tp 0", "tp is '0'"),
        (f"vllm serve {LLAMA} --speculative-config x", "is no JSON object"),
        ("vllm serve 'x", "is no command line"),
    ],
)
def test_wrong_arguments_are_one_error(text: str, message: str) -> None:
    with pytest.raises(PerfcError, match=message):
        read_engine_args(text)


def test_hostile_files_are_one_error(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    bomb = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    for one, other in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"{other}: &{other} [{', '.join([f'*{one}'] * 10)}]\n"
    for name, text in (
        ("bomb.yaml", bomb),
        ("deep.yaml", "[" * 3000),
        ("tag.yaml", "!!python/object:os.system x"),
        ("bad.json", "{"),
        ("deep.json", "[" * 100_000),
        ("words.yaml", f"{bomb}args: [*i]"),
        ("digits.yaml", f"command: [vllm, serve, 0x{'f' * 5000}]"),
        ("long.yaml", f"env: [{{name: A, value: {'x' * 9999}}}]\nargs: [vllm serve {'$A' * 9999}]"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(PerfcError):
            read_engine_args(str(tmp_path / name))


def test_the_command_takes_arguments_and_further_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "vllm serve llama-3.1-8b -tp 2 --max-num-seqs 64 --enforce-eager"
    load = ["--isl", "64", "--osl", "8", "--requests", "4", "--output-format", "json"]
    assert cli.run(["llm", "--engine-args", line, "-t", "h100", *load]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["parallel"]["tensor"], document["max_num_seqs"]) == (2, 64)
    assert "engine arguments that are not modeled: --enforce-eager" in document["notes"]
    further = ["--max-num-seqs", "32", "--tp", "4", "--runtime", "sglang"]
    assert cli.run(["llm", "--engine-args", line, "-t", "h100", *further, *load]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["parallel"]["tensor"], document["max_num_seqs"]) == (4, 32)
    assert document["runtime"] == "sglang"


def test_without_a_model_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["llm", "serve", "-t", "h100"]) == 2
    assert "Missing argument 'CONFIG'" in capsys.readouterr().err
