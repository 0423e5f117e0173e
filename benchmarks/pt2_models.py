"""Exported programs against the ONNX graphs of the same networks: work, time, parameters.

    python benchmarks/pt2_models.py --models MODELS --work FOLDER [NAME...]

Needs PyTorch, timm (with Pillow) and transformers. Networks are exported without weights to FOLDER;
MODELS has their graphs by torch.onnx. Prints a row for each network and the number of them within
each bound.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import perfc
from perfc.frontend import load
from perfc.frontend.pytorch.torch_program import archived
from perfc.frontend.pytorch.worker import with_autocast, with_plain_masks
from perfc.ir.graph import walk
from perfc.ir.ops.opaque import Opaque
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import TensorType

TIMM = """beit_base_patch16_224:224 botnet26t_256:256 caformer_s18:224 cait_s24_224:224
coatnet_nano_rw_224:224 convformer_s36:224 convit_small:224 cs3darknet_m:256 cspresnext50:256
darknet53:256 deit_tiny_patch16_224:224 densenet121:224 dla34:224 dpn68:224 efficientformer_l1:224
efficientnet_b0:224 ese_vovnet39b:224 eva02_tiny_patch14_224:224 fastvit_t12:256 fbnetv3_b:224
focalnet_small_srf:224 gcvit_tiny:224 ghostnet_100:224 gmlp_ti16_224:224 hrnet_w18_small_v2:224
inception_v4:299 lambda_resnet26rpt_256:256 levit_192:224 mixer_b16_224:224 mixnet_s:224
mobilenetv3_large_100:224 mobilevit_s:256 nf_resnet50:256 pit_s_224:224 poolformer_s24:224
pvt_v2_b1:224 regnety_032:224 repvgg_b0:224 resmlp_12_224:224 resnest26d:224 resnet18:224
resnext50_32x4d:224 seresnet50:224 skresnet18:224 swin_tiny_patch4_window7_224:224
tiny_vit_11m_224:224 twins_pcpvt_small:224 visformer_tiny:224 volo_d1_224:224 xception41:299"""
"""Networks of timm with the side of their image."""
TRANSFORMERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert-base": ("Bert", "", {}),
    "bert-medium": (
        "Bert",
        "",
        {
            "hidden_size": 512,
            "num_hidden_layers": 8,
            "num_attention_heads": 8,
            "intermediate_size": 2048,
        },
    ),
    "roberta-base": (
        "Roberta",
        "",
        {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1},
    ),
    "distilbert": ("DistilBert", "", {}),
    "electra-base": (
        "Electra",
        "",
        {
            "embedding_size": 768,
            "hidden_size": 768,
            "num_attention_heads": 12,
            "intermediate_size": 3072,
        },
    ),
    "gpt2": ("GPT2", "LMHead", {}),
    "opt-125m": ("OPT", "ForCausalLM", {"vocab_size": 50272}),
    "pythia-160m": (
        "GPTNeoX",
        "ForCausalLM",
        {
            "vocab_size": 50304,
            "hidden_size": 768,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "intermediate_size": 3072,
        },
    ),
    "qwen2-0.5b": (
        "Qwen2",
        "ForCausalLM",
        {
            "hidden_size": 896,
            "num_hidden_layers": 24,
            "num_attention_heads": 14,
            "num_key_value_heads": 2,
            "intermediate_size": 4864,
            "max_position_embeddings": 32768,
            "tie_word_embeddings": True,
        },
    ),
    "mpnet-base": ("MPNet", "", {}),
}
"""Language models: family, end of the class, and keys of the configuration."""
BOUNDS = {"work": 0.001, "time": 0.02}


@dataclass(frozen=True)
class Facts:
    """Figures of one file: multiply-accumulates, times in seconds, parameters, unknown ATen."""

    mac: int
    time_s: float
    parameters: int
    unknown: tuple[str, ...]


def networks(names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield file stems of the graphs, with the size of their input."""
    every = [tuple(pair.split(":")) for pair in TIMM.split()]
    rows = [(f"timm__{n}__{size}", size) for n, size in every]
    rows += [(f"hf__{n}", "") for n in TRANSFORMERS]
    yield from (row for row in rows if not names or any(n in row[0] for n in names))


def module_of(stem: str, size: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return a network, example inputs and their symbolic axes."""
    import torch

    batch = torch.export.Dim("batch", min=1, max=1 << 16)
    if stem.startswith("timm"):
        import timm

        model = timm.create_model(stem.split("__")[1])
        return model.eval(), {"x": torch.zeros(2, 3, int(size), int(size))}, {"x": {0: batch}}
    import transformers

    family, end, keys = TRANSFORMERS[stem.removeprefix("hf__")]
    config = getattr(transformers, f"{family}Config")(**keys, use_cache=False)
    suffix = f"{end}Model" if end in ("", "LMHead") else end
    kind = getattr(transformers, f"{family}{suffix}")
    extra = {"add_pooling_layer": False} if family in ("Bert", "Roberta", "MPNet") else {}

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.m = kind(config, **extra)

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            first: torch.Tensor = self.m(input_ids=input_ids)[0]
            return first

    seq = torch.export.Dim("seq", min=1, max=512)
    ids = torch.zeros(2, 32, dtype=torch.int64)
    return Wrapped().eval(), {"input_ids": ids}, {"input_ids": {0: batch, 1: seq}}


def exported(stem: str, size: str, folder: Path) -> tuple[Path, int]:
    """Return the exported program of a network and the elements of its parameters."""
    import torch

    path, count = folder / f"{stem}.pt2", folder / f"{stem}.txt"
    if not (path.exists() and count.exists()):
        with torch.device("meta"):
            model, inputs, axes = module_of(stem, size)
            with_plain_masks()
            program = torch.export.export(model, (), inputs, dynamic_shapes=axes, strict=False)
        path.write_bytes(archived(program))
        count.write_text(str(sum(p.numel() for p in model.parameters())))
    return path, int(count.read_text())


def facts(path: Path) -> Facts:
    """Return the figures of a file."""
    module = load(path)
    dims = {"batch": 8, **({"seq": 128} if path.name.startswith("hf") else {})}
    report = perfc.analyze(path, "a100", runtime="eager", dims=dims)
    unknown = {n.loc.op_type for n in walk(module.graph) if isinstance(n.op, Opaque)}
    types = [v.type for v in module.graph.weights if v.weight is not None and v.weight.is_parameter]
    shapes = [t.shape or () for t in types if isinstance(t, TensorType)]
    parameters = sum(math.prod([evaluate(d, {}) for d in shape]) for shape in shapes)
    mac = evaluate(report.cost.work.mac, report.env)
    return Facts(mac, report.prediction.total.time_s, parameters, tuple(sorted(unknown)))


def main() -> None:
    """Print the table and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with_autocast()
    given.work.mkdir(parents=True, exist_ok=True)
    passed = dict.fromkeys(("work", "time", "parameters", "known"), 0)
    rows = 0
    for stem, size in networks(given.names):
        try:
            path, elements = exported(stem, size, given.work)
            program, graph = facts(path), facts(given.models / f"{stem}.onnx.gz")
        except Exception as error:
            print(f"{stem:42} {type(error).__name__}: {str(error)[:150]}", flush=True)
            rows += 1
            continue
        rows += 1
        work, time_of = program.mac / graph.mac - 1, program.time_s / graph.time_s - 1
        passed["work"] += abs(work) <= BOUNDS["work"]
        passed["time"] += abs(time_of) <= BOUNDS["time"]
        passed["parameters"] += program.parameters == elements
        passed["known"] += not program.unknown
        print(
            f"{stem:42} work {work:+.4%} time {time_of:+.2%} parameters {program.parameters}/"
            f"{elements} "
            f"{' '.join(program.unknown)}",
            flush=True,
        )
    print(f"{rows} networks:", ", ".join(f"{name} {count}" for name, count in passed.items()))


if __name__ == "__main__":
    main()
