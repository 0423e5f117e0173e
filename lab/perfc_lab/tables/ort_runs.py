"""Read published runs of whole models under ONNX Runtime, PyTorch and TensorRT.

A row becomes a `WholeModel`: a graph file, how it was run, and its time.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from perfc.deployment import Deployment
from perfc.errors import TargetError
from perfc.machine import load_machine
from perfc.passes.runtimes import Tf32, of_version, runtime

from .whole_models import PRECISIONS, VERSION, WholeModel, known_runtime

TABLE = "ort_runs.csv.gz"
TARGETS: Mapping[str, str] = {
    "A100-40GB": "a100-sxm4-40gb",
    "A100": "a100-sxm4-40gb",
    "A100-80GB": "a100-sxm4-80gb",
    "A100-PCIE-80GB": "a100-pcie-80gb",
    "V100": "v100-sxm2-16gb",
    "Jetson Orin Nano": "jetson-orin-nano-8gb",
    "Jetson Orin NX": "jetson-orin-nx-16gb",
    "K80": "k80-gpu",
    "RTX A5000": "rtx-a5000",
    "RTX 3080 Ti": "rtx3080-ti",
    "TITAN RTX": "titan-rtx",
    "TITAN Xp": "titan-xp",
}
"""Target by the device's name in the table; for other devices it is their name without spaces."""
GRAPHS: Mapping[str, str] = {
    "bert-base-uncased": "hf__bert-base",
    "bert-base-cased": "hf__bert-base",
    "bert-base-cased (squad)": "hf__bert-base",
    "BAAI/bge-base-en-v1.5 (bert-base)": "hf__bert-base",
    "bert-large (MLPerf bert-99)": "hf__bert-large",
    "cardiffnlp/twitter-roberta-base-sentiment": "hf__roberta-base",
    "roberta-large-mnli": "hf__roberta-large",
    "gpt2": "hf__gpt2",
    "microsoft/resnet-50": "timm__resnet50",
    "resnet50 v1.5 (MLPerf)": "timm__resnet50",
    "facebook/convnext-large-224": "timm__convnext_large",
    "torchvision/mobilenet_v2": "timm__mobilenetv2_100",
    "torchvision/mobilenet_v3_large": "timm__mobilenetv3_large_100",
    "torchvision/mnasnet1_0": "timm__mnasnet_100",
}
"""Graph by the name of a model in the table. timm's graph stands for torchvision's of the same
network."""
SIZE = 224
"""Height and width of an image where a publication gives no size."""
NAMES: Mapping[str, str] = {"onnxruntime-tensorrt": "ort-tensorrt"}
"""Runtimes of perfc by their name in the table, where the two differ."""
OPTIMIZED = {"onnxruntime": "ort-optimized"}
"""Runtime that stands for another one on graphs that were optimised beforehand."""
ORT_VERSION, TORCH_VERSION, TORCH_2 = "1.15", (1, 13), (2, 0)
"""Versions assumed for rows without one: ONNX Runtime, where nearly all rows are older than 1.20;
PyTorch; and PyTorch in a publication that measured its compiler too."""
WEAK = re.compile(
    r"(?<!input size )(?<!size of the card )not stated|presumed|whole pipeline"
    r"|encoder layers only|naive copies|NMS|reduce-overhead|memory arena off"
)
"""Notes of rows that are left out: settings are not given, or more or less than the model was
timed."""
COPY_BYTES_PER_S = 6e9
"""Assumed rate of copies from pageable memory over PCIe 3."""
MOST_COPIED = 0.05
"""Maximum share of a run that the copy of its input may take; rows above it are left out."""


def published_runs(folder: Path, graphs: Path) -> Iterator[WholeModel]:
    """Yield the forward passes that have a graph, a target, a batch and no weak note.

    Args:
        folder: folder of the table; without a table nothing is yielded.
        graphs: folder of the graphs.
    """
    path = folder / TABLE
    if not path.is_file():
        return
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # publications that measured PyTorch 2's compiler
    compiled = {row["source_file"] for row in rows if row["runtime"] == "inductor"}
    for row in rows:
        is_timed = row["mode"] == "inference" and row["batch"] and row["latency_ms"]
        # rows of eager PyTorch repeat the note on compiled rows, which does not concern them
        is_compiled = row["runtime"] == "inductor"
        note = row["note"] if is_compiled else row["note"].partition("compiled rows")[0]
        if not is_timed or WEAK.search(f"{row['model']} {note}"):
            continue
        deployment, graph = deployment_of(row), graph_of(row, graphs)
        time_s = float(row["latency_ms"]) / 1e3
        if deployment is None or not graph or copies_much(row, time_s):
            continue
        version = VERSION.match(row["runtime_version"])
        usual = TORCH_2 if row["source_file"] in compiled else TORCH_VERSION
        # `steps` says that PyTorch ran the model; then the version of the row is PyTorch's
        framework = (
            (int(version[1]), int(version[2])) if version and deployment.table.steps else usual
        )
        yield WholeModel(graph, deployment, time_s, row["source"], framework)


def copies_much(row: Mapping[str, str], time_s: float) -> bool:
    """Return True if the time includes a copy of the input that takes a large share of it."""
    if not row["includes_io"].startswith("yes") or not row["input_shape"]:
        return False
    # an input of f32, 4 bytes an element
    elements = float(row["batch"])
    for extent in row["input_shape"].split("x"):
        elements *= int(extent)
    return 4 * elements / COPY_BYTES_PER_S > MOST_COPIED * time_s


def deployment_of(row: Mapping[str, str]) -> Deployment | None:
    """Return how a row was run; None under a runtime or in a type that perfc does not know."""
    name = NAMES.get(row["runtime"], row["runtime"])
    name = OPTIMIZED.get(name, name) if row["graph"] == "optimised" else name
    table = known_runtime(name)
    target = TARGETS.get(row["device"], row["device"].lower().replace(" ", ""))
    if table is None or row["precision"] not in PRECISIONS:
        return None
    try:
        load_machine(target)
    except TargetError:
        return None
    dtype, tf32 = PRECISIONS[row["precision"]]
    is_autocast = "autocast" in row["note"] and dtype == "f16"
    dims = {"batch": int(float(row["batch"]))}
    if row["seq_len"]:
        dims["seq"] = int(float(row["seq_len"]))
    match = VERSION.match(row["runtime_version"])
    version = f"{match[1]}.{match[2]}" if match else ORT_VERSION
    # a version is set only where perfc has another table of the runtime for it
    is_older = of_version(table, tuple(map(int, version.split(".")))) is not table
    return Deployment(
        target,
        runtime=table.name,
        runtime_version=version if is_older and table.steps is None else "",
        dtype="amp-f16" if is_autocast else dtype,
        tf32=Tf32(tf32) if dtype != "f32" else runtime(table.name).tf32,
        dims=dims,
    )


def graph_of(row: Mapping[str, str], graphs: Path) -> str:
    """Return the name of the file of a row's graph; "" if there is no file."""
    library, _, name = row["model"].partition("/")
    stems = [f"timm__{name}", f"tv__{name}"] if library in ("timm", "torchvision") else []
    stem = GRAPHS.get(row["model"])
    # the last extent of the input, its width
    size = row["input_shape"].rpartition("x")[2] or SIZE
    files = [
        f"{name}{end}.onnx.gz" for name in ([stem] if stem else stems) for end in (f"__{size}", "")
    ]
    return next((file for file in files if (graphs / file).is_file()), "")
