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
    """Shape of a decoder of Llama's architecture (Touvron et al., 2023).

    Args:
        vocabulary: number of different tokens.
        hidden: width of an embedding.
        inner: width of the inner layers of feed-forward networks.
        layers: number of blocks.
        heads: number of heads of attention.
        context: maximum tokens of a text.
    """

    vocabulary: int = 1024
    hidden: int = 256
    inner: int = 704
    layers: int = 4
    heads: int = 4
    context: int = 2560


@record
class StagePreset:
    """Sizes of the networks and lengths of the trainings.

    Args:
        scale: factor on the 1,024 hidden units of the thesis.
        decoder: shape of the small decoder, which stands in if no language model is given.
        text_s: processor time of stage 0, which trains that decoder on text.
        graphs: maximum unlabelled graphs that stages 0 to 2 train on.
        encoder_s: processor time of stage 1.
        encoder_epochs: maximum epochs of stage 1.
        graphs_per_step: graphs per step of stage 1.
        alignment_s: processor time of stage 2.
        alignment_epochs: maximum epochs of stage 2, of which the thesis gives no number.
        tuning_s: processor time of stage 3.
        tuning_epochs: maximum epochs of stage 3.
        few_passes: maximum passes over the few rows of a new machine or family.
        few_rows: maximum rows of these passes, where a row counts in each pass; 0 for no limit.
        graph_rate: learning rate of the encoder and the projection.
        language_rate: learning rate of the language model.
        has_whole_decoder: whether stage 2 trains every weight of the small decoder, not LoRA alone.
        has_every_layer: whether LoRA is on all linear layers, not on queries and values alone.
        is_annealed: whether rates fall along half a cosine.
        rows_per_step: approximate rows of a step of stage 3.
        rows_per_epoch: approximate rows between two validations of stage 3; 0 for all rows.
        json_tokens: maximum tokens of a graph in JSON.
        rising_steps: steps of stage 3 over which rates rise, and are then set step by step; 0 for
            rates that are set by epoch.
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


# names of presets: that of the thesis, a long and a short one for a CPU core, and one for tests
PAPER, LONG, CPU, SMOKE = "paper", "long", "cpu", "smoke"
HOUR_S = 3600.0
"""Seconds per hour."""
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
    # limits of all stages add up to two and a half hours, of which stage 3 has two
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
        # too small to learn anything: every stage runs once
        decoder=DecoderShape(384, hidden=32, inner=64, layers=2, heads=2, context=1280),
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
        PerfcError: no preset has that name.
    """
    if name not in PRESETS:
        raise PerfcError(f"no preset {name!r}", hint=f"there are {', '.join(PRESETS)}")
    return PRESETS[name]
