"""Latencies of whole models on Markdown pages, from mirrors in the public layouts."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from lab.tests.data.published_files import RUN_PAGES
from perfc.common.toml_file import parse
from perfc_lab.data import markdown
from perfc_lab.data.fetch import fetch
from perfc_lab.data.pages import PageSource, page_source, page_sources
from perfc_lab.data.source import FetchError, sources

from .page_texts import PAGES

ROWS: dict[str, list[tuple[object, ...]]] = {
    "nvidia_dle": [
        (
            "V100-SXM2-16GB",
            "eager",
            "amp_fp16",
            "PyTorch/Classification/ConvNets/resnet50v1.5",
            8,
            11.5,
            "timm__resnet50__224",
        ),
        (
            "T4",
            "onnxruntime-tensorrt",
            "fp16",
            "PyTorch/LanguageModeling/BERT/triton/large",
            8,
            48.75,
            "hf__bert-large",
        ),
        (
            "A100-SXM4-40GB",
            "eager",
            "amp_fp16",
            "PyTorch/LanguageModeling/Transformer-XL",
            2,
            10.5,
            "",
        ),
        (
            "A100-SXM4-40GB",
            "torchscript",
            "tf32",
            "PyTorch/LanguageModeling/Transformer-XL",
            2,
            7.5,
            "",
        ),
    ],
    "paddledetection": [
        ("V100", "paddle", "fp32", "RT-DETR-R50-m ResNet-50", 1, 12.5, "hf__rtdetr-r50m__640"),
        ("T4", "paddle-trt", "fp16", "RT-DETR-R50-m ResNet-50", 1, 6.25, "hf__rtdetr-r50m__640"),
    ],
    "rf_detr": [("T4", "tensorrt", "fp16", "RF-DETR-N", 1, 2.5, "")],
    "swin": [("V100", "eager", "fp32", "SwinV2-B", 64, 500, "timm__swinv2_base_window16_256__256")],
    "tensorrt_tfquant": [
        ("A100", "tensorrt", "int8", "ResNet50-v1 QAT (TensorRT)", 1, 0.5, "timm__resnet50__224"),
        ("A100", "tf2", "tf32", "ResNet50-v1 Baseline (TensorFlow)", 1, 7.5, "timm__resnet50__224"),
    ],
    "paddleclas": [
        ("V100", "paddle-trt", "fp32", "DLA34", 1, 1.5, "timm__dla34__224"),
        (
            "V100",
            "paddle-trt",
            "fp32",
            "ViT_base_patch16_384",
            1,
            9.25,
            "timm__vit_base_patch16_384__384",
        ),
        (
            "V100",
            "paddle-trt",
            "fp32",
            "ViT_base_patch16_384",
            4,
            20.5,
            "timm__vit_base_patch16_384__384",
        ),
        (
            "V100",
            "paddle-trt",
            "fp32",
            "SwinTransformer_large_patch4_window7_224",
            1,
            3.5,
            "timm__swin_large_patch4_window7_224__224",
        ),
        ("T4", "paddle-trt", "fp16", "PPLCNet_x0_5", 1, 0.75, "timm__lcnet_050__224"),
        ("T4", "paddle-trt", "fp16", "DarkNet53", 1, 2.5, "timm__darknet53__224"),
    ],
    "fastertransformer": [
        (
            "T4",
            "torchscript",
            "fp16",
            "swin swinv2_tiny_window8_256",
            8,
            12.5,
            "timm__swinv2_tiny_window8_256__256",
        ),
        (
            "T4",
            "fastertransformer",
            "fp16",
            "swin swinv2_tiny_window8_256",
            8,
            4.5,
            "timm__swinv2_tiny_window8_256__256",
        ),
        (
            "T4",
            "fastertransformer",
            "fp16",
            "swinv2 SMALL",
            32,
            7.5,
            "timm__swinv2_small_window16_256__256",
        ),
    ],
    "super_gradients": [
        ("T4", "tensorrt", "fp16", "ResNet 50", 1, 1.5, "timm__resnet50__224"),
        ("T4", "tensorrt", "fp16", "STDC", 1, 3.25, ""),
        ("T4", "tensorrt", "int8", "STDC", 1, 2.25, ""),
        ("Xeon Cascade Lake", "openvino", "fp16", "ResNet 50", 1, 2.5, "timm__resnet50__224"),
    ],
    "torch2trt": [
        ("Jetson Nano", "eager", "fp16", "mnasnet0_5", 2, 25.5, "timm__mnasnet_050__224"),
        ("Jetson Nano", "eager", "fp32", "resnet50", 1, 1250.0, "timm__resnet50__224"),
    ],
    "paddlex": [
        (
            "T4",
            "paddle",
            "fp32",
            "SwinTransformer_large_patch4_window12_384",
            1,
            9.5,
            "timm__swin_large_patch4_window12_384__384",
        ),
        ("T4", "paddle", "fp32", "RT-DETR-R50", 1, 7.5, "hf__rtdetr-r50__640"),
        (
            "Xeon Gold 5117 (8 threads)",
            "paddle-cpu",
            "fp32",
            "RT-DETR-R50",
            1,
            17.5,
            "hf__rtdetr-r50__640",
        ),
    ],
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Address and commit of a repository with the pages of all publications."""
    folder = tmp_path_factory.mktemp("public")
    files = {file: text for pages in PAGES.values() for file, text in pages.items()}
    return f"file://{folder}", committed(folder, files)


def committed(folder: Path, files: Mapping[str, str]) -> str:
    """Write files into a repository and return the commit."""
    for file, text in files.items():
        placed(folder, file, text)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "pages"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return head.stdout.strip()


def placed(folder: Path, file: str, text: str | bytes) -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", ROWS)
def test_times_of_a_page_are_rows(repository: tuple[str, str], tmp_path: Path, name: str) -> None:
    (path,) = fetch(sources()[name], tmp_path, *repository)
    frame = pd.read_parquet(path)
    columns = ["device", "runtime", "precision", "model", "batch", "latency_ms", "graph"]
    rows: list[tuple[object, ...]] = list(
        frame[columns].fillna("").itertuples(index=False, name=None)
    )
    assert rows == [(*row[:6], f"{row[6]}.onnx.gz" if row[6] else "") for row in ROWS[name]]
    assert set(frame["grade"]) == {"A"}


def test_means_of_bert_are_whole_models(repository: tuple[str, str], tmp_path: Path) -> None:
    from perfc_lab.tables.whole_models import whole_models

    (path,) = fetch(sources()["tensorrt_bert"], tmp_path, *repository)
    cells = pd.read_parquet(path)
    columns = cells[["precision", "percentile", "latency_ms"]]
    assert list(columns.head(4).itertuples(index=False, name=None)) == [
        ("int8", "p95", 2.75),
        ("int8", "p99", 2.8),
        ("int8", "mean", 2.5),
        ("fp16", "p95", 4.5),
    ]
    assert len(cells) == 9
    int8, half = whole_models(tmp_path)
    assert [int8.time_s, half.time_s] == pytest.approx([2.5e-3, 4.25e-3])
    assert half.graph == "hf__bert-base.onnx.gz"
    assert (half.deployment.target, half.deployment.runtime_version) == ("t4", "10.11")
    assert dict(half.deployment.dims) == {"batch": 4, "seq": 128}


def test_rows_that_another_page_contradicts_are_not_of_grade_a(tmp_path: Path) -> None:
    name = "paddleclas"
    ((file, text),) = PAGES[name].items()
    placed(tmp_path, file, text.replace("| DLA34", "| DarkNet53"))
    frame = sources()[name].convert(tmp_path)[f"whole_models_{name}"]
    assert list(frame[frame["model"] == "DarkNet53"]["grade"]) == ["C", "A"]


@pytest.mark.parametrize("name", [source.name for source in page_sources()])
def test_every_publication_has_a_mirror(name: str) -> None:
    assert name in {*PAGES, *RUN_PAGES}
    assert isinstance(sources()[name], PageSource)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("tensorrt_bert", "| 2.5 |", "|", "7 cells of 8 in '128'"),
        ("tensorrt_bert", "2.75", "fast", "'fast' is no number"),
        ("tensorrt_bert", "2.75", "2.7.5", "'2.7.5' is no number"),
        ("tensorrt_bert", "2.75", "0.0", "a time of 0 of 'BERT Base'"),
        ("tensorrt_bert", "2.75", "9" * 400, "is no number"),
        ("tensorrt_bert", "| 128 | 4", "| 128 | 0", "'0' is no batch"),
        ("tensorrt_bert", "| 128 | 4", f"| {'9' * 5000} | 4", "is no seq_len"),
        ("tensorrt_bert", "NVIDIA", "of", "no table of latencies"),
        ("paddlex", "GPU", "Card", None),
    ],
)
def test_pages_of_another_form_are_one_line(
    tmp_path: Path, name: str, old: str, new: str, said: str | None
) -> None:
    ((file, text),) = PAGES[name].items()
    placed(tmp_path, file, text.replace(old, new))
    if said is None:
        assert len(sources()[name].convert(tmp_path)[f"whole_models_{name}"]) == 1
        return
    with pytest.raises(FetchError, match=said) as caught:
        sources()[name].convert(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"|" * (markdown.LARGEST_BYTES + 1), "a page of more than 1 MiB"),
        (b"\xff\xfe| a |", "not UTF-8"),
        (b"", "no table of latencies"),
        (b"|a|\n|-|\n" + b"|" * 500_000, "no table of latencies"),
        (b"#" * 500_000, "no table of latencies"),
        (b"[" * 500_000 + b"|\n|-|\n", "no table of latencies"),
        (b"<" * 500_000 + b"|\n|-|\n", "no table of latencies"),
        (
            ("# T4 GPU\n|M|Latency(ms) bs=1|\n|-|-|\n" + "|a|1|\n" * 12_000).encode(),
            "more than 10000 times",
        ),
    ],
)
def test_hostile_pages_end_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    placed(tmp_path, next(iter(PAGES["paddleclas"])), content)
    with pytest.raises(FetchError, match=said) as caught:
        sources()["paddleclas"].convert(tmp_path)
    assert "\n" not in str(caught.value)


def test_braces_on_a_page_are_text(tmp_path: Path) -> None:
    ((file, text),) = PAGES["paddleclas"].items()
    placed(tmp_path, file, text.replace("DLA34", "{self}"))
    frame = sources()["paddleclas"].convert(tmp_path)["whole_models_paddleclas"]
    assert frame["model"][0] == "{self}"


def test_code_has_no_table() -> None:
    text = "```\n# T4\n|a|b|\n|-|-|\n|1|2|\n```\n# A\n## B\n# C\n|a|b|\n|-|-|\n|1|2|\n"
    (table,) = markdown.tables_of(text)
    assert (table.headings, table.rows) == (("C",), (("1", "2"),))


def test_rates_become_times(tmp_path: Path) -> None:
    described = {
        "title": "t",
        "url": "https://a",
        "commit": "0" * 40,
        "licence": "MIT",
        "files": ["a.md"],
        "fields": {"model": "m", "device": "T4", "runtime": "eager", "precision": "fp32"},
        "tables": [{"times": "FPS", "rate": True, "labels": {"Batch": r"(?P<batch>\d+)"}}],
    }
    placed(tmp_path, "a.md", "|Batch|FPS|\n|-|-|\n|4|200|\n")
    frame = page_source("x", described).convert(tmp_path)["whole_models_x"]
    assert list(frame["latency_ms"]) == [20]


def test_rows_of_earlier_editions_are_added(tmp_path: Path) -> None:
    commits = [committed(tmp_path / "public", {"a.md": f"|FPS|\n|-|\n|{n}|\n"}) for n in (10, 20)]
    described = {
        "title": "t",
        "url": f"file://{tmp_path}/public",
        "commit": commits[1],
        "licence": "MIT",
        "earlier": commits[:1],
        "files": ["a.md"],
        "fields": {"model": "m", "device": "T4", "runtime": "x", "precision": "fp32", "batch": "1"},
        "tables": [{"times": "FPS", "rate": True}],
    }
    source = page_source("x", described)
    for commit, times in (("", [50, 100]), (commits[0], [100])):
        (path,) = fetch(source, tmp_path / "tables", source.url, commit)
        assert list(pd.read_parquet(path)["latency_ms"]) == times


def test_the_documented_description_reads_a_page(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "contributing" / "table.md"
    text = page.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    placed(
        tmp_path,
        "docs/zoo.md",
        "# Speed on Tesla T4\n|Model|Size|Latency (ms)|FP16 Latency (ms)|\n|-|-|-|-|\n"
        "|ResNet-50|224|2.5|1.5|\n|mean||2.5|1.5|\n",
    )
    frame = page_source("acme", parse(text, page)).convert(tmp_path)["whole_models_acme"]
    columns = ["device", "precision", "model", "latency_ms", "graph"]
    assert list(frame[columns].itertuples(index=False, name=None)) == [
        ("T4", "fp32", "ResNet-50", 2.5, "timm__resnet50__224.onnx.gz"),
        ("T4", "fp16", "ResNet-50", 1.5, "timm__resnet50__224.onnx.gz"),
    ]
