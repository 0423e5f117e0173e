"""Models whose training steps are compared with PyTorch, small enough to run on a processor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import MagicMock

import torch
from torch import nn

Made = tuple[nn.Module, tuple[Any, ...]]

TIMM: dict[str, int] = {
    "resnet18": 64,
    "resnet50": 64,
    "resnext50_32x4d": 64,
    "wide_resnet50_2": 64,
    "resnet26d": 64,
    "seresnet50": 64,
    "ecaresnet26t": 64,
    "densenet121": 64,
    "vgg11": 64,
    "vgg16_bn": 64,
    "mobilenetv2_100": 64,
    "mobilenetv3_small_100": 64,
    "mobilenetv3_large_100": 64,
    "efficientnet_b0": 64,
    "efficientnet_lite0": 64,
    "mnasnet_100": 64,
    "ghostnet_100": 64,
    "regnetx_004": 64,
    "regnety_004": 64,
    "convnext_atto": 64,
    "convnextv2_atto": 64,
    "inception_v3": 96,
    "darknet53": 64,
    "cspresnet50": 64,
    "dla34": 64,
    "hrnet_w18_small": 64,
    "repvgg_a0": 64,
    "rexnet_100": 64,
    "tinynet_e": 64,
    "shufflenet": 64,
    "xception41": 64,
    "nfnet_l0": 64,
    "vit_tiny_patch16_224": 224,
    "deit_tiny_patch16_224": 224,
    "swin_tiny_patch4_window7_224": 224,
    "mixer_s32_224": 224,
    "gmixer_12_224": 224,
    "resmlp_12_224": 224,
    "pit_ti_224": 224,
    "cait_xxs24_224": 224,
    "beit_base_patch16_224": 224,
    "xcit_nano_12_p16_224": 224,
    "poolformer_s12": 64,
    "levit_128s": 224,
    "mobilevit_xxs": 64,
    "edgenext_xx_small": 64,
    "fastvit_t8": 64,
    "efficientformer_l1": 224,
    "pvt_v2_b0": 64,
    "twins_svt_small": 224,
    "visformer_tiny": 224,
    "eva02_tiny_patch14_224": 224,
    "hgnet_tiny": 64,
    "vovnet39a": 64,
    "res2net50_26w_4s": 64,
    "selecsls42b": 64,
    "skresnet18": 64,
    "mobileone_s0": 64,
    "lcnet_050": 64,
    "focalnet_tiny_srf": 224,
}
"""Name and edge of the image."""


def of_timm(name: str, edge: int) -> Made:
    """Return a model of timm on a batch of two images, in training but for what drops at random."""
    for part in (
        "PIL",
        "PIL.Image",
        "torchvision",
        "torchvision.transforms",
        "torchvision.transforms.functional",
        "torchvision.transforms.v2",
        "torchvision.datasets",
        "torchvision.datasets.folder",
        "torchvision.ops",
        "torchvision.ops.misc",
        "torchvision.models",
    ):
        sys.modules.setdefault(part, MagicMock(__spec__=None, __version__="99.0"))
    import timm

    timm.layers.set_fused_attn(False)
    model = timm.create_model(name, drop_rate=0.0)
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout) or type(module).__name__ == "DropPath":
            module.eval()
    return model, (torch.randn(2, 3, edge, edge),)


class First(nn.Module):
    """The first result of a model of transformers."""

    def __init__(self, model: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *ins: Any) -> Any:
        """By the names of its inputs."""
        given = dict(zip(self.names, ins, strict=True))
        return self.model(**given, use_cache=False, return_dict=False)[0]


SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 500,
}
CONFIGS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertConfig", "BertForMaskedLM", SMALL),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {**SMALL, "max_position_embeddings": 64}),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", {**SMALL, "embedding_size": 64}),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {**SMALL, "embedding_size": 32}),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 500},
    ),
    "gpt2": (
        "GPT2Config",
        "GPT2LMHeadModel",
        {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 500},
    ),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", SMALL),
    "opt": (
        "OPTConfig",
        "OPTForCausalLM",
        {**SMALL, "ffn_dim": 128, "word_embed_proj_dim": 64, "max_position_embeddings": 64},
    ),
    "llama": ("LlamaConfig", "LlamaForCausalLM", {**SMALL, "num_key_value_heads": 2}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", {**SMALL, "num_key_value_heads": 2}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**SMALL, "num_key_value_heads": 2}),
    "gemma": (
        "GemmaConfig",
        "GemmaForCausalLM",
        {**SMALL, "num_key_value_heads": 2, "head_dim": 16},
    ),
    "phi": ("PhiConfig", "PhiForCausalLM", SMALL),
    "bloom": (
        "BloomConfig",
        "BloomForCausalLM",
        {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 500},
    ),
    "mpnet": ("MPNetConfig", "MPNetForMaskedLM", SMALL),
}


def of_transformers(name: str) -> Made:
    """Return a small model of transformers on two sequences of 16 tokens."""
    import transformers

    config_name, class_name, sizes = CONFIGS[name]
    config = getattr(transformers, config_name)(**sizes)
    config._attn_implementation = "eager"
    for field in (
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "dropout",
        "attention_dropout",
        "resid_pdrop",
        "embd_pdrop",
        "attn_pdrop",
        "hidden_dropout",
    ):
        if hasattr(config, field):
            setattr(config, field, 0.0)
    model = getattr(transformers, class_name)(config)
    model.eval()
    tokens, mask = torch.randint(500, (2, 16)), torch.ones(2, 16, dtype=torch.int64)
    return First(model, ("input_ids", "attention_mask")), (tokens, mask)


class T5(nn.Module):
    """Encoder and decoder."""

    def __init__(self) -> None:
        super().__init__()
        import transformers

        config = transformers.T5Config(
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_heads=4,
            vocab_size=500,
            dropout_rate=0.0,
        )
        config._attn_implementation = "eager"
        self.model = transformers.T5ForConditionalGeneration(config).eval()

    def forward(self, source: Any, target: Any) -> Any:
        """Return the scores of the target's words."""
        return self.model(
            input_ids=source, decoder_input_ids=target, use_cache=False, return_dict=False
        )[0]


class LSTM(nn.Module):
    """A language model of recurrent cells."""

    def __init__(self, kind: type[nn.Module] = nn.LSTM) -> None:
        super().__init__()
        self.embedding = nn.Embedding(500, 32)
        self.cells = kind(32, 64, num_layers=2)
        self.head = nn.Linear(64, 500)

    def forward(self, tokens: Any) -> Any:
        """Return the scores of the next words."""
        return self.head(self.cells(self.embedding(tokens))[0])


def block(inner: int, outer: int) -> nn.Module:
    """Return two convolutions."""
    return nn.Sequential(
        nn.Conv2d(inner, outer, 3, padding=1, bias=False),
        nn.BatchNorm2d(outer),
        nn.ReLU(),
        nn.Conv2d(outer, outer, 3, padding=1, bias=False),
        nn.BatchNorm2d(outer),
        nn.ReLU(),
    )


class UNet(nn.Module):
    """Down, up, and skips."""

    def __init__(self, *, resizes: bool) -> None:
        super().__init__()
        self.down = nn.ModuleList([block(3, 16), block(16, 32), block(32, 64)])
        self.up = nn.ModuleList([block(96, 32), block(48, 16)])
        self.resizes = resizes
        self.grow = nn.ModuleList(
            [nn.ConvTranspose2d(64, 64, 2, 2), nn.ConvTranspose2d(32, 32, 2, 2)]
        )
        self.head = nn.Conv2d(16, 2, 1)

    def forward(self, x: Any) -> Any:
        """Return the scores of each pixel."""
        outputs = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else nn.functional.max_pool2d(x, 2))
            outputs.append(x)
        for up, grow, skip in zip(self.up, self.grow, outputs[-2::-1], strict=True):
            if self.resizes:
                x = nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear")
            else:
                x = grow(x)
            x = up(torch.cat([skip, x], 1))
        return self.head(x)


def models() -> Iterator[tuple[str, Callable[[], Made]]]:
    """Yield the names, and what makes the model with its operands."""
    yield "unet", lambda: (UNet(resizes=False), (torch.randn(2, 3, 64, 64),))
    yield "unet_resized", lambda: (UNet(resizes=True), (torch.randn(2, 3, 64, 64),))
    yield "t5", lambda: (T5(), (torch.randint(500, (2, 16)), torch.randint(500, (2, 12))))
    for name in CONFIGS:
        yield f"hf/{name}", lambda n=name: of_transformers(n)
    for name, edge in TIMM.items():
        yield f"timm/{name}", lambda n=name, e=edge: of_timm(n, e)
    for kind in (nn.LSTM, nn.GRU):
        yield kind.__name__.lower(), lambda k=kind: (LSTM(k), (torch.randint(500, (12, 2)),))
