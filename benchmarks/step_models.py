"""Models whose training steps are compared with PyTorch, small enough to run on a processor."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import torch
from torch import nn

from benchmarks.step_memory import First, block

Made = tuple[nn.Module, tuple[Any, ...]]

DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


def of_timm(name: str, edge: int) -> Made:
    """Return a model of timm on a batch of two images, in training but for what drops at random."""
    for part in DATA["unneeded"]:
        # packages that timm imports and none of these models uses
        sys.modules.setdefault(part, MagicMock(__spec__=None, __version__="99.0"))
    import timm

    timm.layers.set_fused_attn(False)
    model = timm.create_model(name, drop_rate=0.0)
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout) or type(module).__name__ == "DropPath":
            module.eval()
    return model, (torch.randn(2, 3, edge, edge),)


def of_transformers(known: dict[str, Any]) -> Made:
    """Return a small model of transformers on two sequences of 16 tokens."""
    import transformers

    sizes = {**(DATA["small"] if known["is_small"] else {}), **known["sizes"]}
    config = getattr(transformers, known["config"])(**sizes)
    config._attn_implementation = "eager"
    for field in DATA["rates"]:
        if hasattr(config, field):
            setattr(config, field, 0.0)
    model = getattr(transformers, known["model"])(config)
    model.eval()
    tokens, mask = torch.randint(500, (2, 16)), torch.ones(2, 16, dtype=torch.int64)
    names = "input_ids", "attention_mask"
    return First(model, *names, use_cache=False, return_dict=False), (tokens, mask)


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
    for known in DATA["transformers"]:
        yield f"hf/{known['name']}", lambda k=known: of_transformers(k)
    for name, edge in DATA["timm"].items():
        yield f"timm/{name}", lambda n=name, e=edge: of_timm(n, e)
    for kind in (nn.LSTM, nn.GRU):
        yield kind.__name__.lower(), lambda k=kind: (LSTM(k), (torch.randint(500, (12, 2)),))
