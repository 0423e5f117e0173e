"""Published pages of training runs, as rows that perfc compares with."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pandas")

from lab.tests.data.published_files import RUN_PAGES
from lab.tests.data.test_published_pages import committed, placed
from perfc_lab.data.fetch import fetch
from perfc_lab.data.source import FetchError, sources
from perfc_lab.distributed import RunRow
from perfc_lab.distributed.rows import rows


def runs_of(name: str, output: Path, repository: Path) -> list[RunRow]:
    """Return the rows of a source of training runs, fetched from a repository of its page."""
    repository.mkdir()
    fetch(sources()[name], output, f"file://{repository}", committed(repository, RUN_PAGES[name]))
    return list(rows(output))


def test_a_line_of_llm_foundry_is_a_run(tmp_path: Path) -> None:
    (run,) = runs_of("llm_foundry", tmp_path, tmp_path / "public")
    assert (run.source, run.model, run.cluster) == ("llm-foundry", "125m", "bm-gpu4-8")
    assert (run.parallel.data, run.parallel.zero, run.training.batch) == (8, 3, 64)
    assert run.step_s == pytest.approx(64 * 2048 / (25600 * 8))


def test_runs_of_nemo_know_their_task(tmp_path: Path) -> None:
    whole, adapters = runs_of("nemo", tmp_path, tmp_path / "public")
    assert (whole.weights, adapters.weights, whole.cluster) == ("f8", "f8", "dgx-h100")
    assert (whole.training.is_frozen, adapters.training.is_frozen) == (False, True)


def test_both_forms_of_megatron_bridge_are_runs(tmp_path: Path) -> None:
    sharded, divided = runs_of("megatron_bridge", tmp_path, tmp_path / "public")
    assert (sharded.cluster, sharded.parallel.zero, sharded.parallel.data) == ("gb200-nvl72", 3, 64)
    assert (divided.parallel.tensor, divided.parallel.pipeline) == (4, 8)
    assert divided.parallel.virtual_stages == 5
    assert divided.step_s == pytest.approx(128 * 8192 / (1600 * 64))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("| 1600 (1500) |", "| fast |", "'fast' is no number"),
        ("| 128 | 1 |", f"| {'9' * 9} | 1 |", "is no gbs"),
        ("NeMo Container", "of", "no table of"),
    ],
)
def test_pages_that_are_none_are_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    ((file, text),) = RUN_PAGES["megatron_bridge"].items()
    placed(tmp_path, file, text.replace(old, new))
    with pytest.raises(FetchError, match=said) as caught:
        sources()["megatron_bridge"].convert(tmp_path)
    assert "\n" not in str(caught.value)
