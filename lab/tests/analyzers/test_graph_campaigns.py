"""Data sets of one's own rows: campaigns on a GPU, runs of ``perfc measure``."""

from __future__ import annotations

import gzip
import math
import shutil
from pathlib import Path

import pytest

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.steps.setting import Precision
from perfc_lab.datasets import dataset
from perfc_lab.datasets.h200 import campaign

MODELS = Path(__file__).parents[3] / "examples" / "models"
HEAD = "# perfc campaign: vision\n# torch: 2.13.0+cu128\n# gpu: NVIDIA H200\n"
COLUMNS = (
    "name,mode,batch,size,prec,impl,eager_ms,power_w,energy_mj,eager_power_w,eager_energy_mj,"
    "peak_alloc,error"
)
ROWS = (
    "timm:resnet50,infer,8,224,fp16,cast,1.5,400,500,410,600,123456,",
    "timm:resnet50,train,8,224,bf16amp,autocast,9,400,500,,,,",
    "timm:resnet50,infer,8,256,tf32,,2.5,,,,,,",
    "timm:vit,infer,8,224,fp32,,,,,,,,out of memory",
)


def write(folder: Path, lines: tuple[str, ...] = ROWS, head: str = HEAD) -> Path:
    path = folder / "h200" / "vision-1of1.csv.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("\n".join([head + COLUMNS, *lines, ""]).encode()))
    return path


def test_rows_of_a_campaign_keep_energy_and_memory(tmp_path: Path) -> None:
    first, second, third = campaign(write(tmp_path))
    assert (first.time_s, first.energy_j, first.power_w) == pytest.approx((0.0015, 0.615, 410.0))
    assert first.memory_bytes == 123456
    assert first.target == "h200-sxm-141gb"
    assert first.setting.precision is Precision.F16
    assert second.setting.training
    assert second.setting.precision is Precision.AMP_BF16
    assert math.isnan(second.memory_bytes)
    assert third.graph == "timm__resnet50__256"


def test_a_campaign_becomes_a_data_set(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "models").mkdir()
    shutil.copy(MODELS / "resnet50.onnx.gz", tmp_path / "models" / "timm__resnet50__224.onnx.gz")
    said: list[str] = []
    found = dataset("h200").build(tmp_path, tmp_path / "out", said.append)
    assert len(found) == 2
    assert said == []
    assert found.left_out == ("1 on h200-sxm-141gb: no graph of timm__resnet50__256",)
    assert all(0 < r.floor_s < r.time_s for r in found.rows)


@pytest.mark.parametrize(
    ("head", "lines"),
    [
        ("", ROWS),
        ("# torch: x\n# gpu: NVIDIA H200\n", ROWS),
        (HEAD, ("timm:resnet50,infer,eight,224,fp16,,1.5,,,,,,",)),
    ],
)
def test_a_file_that_is_no_campaign_is_one_line(
    head: str, lines: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(DataError):
        list(campaign(write(tmp_path, lines, head)))


def test_runs_that_perfc_measured_become_a_data_set(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    columns = (
        "schema,model,runtime,version,threads,dims,time_s,target,peak_rss_bytes,base_rss_bytes"
    )
    lines = [
        "1,resnet50,ort,onnxruntime 1.31.1,1,batch=2,0.4,generic-x86-64,300,100",
        "1,resnet50,ort,onnxruntime 1.31.1,2,batch=2,0.2,generic-x86-64,300,100",
        "1,bert-base,ort,onnxruntime 1.31.1,2,batch=1 seq=16,0.1,generic-x86-64,300,100",
    ]
    (tmp_path / "rows-models.csv").write_text("\n".join([columns, *lines, ""]))
    (tmp_path / "models").mkdir()
    for name in ("resnet50", "bert-base"):
        shutil.copy(MODELS / f"{name}.onnx.gz", tmp_path / "models")
    found = dataset("mine").build(tmp_path, tmp_path / "out", lambda _: None)
    by_name = {r.architecture: r for r in found.rows}
    assert by_name["resnet50"].time_s == 0.2
    assert by_name["resnet50"].memory_bytes == 200
    assert found.graph(by_name["resnet50"]).ops.at(2)["mac"].sum() == 2 * 4089184256
    assert len(found) == 2


def test_no_rows_say_where_they_come_from(tmp_path: Path) -> None:
    for name, hint in (("mine", "perfc measure"), ("h200", "vision")):
        with pytest.raises(DataError, match=hint):
            dataset(name).build(tmp_path, tmp_path, lambda _: None)
