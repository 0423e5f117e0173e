"""Public sources: cloned at a commit, converted, written whole or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pandas as pd
import pytest

from perfc import cli
from perfc_lab.data.fetch import checkout, fetch
from perfc_lab.data.source import FetchError, files_in, sources
from perfc_lab.data.sources.aiconfigurator import SYSTEMS, joined, numbers, products
from perfc_lab.data.sources.zeus import FOLDER as ZEUS

AIC = f"{SYSTEMS[1]}/data"
GEMM = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency"
STATS = ("min", "max", "mean", "median", "std")


def vidur_csv() -> str:
    """Two operators of a shard of two, 64 tokens, times in ms."""
    ops = ("add", "mlp_up_proj")
    header = [f"time_stats.{op}.{s}" for op in ops for s in STATS]
    header += [
        "n_head",
        "n_kv_head",
        "n_embd",
        "n_expanded_embd",
        "vocab_size",
        "use_gated_mlp",
        "num_tokens",
        "num_tensor_parallel_workers",
    ]
    values = ["0.002"] * 5 + ["0.010", "0.012", "0.011", "0.011", "0.001"]
    values += ["8", "4", "512", "1024", "1000", "True", "64", "2"]
    return f"{','.join(header)}\n{','.join(values)}\n"


FILES = {
    "results/benchmark-infer-amp-nchw-pt240-cu124-rtx4090-dynamo.csv": (
        "model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,"
        "infer_gmacs,infer_macts\nsmall_net,224,97850.5,2.5,256,1.5,0.25,1.0\n"
    ),
    "results/benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv": (
        "model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count\n"
        "small_net,100.0,640.0,64,160,1.5\n"
    ),
    "results/benchmark-infer-amp-nchw-pt110-cu113-rtx3090.csv": "too,old\n1,2\n",
    f"{ZEUS}/summary_power_v100.csv": (
        "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
        "cifar100,small,64,adam,250,10.0,150.0\n"
    ),
    "data/profiling/compute/a100/maker/net/mlp.csv": vidur_csv(),
    f"{AIC}/h100_sxm/vllm/0.9.0/gemm_perf.txt": (
        f"{GEMM}\nVLLM,0.9.0,NVIDIA H100 80GB HBM3,gemm,old,bfloat16,8,16,32,0.5\n"
    ),
    f"{AIC}/h100_sxm/vllm/0.10.0/gemm_perf.txt": (
        f"{GEMM}\nVLLM,0.10.0,NVIDIA H100 80GB HBM3,gemm,new,bfloat16,8,16,32,0.25\n"
        "VLLM,0.10.0,NVIDIA H100 80GB HBM3,gemm,new,fp8_block,8,16,32,0.25\n"
    ),
    f"{AIC}/h100_sxm/vllm/0.8.0/gemm_perf.txt": (
        f"{GEMM},power,power_limit\n"
        "VLLM,0.8.0,NVIDIA H100 80GB HBM3,gemm,watched,bfloat16,8,16,32,0.75,400,700\n"
    ),
    "data/profiling/network/a100_pair/send_recv.csv": (
        ",".join(f"time_stats.send_recv.{s}" for s in STATS)
        + ",rank,num_workers,size,devices_per_node,max_devices_per_node\n"
        "0.016,0.064,0.03,0.024,0.02,0,2,2048,1,8\n"
    ),
    "other/large.bin": "not checked out",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository that lies like the public ones, with rows of our own."""
    folder = tmp_path_factory.mktemp("public")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "rows"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    head = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    return folder, head.stdout.strip()[:12]


def tables(repository: tuple[Path, str], name: str, output: Path) -> pd.DataFrame:
    folder, commit = repository
    path, *_ = fetch(sources()[name], output, f"file://{folder}", commit)
    return pd.read_parquet(path)


def test_times_of_models_carry_what_the_file_name_says(
    repository: tuple[Path, str], tmp_path: Path
) -> None:
    found = tables(repository, "timm", tmp_path)
    assert list(found["device"]) == ["RTX 4090", "RTX 3090"]
    assert list(found["mode"]) == ["infer", "train"]
    assert list(found["torch_compile"]) == [True, False]
    assert list(found["torch_version"]) == ["2.4.0", "1.12"]
    assert list(found["step_time_ms"]) == [2.5, 640.0]
    assert list(found["precision"]) == ["amp_fp16", "amp_fp16"]
    assert list(found["memory_format"]) == ["nchw", "nhwc"]


def test_power_becomes_energy(repository: tuple[Path, str], tmp_path: Path) -> None:
    (row,) = tables(repository, "zeus", tmp_path).to_dict("records")
    assert row["device"] == "v100"
    assert row["energy_per_epoch_j"] == 1500.0


def test_operators_get_extents_of_their_shard(repository: tuple[Path, str], tmp_path: Path) -> None:
    add, up = tables(repository, "vidur", tmp_path).to_dict("records")
    assert (add["op"], up["op"]) == ("add", "mlp_up_proj")
    assert (up["model"], up["device"]) == ("maker/net", "a100")
    assert up["latency_min_us"] == pytest.approx(10)
    assert (up["gemm_m"], up["gemm_n"], up["gemm_k"]) == (64, 1024, 512)
    assert pd.isna(add["gemm_n"])


def test_newest_version_and_those_with_power_are_kept(repository: tuple[Path, str]) -> None:
    found = joined(repository[0], "gemm_perf", products)
    assert set(found["version"]) == {"0.10.0", "0.8.0"}
    assert list(found.loc[found["version"] == "0.8.0", "power_w"]) == [400]
    assert list(found.loc[found["dtype"] == "fp8_block", "host_bound"]) == [True]
    assert found["latency_us"].max() == 750


def test_versions_compare_as_numbers() -> None:
    assert numbers("0.9.0") < numbers("0.10.0")
    assert numbers("1.3.0rc9") < numbers("1.3.0rc15") < numbers("1.3.0")


def test_only_folders_of_rows_are_checked_out(repository: tuple[Path, str], tmp_path: Path) -> None:
    folder, commit = repository
    checkout(f"file://{folder}", commit, ("results",), tmp_path / "clone")
    assert not (tmp_path / "clone" / "other").exists()


def test_nothing_is_written_when_the_commit_is_another(
    repository: tuple[Path, str], tmp_path: Path
) -> None:
    with pytest.raises(FetchError):
        fetch(sources()["timm"], tmp_path, f"file://{repository[0]}", "0123456789ab")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["ext::sh -c true", "--upload-pack=x", "ssh://host/x", "relative"])
def test_addresses_that_run_something_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="no https address"):
        checkout(url, "0123456789ab", ("results",), tmp_path / "clone")


def test_pointers_to_large_files_say_what_to_install(tmp_path: Path) -> None:
    path = tmp_path / "results" / "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv"
    path.parent.mkdir()
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(FetchError, match="git-lfs"):
        sources()["timm"].convert(tmp_path)


def test_links_out_of_a_clone_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (tmp_path / "clone" / "a.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(FetchError, match="no file"):
        files_in(tmp_path / "clone", "*.csv")


def test_list_names_commit_and_licence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["data", "list"]) == 0
    out = capsys.readouterr().out
    for source in sources().values():
        assert source.commit in out
        assert source.licence in out


def test_unknown_source_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["data", "fetch", "nothing"]) == 2
    assert "no source 'nothing'" in capsys.readouterr().err
