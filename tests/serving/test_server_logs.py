"""Logs and metrics of vLLM and SGLang servers as loads."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from perfc.errors import ParseError
from perfc.serving import Load, llm
from perfc.serving.simulation.exposition import RequestLengths
from perfc.serving.simulation.traces import lengths_of, traced

STATS = "Avg prompt throughput: {} tokens/s, Avg generation throughput: {} tokens/s, Running: 1"


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "server.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def histogram(name: str, below: dict[str, int], tokens: float, labels: str = "") -> list[str]:
    return [
        f"# TYPE {name} histogram",
        f"{name}_sum{{{labels}}} {float(tokens)}" if labels else f"{name}_sum {float(tokens)}",
        *(
            f'{name}_bucket{{{labels}{"," if labels else ""}le="{edge}"}} {n}.0'
            for edge, n in below.items()
        ),
    ]


def scrape(
    prompts: dict[str, int], tokens: float, answers: dict[str, int], out: float, engine: str = "0"
) -> list[str]:
    labels = f'engine="{engine}",model_name="m"'
    return [
        'vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 7.0',
        *histogram("vllm:request_prompt_tokens", prompts, tokens, labels),
        *histogram("vllm:request_generation_tokens", answers, out, labels),
    ]


ONE = scrape({"100.0": 10, "200.0": 30, "+Inf": 30}, 4000, {"50.0": 30, "+Inf": 30}, 900)
LATER = scrape({"100.0": 10, "200.0": 150, "+Inf": 150}, 20_800, {"50.0": 150, "+Inf": 150}, 4500)


def lengths(tmp_path: Path, *lines: str) -> RequestLengths:
    found = lengths_of(written(tmp_path, *lines))
    assert found
    return found


def test_one_scrape_has_lengths_and_no_rate(tmp_path: Path) -> None:
    found = lengths(tmp_path, *ONE)
    assert (found.prompts.mean, found.answers.mean, found.rate) == (4000 / 30, 30.0, 0.0)
    assert found.prompts.counts == (10.0, 20.0, 0.0)
    assert (found.prompts.longest, found.answers.longest) == (200, 50)


def test_drawn_lengths_have_the_mean_and_the_bins_of_the_server(tmp_path: Path) -> None:
    drawn = lengths(tmp_path, *ONE).drawn(20_000, seed=1)
    prompts = [p for p, _ in drawn]
    assert sum(prompts) / 20_000 == pytest.approx(4000 / 30, rel=0.01)
    assert sum(a for _, a in drawn) / 20_000 == pytest.approx(30, rel=0.01)
    assert sum(p <= 100 for p in prompts) / 20_000 == pytest.approx(1 / 3, abs=0.02)
    assert max(prompts) <= 200
    # the length of an answer says nothing about that of its prompt
    long = [a for p, a in drawn if p > 100]
    assert sum(long) / len(long) == pytest.approx(30, rel=0.02)


def test_two_scrapes_have_the_requests_between_them_and_their_rate(tmp_path: Path) -> None:
    found = lengths(tmp_path, "# 1764260000", *ONE, "# 1764260060", *LATER)
    assert (found.prompts.mean, found.answers.mean, found.rate) == (140.0, 30.0, 2.0)
    timed = [f"{line} 1764260000000" if line[0] != "#" else line for line in ONE]
    after = [f"{line} 1764260030000" if line[0] != "#" else line for line in LATER]
    assert lengths(tmp_path, *timed, *after).rate == 4.0
    assert lengths(tmp_path, *ONE, *LATER).rate == 0.0


def test_engines_of_one_server_are_summed_and_sglang_is_read(tmp_path: Path) -> None:
    both = [
        *ONE,
        *scrape({"100.0": 30, "200.0": 30, "+Inf": 30}, 2000, {"50.0": 30, "+Inf": 30}, 900, "1"),
    ]
    assert lengths(tmp_path, *both).prompts.mean == 100.0
    sglang = [
        *histogram("sglang:prompt_tokens_histogram", {"100": 1, "+Inf": 2}, 350),
        *histogram("sglang:generation_tokens_histogram", {"100": 2, "+Inf": 2}, 90),
    ]
    found = lengths(tmp_path, *sglang)
    assert (found.prompts.mean, found.answers.mean) == (175.0, 45.0)
    assert found.prompts.longest == 350


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (ONE[:6], "no histogram of generation tokens"),
        ([*ONE, *(line.replace('"m"', '"n"') for line in ONE)], "metrics of several models"),
        ([*LATER, *ONE], "counts decrease"),
        (["# 1764260060", *ONE, "# 1764260000", *LATER], "scrapes in wrong order"),
        ([*ONE, *ONE], "no request is finished"),
        (scrape({"100": 3, "+Inf": 3}, 900, {"9": 3, "+Inf": 3}, 9), "outside the buckets"),
        (['vllm:request_prompt_tokens_bucket{le="9"} NaN'], "server.log:1: is no sample"),
        (['vllm:request_prompt_tokens_bucket{le="-9"} 1'], "server.log:1: is no sample"),
        (["vllm:request_prompt_tokens_bucket 1 1 1"], "server.log:1: is no sample"),
        (["vllm:request_prompt_tokens_sum"], "server.log:1: is no sample"),
    ],
)
def test_damaged_metrics_are_one_error(lines: list[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=words) as error:
        lengths(tmp_path, *lines)
    assert "\n" not in str(error.value)


def test_a_scrape_is_a_load_of_its_users_or_rate(tmp_path: Path) -> None:
    path = written(tmp_path, *ONE)
    users = llm("llama-3.2-1b", "h100", trace=path, concurrency=4, requests=40)
    assert (users.load.isl, users.load.osl, users.load.concurrency) == (133, 30, 4)
    assert users.throughput
    both = written(tmp_path, "# 1764260000", *ONE, "# 1764260060", *LATER)
    report = llm("llama-3.2-1b", "h100", trace=both, requests=40)
    assert (report.load.rate, report.load.concurrency, report.load.longest) == (2.0, 0, (200, 50))
    assert report.throughput
    assert report.throughput.requests_per_s == 2.0
    assert len({r.input_tokens for r in report.load.workload(1).requests}) > 5


def test_requests_of_vllm_arrive_as_logged_with_mean_lengths(tmp_path: Path) -> None:
    ids = "params: SamplingParams(n=1), prompt_token_ids: [1, 2, 3], lora_request: None."
    path = written(
        tmp_path,
        "INFO 06-16 10:03:00 [logger.py:39] Received request a: prompt: 'prompt_token_ids: [7]"
        f" Decode batch', {ids}",
        "(APIServer pid=7) INFO 06-16 10:03:04 [logger.py:39] Received request b: params: x",
        "INFO 06-16 10:03:10 [loggers.py:87] Engine 000: " + STATS.format("12.0", "6.0"),
        "INFO 06-16 10:03:20 [loggers.py:87] Engine 000: " + STATS.format("0.0", "2.0"),
        # idle intervals are not logged: this line covers ten seconds as well
        "INFO 06-16 10:09:20 [loggers.py:87] Engine 000: " + STATS.format("8.0", "4.0"),
        "INFO 06-16 10:09:18 [logger.py:39] Received request c: params: x",
        'INFO:     127.0.0.1:40262 - "POST /v1/completions HTTP/1.1" 200 OK',
    )
    one, two, three = traced(path).requests
    assert [r.arrival_s for r in (one, two, three)] == [0.0, 4.0, 378.0]
    assert [r.input_tokens for r in (one, two, three)] == [3, 67, 67]
    assert {r.output_tokens for r in (one, two, three)} == {40}


def test_requests_of_sglang_are_its_replies_or_new_sequences(tmp_path: Path) -> None:
    batches = [
        "[2026-01-05 23:59:50 DP0 TP0] Prefill batch, #new-seq: 2, #new-token: 800, "
        "#cached-token: 200, token usage: 0.00",
        "[2026-01-05 23:59:50 DP1 TP0] Decode batch, #running-req: 2, gen throughput (token/s): "
        "99.00, #queue-req: 0",
        "[2026-01-05 23:59:51 DP0 TP0] Decode batch, #running-req: 2, gen throughput (token/s): "
        "7.00, #queue-req: 0",
        "[2026-01-06 00:00:01 DP0 TP0] Decode batch, #running-req: 2, gen throughput (token/s): "
        "20.00, #queue-req: 0",
    ]
    requests = traced(written(tmp_path, *batches)).requests
    # the first token of an answer comes from the prefill
    assert [(r.arrival_s, r.input_tokens, r.output_tokens) for r in requests] == [(0, 500, 101)] * 2
    reply = '[2026-01-06 00:00:02] INFO: 1.2.3.4:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    other = '[2026-01-06 00:00:02] INFO: 1.2.3.4:5 - "POST /metrics HTTP/1.1" 200 OK'
    (only,) = traced(written(tmp_path, *batches, reply, other)).requests
    assert (only.input_tokens, only.output_tokens) == (1000, 201)


def test_the_new_year_does_not_go_back(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "INFO 12-31 23:59:59 [logger.py:39] Received request a: params: x",
        "INFO 01-01 00:00:01 [logger.py:39] Received request b: params: x",
        "INFO 01-01 00:00:09 [loggers.py:87] Engine 000: " + STATS.format("12.0", "6.0"),
    )
    assert [r.arrival_s for r in traced(path).requests] == [0.0, 2.0]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["INFO 06-16 10:03:10 [x] " + STATS.format("1.0", "2.0")], "the log has no requests"),
        (["INFO 06-16 10:03:00 [x] Received request a"], "no prompt tokens"),
        (
            [
                "INFO 06-16 10:03:00 [x] Received request a",
                "INFO 06-16 10:03:00 [x] " + STATS.format("1.0", "0.0"),
            ],
            "no output tokens",
        ),
        (
            [
                "[2026-01-05 23:59:50] Prefill batch, #new-seq: 999999999, #new-token: 1, "
                "#cached-token: 0"
            ],
            "too many requests",
        ),
        (["INFO 99-99 99:99:99 Received request a"], "the log has no requests"),
        (["Decode batch"], "the log has no requests"),
    ],
)
def test_incomplete_logs_are_one_error(lines: list[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=words) as error:
        traced(written(tmp_path, *lines))
    assert "\n" not in str(error.value)


def test_damaged_logs_and_metrics_end_with_requests_or_one_error(tmp_path: Path) -> None:
    whole = "\n".join([*ONE, "# 1764260060", *LATER]).encode()
    log = b"[2026-01-05 23:59:50 DP0] Prefill batch, #new-seq: 2, #new-token: 8, #cached-token: 0\n"
    dice, path, messages = random.Random(3), tmp_path / "damaged", list[str]()
    for source in (whole, log * 20):
        for _ in range(150):
            text = bytearray(source)
            for _ in range(dice.randint(1, 8)):
                text[dice.randrange(len(text))] = dice.randrange(256)
            path.write_bytes(text)
            try:
                load = Load(trace=str(path)).resolved()
                load.workload(1)
            except ParseError as error:
                messages.append(str(error))
    assert messages
    assert not any("\n" in message for message in messages)
