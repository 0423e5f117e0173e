"""Clusters are GPUs with the links of their nodes; files say where numbers are from."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.errors import TargetError
from perfc.machine import Cluster, list_clusters, list_machines, load_machine, validate

FILE = """schema = 1
name = "mine"
kind = "cluster"
gpu = "h100"
description = "eight of them"
[source.sheet]
origin = "vendor"
title = "a sheet"
[node]
gpu_count = { value = 8, from = "sheet" }
nvlink_gpu_count = { value = 4, from = "sheet" }
[link.network]
bandwidth_bytes_per_s = { value = 400e9, from = "sheet" }
"""


def written(tmp_path: Path, text: str = FILE) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", [c.name for c in list_clusters()])
def test_every_cluster_is_its_gpu_with_links_that_have_sources(name: str) -> None:
    machine = load_machine(name)
    cluster = Cluster.of(machine)
    gpu = load_machine(machine.name)
    assert machine.cluster == name
    assert machine.name in {t.name for t in list_machines()}
    assert (machine.compute, machine.memory) == (gpu.compute, gpu.memory)
    assert not cluster.is_assumed
    assert cluster.network_bytes_per_s < cluster.gpus_per_node * max(
        cluster.nvlink_bytes_per_s, 64e9
    )
    for rate in machine.facts.values():
        assert all(source in machine.sources for source in rate.source.split("+"))


def test_a_gpu_alone_has_usual_nodes_and_says_so() -> None:
    cluster = Cluster.of(load_machine("h100"))
    assert cluster.is_assumed
    assert cluster.gpus_per_node == 8
    assert cluster.network_bytes_per_s == 8 * 25e9
    assert Cluster.of(load_machine("t4")).joined == 1


def test_gpus_beyond_those_that_nvlink_joins_meet_on_pcie(tmp_path: Path) -> None:
    cluster = Cluster.of(load_machine(written(tmp_path)))
    assert (cluster.name, cluster.joined) == ("mine", 4)
    assert cluster.local_bytes_per_s(4) == 450e9
    assert cluster.local_bytes_per_s(8) == 63e9


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('gpu = "h100"', 'gpu = "h1000"', "gpu: no such target 'h1000'"),
        ('gpu = "h100"', 'gpu = "dgx-h100"', "gpu: dgx-h100 is a cluster itself"),
        ('gpu = "h100"', 'gpu = "mine.toml"', "gpu must be the name of a target"),
        ("gpu_count = { value = 8", "gpu_count = { value = 2", "more than node.gpu_count"),
        ("400e9", "400", "link.network.bandwidth_bytes_per_s: 400 is in another unit?"),
        ("[node]", "[memory.l2]\n[node]", "memory: unknown key of a cluster"),
        ("[link.network]", "[link.host]", "link.network.bandwidth_bytes_per_s is missing"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = written(tmp_path, FILE.replace(old, new, 1))
    assert any(said in problem for problem in validate(path))
    with pytest.raises(TargetError):
        load_machine(path)
