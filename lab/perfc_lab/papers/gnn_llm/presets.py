"""Sizes and training lengths: the values of the thesis, and smaller ones for one CPU core.

A folder of stages stores the name of its preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfc.errors import PerfcError
from perfc.ir.record import record

from .graph_mae import EPOCHS, GRAPHS_PER_STEP


@record
class DecoderShape:
    """A Llama-style decoder (Touvron et al., 2023).

    Args:
        vocabulary: tokens.
        hidden: width.
        inner: width of the perceptrons.
        layers: blocks.
        heads: number of heads of attention.
        context: longest text, in tokens.
    """

    vocabulary: int = 1024
    hidden: int = 256
    inner: int = 704
    layers: int = 4
    heads: int = 4
    context: int = 2560


@record
class StagePreset:
    """Sizes and lengths.

    Args:
        scale: scale of the thesis's hidden units, 1,024.
        decoder: that is made where no language model is given.
        text_s: processor time that it learns from text.
        graphs: unlabelled ones that the stages see.
        encoder_s: processor time of stage 1.
        encoder_epochs: number of encoder epochs of stage 1 at most.
        graphs_per_step: graphs per step of stage 1.
        alignment_s: processor time of stage 2.
        alignment_epochs: number of alignment epochs of stage 2 at most; the thesis states none.
        tuning_s: processor time of stage 3.
        tuning_epochs: number of tuning epochs of stage 3 at most.
        few_passes: over the few rows of a new machine or family at most.
        few_rows: rows that these passes see at most, repeats included; 0 for no limit.
        graph_rate: learning rate of the encoder and the projection.
        language_rate: learning rate of the language model.
        has_whole_decoder: whether stage 2 moves every weight of the small decoder, not LoRA alone.
        has_every_layer: whether LoRA is on all linear layers, not on queries and values alone.
        is_annealed: whether rates fall along half a cosine.
        rows_per_step: rows per step of stage 3, about.
        rows_per_epoch: rows between two validations of stage 3; 0 for all.
        json_tokens: longest JSON of a graph.
        rising_steps: warm-up steps of the rates in stage 3; 0 for rates by epoch.
    """

    scale: float
    decoder: DecoderShape
    text_s: float
    graphs: int
    encoder_s: float
    encoder_epochs: int
    graphs_per_step: int
    alignment_s: float
    alignment_epochs: int
    tuning_s: float
    tuning_epochs: int
    few_passes: int
    few_rows: int
    graph_rate: float
    language_rate: float
    has_whole_decoder: bool
    has_every_layer: bool
    is_annealed: bool
    rows_per_step: int
    rows_per_epoch: int
    json_tokens: int
    rising_steps: int = 0


# names of presets
PAPER, LONG, CPU, SMOKE = "paper", "long", "cpu", "smoke"
HOUR_S = 3600.0
"""Limits of trainings are hours."""
_CPU = StagePreset(
    scale=0.25,  # 256 hidden units
    decoder=DecoderShape(),
    text_s=60.0,
    graphs=1200,
    encoder_s=180.0,
    encoder_epochs=EPOCHS,
    graphs_per_step=32,
    alignment_s=1500.0,
    alignment_epochs=100,
    tuning_s=240.0,
    tuning_epochs=100,
    few_passes=20,
    few_rows=384,
    graph_rate=1e-3,
    language_rate=1e-3,
    has_whole_decoder=True,
    has_every_layer=True,
    is_annealed=True,
    rows_per_step=16,
    rows_per_epoch=512,
    json_tokens=2048,
    rising_steps=20,
)
PRESETS: Mapping[str, StagePreset] = {
    PAPER: StagePreset(
        scale=1.0,
        decoder=DecoderShape(hidden=512, inner=1408, layers=6, heads=8),
        text_s=4 * HOUR_S,
        graphs=20_000,
        encoder_s=48 * HOUR_S,
        encoder_epochs=EPOCHS,
        graphs_per_step=GRAPHS_PER_STEP,
        alignment_s=24 * HOUR_S,
        alignment_epochs=3,
        tuning_s=24 * HOUR_S,
        tuning_epochs=10,
        few_passes=3,
        few_rows=0,
        graph_rate=1e-3,
        language_rate=1e-4,
        has_whole_decoder=False,
        has_every_layer=False,
        is_annealed=False,
        rows_per_step=16,
        rows_per_epoch=0,
        json_tokens=2048,
    ),
    LONG: replace(
        _CPU,
        decoder=DecoderShape(hidden=384, inner=1024, layers=6, heads=6),
        text_s=240.0,
        graphs=2400,
        encoder_s=300.0,
        alignment_s=1200.0,
        tuning_s=2 * HOUR_S,
        tuning_epochs=1000,
    ),
    CPU: _CPU,
    SMOKE: StagePreset(
        scale=1 / 32,
        # too small to learn anything: it only runs every stage once
        decoder=DecoderShape(384, 32, 64, 2, 2, 1280),
        text_s=2.0,
        graphs=12,
        encoder_s=1.0,
        encoder_epochs=2,
        graphs_per_step=8,
        alignment_s=2.0,
        alignment_epochs=2,
        tuning_s=2.0,
        tuning_epochs=1,
        few_passes=1,
        few_rows=0,
        graph_rate=1e-3,
        language_rate=2e-3,
        has_whole_decoder=True,
        has_every_layer=True,
        is_annealed=True,
        rows_per_step=16,
        rows_per_epoch=32,
        json_tokens=256,
        rising_steps=2,
    ),
}
"""``cpu`` takes half an hour of a core, ``long`` two and a half hours; ``smoke`` tests the code."""


def preset(name: str) -> StagePreset:
    """Return the preset of a name.

    Raises:
        PerfcError: there is none of that name.
    """
    if name not in PRESETS:
        raise PerfcError(f"no preset {name!r}", hint=f"there are {', '.join(PRESETS)}")
    return PRESETS[name]
