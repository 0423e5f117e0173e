"""Files that are not what was published: one clear line, whatever they hold."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import pytest

from perfc_lab.data.source import FetchError, files_in, measured, read_table
from perfc_lab.data.sources import aiconfigurator, ecnas, help_nas, llmservingsim, neusight, vidur
from perfc_lab.data.sources.deepbench import DeepBench
from perfc_lab.data.torch_file import read_torch

DENSE = "profiler/perf/RTX4090/maker/net/bf16/tp1/dense.csv"
BMM = f"{neusight.DATA}/dataset/train/collect/bmm/p2.1.0/Tesla P4.csv"
BMM_HEAD = "OPName,Latency,Device,Kernel Name,B,M,N,K\n"
GEMM = f"{aiconfigurator.SYSTEMS[0]}/data/h100_sxm/gemm/vllm/0.24.0/gemm_perf.txt"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"


def placed(root: Path, name: str, content: str | bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def archive(program: bytes, **storages: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("archive/data.pkl", program)
        for key, content in storages.items():
            packed.writestr(f"archive/data/{key.removeprefix('_')}", content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("layer,time_us\nact_fn,2.5\n", "no column 'tokens'"),
        ("layer,tokens,time_us\nact_fn,4,-2.5\n", "latency_us of row 0 is -2.5"),
        ("layer,tokens,time_us\nact_fn,4,inf\n", "latency_us of row 0 is inf"),
        ("layer,tokens,time_us\nact_fn,four,1\n", "x has values that are no numbers"),
        ("", "no table"),
        (POINTER, "git-lfs"),
    ],
)
def test_wrong_tables_are_one_line(tmp_path: Path, text: str, said: str) -> None:
    placed(tmp_path, DENSE, text)
    with pytest.raises(FetchError, match=said) as caught:
        llmservingsim.LlmServingSim().convert(tmp_path)
    assert "dense.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    path = placed(tmp_path, "a.csv", "t,n\n1.5,1\n,2\nnan,3\n2.5,4\n")
    found = measured(read_table(path, {"t": "time_s", "n": "n"}), path, "time_s")
    assert list(found["n"]) == [1, 4]


def test_operators_without_extents_of_their_kind_are_no_rows(tmp_path: Path) -> None:
    placed(tmp_path, BMM, f"{BMM_HEAD}bmm,0.5,Tesla P4,sgemm,3,4,,6\n")
    assert len(neusight.operators(tmp_path)) == 0
    placed(tmp_path, BMM, f"{BMM_HEAD}bmm,0.5,Tesla P4,sgemm,3,4,x,6\n")
    with pytest.raises(FetchError, match="k has values that are no numbers"):
        neusight.operators(tmp_path)


def test_a_label_that_says_no_model_is_named(tmp_path: Path) -> None:
    placed(tmp_path, f"{neusight.LABELS}/Tesla_P4/what.json", "{}")
    with pytest.raises(FetchError, match="a name that says no model") as caught:
        neusight.models(tmp_path, {})
    assert "what.json" in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[" * 200_000, '{"num_layer": "many"}', "[1]"])
def test_labels_that_are_no_labels_are_one_line(tmp_path: Path, text: str) -> None:
    placed(tmp_path, f"{neusight.LABELS}/Tesla_P4/bert-inf-512-2.json", text)
    placed(tmp_path, f"{neusight.DATA}/DLmodel_configs/bert.json", '{"architectures": []}')
    with pytest.raises(FetchError, match=r"bert-inf-512-2\.json"):
        neusight.models(tmp_path, {})


def test_a_run_without_its_last_evaluation_is_one_line(tmp_path: Path) -> None:
    run = {"trainable_params": 1, "avg_power_usages:": {}, "evaluation_results": []}
    path = placed(tmp_path, "results.json", json.dumps(run))
    with pytest.raises(FetchError, match="no entry -1"):
        ecnas.run(path)


def test_pointers_among_the_tables_of_systems_are_named(tmp_path: Path) -> None:
    placed(tmp_path, GEMM, POINTER)
    with pytest.raises(FetchError, match="git-lfs"):
        aiconfigurator.joined(tmp_path, "gemm_perf", aiconfigurator.products)


@pytest.mark.parametrize("text", ["gpu: [", "gpu: 3", "gpu: {mem_bw: fast}", "- 1"])
def test_data_sheets_that_are_none_are_one_line(tmp_path: Path, text: str) -> None:
    placed(tmp_path, f"{aiconfigurator.SYSTEMS[0]}/h100.yaml", text)
    with pytest.raises(FetchError):
        aiconfigurator.sheets(tmp_path)


def test_folders_that_lead_out_of_a_clone_are_not_followed(tmp_path: Path) -> None:
    placed(tmp_path, "elsewhere/send_recv.csv", "a\n1\n")
    clone = tmp_path / "clone"
    (clone / "data" / "profiling" / "network").mkdir(parents=True)
    (clone / "data" / "profiling" / "network" / "a100").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FetchError, match="no file"):
        vidur.collectives(clone)
    with pytest.raises(FetchError, match="no file"):
        files_in(clone, "**/*.csv", "../elsewhere/*.csv")


class Bomb:
    """Runs a command where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch exploded",)


def test_programs_in_a_pickle_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = placed(tmp_path, "a.pt", archive(pickle.dumps([1, Bomb()], protocol=2)))
    with pytest.raises(FetchError, match=r"the name \w+\.system"):
        read_torch(path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a pickle",
        b"\x80\x02.",
        pickle.dumps([1.0]),
        b"PK\x05\x06" + bytes(18),
        archive(b""),
        archive(b"\x80\x02e."),
        archive(b"\x80\x02]0."),
        archive(b"\x80\x02](K\x01e"),
        archive(b"cos\nsystem\n."),
    ],
)
def test_files_that_torch_did_not_write_are_one_line(tmp_path: Path, content: bytes) -> None:
    path = placed(tmp_path, "a.pt", content)
    with pytest.raises(FetchError, match=r"no data of torch\.save") as caught:
        read_torch(path)
    assert "\n" not in str(caught.value)


def test_values_within_themselves_end(tmp_path: Path) -> None:
    ring: list[object] = [1.5]
    ring.append(ring)
    path = placed(tmp_path, "a.pt", archive(pickle.dumps(ring, protocol=2)))
    assert read_torch(path) == [1.5, None]


def test_values_that_share_parts_are_read_once(tmp_path: Path) -> None:
    value: object = [1.0]
    for _ in range(60):
        value = [value, value]
    path = placed(tmp_path, "a.pt", archive(pickle.dumps(value, protocol=2)))
    assert isinstance(read_torch(path), list)


@pytest.mark.parametrize("is_archive", [True, False])
def test_tensors_are_read_as_torch_reads_them(tmp_path: Path, is_archive: bool) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    value = {"times": tensor[0], "turned": tensor.T[1:3], "count": torch.tensor([3, 4])}
    path = tmp_path / "a.pt"
    torch.save(value, path, _use_new_zipfile_serialization=is_archive)
    found = read_torch(path)
    assert found == {key: part.tolist() for key, part in value.items()}


def test_arrays_are_read_as_numpy_reads_them(tmp_path: Path) -> None:
    import numpy as np

    value = [np.arange(6.0).reshape(2, 3), np.float32(1.5), np.arange(3)]
    path = placed(tmp_path, "a.pt", archive(pickle.dumps(value, protocol=2)))
    assert read_torch(path) == [[[0, 1, 2], [3, 4, 5]], 1.5, [0, 1, 2]]


def test_a_tensor_beyond_its_storage_is_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    out = io.BytesIO()
    torch.save(torch.arange(4.0), out)
    path = tmp_path / "a.pt"
    with zipfile.ZipFile(out) as whole, zipfile.ZipFile(path, "w") as cut:
        for name in whole.namelist():
            content = whole.read(name)
            cut.writestr(name, content[:8] if name.endswith("/data/0") else content)
    with pytest.raises(FetchError, match="beyond its storage"):
        read_torch(path)


def test_times_must_be_as_many_as_architectures(tmp_path: Path) -> None:
    path = placed(tmp_path, "v100_1.pt", archive(pickle.dumps([1.0], protocol=2)))
    with pytest.raises(FetchError, match="no list of 2 times"):
        help_nas.latencies(path, "ofa", 2)


def spreadsheet(path: Path, *rows: tuple[object, ...]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Results FP32"
    for row in rows:
        book.active.append(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)


def test_tables_of_a_spreadsheet_are_found_by_their_headings(tmp_path: Path) -> None:
    spreadsheet(
        tmp_path / "results" / "train" / "DeepBench_NV_TitanX_Pascal.xlsx",
        ("Precision", "Float"),
        ("m", "n", "k", "a_t", "b_t", "time (usec)"),
        (1760, 16, 1760, "N", "N", 100),
        (1760, 32, 1760, "N", "T", 200),
        (),
        (
            "w",
            "h",
            "c",
            "n",
            "k",
            "f_w",
            "f_h",
            "pad_w",
            "pad_h",
            "stride_w",
            "stride_h",
            "fwd_time (msec)",
            "fwd_algo",
        ),
        (700, 161, 1, 4, 32, 20, 5, 0, 0, 2, 2, 0.5, "IMPLICIT_GEMM"),
    )
    found = DeepBench().convert(tmp_path)["deepbench_ops"]
    assert list(found["op"]) == ["gemm", "gemm", "conv"]
    assert list(found["forward_latency_us"]) == [100, 200, 500]
    assert set(found["device"]) == {"TitanX_Pascal"}
    assert set(found["precision"]) == {"Float"}
    assert list(found["b_transpose"][:2]) == ["N", "T"]
    assert (found["filter_w"][2], found["stride_h"][2]) == (20, 2)


def test_spreadsheets_without_tables_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "results" / "train" / "DeepBench_NV_V100.xlsx"
    spreadsheet(path, ("m", "n"), (1, 2))
    with pytest.raises(FetchError, match="no table of products"):
        DeepBench().convert(tmp_path)
    path.write_bytes(b"PK nothing")
    with pytest.raises(FetchError, match="no spreadsheet"):
        DeepBench().convert(tmp_path)


@pytest.mark.parametrize("system", [{"little_endian": False}, {}, {"little_endian": 1}, [1], None])
def test_numbers_of_another_byte_order_are_refused(system: object, tmp_path: Path) -> None:
    head = (0x1950A86A20F9469CFC6C, 1001, system, [33.0], [])
    path = tmp_path / "x.pt"
    path.write_bytes(b"".join(pickle.dumps(part, protocol=2) for part in head))
    with pytest.raises(FetchError, match="numbers of another byte order"):
        read_torch(path)
