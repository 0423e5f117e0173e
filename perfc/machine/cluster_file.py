"""Read files of clusters: target of the GPUs, number per node, and links between nodes.

The result is the machine of the GPU with the numbers of the node in addition, so that every command
accepts a cluster where it accepts a GPU.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, cast

from perfc.errors import TargetError, reason_of

from .machine import Machine
from .schema import Reader

CLUSTER = "cluster"
"""Kind of a file that describes a cluster."""
_KIND = re.compile(rb'^kind\s*=\s*"cluster"', re.MULTILINE)
"""Line by which a cluster is recognized without parsing the file: a folder has many targets."""


class _ClusterReader(Reader):
    """Reader of the numbers of a node; a cluster has no texts of a machine but those of its GPU."""

    known: ClassVar[tuple[str, ...]] = (
        "schema",
        "name",
        "aliases",
        "kind",
        "gpu",
        "description",
        "source",
        "node",
        "link",
        "vendor",
        "arch",
    )

    def read(self) -> None:
        """Read all keys into ``facts`` and ``sources``; errors are appended to ``problems``."""
        self._read_top()
        self._read_sources()
        for key, value in self.data.items():
            if key not in self.known:
                self.problems.append(f"{key}: unknown key of a cluster")
            elif key in ("node", "link"):
                self._read_section(key, value)
        for key in ("node.gpu_count", "link.network.bandwidth_bytes_per_s"):
            if key not in self.facts:
                self.problems.append(f"{key} is missing")
        count, joined = (self.facts.get(f"node.{k}gpu_count") for k in ("", "nvlink_"))
        if count is not None and joined is not None and joined.value > count.value:
            self.problems.append("node.nvlink_gpu_count is more than node.gpu_count")


def is_cluster(content: bytes) -> bool:
    """Return True if a file declares a cluster."""
    return _KIND.search(content) is not None


def parse_cluster(
    content: bytes, path: Path, load: Callable[[str], Machine]
) -> tuple[Machine | None, list[str]]:
    """Return the GPU with the numbers of its node, or None and all errors of the file.

    Args:
        content: content of the file.
        path: path of the file.
        load: function that reads a target by name.
    """
    try:
        data = cast("dict[str, object]", tomllib.loads(content.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        return None, [f"not TOML: {reason_of(error)}"]
    # the reader of machines requires these texts, which a cluster takes from its GPU
    reader = _ClusterReader({**data, "kind": "cuda", "vendor": "of the GPU", "arch": "of the GPU"})
    reader.read()
    of_gpu = [key for key in ("vendor", "arch") if key in data]
    reader.problems += [f"{key}: unknown key of a cluster" for key in of_gpu]
    gpu = data.get("gpu")
    base: Machine | None = None
    # by name only: no path, which depends on where the file lies, and no slice of a card
    if not isinstance(gpu, str) or gpu.endswith(".toml") or "/" in gpu or len(gpu) > 64:
        reader.problems.append("gpu must be the name of a target")
    else:
        try:
            base = load(gpu)
        except TargetError as error:
            reader.problems.append(f"gpu: {error.message}")
    if base is not None and base.cluster:
        reader.problems.append(f"gpu: {base.cluster} is a cluster itself")
    if reader.problems or base is None:
        return None, reader.problems
    # sources of the node may have the names of sources of the GPU: these are renamed
    renamed = {n: f"{n}-of-node" if n in base.sources else n for n in reader.sources}
    facts = {k: replace(r, source=renamed[r.source]) for k, r in reader.facts.items()}
    sources = {renamed[n]: replace(s, name=renamed[n]) for n, s in reader.sources.items()}
    return replace(
        base,
        cluster=cast("str", data["name"]),
        path=path,
        aliases=tuple(cast("list[str]", data.get("aliases", []))),
        description=cast("str", data["description"]),
        sources={**base.sources, **sources},
        facts={**base.facts, **facts},  # numbers of the node replace those of the GPU
    ), []
