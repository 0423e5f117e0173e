"""Conventions of other FLOP counters against the counters themselves and their published tables.

    python -m benchmarks.count_as [--models resnet50,vit_b_16] [--cache FOLDER]

Needs torch, torchvision, fvcore, ptflops, thop, calflops and deepspeed. Each model is built with
random weights, counted by each tool as its documentation says, exported to ONNX, and counted by
``perfc analyze MODEL --count-as TOOL --output-format json``. Attention is left out of our count for
tools that do not see the fused operator that PyTorch runs here. torchvision publishes ``_ops``,
half of what ``torch.utils.flop_counter`` returns; ptflops and calflops publish tables.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.arguments import parser_of
from perfc.passes.conventions import convention

MODELS, PUBLISHED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).values()


def by_torch(model: Any, x: Any) -> int:
    """Return the operations by ``FlopCounterMode``."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    # the kernel of CPUs has no formula there
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as mode:
        model(x)
    return int(mode.get_total_flops())


def by_fvcore(model: Any, x: Any) -> int:
    """Return the operations by ``FlopCountAnalysis``."""
    from fvcore.nn import FlopCountAnalysis

    analysis = FlopCountAnalysis(model, x)
    analysis.unsupported_ops_warnings(False)
    return int(analysis.total())


def by_ptflops(model: Any, x: Any) -> int:
    """Return the operations by ``get_model_complexity_info``."""
    from ptflops import get_model_complexity_info

    # with functions counted, 0.7.5 counts activations and pools of modules twice
    count, _ = get_model_complexity_info(
        model,
        tuple(x.shape[1:]),
        as_strings=False,
        print_per_layer_stat=False,
        backend_specific_config={"count_functional": False},
    )
    return int(count)


def by_thop(model: Any, x: Any) -> int:
    """Return the operations by ``profile``."""
    from thop import profile

    return int(profile(model, inputs=(x,), verbose=False)[0])


def by_calflops(model: Any, x: Any) -> int:
    """Return the operations by ``calculate_flops``."""
    from calflops import calculate_flops

    count, _, _ = calculate_flops(model, args=[x], output_as_string=False, print_results=False)
    return int(count)


def by_deepspeed(model: Any, x: Any) -> int:
    """Return the operations by ``get_model_profile``."""
    from deepspeed.profiling.flops_profiler import get_model_profile

    count, _, _ = get_model_profile(
        model, args=[x], print_profile=False, as_string=False, warm_up=0
    )
    return int(count)


TOOLS: dict[str, Callable[[Any, Any], int]] = {
    "torch": by_torch,
    "fvcore": by_fvcore,
    "ptflops": by_ptflops,
    "thop": by_thop,
    "calflops": by_calflops,
    "deepspeed": by_deepspeed,
}


def ours(path: Path, tool: str) -> tuple[float, float]:
    """Return the count by ``perfc`` and the part of it that is attention."""
    command = [sys.executable, "-m", "perfc", "analyze", str(path), "--count-as", tool]
    command += ["--output-format", "json", "--no-predict", "--isolated"]
    counts = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["counts"]
    return counts["total"]["value"], counts["attention"]["value"]


def exported(name: str, folder: Path) -> Path:
    """Return the model as ONNX, batch normalisation not folded."""
    import torch
    import torchvision

    path = folder / f"{name}.onnx"
    if not path.exists():
        model = torchvision.models.get_model(name).eval()
        x = torch.zeros(1, 3, 224, 224)
        torch.onnx.export(
            model,
            (x,),
            path,
            dynamo=False,
            opset_version=20,
            do_constant_folding=False,
            training=torch.onnx.TrainingMode.PRESERVE,
        )
    return path


def row(name: str, path: Path) -> dict[str, tuple[int, float, float]]:
    """Return for each tool its count, ours, and our part that is attention."""
    import torch
    import torchvision

    # tools see nothing of nn.MultiheadAttention's fast path, which is one operator
    torch.backends.mha.set_fastpath_enabled(False)

    x = torch.zeros(1, 3, 224, 224)
    cells = {}
    for tool, count in TOOLS.items():
        model = torchvision.models.get_model(name).eval()
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
            theirs = count(model, x)
        cells[tool] = (theirs, *ours(path, tool))
    return cells


def main() -> None:
    """Print a line for each model and tool, then the totals."""
    import torchvision

    parser = parser_of(__doc__, cache=None)
    parser.add_argument("--models", default=",".join(MODELS))
    args = parser.parse_args()
    folder = args.cache or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    exact = dict.fromkeys(TOOLS, 0)
    names = args.models.split(",")
    published = {t: [0, 0] for t in ("torch", *PUBLISHED)}
    for name in names:
        weights = torchvision.models.get_model_weights(name)
        tables = {t: rows.get(name) for t, rows in PUBLISHED.items()}
        at_224 = [w for w in weights if w.meta.get("_ops") and w.transforms().crop_size == [224]]
        tables["torch"] = 2 * at_224[0].meta["_ops"] if at_224 else None
        for tool, (theirs, total, attention) in row(name, exported(name, folder)).items():
            count = total - (0 if convention(tool).sees_fused_attention else attention)
            off = count / theirs - 1
            exact[tool] += abs(off) <= 0.001
            table = tables.get(tool)
            if table is not None:
                published[tool][1] += 1
                # tables have two decimals of Gflop
                published[tool][0] += abs(total / 1e9 - table) <= max(0.006, 0.005 * table)
            counts = f"{theirs:15,} {count:17,.0f} {100 * off:+8.3f} %"
            print(f"{name:20} {tool:10} {counts}  {table or ''}")
    for tool, count in exact.items():
        print(f"{tool:10} within 0.1 %: {count} of {len(names)}")
    for tool, (hits, rows) in published.items():
        print(f"{tool:10} published, within their rounding or 0.5 %: {hits} of {rows}")


if __name__ == "__main__":
    main()
