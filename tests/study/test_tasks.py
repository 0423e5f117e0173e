"""Tasks in other processes: the answers of this process, and none lost where a process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from perfc.commands.shared.workers import ordered
from perfc.errors import ParseError
from perfc.study.tasks import pooled

RESNET = "examples/models/resnet50.onnx.gz"
LIMITS = {"count": 2, "memory_bytes": 8 << 30}
CALLS = (
    ["compare", RESNET, "-t", "a100,h100,l4,t4,v100", "--runtime", "ort,eager,tensorrt"],
    ["sweep", RESNET, "--batch", "1:64:*2", "-t", "a100,h100,l4"],
    ["mig", RESNET, "-t", "a100"],
    ["plan", "gpt2", "--gpus", "8"],
    ["llm", "search", "smollm2-1.7b", "-t", "l4", "--osl", "8"],
    [
        "llm",
        "search",
        "smollm2-1.7b",
        "-t",
        "l4",
        "--slo",
        "tpot=30ms",
        "--osl",
        "8",
        "--rate",
        "4",
    ],
)


def halved(number: int) -> float:
    """Answer a task, unless its number ends the process, takes too long, or is refused."""
    match number:
        case 3:
            os.kill(os.getpid(), signal.SIGKILL)
        case 5:
            time.sleep(60)
        case 7:
            raise ParseError("seven")
        case 9:
            os._exit(4)
    return number / 2


def test_a_task_that_ends_its_process_costs_its_own_answer_only() -> None:
    pytest.importorskip("pebble")
    outcomes = {o.task: o for o in pooled(halved, range(12), time_s=2.0, **LIMITS)}
    assert {n: o.result for n, o in outcomes.items() if o.error is None} == {
        n: n / 2 for n in (0, 1, 2, 4, 6, 8, 10, 11)
    }
    assert {n: str(o.error) for n, o in outcomes.items() if o.error is not None} == {
        3: "the worker was ended by SIGKILL",
        5: "took longer than 2 s",
        7: "seven",
        9: "the worker was ended with exit code 4",
    }


def test_results_are_in_order_and_an_error_is_raised() -> None:
    pytest.importorskip("pebble")
    done: list[tuple[int, int]] = []
    runner = partial(pooled, time_s=20.0, **LIMITS)
    each = ordered(runner, lambda *counts: done.append(counts))
    assert list(each(halved, [8, 6, 4])) == list(map(halved, [8, 6, 4]))
    assert done == [(0, 3), (1, 3), (2, 3), (3, 3)]
    with pytest.raises(ParseError, match="seven"):
        each(halved, [8, 7, 6])


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Yield a Dask cluster of two processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as two:
        yield two


def called(arguments: list[str]) -> subprocess.Popen[str]:
    """Start perfc."""
    words = [sys.executable, "-m", "perfc", *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_a_cluster_answers_as_one_process_also_where_a_worker_ends(
    cluster: Any, arguments: list[str]
) -> None:
    import distributed

    arguments = [*arguments, "--output-format", "json"]
    local, remote = called(arguments), called([*arguments, "--dask", cluster.scheduler_address])
    with distributed.Client(cluster) as client:
        while not any(client.processing().values()) and remote.poll() is None:
            time.sleep(0.01)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        assert remote.communicate(timeout=120) == local.communicate(timeout=120)
        assert remote.returncode == local.returncode


def test_models_of_a_cluster_survive_a_worker(cluster: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import distributed
    from pyarrow import parquet

    for index in range(12):
        (tmp_path / f"{index}.onnx.gz").write_text(f"no model {index}")
    (tmp_path / "resnet.onnx.gz").write_bytes(Path(RESNET).read_bytes())
    run = ["bulk", f"{tmp_path}/*.gz", "-t", "a100", "-o", str(tmp_path / "out")]
    with distributed.Client(cluster) as client:
        process = called([*run, "--dask", cluster.scheduler_address])
        while not any(client.processing().values()) and process.poll() is None:
            time.sleep(0.01)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        assert "13 rows" in process.communicate(timeout=120)[0]
    rows = parquet.read_table(next((tmp_path / "out").glob("*.parquet"))).to_pylist()
    assert Counter(row["error"] is None for row in rows) == {True: 1, False: 12}


def test_a_scheduler_that_does_not_answer_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    from perfc import cli

    assert cli.run(["compare", RESNET, "--dask", "nowhere"]) == 2
    assert "error: nowhere: no Dask scheduler answers" in capsys.readouterr().err
