"""Latencies of architectures on many devices, measured for HELP.

Names of files and fields are those of the public repository (``loader.py``); the files themselves,
written by ``torch.save``, could not be looked into.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import FetchError, PublicSource, entry, files_in, measured, pandas
from ..torch_file import read_torch

if TYPE_CHECKING:
    import pandas as pd

SPACES = ("nasbench201", "fbnet", "ofa")
"""Search spaces, by the names of their folders."""
# names of graphics processors end in the batch; names of other devices have none
GPU = re.compile(r"(?P<device>(?:10|20)80ti|titan_?(?:x|xp|rtx)|v100)_(?P<batch>\d+)")


class Help(PublicSource):
    """``data/SPACE/latency/DEVICE.pt``: a time of each architecture, in their order.

    Names of GPUs end in the batch; other devices ran one image.
    """

    name: ClassVar[str] = "help"
    title: ClassVar[str] = "latencies of architectures on GPUs, processors, phones and FPGAs"
    url: ClassVar[str] = "https://github.com/HayeonLee/HELP"
    commit: ClassVar[str] = "45f70eb92d0d"
    licence: ClassVar[str] = "MIT"
    folders: ClassVar[tuple[str, ...]] = tuple(f"data/{space}" for space in SPACES)
    tables: ClassVar[tuple[str, ...]] = ("help_nas_latency", "help_nas_archs")

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return a row an architecture and device; a row an architecture."""
        pd = pandas()
        texts = {space: architectures(clone, space) for space in SPACES}
        parts = [
            latencies(path, space, len(texts[space]))
            for space in SPACES
            for path in files_in(clone, f"data/{space}/latency/*.pt")
        ]
        lists = [
            pd.DataFrame({"space": space, "arch_index": range(len(codes)), "arch": codes})
            for space, codes in texts.items()
        ]
        return {
            "help_nas_latency": pd.concat(parts, ignore_index=True),
            "help_nas_archs": pd.concat(lists, ignore_index=True),
        }


def latencies(path: Path, space: str, count: int) -> pd.DataFrame:
    """Return the times on one device, in ms.

    Raises:
        FetchError: the file has not one time for each architecture.
    """
    times = read_torch(path)
    if not isinstance(times, list) or len(times) != count:
        raise FetchError(f"no list of {count} times", where=str(path), hint="another commit?")
    gpu = GPU.fullmatch(path.stem)
    frame = pandas().DataFrame({"arch_index": range(count), "latency_ms": times})
    return measured(frame, path, "latency_ms").assign(
        space=space,
        device=gpu["device"] if gpu else path.stem,
        device_kind="gpu" if gpu else "other",
        batch=int(gpu["batch"]) if gpu else 1,
    )


def architectures(clone: Path, space: str) -> list[str]:
    """Return the texts of a space's architectures, in the order of the times."""
    match space:
        case "nasbench201":
            (path,) = files_in(clone, "data/nasbench201/str_arch2idx.pt")
            return in_order(read_torch(path), path)
        case "fbnet":
            (path,) = files_in(clone, "data/fbnet/metainfo.pt")
            codes = listed(entry(read_torch(path), path, "arch"), path)
            return [",".join(map(str, choices(cell, path))) for cell in codes]
        case _:
            (path,) = files_in(clone, "data/ofa/ofa_archs.pt")
            codes = listed(entry(read_torch(path), path, "arch"), path)
            return [once_for_all(network, path) for network in codes]


def listed(value: object, path: Path) -> list[object]:
    """Return a list.

    Raises:
        FetchError: the value is no list.
    """
    if not isinstance(value, list):
        raise FetchError("no list of architectures", where=str(path))
    return value


def in_order(indices: object, path: Path) -> list[str]:
    """Return the texts by their index.

    Raises:
        FetchError: the indices are not 0, 1, 2, …
    """
    if not isinstance(indices, dict) or sorted(map(str, indices.values())) != sorted(
        map(str, range(len(indices)))
    ):
        raise FetchError("no index of each architecture", where=str(path))
    return sorted(indices, key=lambda text: int(indices[text]))


def choices(cell: object, path: Path) -> list[object]:
    """Return the numbers of the blocks of a network of FBNet."""
    return listed(entry(cell, path, "op_idx_list"), path)


def once_for_all(network: object, path: Path) -> str:
    """Return the kernels, expansions, depths and resolution of a subnet as JSON."""
    settings = {key: entry(network, path, key) for key in ("ks", "e", "d", "r")}
    if isinstance(settings["r"], list) and len(settings["r"]) == 1:
        settings["r"] = settings["r"][0]
    return json.dumps(settings, separators=(",", ":"))
